"""Readers of files that hold named tensors. None of them runs code that a file carries."""
