"""Reads the Prometheus server that the command line names."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from collectors.inputs import InputReport, Readings, Status
from collectors.prometheus.access import Access, PrometheusError
from collectors.prometheus.api import PrometheusApi
from collectors.prometheus.read import Range, matcher, read_prometheus
from diagnose.cli.prometheus_options import PrometheusQuestion, length, moment


def read_source(question: PrometheusQuestion, progress: Callable[[str], None]) -> Readings:
    """Facts and series; a report that it is unreadable where it is. Raises UsageError for times and conditions."""
    wanted = _range(question, time.time())
    access = Access(
        question.url,
        question.bearer_token_file,
        question.user,
        question.password_file,
        question.ca_file,
        question.insecure,
    )
    try:
        with PrometheusApi(access) as api:
            return read_prometheus(api, wanted, shown_url(question), progress)
    except PrometheusError as error:
        shown = shown_url(question)
        sentence = str(error).removeprefix(f"{shown}: ")
        detail = sentence[:1].upper() + sentence[1:]
        return Readings(inputs=[InputReport(path=shown, kind="prometheus", status=Status.UNREADABLE, detail=detail)])


def shown_url(question: PrometheusQuestion) -> str:
    """The address as reports show it, without user and password."""
    try:
        return Access(question.url).shown_url
    except ValueError:
        return "prometheus"


def _range(question: PrometheusQuestion, now: float) -> Range:
    end = moment(question.until, now, "--until") if question.until is not None else now
    start = moment(question.since, now, "--since")
    if question.until is not None and question.since[-1:].isalpha() and question.since[-1:] != "Z":
        # A length of time counts back from the end that was asked for.
        start = end - (now - start)
    if start >= end:
        raise click.UsageError("--since must be earlier than --until")
    try:
        matchers = tuple(matcher(text) for text in question.matchers)
    except ValueError as error:
        raise click.UsageError(f"--match: {error}") from None
    return Range(start, end, length(question.step, "--step") if question.step is not None else None, matchers)
