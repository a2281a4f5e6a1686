"""`toolhand completion SHELL`: commands and options for the Tab key, written out once for bash, zsh and fish."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from typing import Annotated, Literal

import tyro

from toolhand.cli.commands import COMMANDS, CliCommand, Group, Program

Words = Mapping[tuple[str, ...], tuple[str, ...]]
"""What can follow some words, e.g. ("bench",) -> ("grasp", ...), ("run",) -> ("--scene", ...)."""

_LISTED, _LONG = re.compile(r"\W*-(-|h,)"), re.compile(r"--[a-z][\w.-]*")
"""A line of help that lists an option, and an option's long name."""

BASH = """# Completion of toolhand, for bash:
#     toolhand completion bash > ~/.local/share/bash-completion/completions/toolhand
_toolhand() {
  local current="${COMP_WORDS[COMP_CWORD]}" first="${COMP_WORDS[1]:-}" second="${COMP_WORDS[2]:-}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="@top@"
  else
    case "$first" in
@cases@
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _toolhand toolhand
"""

BEFORE_BASH_IN_ZSH = """# Completion of toolhand, for zsh; the second line belongs into ~/.zshrc, after compinit:
#     toolhand completion zsh > ~/.toolhand.zsh
#     source ~/.toolhand.zsh
autoload -U +X bashcompinit && bashcompinit
"""


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional, tyro.conf.arg(metavar="SHELL")],
) -> int:
    """Print what a shell needs to complete commands and options with Tab.

    Args:
        shell: bash, zsh or fish. Write it to a file, since it takes seconds to make; its first lines say to which.
    """
    words = words_by_command()
    print({"bash": _bash, "zsh": lambda known: BEFORE_BASH_IN_ZSH + _bash(known), "fish": _fish}[shell](words), end="")
    return 0


def words_by_command() -> Words:
    """Every command with the words that can follow it; this loads the modules of all commands."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {(): tuple(COMMANDS)}
    for name, entry in COMMANDS.items():
        if isinstance(entry, Group):
            found[(name,)] = tuple(entry.commands)
            found |= {(name, inner): _options(command) for inner, command in entry.commands.items()}
        else:
            found[(name,)] = _options(entry)
    return found


def _options(command: CliCommand) -> tuple[str, ...]:
    """Long options of a command; of one that parses its own arguments those are not known."""
    if isinstance(command, Program):
        return ("--help",)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        tyro.cli(command.load(), args=["--help"], prog="toolhand")
    listed = (line for line in shown.getvalue().splitlines() if _LISTED.match(line))
    return tuple(dict.fromkeys(name for line in listed for name in _LONG.findall(line.split("   ")[0])))


def _bash(words: Words) -> str:
    cases = []
    for name, entry in COMMANDS.items():
        own = " ".join(words[(name,)])
        if not isinstance(entry, Group):
            cases.append(f'      {name}) words="{own}" ;;')
            continue
        inner = "\n".join(f'          {sub}) words="{" ".join(words[(name, sub)])}" ;;' for sub in entry.commands)
        cases.append(
            f'      {name})\n        if [ "$COMP_CWORD" -eq 2 ]; then\n          words="{own}"\n        else\n'
            f'          case "$second" in\n{inner}\n          esac\n        fi ;;'
        )
    return BASH.replace("@top@", " ".join(words[()])).replace("@cases@", "\n".join(cases))


def _fish(words: Words) -> str:
    lines = ["# Completion of toolhand, for fish: toolhand completion fish > ~/.config/fish/completions/toolhand.fish"]
    for name, entry in COMMANDS.items():
        lines.append(f"complete -c toolhand -n __fish_use_subcommand -a {name} -d {_quoted(entry.summary)}")
        seen = f"__fish_seen_subcommand_from {name}"
        if isinstance(entry, Group):
            none = f"{seen}; and not __fish_seen_subcommand_from {' '.join(entry.commands)}"
            for inner, command in entry.commands.items():
                lines.append(f"complete -c toolhand -n {_quoted(none)} -a {inner} -d {_quoted(command.summary)}")
                both = f"{seen}; and __fish_seen_subcommand_from {inner}"
                lines += _fish_options(both, words[(name, inner)])
        else:
            lines += _fish_options(seen, words[(name,)])
    return "\n".join(lines) + "\n"


def _fish_options(condition: str, options: tuple[str, ...]) -> list[str]:
    return [f"complete -c toolhand -n {_quoted(condition)} -l {option.removeprefix('--')}" for option in options]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
