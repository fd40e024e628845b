"""`.npz` and `.npy` files. Arrays of Python objects are refused: they are pickles."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from diagnose.lowbit.tensors import Array, Tensor, TensorError


def read_npy(path: Path, name: str) -> Tensor:
    """One array, mapped. Raises TensorError."""

    def load() -> Array:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]

    try:
        array = load()
    except (ValueError, OSError, EOFError) as error:
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
                    version = npy.read_magic(file)
                    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                    shape, _, dtype = read(file)
                if dtype.hasobject:
                    raise TensorError(f"{path}: {name!r} holds Python objects, which are not loaded")
                found[name] = Tensor(name, shape, dtype.name, _member(path, name), str(path))
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        raise TensorError(f"{path}: no archive of arrays that can be read: {error}") from error
    return found


def _member(path: Path, name: str):  # type: ignore[no-untyped-def]
    def load() -> Array:
        with np.load(path, allow_pickle=False) as archive:
            return archive[name]  # type: ignore[no-any-return]

    return load
