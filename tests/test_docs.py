"""The documents keep up with the code."""

import json
import re
import runpy
import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from docs.site import command_docs
from docs.site.blocks import BLOCK, by_hand
from docs.site.tool_docs import own_suites
from toolhand.bench.stats import rate_row, timing_row
from toolhand.cli.commands import COMMANDS, CliCommand, Group, Program
from toolhand.cli.main import _parse
from toolhand.sim.scene import files as scene_files
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene, named_scene, parse_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.env.goal_from_text import task_from_text

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "AGENTS.md", "examples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def test_every_tool_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### `(.+)`$", page, re.MULTILINE)
    specs = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=own_suites())).toolbox.specs
    assert sorted(headings) == sorted(f"{name}({', '.join(spec.kinds)})" for name, spec in specs.items())


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ros2_ws" / "README.md"], ids=lambda page: page.parent.name + page.name
)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_error_codes_named_in_the_documents_exist() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    words = set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)))
    known = r"(ANTHROPIC|CYCLONEDDS|MUJOCO|OPENAI|OPENBLAS|PIP|RAY|RCLPY|RMW|ROS|TOOLHAND|VERL|VLLM|XDG|ZENOH)_"
    variables = {word for word in words if re.match(known, word)}
    assert words - variables - {"FOLDER_OR_NAME", "NO_COLOR"} <= set(map(str, ErrorCode))


def test_environment_variables_named_in_the_ros_page_are_read_somewhere() -> None:
    page = (ROOT / "docs" / "reference" / "ros.md").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "ros2_ws").rglob("*.py"))
    named = set(re.findall(r"^\| ([A-Z_]{6,}) \|", page, re.MULTILINE))
    assert named
    assert not [name for name in named if f'"{name}"' not in code]


def test_files_named_in_the_documents_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`([\w/]+\.(?:py|yaml|md|urdf|css|txt))`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{page.name}: {name}"


# -- tables ----------------------------------------------------------------------------------------------


def test_tables_of_the_benchmarks_are_printed_from_their_json() -> None:
    rates = [rate_row("pick", 70, 70), rate_row("false_success", 0, 200), rate_row("nothing", 0, 0)]
    document = {"rows": [*rates, timing_row("one_plan", [0.009] * 9 + [0.05])]}
    printed = runpy.run_path(str(ROOT / "docs" / "site" / "tables.py"))["table"](["`sim`"], [document])
    assert printed.splitlines() == [
        "|  | `sim` |",
        "| --- | --- |",
        "| pick | 100.0 % (70/70; 94.8..100.0) |",
        "| false success | 0.0 % (0/200; 0.0..1.9) |",
        "| nothing |  |",
        "| one plan | 9 / 32 / 46 |",
    ]
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert "| pick | 100.0 % (70/70; 94.8..100.0) |" in page


# -- how much there is to read, and how it is found ------------------------------------------------------

LONGEST_README = 900
"""Words: one screen and two more."""

LONGEST_PAGE = 2400
"""Words of a page that are written by hand."""

MOST_WORDS = 40_000
"""Words of README, CHANGELOG and docs together that are written by hand, as `wc -w` counts them, signs of tables
included."""


def words_by_hand(page: Path) -> int:
    return len(by_hand(page.read_text(encoding="utf-8")).split())


def test_only_what_a_program_of_the_site_writes_stands_between_markers() -> None:
    programs = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "site").glob("*.py"))
    made = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]
    assert {page.name for page in made} >= {"tools.md", "command_line.md", "papers.md"}
    assert not [page.name for page in made if f'{page.name}"' not in programs]


def test_the_readme_and_the_pages_are_short() -> None:
    words = {page: words_by_hand(page) for page in PAGES}
    assert words[ROOT / "README.md"] < LONGEST_README
    assert not [f"{page.name}: {count}" for page, count in words.items() if count > LONGEST_PAGE]


def test_the_documents_together_are_short() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    assert sum(map(words_by_hand, pages)) <= MOST_WORDS, "shorten one first"


