"""Matches rules against facts, with durable-rules as the matcher."""

from diagnose.engine.engine import Engine, Match
from diagnose.engine.errors import EngineError, EngineUnavailable

__all__ = ["Engine", "EngineError", "EngineUnavailable", "Match"]
