"""A run at the terminal: its header, each step, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_node.console.terminal import plain, say


def print_header(task: str, about: Mapping[str, Any]) -> None:
    """Print what a run is about. `about` is its result.json, or those entries of it that are known before it ends."""
    known = [f"{key} {about[key]}" for key in ("scene", "perception", "policy", "seed") if key in about]
    head = ", ".join(known) or "run"
    say(plain(f"{head[0].upper()}{head[1:]}: {task[:200]!r}"))


def print_step(kind: str, payload: Any) -> None:
    """Print one step of a run; a listener as of agent_node.conversation.Listener."""
    if kind == "thought":
        say(plain(f"  thinks  {payload}"))
    elif kind == "call":
        say(plain(f"  calls   {payload.name} {json.dumps(payload.arguments, default=str)[:160]}"))
    elif kind == "result":
        first = payload.result.text.split(" Use $")[0]
        say(plain(f"          {first[:240]}  [{payload.wall_s:.2f} s]"))


def say_missing(reasons: Sequence[str]) -> None:
    """Print what could not be written about a run, which has ended as it was told."""
    for reason in reasons:
        say(plain(f"  warning: {reason}"))


def print_summary(result: Mapping[str, Any]) -> None:
    """Print how a run ended, from its result.json."""
    verdict = "done" if result.get("success") else f"not done ({result.get('error_code')})"
    say(plain(f"\n{result.get('answer')}\n  {verdict}; simulator's judgement: {result.get('truth')}"))
    basis = result.get("judged_against")
    if isinstance(basis, Mapping):
        say(plain(f"  judged against: {basis.get('goal')} ({basis.get('source')})"))
