"""Questions: answered by what the tools measure, with numbers and their uncertainty; nothing moves."""

import re
from dataclasses import replace

import numpy as np
import pytest

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import AS_SPACETOOLS
from toolhand.agent_node.dialogue.acts import QuestionAct
from toolhand.agent_node.dialogue.measured import SeenBox, read_box
from toolhand.agent_node.dialogue.questions import question_policy
from toolhand.agent_node.dialogue.telling import side_words, sides, without_points
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import DoneDeed, RobotMemory, Spot
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.language.words import counted
from toolhand.tool_nodes.results import ErrorCode

SCENE = """
objects:
  - {name: cereal box, position: [0.40, -0.25], yaw_deg: 0}
  - {name: tuna can, position: [0.50, 0.20]}
  - {name: tomato soup, position: [0.60, 0.0]}
"""
LEMON = DoneDeed("pick up the lemon", "pick", "lemon", Spot((0.3, 0.7), (0.5, -0.2, 0.0)), time_s=3.0)
LOST = DoneDeed("put it in the bin", "place", "lemon", success=False, error_code="OBJECT_DROPPED")
KINDS = {
    "see": (), "how_many": ("cans",), "where_is": ("the tuna can",), "is_there": ("a can",), "size": ("the tuna can",),
    "nearest_to_me": (), "nearest_to_you": (), "nearest": ("the tuna can",), "holding": (), "reach": ("the tuna can",),
    "apart": ("the tuna can", "the tomato soup"), "most": (), "more": ("the tuna can", "the tomato soup"),
    "what_stands": ("next to the tuna can",), "empty": ("the tuna can",), "colour": ("the tuna can",),
    "related": ("the tuna can", "next to the tomato soup"), "which_side": ("the tuna can", "the tomato soup"),
    "nearer": ("the tuna can", "the tomato soup", "the cereal box"), "what_is": ("the tuna can",), "did": (),
    "why_not": (), "can": (), "help": (),
}  # fmt: skip
"""What a question of each kind is about."""


@pytest.fixture(scope="module", params=["sim", "pixels"])
def station(request: pytest.FixtureRequest) -> Station:
    return Station(parse_scene(SCENE), StationConfig(perception=request.param, image_size=(320, 240)))


def asked(
    station: Station,
    kind: str,
    *objects: str,
    memory: RobotMemory | None = None,
    by: str = "spacetools",
    word: str = "",
) -> Episode:
    protocol = load_protocol(by)
    policy = question_policy(QuestionAct(kind, objects, word), memory or RobotMemory(), protocol)
    return Agent(policy, station.toolbox, replace(AS_SPACETOOLS, protocol=protocol)).run("a question")


