r"""Every prompt that the papers print, word by word; `prompts/` holds them as printed, blanks and line breaks included.

SpaceTools' figure 3, PERIA's figure 5 (a format string: its braces are doubled), E-ViC's figure 8 without the schemas,
which tests/papers/test_evic.py holds, and LAST's figure 6 with its six tool lines. Only line breaks may differ.
"""

import json
from pathlib import Path

import pytest

from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.tools.suites import SUITES

FOLDER = Path(__file__).with_name("prompts")
TASK = "pick up the {task_type} box"
"""Whose blank is the operator's own word, and stays."""

SCHEMAS = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"properties": {}}}}]
LISTED = json.dumps(SCHEMAS[0])


def printed(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=SUITES)).toolbox


@pytest.mark.parametrize("name", ["spacetools", "evic"])
def test_a_system_prompt_is_the_papers_with_the_schemas_filled_in(name: str) -> None:
    filled = printed(f"{name}.system").replace("{tools}", LISTED)
    assert in_one_line(load_protocol(name).system_prompt(SCHEMAS)) == in_one_line(filled)


def test_perias_system_prompt_is_figure_5() -> None:
    filled = printed("peria.system").format(tool_definitions_text=LISTED)
    assert in_one_line(load_protocol("peria").system_prompt(SCHEMAS)) == in_one_line(filled)


def test_perias_user_prompt_is_figure_5_with_the_kind_of_task_and_the_form_of_the_answer() -> None:
    protocol = load_protocol("peria")
    filled = printed("peria.user").format(
        task_type="robot manipulation or visual",
        Question=TASK,
        output_format="one sentence that answers the question, or says what was done or why it could not be done",
    )
    assert in_one_line(protocol.user_prompt(TASK)) == in_one_line(filled)


def test_evics_user_prompt_is_figure_8() -> None:
    filled = printed("evic.user").replace("{Query}", TASK)
    assert in_one_line(load_protocol("evic").user_prompt(TASK)) == in_one_line(filled)


def test_lasts_system_prompt_is_figure_6_with_its_own_six_tool_lines(toolbox: Toolbox) -> None:
    schemas = [schema for schema in toolbox.schemas() if toolbox.specs[schema["function"]["name"]].suite == "last"]
    assert in_one_line(load_protocol("last").system_prompt(schemas)) == in_one_line(printed("last.system"))


def test_last_lists_other_tools_after_its_own_and_none_that_is_not_offered(toolbox: Toolbox) -> None:
    schemas = [toolbox.find(name).schema() for name in ("draw_box", "ZoomCrop", "CountObjects")]
    prompt = load_protocol("last").system_prompt(schemas)
    lines = [line.partition("(")[0] for line in prompt.splitlines() if line.startswith("• ") and "(" in line]
    assert lines == ["• CountObjects", "• ZoomCrop", "• draw_box"]
    assert "• draw_box(image_idx, boxes): Render rectangular bounding boxes" in prompt


@pytest.mark.parametrize("name", ["spacetools", "last"])
def test_the_others_print_no_user_prompt_and_get_the_sentence_alone(name: str) -> None:
    assert load_protocol(name).user_prompt(TASK) == TASK
