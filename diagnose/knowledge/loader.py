"""Reads `rules/` into a knowledge base. Every error in every file is found in one go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from diagnose.facts import Fact, Source, Subject
from diagnose.knowledge.base import (
    KnowledgeBase,
    KnowledgeError,
    KnownCause,
    KnownEvidence,
    KnownSymptom,
)
from diagnose.knowledge.compile import PatternCompiler
from diagnose.knowledge.consistency import base_errors, cause_errors, example_errors
from diagnose.knowledge.derived_kinds import PYTHON_TYPES, Derivation, Table, declare_kind
from diagnose.knowledge.expression import ExpressionError, Term, parse_term, suggestion
from diagnose.knowledge.rule import Rule
from diagnose.knowledge.schema import (
    CauseFile,
    Check,
    CheckFile,
    DerivedFile,
    Evidence,
    SymptomFile,
    SymptomSign,
    TableFile,
)
from diagnose.knowledge.template import check_template
from diagnose.knowledge.vocabulary import base_vocabulary, plain_type
from diagnose.knowledge.yaml_file import Location, RuleError, YamlFile, read_yaml, validation_errors
from diagnose.resources import bundled

Shape = TypeVar("Shape", bound=BaseModel)

SYMPTOMS, CHECKS, TABLES, DERIVED = "symptoms.yaml", "checks.yaml", "tables", "derived"


def load_knowledge(root: Path | None = None, *, examples: bool = True) -> KnowledgeBase:
    """The knowledge base under a folder, by default the bundled one. Raises KnowledgeError with every error found.

    Without `examples` those of the rules are not looked at, which saves time.
    """
    return _load(root or bundled("rules"), examples)


@cache
def _load(root: Path, examples: bool) -> KnowledgeBase:
    return _Loader(root, examples).load()


class _Loader:
    def __init__(self, root: Path, examples: bool) -> None:
        self._root = root
        self._examples = examples
        self._errors: list[RuleError] = []
        self._vocabulary = base_vocabulary()

    def load(self) -> KnowledgeBase:
        tables = [table for file in self._files(TABLES) if (table := self._table(file)) is not None]
        derivations = self._derivations()
        checks = self._checks()
        symptoms = self._symptoms()
        causes = {
            known.cause.id: known
            for file in self._cause_files()
            if (known := self._cause(file, checks, set(symptoms))) is not None
        }
        if not self._errors:
            self._errors += base_errors(causes, set(symptoms))
        if self._errors:
            raise KnowledgeError(sorted(self._errors, key=lambda error: (str(error.path), error.line)))
        every_check = {**checks, **{check.id: check for known in causes.values() for check in known.checks}}
        return KnowledgeBase(
            self._root, causes, symptoms, every_check, tuple(tables), derivations, dict(self._vocabulary)
        )

    # Files

    def _files(self, folder: str) -> list[Path]:
        return sorted((self._root / folder).glob("*.yaml"))

    def _cause_files(self) -> list[Path]:
        return sorted(path for path in self._root.glob("*/*.yaml") if path.parent.name not in (TABLES, DERIVED))

    def _read(self, path: Path, shape: type[Shape]) -> tuple[YamlFile, Shape] | None:
        try:
            file = read_yaml(path)
        except RuleError as error:
            self._errors.append(error)
            return None
        try:
            return file, shape.model_validate(file.data)
        except ValidationError as error:
            self._errors += validation_errors(file, error, known_keys(shape))
            return None

    # Parts

    def _table(self, path: Path) -> Table | None:
        read = self._read(path, TableFile)
        if read is None:
            return None
        file, written = read
        key = written.key
        model = self._vocabulary.get(key.fact)
        if model is None:
            self._fail(file, ("key", "fact"), f"no kind of fact is called `{key.fact}`{self._close(key.fact)}")
            return None
        if key.field not in model.own_fields():
            close = suggestion(key.field, model.own_fields())
            self._fail(file, ("key", "field"), f"`{key.fact}` has no field `{key.field}`{close}")
            return None
        fields = {name: (PYTHON_TYPES[column.type], column.description) for name, column in written.columns.items()}
        for number, row in enumerate(written.rows):
            for name in row.values:
                if name not in written.columns:
                    close = suggestion(name, dict(written.columns))
                    self._fail(file, ("rows", number, "values", name), f"is not a column of this table{close}")
        key_type = plain_type(model.model_fields[key.field].annotation)
        fields[key.field] = (key_type, f"The {key.field} of the `{key.fact}` fact that the row is for")
        table = Table(written, declare_kind(written.table, written.description, fields, [model], key.field))
        if not self._errors:
            self._rows_fit(file, table)
        self._declare(file, table.model, ("table",))
        return table

    def _rows_fit(self, file: YamlFile, table: Table) -> None:
        for number, row in enumerate(table.file.rows):
            key = row.match if table.file.key.match == "equal" else ""
            try:
                table.fact(Subject(), (Source(path=str(file.path)),), key, row)
            except ValidationError as error:
                first = error.errors()[0]
                place: Location = ("rows", number, "values", *(str(part) for part in first["loc"]))
                self._fail(file, place, f"does not fit its column: {first['msg']}")

    def _declare(self, file: YamlFile, model: type[Fact], place: Location) -> None:
        if model.kind in self._vocabulary:
            self._fail(file, place, f"a kind of fact called `{model.kind}` exists already; choose another name")
        else:
            self._vocabulary[model.kind] = model

    def _derivations(self) -> tuple[tuple[Derivation, ...], ...]:
        waiting = [read for path in self._files(DERIVED) if (read := self._read(path, DerivedFile)) is not None]
        strata: list[tuple[Derivation, ...]] = []
        undefined = {written.derived for _, written in waiting}
        while waiting:
            ready = [(file, written) for file, written in waiting if not self._needs(written) & undefined]
            if not ready:
                names = ", ".join(written.derived for _, written in waiting)
                self._fail(waiting[0][0], ("derived",), f"these derived facts need each other: {names}")
                break
            made = [
                derivation for file, written in ready if (derivation := self._derivation(file, written)) is not None
            ]
            strata.append(tuple(made))
            undefined -= {written.derived for _, written in ready}
            waiting = [item for item in waiting if item not in ready]
        return tuple(strata)

    @staticmethod
    def _needs(written: DerivedFile) -> set[str]:
        return {kind for pattern in written.when for kind in (pattern.kind, pattern.looked) if kind is not None}

    def _derivation(self, file: YamlFile, written: DerivedFile) -> Derivation | None:
        compiler = PatternCompiler(file, (), self._vocabulary, self._errors)
        rule = compiler.compile(f"derived/{written.derived}", written.when)
        if rule is None:
            return None
        if written.subject not in compiler.scope:
            self._fail(file, ("subject",), f"no matched fact is called `{written.subject}`")
        values: dict[str, Term] = {}
        for name, field in written.fields.items():
            try:
                values[name] = parse_term(field.value, compiler.scope)
            except ExpressionError as error:
                self._fail(file, ("fields", name, "value"), str(error))
        fields = {name: (PYTHON_TYPES[field.type], field.description) for name, field in written.fields.items()}
        made_of = [self._vocabulary[pattern.kind] for pattern in rule.matched]
        model = declare_kind(written.derived, written.description, fields, made_of)
        self._declare(file, model, ("derived",))
        return Derivation(rule, model, written.subject, values)

    def _checks(self) -> dict[str, Check]:
        read = self._read(self._root / CHECKS, CheckFile)
        if read is None:
            return {}
        file, written = read
        for number, check in enumerate(written.checks):
            self._check_kinds(file, ("checks", number), check)
        return {check.id: check for check in written.checks}

    def _check_kinds(self, file: YamlFile, place: Location, check: Check) -> None:
        for number, kind in enumerate(check.provides):
            if kind not in self._vocabulary:
                self._fail(file, (*place, "provides", number), f"no kind of fact is called `{kind}`{self._close(kind)}")

    def _symptoms(self) -> dict[str, KnownSymptom]:
        read = self._read(self._root / SYMPTOMS, SymptomFile)
        if read is None:
            return {}
        file, written = read
        known: dict[str, KnownSymptom] = {}
        for number, symptom in enumerate(written.symptoms):
            signs: list[tuple[SymptomSign, Rule]] = []
            for place, sign in enumerate(symptom.detect):
                rule = self._rule(file, ("symptoms", number, "detect", place), f"{symptom.id}/{sign.id}", sign)
                if rule is not None:
                    signs.append((sign, rule))
            known[symptom.id] = KnownSymptom(symptom, tuple(signs))
        return known

    def _cause(self, path: Path, shared: dict[str, Check], symptoms: set[str]) -> KnownCause | None:
        read = self._read(path, CauseFile)
        if read is None:
            return None
        file, written = read
        evidence: list[KnownEvidence] = []
        for number, item in enumerate(written.evidence):
            rule = self._rule(file, ("evidence", number), f"{written.cause.id}/{item.id}", item)
            if rule is not None:
                evidence.append(KnownEvidence(item, rule))
        checks = tuple(self._cause_checks(file, written.checks, shared))
        self._errors += cause_errors(file, written, symptoms)
        if self._examples:
            self._errors += example_errors(file, written, self._vocabulary)
        return KnownCause(
            path, written.cause, tuple(evidence), checks, written.fixes, written.references, written.examples
        )

    def _cause_checks(
        self, file: YamlFile, written: Sequence[str | Check], shared: dict[str, Check]
    ) -> Iterator[Check]:
        for number, check in enumerate(written):
            if isinstance(check, Check):
                self._check_kinds(file, ("checks", number), check)
                yield check
            elif check in shared:
                yield shared[check]
            else:
                close = suggestion(check, dict(shared))
                self._fail(file, ("checks", number), f"no check is called `{check}` in {CHECKS}{close}")

    def _rule(self, file: YamlFile, place: Location, rule_id: str, item: Evidence | SymptomSign) -> Rule | None:
        compiler = PatternCompiler(file, place, self._vocabulary, self._errors)
        rule = compiler.compile(rule_id, item.when)
        if rule is None:
            return None
        try:
            check_template(item.says, compiler.scope, compiler.counted)
        except ExpressionError as error:
            self._fail(file, (*place, "says"), str(error))
        if isinstance(item, Evidence) and item.about is not None and item.about not in compiler.scope:
            close = suggestion(item.about, dict(compiler.scope))
            self._fail(file, (*place, "about"), f"no matched fact is called `{item.about}`{close}")
        return rule

    def _fail(self, file: YamlFile, place: Location, message: str) -> None:
        self._errors.append(file.error(place, message))

    def _close(self, kind: str) -> str:
        return suggestion(kind, dict(self._vocabulary))


def known_keys(shape: type[BaseModel]) -> dict[Location, list[str]]:
    """Keys that a shape allows at every location, list positions left out, for the cure of a misspelt one."""
    found: dict[Location, list[str]] = {}
    _collect(shape, (), found)
    return found


def _collect(shape: object, place: Location, found: dict[Location, list[str]]) -> None:
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        names = {name: info.alias or name for name, info in shape.model_fields.items()}
        found.setdefault(place, []).extend(names.values())
        for name, info in shape.model_fields.items():
            _collect(info.annotation, (*place, names[name]), found)
        return
    for part in getattr(shape, "__args__", ()):
        _collect(part, place, found)
