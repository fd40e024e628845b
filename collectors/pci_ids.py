"""PCI classes and vendors that matter here."""

from __future__ import annotations

GPU_VENDORS = frozenset({"10de", "1002"})
"""NVIDIA and AMD."""

_GPU_CLASSES = ("0300", "0302", "0380", "1200")
_NIC_CLASSES = ("0200", "0207", "0280")


def is_gpu(device_class: str, vendor: str | None) -> bool:
    """Display and 3D controllers and accelerators of a GPU vendor. `device_class` is four hex digits.

    Where the vendor is not known a display controller may be the board controller's, so that it does not count.
    """
    if vendor is None:
        return device_class in _GPU_CLASSES[1:]
    return device_class in _GPU_CLASSES and vendor in GPU_VENDORS


def is_nic(device_class: str) -> bool:
    """Ethernet, InfiniBand and other network controllers."""
    return device_class in _NIC_CLASSES
