"""The pages about learning name every reward, and only what exists."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from toolhand.training.rewards import REWARDS

PAGES = (
    "reference/rewards",
    "reference/data",
    "reference/recipes",
    "guides/collect_rollouts",
)
DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join((DOCS / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)


def test_the_table_has_each_reward_once_with_its_function() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| .* \| `toolhand\.training\.rewards\.(\w+)\.(\w+)`", PAGE, re.MULTILINE)
    assert [name for name, _, _ in rows] == list(REWARDS)
    for name, module, function in rows:
        if name != "peria.path":  # two functions, one after the other
            assert REWARDS[name] is getattr(import_module(f"toolhand.training.rewards.{module}"), function)


def test_every_function_that_is_named_exists() -> None:
    named = re.findall(r"`(toolhand\.training(?:\.\w+)+)\.(\w+)`", PAGE)
    assert len(named) > 40
    assert not [f"{module}.{name}" for module, name in named if not hasattr(import_module(module), name)]


def program(with_words: str) -> str:
    (found,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if with_words in block)
    return str(found)


def test_the_program_runs_and_prints_the_advantages_of_four_turns(capsys: pytest.CaptureFixture[str]) -> None:
    exec(program("or_gigpo"), {})
    assert capsys.readouterr().out.count("array(") == 2


def test_the_program_with_a_session_prints_its_roles_a_look_and_its_score(capsys: pytest.CaptureFixture[str]) -> None:
    exec(program("environment.open"), {})
    roles, tools, looked, score = capsys.readouterr().out.splitlines()
    assert roles == "['system', 'user']"
    assert int(tools) > 10
    assert looked.startswith("Captured 320x240 image")
    assert looked.endswith("(240, 320, 3) None False")
    assert score == "0.0 {'grasp_point': 0.0} ('the last grasp closes on nothing',) {}"


def test_the_program_with_a_task_and_a_recipe_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    exec(program("recipe_named"), {})
    assert "'kind': 'distance'" in capsys.readouterr().out


def test_the_function_of_the_other_program_can_be_defined() -> None:
    exec(program("def advantages_of"), {})
