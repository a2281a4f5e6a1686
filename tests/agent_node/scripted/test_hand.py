"""The robot remembers by which words it grasped what it holds, and takes no other name for it."""

import pytest

from tests.agent_node.scripted.test_scripted import TextWorld, item, run
from tests.refusals import refused
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.hand import is_called, of_what_is_held, renamed
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.mark.parametrize(
    ("said", "called", "same"),
    [
        ("baseball", "baseball", True),
        ("ball", "baseball", True),
        ("white ball", "baseball", True),
        ("thing", "baseball", True),
        ("baseball", "ball", False),
        ("honey", "baseball", False),
        ("tennis ball", "baseball", False),
        ("sausage", "hot dog", True),
        ("mayonnaise", "mayo", True),
        ("left can", "left can", True),
        ("right can", "left can", False),
        ("left can", "can", False),
        ("can next to the bowl", "can", False),
        ("can, not the red one", "can", False),
        ("spaceship", "spaceship", True),
        ("baseball", "", False),
        ("baseball", "...", False),
    ],
)
def test_a_name_fits_where_all_that_the_words_of_the_grasp_may_mean_fits_it(said: str, called: str, same: bool) -> None:
    assert is_called(parse_noun_phrase(said), called) is same


HELD = [
    "put the baseball in front of the tea box",
    "put the white ball in front of the tea box",
    "put it in front of the tea box",
    "put the ball that you hold in front of the tea box",
]


@pytest.mark.parametrize("sentence", HELD)
def test_what_is_held_is_placed_by_its_name(sentence: str) -> None:
    command = of_what_is_held(parse_command(sentence), "baseball")
    assert (command.action, command.target, command.relation) == ("place", None, "in_front_of")


@pytest.mark.parametrize(
    "sentence",
    [
        "put the honey that you hold on the table",
        "put the honey on the table",
        "put the honey in front of the tea box",
        "pick up the honey",
        "pick up the baseball",
        "put the tennis ball that you hold on the table",
    ],
)
def test_another_name_or_a_second_object_is_refused_with_what_is_held_and_the_way_out(sentence: str) -> None:
    held = r"The gripper (already holds the baseball|holds the baseball, and I cannot tell that it is the [a-z ]+)\."
    with refused(ErrorCode.ALREADY_HOLDING, held, hint='Say "put it down", or where to put it, before anything else.'):
        of_what_is_held(parse_command(sentence), "baseball")


def test_an_empty_hand_changes_no_command() -> None:
    for sentence in ("put the honey that you hold on the table", "put the honey behind the box", "pick up the honey"):
        command = parse_command(sentence)
        assert of_what_is_held(command, None) is command


def test_what_nobody_has_named_is_called_it_alone() -> None:
    assert of_what_is_held(parse_command("put it behind the box"), "").target is None
    with pytest.raises(ToolError, match="nobody has named"):
        of_what_is_held(parse_command("put the honey behind the box"), "")


def test_a_look_tells_what_is_held() -> None:
    look = "Captured 640x480 image from the robot camera. The gripper holds an object{}. Use $captured_image to ..."
    assert Response(look.format(" that was grasped as 'Bob's red box'")).held == "Bob's red box"
    assert Response(look.format("")).held == ""
    assert Response("Captured 640x480 image from the robot camera. Use $captured_image.").held is None
    assert Response("Grasp executed successfully. The gripper holds an object 0.062 m wide.").held is None


class HoldingWorld(TextWorld):
    """A world whose gripper holds a baseball from an earlier command."""

    def __init__(self) -> None:
        super().__init__([item("tea box", 0.6, 0.4, "box"), item("honey", 0.2, 0.4, "jar")])
        self.held = item("baseball", 0.9, 0.9, "ball")

    def robot_capture_image(self) -> str:
        holds = " The gripper holds an object that was grasped as 'baseball'." if self.held else ""
        return self._image(f"Captured 640x480 image from the robot camera.{holds}", camera=True)


@pytest.mark.parametrize("sentence", HELD)
def test_the_policy_looks_for_no_object_that_it_holds(sentence: str) -> None:
    world = HoldingWorld()
    answer, _ = run(sentence, world)
    assert answer == "Placed the baseball in front of the tea box."
    assert world.held is None
    assert "robot.execute_grasp" not in world.names()


@pytest.mark.parametrize(
    "sentence", ["put the honey that you hold on the table", "pick up the honey", "put the honey next to the tea box"]
)
def test_with_a_full_hand_nothing_moves_for_another_object(sentence: str) -> None:
    world = HoldingWorld()
    answer, _ = run(sentence, world)
    assert answer.startswith("ALREADY_HOLDING: The gripper holds the baseball")
    assert 'Say "put it down"' in answer
    assert world.names() == ["robot.capture_image"] + ["robot.get_depth_with_pointcloud"] * (
        "that you hold" not in sentence
    )


def test_another_name_for_what_is_held_is_one_that_it_may_have() -> None:
    assert renamed(parse_command("put the apple on the table"), "round fruit") is not None
    assert renamed(parse_command("put the honey on the table"), "round fruit") is None
    assert renamed(parse_command("put the left apple on the table"), "round fruit") is None
    assert renamed(parse_command("pick up the apple"), "round fruit") is None
    assert renamed(parse_command("put the apple on the table"), None) is None
