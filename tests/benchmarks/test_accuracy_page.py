from __future__ import annotations

from pathlib import Path

from benchmarks.accuracy_page import write_section


def test_a_section_is_added_at_the_end_and_then_replaced_beside_others(tmp_path: Path) -> None:
    page = tmp_path / "accuracy.md"
    page.write_text("# Accuracy\n\nWords.\n", encoding="utf-8")
    for name, table in (("cases", "one"), ("scenarios", "two"), ("cases", r"three \1")):
        write_section(name, name.title(), f"python {name}.py", "About.", table, page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Accuracy\n\nWords.\n\n<!-- measured: cases -->\n\n## Cases\n\nAbout.\n")
    assert "    python cases.py --write\n\n```text\nthree \\1\n```\n" in text
    assert "one" not in text
    assert text.index("## Cases") < text.index("## Scenarios")
    assert text.count("<!-- end of measured -->") == 2
