"""What one policy did with one task, as a line of JSON, and the folder that the lines are added to.

OUT/settings.json     what the tasks are, and each policy's protocol and settings
OUT/outcomes.jsonl    a line a task and policy, written to the disk before the next one begins
OUT/table.json        the tables of all lines
OUT/index.html        the same as a page
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from annotated_types import Interval

from toolhand.agent_node.runs.folder import write_json
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import MIB, NOTES_BYTES, read_file, read_lines
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.records import record_of
from toolhand.tool_nodes.results import ToolError, invalid, unavailable

OUTCOMES, SETTINGS, TABLE, PAGE = "outcomes.jsonl", "settings.json", "table.json", "index.html"
FORMAT = 1
"""Version of the files' form."""
LONGEST_LINE = 1 * MIB
"""Longest line that is read [bytes]: one holds an answer of at most SHOWN characters."""
SHOWN = 400
"""Characters of an answer and of a reason that are kept."""


_Count = Annotated[int, Interval(ge=0)]
_Amount = Annotated[float, Interval(ge=0.0)]


@dataclass(frozen=True)
class PolicyOutcome:
    """One task by one policy; what is counted is the simulator's truth.

    Attributes:
        policy: Name as it was typed.
        kind, seed, split: Those of the task.
        text: Sentence of the operator.
        scored: False where an infrastructure error left it without a score: it counts as a failure.
        success: The task's own judge found everything as asked for.
        deed: The arm is to do something; else the task is a question.
        wrong_object: Something was picked up that was not meant.
        false_success: The tools and the answer say that a deed is done, and the judge disagrees.
        denied: A deed is done by the judge, and the tools or the answer say that it failed.
        wrong_answer: A question has an answer without an error's code, which is not right.
        refused: It ended with an error's code, or without an answer.
        looked: An image was taken.
        error_code: The code that it ended with; None without one.
        reward: Reward of the task's kind, 0..1: the stages of a deed or the mean of its terms, a question's first term.
            0 without a score.
        calls, invalid, turns: Calls that were run, calls and turns that could not be read or run, assistant turns.
        probability: Probability of the first turn's least likely token, by the policy; None where it is not told.
        prompt_tokens, completion_tokens, cost: Counts of the policy itself; 0 where nothing counts.
        policy_s: Wall time of the policy's turns [s].
        wall_s: Wall time of the conversation [s].
        answer: The answer, cut to SHOWN characters.
        reasons: Differences from what should be, cut likewise.
    """

    policy: str
    kind: str
    seed: _Count
    split: str
    text: str
    scored: bool = False
    success: bool = False
    deed: bool = False
    wrong_object: bool = False
    false_success: bool = False
    denied: bool = False
    wrong_answer: bool = False
    refused: bool = False
    looked: bool = False
    error_code: str | None = None
    reward: _Amount = 0.0
    calls: _Count = 0
    invalid: _Count = 0
    turns: _Count = 0
    probability: _Amount | None = None
    prompt_tokens: _Count = 0
    completion_tokens: _Count = 0
    cost: _Amount = 0.0
    policy_s: _Amount = 0.0
    wall_s: _Amount = 0.0
    answer: str = ""
    reasons: str = ""

    @property
    def task(self) -> tuple[str, int]:
        """Which task it is, within a split."""
        return self.kind, self.seed

    def line(self) -> bytes:
        """The line, with its end."""
        return json.dumps(asdict(self), ensure_ascii=True, allow_nan=False).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> PolicyOutcome:
        """The outcome of a line. Raises ToolError INVALID_ARGUMENT for what is none."""
        try:
            document = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise invalid("it is no JSON") from error
        return record_of(cls, document)


