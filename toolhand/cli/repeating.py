"""Recording and repeating a run: every option of `toolhand run`, and the command line that gives them again."""

from __future__ import annotations

import shlex
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from toolhand.cli.run_command import RunCommand

RECORDED_AS = {"text": "task", "turns": "turn_budget", "runs_dir": "run_dir", "truth": "truth_source"}
"""Options that have another name in `result.json`, where `turns` counts those that were taken, and `truth` is what the
judge says."""
NOT_RECORDED = frozenset({"as_json", "text", "runs_dir"})
"""The form of the output; and what the result has anyway."""

UNPREFIXED = frozenset({"ports"})
"""Groups of options that are typed without the group's name, as --segmenter is."""


def recorded(command: RunCommand) -> dict[str, Any]:
    """The options of a run as entries of `result.json`, the protocol and the suites by their names.

    Raises:
        ToolError: INVALID_ARGUMENT for a protocol that there is not.
    """
    picture = command.picture and str(command.picture.absolute())
    written = {"protocol": command.written.name, "suite": command.suites, "picture": picture}
    return {
        RECORDED_AS.get(name, name): asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for name, value in (command.options() | written).items()
        if name not in NOT_RECORDED
    }


def command_line(command: RunCommand, text: str = "") -> str:
    """The command line, for a shell, that carries out a sentence with these options.

    Args:
        command: The options; those that have their default value are left out.
        text: The sentence; the command's own where empty.
    """
    words = ["toolhand", "run", text or command.text]
    for option in fields(command):
        name, default, value = option.name, option.default, getattr(command, option.name)
        if name in ("text", "as_json") or value == default:
            continue
        if is_dataclass(default) and not isinstance(default, type):
            for entry in fields(default):
                if getattr(value, entry.name) != getattr(default, entry.name):
                    option_name = entry.name if name in UNPREFIXED else f"{name}.{entry.name}"
                    words += _option(option_name, getattr(value, entry.name))
        else:
            words += _option(name, value)
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", str(value)]
