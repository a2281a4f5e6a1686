"""`toolhand dialogue`: show and forget what robots remember of their dialogues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import tyro

from toolhand.agent_node.console.terminal import AsJson, emit, plain, tell
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.memory import RobotMemory, Spot, at_point
from toolhand.agent_node.memory_file import FOLDER, load
from toolhand.agent_node.open_question import ANSWER_WITHIN_S
from toolhand.cli.run_command import RUNS_DIR
from toolhand.tool_nodes.results import ToolError, invalid

DialogueNames = Annotated[
    tuple[str, ...],
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="SESSION", help="Names of dialogues, as `toolhand dialogue show` lists them; all without any."
    ),
]


def dialogue_show(sessions: DialogueNames = (), runs_dir: Path = RUNS_DIR, as_json: AsJson = False) -> int:
    """Show what is remembered of the dialogues that go on: what is held, done, asked and planned.

    Args:
        runs_dir: Folder of the runs, in which the memories lie.
    """
    files = _files(runs_dir, sessions)
    documents: dict[str, Any] = {}
    status = 0
    for file in files:
        try:
            memories = load(file, {"robot": RobotMemory, "operator": OperatorMemory})
        except ToolError as error:
            status = 1
            documents[file.stem] = {"problem": str(error)}
            tell(plain(f"{file.stem}: {error}")) if not as_json else None
            continue
        documents[file.stem] = {name: asdict(memory) for name, memory in memories.items()}
        if not as_json:
            tell(f"{file.stem}:")
            for memory in memories.values():
                for line in _robot(memory) if isinstance(memory, RobotMemory) else _operator(memory):
                    tell(plain(f"  {line}"))
    if as_json:
        emit(documents)
    elif not files:
        tell("No dialogue goes on.")
    return status


def dialogue_forget(sessions: DialogueNames = (), runs_dir: Path = RUNS_DIR) -> int:
    """Forget what is remembered of dialogues: whoever speaks next is understood as at the beginning.

    Args:
        runs_dir: Folder of the runs, in which the memories lie.
    """
    files = _files(runs_dir, sessions)
    for file in files:
        try:
            file.unlink(missing_ok=True)
        except OSError as error:
            raise invalid(f"Cannot delete {file}: {error.strerror}.") from error
    tell(f"Forgotten: {', '.join(file.stem for file in files) or 'nothing, as no dialogue goes on'}.")
    return 0


def _files(runs_dir: Path, sessions: Sequence[str]) -> list[Path]:
    """The files of some dialogues, of all where none is named. Raises ToolError INVALID_ARGUMENT for an unknown one."""
    known = {path.stem: path for path in sorted((runs_dir / FOLDER).glob("*.json"))}
    for session in sessions:
        if session not in known:
            there = f"only {', '.join(known)}" if known else "and none at all"
            raise invalid(f"There is no dialogue {session[:60]!r} in {runs_dir}, {there}.")
    return [known[session] for session in sessions] if sessions else list(known.values())


def _robot(memory: RobotMemory) -> list[str]:
    held = memory.held
    lines = [
        f"holds: the {held.object}, which stood {_at(held.before)}" if held else "holds: nothing that it remembers"
    ]
    for deed in memory.deeds:
        ended = "" if deed.success else f", which ended with {deed.error_code}"
        undone = ", taken back" if deed.undone else ""
        lines.append(f'{_when(deed.time_s)} "{deed.said}": {_at(deed.before)} -> {_at(deed.after)}{ended}{undone}')
    lines += [f"{_when(seen.time_s)} saw the {seen.object} at {at_point(seen.point)}" for seen in memory.seen]
    return lines


def _operator(memory: OperatorMemory) -> list[str]:
    lines = []
    if memory.question is not None:
        late = time.time() - memory.question.asked_s > ANSWER_WITHIN_S
        lines.append(f"asked{' (too long ago)' if late else ''}: {memory.question.text}")
    if memory.last_object:
        lines.append(f'"it" is: the {memory.last_object}')
    if memory.last_said:
        lines.append(f'"again" is: "{memory.last_said}"')
    if memory.left:
        lines.append(
            f"plan: done {len(memory.done)}, left {'; '.join(memory.left)} ({memory.stopped_because or 'goes on'})"
        )
    return lines


def _at(spot: Spot | None) -> str:
    return "unknown place" if spot is None else at_point(spot.point)


def _when(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))
