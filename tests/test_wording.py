"""How the project describes itself: whole noun phrases for arguments, and a layout that the formatter makes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("tool_nodes", "sim", "agent_node", "training", "bench", "console", "toolhand")
ROOMS = (*OURS, "ros2_ws/src/rclpy_zenoh/rclpy_zenoh")
FRAGMENT = re.compile(r"    ([\w*, ]+): (?:Of|As|Whose|What)\b")
"""The line of an argument or attribute whose description leans on its name."""


def fragments(source: str) -> Iterator[str]:
    """Names of arguments and attributes that are not described by a noun phrase."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in (node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)):
        if any(ast.unparse(decorator).startswith("tool(") for decorator in node.decorator_list):
            continue  # models read these, and a recorded conversation repeats them to the letter
        section = ""
        for line in (ast.get_docstring(node) or "").splitlines():
            if line and not line.startswith(" "):
                section = line
            elif section in ("Args:", "Attributes:") and (found := FRAGMENT.match(line)):
                yield f"{node.name}: {found[1]}"


@pytest.mark.essential
def test_arguments_are_described_in_noun_phrases() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): list(fragments(file.read_text(encoding="utf-8"))) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


def test_a_fragment_is_found() -> None:
    source = 'def f(a, b):\n    """F.\n\n    Args:\n        a: Of the scene.\n        b: Number of steps.\n    """\n'
    assert list(fragments(source)) == ["f: a"]


def test_the_formatter_lays_out_nearly_everything() -> None:
    files = [*ROOT.glob("*/**/*.py"), *ROOT.glob("*.py")]
    own = [file for file in files if not any(part.startswith(".") for part in file.relative_to(ROOT).parts)]
    mark = "# fmt: " + "skip"
    assert sum(file.read_text(encoding="utf-8").count(mark) for file in own) < 40
