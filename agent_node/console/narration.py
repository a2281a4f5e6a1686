"""A run at the terminal: its header, each step, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.agent_node.console.terminal import only_planned, plain, say, tell
from toolhand.agent_node.events import CommandEnded, Event, OperatorTold, ToolAnswered


class Narrator:
    """Tells a run as it goes, on stdout; on stderr where stdout is for the JSON document alone.

    Args:
        as_json: stdout holds one JSON document.
    """

    def __init__(self, as_json: bool = False) -> None:
        self._print = say if as_json else tell

    def line(self, text: str) -> None:
        """Print a line, whatever a model or a tool has written into it."""
        self._print(plain(text))

    def header(self, task: str, about: Mapping[str, Any]) -> None:
        """What a run is about. `about` is its result.json, or those entries of it that are known before it ends."""
        known = [f"{key} {about[key]}" for key in ("scene", "perception", "policy", "seed") if key in about]
        head = ", ".join(known) or "run"
        self.line(f"{head[0].upper()}{head[1:]}: {task[:200]!r}")

    def hear(self, event: Event) -> None:
        """One event of a run; see `toolhand.agent_node.events.Listener`. The summary tells the end."""
        if isinstance(event, OperatorTold):
            self.line(event.text)
        elif not isinstance(event, CommandEnded):
            took = f"  [{event.record.wall_s:.2f} s]" if isinstance(event, ToolAnswered) else ""
            self.line(f"  {event.verb:7} {event.line()}{took}")

    def summary(self, result: Mapping[str, Any]) -> None:
        """How a run ended, from its result.json."""
        from toolhand.agent_node.episode import not_judged  # the help of a command need not load what it knows

        code = result.get("error_code")
        verdict = "done" if result.get("success") else f"not done ({code})" if code else "answered; nothing was moved"
        if only_planned(result):
            verdict = "planned, and within the limits: a dry run moves nothing"
        basis = result.get("judged_against")
        unread = not_judged(basis)
        judgement = f"; not judged: {unread}" if unread else _judgement(result.get("truth"))
        self.line(f"\n{result.get('answer')}")
        self.line(f"  {verdict}{judgement}")
        if isinstance(basis, Mapping) and not unread:
            self.line(f"  judged against: {basis.get('goal')} ({basis.get('source')})")


def say_missing(reasons: Sequence[str]) -> None:
    """Print what could not be written about a run; its outcome is the one already reported."""
    for reason in reasons:
        say(plain(f"  warning: {reason}"))


def _judgement(truth: Any) -> str:
    """The simulator's word for an operator, e.g. "; simulator's judgement: picked, not placed (score 1 of 2)"."""
    if not isinstance(truth, Mapping):
        return ""
    stages = {name: truth[name] for name in ("picked", "placed") if isinstance(truth.get(name), bool)}
    if not stages:
        return ""
    words = ", ".join(name if held else f"not {name}" for name, held in stages.items())
    return f"; simulator's judgement: {words} (score {truth.get('score')} of {len(stages)})"
