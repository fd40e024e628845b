"""Cells of small tables that people write down: separated by tabs, semicolons, commas or bars."""

from __future__ import annotations

import csv

_SEPARATORS = ("\t", ";", ",", "|")


def cells(text: str) -> list[str]:
    """The cells of a line, without blanks; none where nothing separates them."""
    separator = next((sign for sign in _SEPARATORS if sign in text), None)
    if separator is None:
        return []
    body = text.strip(" |")
    if '"' in body:
        try:
            return [cell.strip() for cell in next(csv.reader([body], delimiter=separator, skipinitialspace=True), [])]
        except csv.Error:
            return []
    return [cell.strip() for cell in body.split(separator)]