def linked(page: Path) -> set[Path]:
    targets = re.findall(r"\]\((?!http)([^)#]+\.md)[^)]*\)", page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_can_be_reached_from_the_readme() -> None:
    found, ahead = set(), {ROOT / "README.md"}
    while ahead:
        page = ahead.pop()
        found.add(page)
        ahead |= linked(page) - found
    assert not [str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md") if page not in found]


def names_of(commands: Mapping[str, CliCommand | Group], before: str = "") -> list[str]:
    """Commands as they are typed, those of groups too."""
    return [
        typed
        for name, entry in commands.items()
        for typed in (names_of(entry.commands, f"{name} ") if isinstance(entry, Group) else [before + name])
    ]


def test_the_page_of_the_command_line_has_every_command_with_its_summary() -> None:
    page = (ROOT / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE))
    names = [name for name in names_of(COMMANDS) if not name.startswith("bench ")]  # `toolhand bench` lists those
    assert {name for name in listed if not name.startswith("--")} - {"toolhand"} == set(names)
    assert [name for name in names if listed[name] != command_docs.shown(summary(name))] == []
    assert command_docs.filled(page) == page, "run python -m docs.site.command_docs"


def test_a_command_that_no_table_of_the_page_names_stands_in_the_last_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (ROOT / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    monkeypatch.setattr(command_docs, "COMMANDS", {**COMMANDS, "fresh": CliCommand("a:b", "Something new.")})
    assert command_docs.filled(page).count("| `fresh` | Something new. |\n<!-- check:end -->") == 1


def summary(typed: str) -> str:
    entry: Any = COMMANDS
    for name in typed.split():
        entry = entry.commands[name] if isinstance(entry, Group) else entry[name]
    return str(entry.summary)


COMMAND = re.compile(r"^ {4}(?:\.venv/bin/)?toolhand ([a-z](?:[^#\n\\]|\\\n)*)", re.MULTILINE)


def commands_of_the_pages() -> list[tuple[str, str]]:
    """(page, what is typed behind `toolhand`) of each command that a page shows on a line of its own."""
    return sorted(
        {
            (page.name, " ".join(typed.replace("\\\n", " ").split()))
            for page in PAGES
            if page.name not in OF_THEIR_DAYS
            for typed in COMMAND.findall(page.read_text(encoding="utf-8"))
        }
    )


OF_THEIR_DAYS = {"CHANGELOG.md"}
"""Pages whose commands were there when they were written."""


@pytest.mark.parametrize(("page", "typed"), commands_of_the_pages())
def test_every_command_of_a_page_is_one_with_these_options(page: str, typed: str) -> None:
    words = shlex.split(typed)
    if isinstance(COMMANDS[words[0]], Program):
        return  # it parses its words when it runs
    assert callable(_parse(words))


# -- sentences and scenes ------------------------------------------------------------------------------

SCENES_PAGE = (ROOT / "docs" / "reference" / "scenes.md").read_text(encoding="utf-8")
SENTENCE = re.compile(r"""toolhand run "([^"]+)"|TASK="([^"]+)"|\{text: ([^}]+)\}""")
SCENE = re.compile(r"(?:--scene |scene:=)(\S+)")


def block(language: str, page: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


def scene_of(name: str) -> Scene:
    return parse_scene(block("yaml", SCENES_PAGE), name) if name == "my_scene.yaml" else named_scene(name)


def sentences() -> list[tuple[str, str, str]]:
    """(page, scene, sentence) of every sentence that a page offers to be typed; a graph keeps the scene it has."""
    found = []
    for page in PAGES:
        if page.name == "objects.md":
            continue  # its objects come in a package, with which tests/extensions/test_objects.py says the sentence
        graph = "example"
        for line in page.read_text(encoding="utf-8").splitlines():
            scene = SCENE.search(line)
            if "toolhand up" in line:
                graph = scene[1] if scene else "example"
            in_graph = "--transport ros" in line or "{text:" in line
            for sentence in SENTENCE.findall(line):
                where = scene[1] if scene else graph if in_graph else "example"
                found.append((page.name, where, next(filter(None, sentence))))
    return found


def test_sentences_are_found_in_the_pages() -> None:
    assert {page for page, _, _ in sentences()} >= {"README.md", "ros.md", "recording.md", "scenes.md"}


@pytest.mark.parametrize(("page", "scene", "sentence"), sorted(set(sentences())))
def test_every_sentence_that_is_offered_means_something_in_its_scene(page: str, scene: str, sentence: str) -> None:
    if sentence.startswith("put it "):
        return  # what an earlier sentence of the same page has left in the gripper
    task = task_from_text(sentence, Station(scene_of(scene)))
    assert isinstance(task, PickTask | PlaceTask), task.goal
    assert len(task.target_ids) == 1


def test_the_scene_in_the_documents_is_one_and_its_keys_are_all_that_there_are() -> None:
    scene = scene_of("my_scene.yaml")
    assert [placed.id for placed in scene.objects] == ["apple_1", "white_bowl_1", "red_box_1", "second_box"]
    tables = [rest.split("\n\n")[0] for rest in SCENES_PAGE.split("| key of ")[1:]]
    keys = [re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) for table in tables]
    assert [sorted(part) for part in keys] == [
        sorted(entry.name for entry in fields(kind)) for kind in (scene_files._Object, scene_files._File)
    ]
    for low, high in (workspace.TABLE_X, workspace.TABLE_Y, workspace.REACH_RADIUS):
        assert f"{low:.2f} to {high:.2f} m" in SCENES_PAGE


def test_the_example_result_of_the_first_tutorial_has_the_fields_of_a_result() -> None:
    shown = json.loads(block("json", (ROOT / "docs" / "tutorials" / "first_pick.md").read_text(encoding="utf-8")))
    station = Station(load_scene(EXAMPLE_SCENE))
    task = task_from_text(shown["task"], station)
    assert shown["judged_against"] == {"goal": task.goal, "source": task.source}


def test_the_python_of_the_page_of_training_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(block("python", (ROOT / "training" / "README.md").read_text(encoding="utf-8")), {})
    assert "'picked': 1.0" in capsys.readouterr().out
