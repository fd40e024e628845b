from __future__ import annotations

from diagnose.engine.packing import MAX_PATTERNS_OF_KIND, pack
from diagnose.engine.plan import plan_rule
from diagnose.engine.translate import Translation, Translator
from tests.engine.kinds import VOCABULARY, pattern, rule


def translations(number: int, kind: str) -> list[Translation]:
    translator = Translator()
    plans = [plan_rule(rule(f"{kind}{place}", pattern("p", kind)), VOCABULARY) for place in range(number)]
    found = [translator.translate(query) for plan in plans for query in plan.queries()]
    return [translation for translation in found if translation is not None]


def test_a_rule_set_is_filled_up_to_its_limit_for_one_kind() -> None:
    packed = pack(translations(2 * MAX_PATTERNS_OF_KIND + 1, "card"))
    assert [len(part) for part in packed] == [MAX_PATTERNS_OF_KIND, MAX_PATTERNS_OF_KIND, 1]


def test_kinds_are_limited_each() -> None:
    both = [*translations(MAX_PATTERNS_OF_KIND, "card"), *translations(MAX_PATTERNS_OF_KIND, "slot")]
    assert len(pack(both)) == 1


def test_nothing_gives_no_rule_sets() -> None:
    assert pack([]) == []