def numbers(answer: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", answer)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_is_answered_and_nothing_moves(station: Station, kind: str) -> None:
    before = station.world.snapshot().time
    memory = RobotMemory([LEMON, LOST])
    objects = KINDS[kind]
    episode = asked(station, kind, *objects, memory=memory)
    assert episode.success
    assert episode.error_code is None
    assert episode.answer
    assert not any(record.motion for record in episode.records)
    assert station.world.snapshot().time == before
    assert asked(station, kind, *objects, memory=memory).answer == episode.answer


def test_what_is_seen_is_told_by_sides(station: Station) -> None:
    answer = asked(station, "see").answer
    assert answer.startswith("I see three things. On the left: cereal box.")
    assert "In the middle: tomato soup." in answer
    assert "On the right: tuna can." in answer


def test_objects_of_a_kind_are_counted_with_their_places(station: Station) -> None:
    answer = asked(station, "how_many", "cans").answer
    assert answer.startswith("Two cans: one ")
    assert "hides" in answer
    none = asked(station, "how_many", "lemons")
    assert none.success
    assert none.answer.startswith("None: no 'lemons' here; I see: ")


def test_an_object_is_there_or_not(station: Station) -> None:
    assert asked(station, "is_there", "a can").answer.startswith("Yes: two cans: one ")
    missing = asked(station, "is_there", "a lemon")
    assert missing.success
    assert missing.answer.startswith("No: ")


def test_a_place_is_told_in_words(station: Station) -> None:
    answer = asked(station, "where_is", "the tuna can").answer
    assert "on the right" in answer
    assert numbers(answer) == [1.0]


def test_a_size_has_its_uncertainty(station: Station) -> None:
    high, long, wide, *errors = numbers(asked(station, "size", "the cereal box").answer)
    true = 100 * np.asarray(station.scene.objects[0].asset.size_m)
    assert high == pytest.approx(true[2], abs=errors[0])
    assert (long, wide) == pytest.approx(sorted(true[:2], reverse=True), abs=errors[1])


def test_a_distance_has_its_uncertainty(station: Station) -> None:
    answer = asked(station, "apart", "the tuna can", "the tomato soup").answer
    apart, room, error = numbers(answer)
    assert apart == pytest.approx(100 * np.hypot(0.10, 0.20), abs=error + 0.5)
    assert 10 < room < apart


def test_the_nearest_is_the_nearest_to_whom_was_asked(station: Station) -> None:
    assert "tomato soup is nearest to you" in asked(station, "nearest_to_me").answer
    assert "cereal box is nearest to me" in asked(station, "nearest_to_you").answer
    assert "tomato soup is nearest to the tuna can" in asked(station, "nearest", "the tuna can").answer
    farthest = asked(station, "nearest", "the tuna can", word="farthest from").answer
    assert "cereal box is farthest from the tuna can" in farthest


@pytest.mark.parametrize(
    ("word", "first"),
    [("taller", "cereal box"), ("smaller", "tuna can"), ("right", "tuna can"), ("left", "cereal box")],
)
def test_two_are_compared_by_what_was_asked(station: Station, word: str, first: str) -> None:
    assert f"he {first} is" in asked(station, "more", "the cereal box", "the tuna can", word=word).answer
    assert asked(station, "most", word="heaviest").error_code is ErrorCode.NOT_UNDERSTOOD


def test_what_cannot_be_told_is_a_failure_with_its_code(station: Station) -> None:
    for kind in ("size", "where_is", "reach"):
        episode = asked(station, kind, "the lemon")
        assert not episode.success
        assert episode.error_code is ErrorCode.OBJECT_NOT_FOUND
    assert asked(station, "nearest", "the can").error_code is ErrorCode.AMBIGUOUS


def test_reach_is_told_by_a_plan(station: Station) -> None:
    assert asked(station, "reach", "the tomato soup").answer.startswith("Yes: ")
    station_far = Station(parse_scene("objects:\n  - {name: black bin, position: [0.45, 0.0]}\n"))
    assert asked(station_far, "reach", "the bin").success


def test_an_empty_hand_and_deeds_are_told_from_the_tools_and_the_memory(station: Station) -> None:
    assert asked(station, "holding", memory=RobotMemory([LEMON])).answer == "I hold nothing."
    assert asked(station, "did").answer == "I have done nothing yet."
    told = asked(station, "did", memory=RobotMemory([LEMON, LOST])).answer
    assert told.startswith("I picked up the lemon, which stood on the left at the front.")
    assert "slipped" in told
    assert "slipped" in asked(station, "why_not", memory=RobotMemory([LEMON, LOST])).answer
    assert asked(station, "why_not", memory=RobotMemory([LEMON])).answer.startswith("Nothing went wrong")


def test_a_protocol_of_one_call_a_turn_gives_the_same_answer(station: Station) -> None:
    assert asked(station, "see", by="peria").answer == asked(station, "see").answer


def test_what_is_held_is_told_by_its_name() -> None:
    policy = question_policy(QuestionAct("holding"), RobotMemory([LEMON]), load_protocol("spacetools"))
    conversation = [Message("system", ""), Message("user", "q", "q")]
    first = policy.respond(conversation)
    held = "Captured 640x480 image from the robot camera. The gripper holds an object that was grasped as 'lemon'."
    conversation += [
        Message("assistant", first.text),
        Message("tool", "", held, 0),
        Message("tool", "", "Captured.", 1),
    ]
    assert "I hold the lemon. It stood on the left at the front of the table." in policy.respond(conversation).text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The can is at (0.10, 0.20).", "The can is on the left at the back."),
        ("Which can, at (0.10, 0.20)?", "Which can?"),
        ("I took the tin to (0.50, 0.90) first.", "I took the tin (in the middle at the front) first."),
    ],
)
def test_an_operator_is_told_sides_in_the_place_of_points(text: str, told: str) -> None:
    assert without_points(text) == told


def test_numbers_and_names_are_plain_words() -> None:
    assert counted(2, "can") == counted(2, "cans") == "two cans"
    assert counted(1, "red boxes") == "one red box"
    assert side_words((0.1, 0.2)) == "on the left at the back"
    assert sides([("can", (0.1, 0.5)), ("can", (0.2, 0.5)), ("honey", (0.5, 0.5))]) == (
        "On the left: two cans. In the middle: honey."
    )


def box_at(x: float, half: float) -> SeenBox:
    bottom = np.array([[x - half, -half, 0.0], [x + half, -half, 0.0], [x + half, half, 0.0], [x - half, half, 0.0]])
    return SeenBox(np.array([2 * half, 2 * half, 0.1]), np.vstack([bottom, bottom + np.array([0.0, 0.0, 0.1])]))


def test_room_between_boxes_is_less_than_their_distance() -> None:
    assert box_at(0.0, 0.05).distance_m(box_at(0.3, 0.05)) == pytest.approx(0.3)
    assert box_at(0.0, 0.05).room_m(box_at(0.3, 0.05)) == pytest.approx(0.2)
    assert box_at(0.0, 0.05).room_m(box_at(0.05, 0.05)) == 0.0
    assert read_box("no box") is None
