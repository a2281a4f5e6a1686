"""Every example prints what its own docstring promises; every Python block of a guide stands in an example."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forked import Forks

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
GUIDES = ROOT / "docs" / "guides"
NEEDS = {"09_an_mcp_client": "mcp"}
"""Examples that need the package of an extra."""


def promise(example: Path) -> str:
    """The indented lines after "You will see:" of an example's docstring."""
    doc = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")))
    assert doc is not None
    assert f"python examples/{example.name}\n" in doc
    lines = doc.partition("\nYou will see:\n")[2].splitlines()
    assert any(lines), "it says what is printed"
    return "\n".join(line.removeprefix("    ") for line in lines).strip("\n") + "\n"


def as_pattern(promised: str) -> str:
    """`...` stands for anything within a line, on a line of its own for any number of lines."""
    lines = ["(?:.*\n)*" if line == "..." else f"{re.escape(line)}\n" for line in promised.splitlines()]
    return "".join(lines).replace(re.escape("..."), ".*")


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Programs that find the simulator, the tools and the agent imported."""
    forks = Forks("toolhand.cli.run_in_process", "toolhand.training.env.environment", "scipy.interpolate")
    yield forks
    forks.close()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_its_docstring_promises(example: Path, forks: Forks) -> None:
    package = NEEDS.get(example.stem)
    if package is not None and importlib.util.find_spec(package) is None:
        pytest.skip(f"needs the package {package}")
    run = forks.run([str(example)], ROOT)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(as_pattern(promise(example)), run.stdout), run.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_enough_to_copy(example: Path) -> None:
    assert example.read_text(encoding="utf-8").count("\n") <= 90


def test_the_list_of_the_examples_is_complete() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"\]\((\d\d_\w+\.py)\)", page) == [example.name for example in EXAMPLES]


def blocks(page: Path) -> list[str]:
    """Its Python, without indentation."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def guides_that_add() -> list[Path]:
    """All guides but those of the table "to do", which show commands and other packages' programs."""
    table = (GUIDES / "README.md").read_text(encoding="utf-8").partition("| to do |")[2].partition("\n\n")[0]
    assert table
    return sorted({*GUIDES.glob("[a-z]*.md")} - {GUIDES / name for name in re.findall(r"\]\((\w+\.md)\)", table)})


@pytest.mark.parametrize("page", guides_that_add(), ids=lambda path: path.stem)
def test_the_definitions_of_a_guide_stand_word_for_word_in_an_example(page: Path) -> None:
    code = [example.read_text(encoding="utf-8") for example in EXAMPLES]
    defined = [
        ast.get_source_segment(block, node)
        for block in blocks(page)
        for node in ast.parse(block).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) or ast.unparse(node).startswith("OBJECTS = ")
    ]
    assert [source for source in defined if source and not any(source in text for text in code)] == []


@pytest.mark.parametrize("page", guides_that_add(), ids=lambda path: path.stem)
def test_the_python_of_a_guide_runs_as_it_stands_in_one_file(page: Path, forks: Forks, tmp_path: Path) -> None:
    program = tmp_path / "my_package.py"
    program.write_text("\n\n".join(blocks(page)), encoding="utf-8")
    run = forks.run([str(program)], tmp_path)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_that_defines_something_prints_nothing_when_it_is_imported(example: Path) -> None:
    code = ast.parse(example.read_text(encoding="utf-8"))
    if any(isinstance(node, ast.ClassDef) for node in code.body):
        statements = [
            node for node in code.body if isinstance(node, ast.Expr | ast.For | ast.While | ast.With | ast.If)
        ]
        docstring, *others = statements
        assert isinstance(docstring, ast.Expr)
        printing = [node for node in others if ast.unparse(node) != "overlay.install()"]  # before rclpy is imported
        assert [ast.unparse(node.test) for node in printing if isinstance(node, ast.If)] == ["__name__ == '__main__'"]
        assert len(printing) == 1
