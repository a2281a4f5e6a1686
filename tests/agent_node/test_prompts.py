"""What a model is told beside a paper's words: only of tools that it has, how to ask, how to give up, which units."""

import pytest

from tests.agent_node import prompts
from toolhand.agent_node.advice import advice
from toolhand.agent_node.policies.registry import protocol_of, suites_of
from toolhand.agent_node.protocol import load_protocol, protocol_names

MOVING = ("grasp", "gripper", "execute", "place")
NATIVE_TOOLS = ["look", "pick", "place", "park", "release", "look_closer"]
SESSION_TOOLS = ("operator.ask", "robot.recall", "robot.undo")
UNITS = {
    "native": "0 to 1",
    "spacetools": "0 to 1",
    "peria": "0 to 1000",
    "last": "in pixels",
    "evic": "pixels of the picture",
}


def test_the_prompts_are_those_of_the_snapshot() -> None:
    assert prompts.snapshot() == prompts.SNAPSHOT.read_text(encoding="utf-8"), "python -m tests.agent_node.prompts"


@pytest.mark.parametrize(("protocol", "suites"), prompts.CASES)
def test_a_prompt_says_how_to_ask_how_to_give_up_and_the_units_and_names_no_tool_that_is_not_there(
    protocol: str, suites: str
) -> None:
    found = prompts.prompt(protocol, suites)
    moves = bool({"spacetools", "native"} & set(suites.split(",")))
    asks = "operator.ask" if protocol == "native" and moves else "AMBIGUOUS: question?"
    assert asks in found.advice
    assert "`CODE: why`" in found.advice
    assert all(UNITS[suite] in found.advice for suite in suites.split(","))
    assert ("No tool here moves the robot" in found.advice) is not moves
    if not moves:
        assert not any(word in found.advice.lower() for word in MOVING)
    assert found.tokens[0] < (320 if protocol == "native" else 800)


@pytest.mark.parametrize("name", ["spacetools", "peria", "last", "evic"])
@pytest.mark.parametrize(("spec", "advised"), [("openai:m", False), ("scripted", True), ("smollm2", True)])
def test_a_papers_prompt_stays_as_it_is_printed_unless_a_model_is_to_be_told_more(
    name: str, spec: str, advised: bool
) -> None:
    assert protocol_of(spec, name, advised) is load_protocol(name)
    printed = load_protocol(name).system_prompt([])
    told = protocol_of("openai:m", name, advised=True).system_prompt([])
    assert told.startswith(f"{printed}\n\n")


def test_the_tools_of_strong_models_have_a_prompt_of_about_two_hundred_tokens() -> None:
    tools = [f"robot.{name}" for name in NATIVE_TOOLS] + list(SESSION_TOOLS)
    schemas = [{"function": {"name": name, "description": "", "parameters": {"properties": {}}}} for name in tools]
    told = load_protocol("native").system_prompt(schemas)
    assert len(told) / prompts.CHARACTERS_A_TOKEN <= 220
    assert "operator.ask" in told
    assert "AMBIGUOUS" not in told
    assert "robot.pick" in told
    assert "grasp_generator" not in told


def test_no_tools_no_word_of_any() -> None:
    assert "robot." not in advice([], of_a_paper=False)


@pytest.mark.parametrize("name", protocol_names())
@pytest.mark.parametrize("spec", ["scripted", "smollm2", "replay:x", "openai:m", "transformers:m"])
def test_a_policy_has_the_suites_of_its_protocol_unless_somebody_names_them(name: str, spec: str) -> None:
    protocol = load_protocol(name)
    assert suites_of(spec, protocol, "peria,evic") == "peria,evic"
    own = suites_of(spec, protocol)
    assert own == ("native" if name == "native" and spec in ("openai:m", "transformers:m") else "spacetools")
