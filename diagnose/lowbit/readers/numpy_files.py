"""`.npz` and `.npy` files. Arrays of Python objects are refused: they are pickles."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from diagnose.lowbit.tensors import Array, Tensor, TensorError

_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError, RuntimeError)
"""What damaged archives, encrypted ones, and ones of an unknown compression raise."""


def read_npy(path: Path, name: str) -> Tensor:
    """One array, mapped. Raises TensorError."""

    def load() -> Array:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

    try:
        array = load()
    except (ValueError, OSError, EOFError, tokenize.TokenError) as error:
        raise TensorError(f"{path}: no array that can be read: {error}") from error
    return Tensor(name, array.shape, array.dtype.name, load, str(path))


def read_npz(path: Path) -> dict[str, Tensor]:
    """The arrays of an archive, each unpacked when it is asked for. Raises TensorError."""
    found = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                name = member.removesuffix(".npy")
                with archive.open(member) as file:
                    shape, _, dtype = _header(file)
                    held = archive.getinfo(member).file_size - file.tell()
                if dtype.hasobject:
                    raise TensorError(f"{path}: {name!r} holds Python objects, which are not loaded")
                if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > held:
                    raise TensorError(f"{path}: {name!r} holds less than its header says; it is damaged")
                found[name] = Tensor(name, shape, dtype.name, _member(path, name), str(path))
    except _DAMAGE as error:
        raise TensorError(f"{path}: no archive of arrays that can be read: {error}") from error
    return found


def array_of(data: bytes) -> Array:
    """The array of a `.npy` file's bytes. Raises ValueError."""
    file = io.BytesIO(data)
    shape, _, dtype = _header(file)
    if dtype.hasobject:
        raise ValueError("an array holds Python objects, which are not loaded")
    if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize > len(data):
        raise ValueError("an array holds less than its header says")
    file.seek(0)
    return npy.read_array(file, allow_pickle=False)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type. Raises ValueError."""
    read = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    try:
        return read(file)
    except tokenize.TokenError as error:
        raise ValueError(f"the header is damaged: {error}") from error


def _member(path: Path, name: str):  # type: ignore[no-untyped-def]
    def load() -> Array:
        try:
            with np.load(path, allow_pickle=False) as archive:
                return archive[name]  # type: ignore[no-any-return]
        except _DAMAGE as error:
            raise TensorError(f"{path}: {name!r} cannot be unpacked: {error}") from error

    return load