class OutcomeFolder:
    """A folder of outcomes that this process alone adds to; a line that was cut off by a break is removed.

    Args:
        path: The folder; made where it is not there.

    Raises:
        ToolError: INVALID_ARGUMENT where another process adds to it, or its files are of something else; UNAVAILABLE
            where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with _written(path):
            path.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = (path / OUTCOMES).open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise invalid(f"Another command adds to {path} at this moment.", "Wait for its end.") from error
        try:
            with _written(path):
                self._cut_broken_line()
            self.outcomes = read_outcomes(path)
        except BaseException:
            self.close()
            raise

    def add(self, outcome: PolicyOutcome) -> None:
        """Write an outcome to the disk. Raises ToolError UNAVAILABLE."""
        with self._lock, _written(self.path):
            self._file.write(outcome.line())
            self._file.flush()
            os.fsync(self._file.fileno())
            self.outcomes.append(outcome)

    def settle(self, tasks: Mapping[str, Any], policies: Mapping[str, Mapping[str, Any]]) -> None:
        """Note what the tasks and the policies are; the same ones where some are noted.

        Raises:
            ToolError: INVALID_ARGUMENT where the folder has other tasks, or one of the policies otherwise.
        """
        path = self.path / SETTINGS
        known: dict[str, Any] = {"format": FORMAT, "tasks": dict(tasks), "policies": {}}
        if path.exists():
            known = read_settings(self.path)
            for name, value in known["tasks"].items():
                if tasks.get(name) != value:
                    raise invalid(
                        f"{self.path} has outcomes of {name} {_short(value)}, not {_short(tasks.get(name))}.",
                        "Give another folder with --out.",
                    )
        elif self.outcomes:
            raise invalid(f"{self.path} has outcomes without {SETTINGS}.", "Give another folder with --out.")
        for policy, settings in policies.items():
            before = known["policies"].setdefault(policy, dict(settings))
            if before != settings:
                name = next(key for key in {**before, **settings} if before.get(key) != settings.get(key))
                raise invalid(
                    f"{self.path} has outcomes of {policy} with {name} {_short(before.get(name))}, not "
                    f"{_short(settings.get(name))}.",
                    "Give another folder with --out.",
                )
        write_json(path, known)

    def close(self) -> None:
        """Let others add to it."""
        self._file.close()

    def __enter__(self) -> OutcomeFolder:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _cut_broken_line(self) -> None:
        self._file.seek(0)
        whole = 0
        for line in self._file:
            whole += len(line) if line.endswith(b"\n") else 0
        self._file.truncate(whole)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(f"Cannot write {path}: {error.strerror}.", "Check the folder and its free space.") from error


def read_outcomes(path: Path) -> list[PolicyOutcome]:
    """The outcomes of a folder. Raises ToolError INVALID_ARGUMENT for a line that is none, with its number."""
    found: dict[tuple[str, str, int], PolicyOutcome] = {}
    try:
        for number, line in enumerate(read_lines(path / OUTCOMES, LONGEST_LINE, path), start=1):
            try:
                outcome = PolicyOutcome.read(line)
            except ToolError as error:
                raise invalid(f"{path / OUTCOMES}, line {number}: {error.message.rstrip('.')}.") from error
            found[outcome.policy, outcome.kind, outcome.seed] = outcome
    except OSError as error:
        raise invalid(f"Cannot read {path / OUTCOMES}: {error.strerror}.") from error
    return list(found.values())


def read_settings(path: Path) -> dict[str, Any]:
    """What a folder's settings are. Raises ToolError INVALID_ARGUMENT."""
    try:
        document = plain_json.load(read_file(path / SETTINGS, NOTES_BYTES, path))
    except (OSError, PlainJsonError) as error:
        raise invalid(f"Cannot read {path / SETTINGS}: {error}.") from error
    parts = isinstance(document, dict) and [document.get(name) for name in ("tasks", "policies")]
    if not parts or document.get("format") != FORMAT or not all(isinstance(part, dict) for part in parts):
        raise invalid(f"{path / SETTINGS} is not of `bench policy`.")
    return dict(document)


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
