"""What goes wrong with bundles, as sentences for the reader."""

from __future__ import annotations


class BundleError(Exception):
    """A file that is no bundle, or one that cannot be written."""
