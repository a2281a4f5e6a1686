"""Numbers of perception, grasping, planning and simulation say what they are: unit, meaning, and source."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMERIC = ("tool_nodes", "sim", "agent_node", "bench")
"""Rooms whose constants are physical quantities, thresholds and budgets."""
NAMED_ELSEWHERE = {"drawing", "seccomp", "lockdown", "landlock", "interaction", "peer"}
"""Modules whose numbers are colours, or the kernel's under the kernel's names."""


def is_numeric(value: ast.expr) -> bool:
    """True for numbers, sums of them, collections of them, and arrays made of them."""
    match value:
        case ast.Constant():
            return isinstance(value.value, int | float) and not isinstance(value.value, bool)
        case ast.UnaryOp():
            return is_numeric(value.operand)
        case ast.BinOp():
            return is_numeric(value.left) or is_numeric(value.right)
        case ast.Tuple() | ast.List() | ast.Set():
            return bool(value.elts) and all(is_numeric(item) for item in value.elts)
        case ast.Dict():
            return bool(value.values) and all(is_numeric(item) for item in value.values)
        case ast.Call():
            return any(is_numeric(argument) for argument in value.args)
    return False


def undocumented(source: str) -> Iterator[str]:
    """Names of the numeric constants of a module without a docstring right below them."""
    for node, after in pairwise([*ast.parse(source).body, ast.Pass()]):
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
            case _:
                continue
        explained = (
            isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
        )
        if all(name == name.upper() for name in names) and is_numeric(value) and not explained:
            yield from names


@pytest.mark.essential
def test_every_numeric_constant_is_explained() -> None:
    files = [file for room in NUMERIC for file in (ROOT / room).rglob("*.py") if file.stem not in NAMED_ELSEWHERE]
    found = {str(file.relative_to(ROOT)): list(undocumented(file.read_text(encoding="utf-8"))) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


def test_an_unexplained_number_is_found() -> None:
    source = 'A = 1\nB = 2\n"""Two."""\nC, D = 3, 4\n_E = np.array([-5.0])\nF: float = 2 * 3.0\nG = "text"\nh = 7\n'
    assert list(undocumented(source)) == ["A", "C", "D", "_E", "F"]
