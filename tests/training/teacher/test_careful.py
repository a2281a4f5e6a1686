"""The careful teacher: what it asks, when it checks, how it goes on, and what it writes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol, render_response
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.env.worlds import CAUSES
from toolhand.training.teacher.careful import CURES, HABITS, CarefulPolicy, careful

PROTOCOL = load_protocol("spacetools")
HERE, THERE = "(0.500, 0.500)", "(0.200, 0.300)"
_IMAGED = ("robot.capture_image", "robot.execute_grasp", "robot.place_object_at_2d_location")

Answers = Callable[[str, dict[str, Any], int], str]
"""(tool, arguments, how often it was asked before) -> words; "Error CODE: ..." is a failure."""


def points(*found: str) -> str:
    return f"Detected {len(found)} instance(s) of 'it': [{', '.join(found)}]"


@dataclass(frozen=True)
class Turn:
    """A turn as its calls say it; `point` is where it outlines or puts down."""

    kind: str
    pointer: str = ""
    phrase: str = ""
    point: str = ""
    thought: str = ""
    why: str = ""


KINDS = {
    "robot.capture_image": "look",
    "detect_all": "point",
    "detect_one": "room",
    "sam2.segment_from_point": "take",
    "sam2.segment_from_points": "take",
    "grasp_generator.compute_grasp": "next",
    "robot.execute_grasp": "grasp",
    "robot.place_object_at_2d_location": "place",
}


def read_turn(text: str) -> Turn:
    parsed = PROTOCOL.parse(text)
    assert not parsed.problem
    if parsed.answer is not None:
        code = "" if parsed.answer == "Done." else parsed.answer.partition(":")[0]
        return Turn("refuse" if code else "done", why=code)
    first = parsed.calls[0]
    arguments: Any = first.arguments
    family, _, verb = first.name.partition(".")
    kind = KINDS.get(first.name) or KINDS[verb]
    at = [*arguments.get("points", ()), arguments.get("placement_point_2d"), [arguments.get("x"), arguments.get("y")]]
    at = next(point for point in at if point is not None)
    point = "({:.3f}, {:.3f})".format(*at) if kind in ("take", "place") else ""
    pointer = family if kind in ("point", "room") else ""
    return Turn(kind, pointer, arguments.get("obj_name", ""), point, parsed.thought)


def play(
    sentence: str, variant: str, answers: Answers, seed: int = 0, turns: int = 24, told: tuple[str, ...] = ()
) -> list[Turn]:
    """The turns of an episode, each read back from its text; every call looks at the camera's newest image."""
    policy = careful(PROTOCOL, PolicyOptions(seed=seed, turns=turns, told=told), variant)
    messages = [Message("system", "tools"), Message("user", sentence, sentence)]
    moves: list[Turn] = []
    asked: dict[str, int] = {}
    images = 0
    while True:
        text = policy.respond(messages).text
        moves.append(read_turn(text))
        messages.append(Message("assistant", text))
        parsed = PROTOCOL.parse(text)
        if parsed.answer is not None:
            return moves
        assert len(moves) <= turns
        for call in parsed.calls:
            assert call.arguments.get("image_index", images - 1) in (images - 1, "$captured_image")
            words = answers(call.name, dict(call.arguments), asked.get(call.name, 0))
            asked[call.name] = asked.get(call.name, 0) + 1
            index = images if call.name in _IMAGED and not words.startswith("Error") else None
            images += index is not None
            messages.append(Message("tool", render_response(words, index), words, index))


def test_in_lines_it_says_the_same_without_tokens_and_looks_at_the_newest_view() -> None:
    protocol = load_protocol("compact")
    policy = CarefulPolicy(HABITS["unchecked"], protocol)
    sentence = "put the zorb next to the tea box"
    left = ["seen", "measured", points(HERE), "an outline", "a grasp", "It holds.", points(THERE), "It stands."]
    messages, turns = [Message("system", "tools"), Message("user", sentence, sentence)], [""]
    while turns[-1] != "say Done.":
        turns.append(policy.respond(messages).text)
        messages.append(Message("assistant", turns[-1]))
        messages += [Message("tool", left[0], left.pop(0)) for _ in protocol.parse(turns[-1]).calls]
    assert turns[1:] == [
        "# take zorb, put free table next to the tea box\nlook\ndepth",
        "point zorb",
        "outline 0.5 0.5\ngrasp",
        "take",
        "room free table next to the tea box",
        "place 0.2 0.3",
        "say Done.",
    ]


def kinds(moves: list[Turn]) -> list[str]:
    return [f"{move.kind} {move.pointer}".strip() for move in moves]


def well(tool: str, arguments: dict[str, Any], before: int) -> str:
    """Everything works; after the grasp nobody sees the object any more."""
    if tool.endswith("detect_all"):
        return points(HERE) if before == 0 else "Error OBJECT_NOT_FOUND: nothing."
    return points(THERE) if tool.endswith("detect_one") else "Done."


def test_without_doubt_one_pointer_is_asked_and_a_look_after_the_grasp_makes_sure() -> None:
    moves = play("Pick up the red box", "", well)
    assert kinds(moves) == ["look", "point roborefer", "take", "grasp", "point roborefer", "done"]
    assert moves[0].thought == "take red box, put nowhere"
    assert moves[1].phrase == "red box"
    assert moves[2].point == HERE


def test_unchecked_asks_nobody_else_and_never_looks_again() -> None:
    assert kinds(play("Pick up the left can", "unchecked", well)) == [
        "look",
        "point roborefer",
        "take",
        "grasp",
        "done",
    ]


@pytest.mark.parametrize(
    ("sentence", "first"),
    [
        ("Pick up the left can", points(HERE)),
        ("Pick up the red box", points(HERE, THERE)),
        ("Pick up the red box", "Error OBJECT_NOT_FOUND: nothing."),
    ],
)
def test_in_doubt_the_other_pointer_is_asked(sentence: str, first: str) -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool == "roborefer.detect_all" and before == 0:
            return first
        return points(HERE) if tool == "vlm.detect_all" and before == 0 else well(tool, arguments, before)

    moves = play(sentence, "", answers)
    assert kinds(moves)[:4] == ["look", "point roborefer", "point vlm", "take"]


def test_where_pointers_disagree_it_looks_again_and_goes_on_with_what_was_said_twice() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool == "roborefer.detect_all":
            return points(THERE if before == 0 else HERE)
        return points(HERE) if tool == "vlm.detect_all" else well(tool, arguments, before)

    moves = play("Pick up the left can", "always", answers)
    assert kinds(moves)[:7] == ["look", "point roborefer", "point vlm", "look", "point roborefer", "point vlm", "take"]
    assert moves[6].point == HERE


def test_where_they_never_agree_it_refuses_and_nothing_has_moved() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        at = 0.1 + 0.1 * before + (0.5 if tool.startswith("vlm") else 0.0)
        return points(f"({at:.3f}, 0.500)") if tool.endswith("detect_all") else well(tool, arguments, before)

    moves = play("Pick up the left can", "always", answers)
    assert moves[-1] == Turn("refuse", why=ErrorCode.AMBIGUOUS)
    assert "grasp" not in kinds(moves)


def test_what_slipped_is_grasped_again_and_in_another_way() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool == "robot.execute_grasp" and before == 0:
            return "Error GRIPPER_EMPTY: nothing is held."
        return points(HERE) if tool.endswith("detect_all") and before < 2 else well(tool, arguments, before)

    moves = kinds(play("Pick up the red box", "", answers))
    assert moves[:4] == ["look", "point roborefer", "take", "grasp"]
    assert moves[4:10] == ["look", "point roborefer", "point vlm", "take", "next", "grasp"]
    assert moves[-1] == "done"


def test_a_grasp_that_the_arm_cannot_do_is_followed_by_the_next_one() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool == "robot.execute_grasp" and before == 0:
            return "Error IK_FAILED: no posture."
        return well(tool, arguments, before)

    assert kinds(play("Pick up the red box", "unchecked", answers))[3:] == ["grasp", "next", "grasp", "done"]


@pytest.mark.parametrize(("variant", "tried"), [("unchecked", 3), ("", 3), ("persistent", 5)])
def test_what_always_slips_is_tried_as_often_as_the_variant_says(variant: str, tried: int) -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool == "robot.execute_grasp":
            return "Error GRIPPER_EMPTY: nothing is held."
        return points(HERE) if tool.endswith("detect_all") else well(tool, arguments, before)

    moves = kinds(play("Pick up the red box", variant, answers, turns=60))
    assert moves.count("grasp") == tried
    assert moves[-1] == "refuse"


def test_where_both_still_see_the_object_something_else_is_held_and_it_says_so() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        return points(HERE) if tool.endswith("detect_all") else well(tool, arguments, before)

    moves = play("Pick up the red box", "", answers)
    assert kinds(moves)[-3:] == ["point roborefer", "point vlm", "refuse"]
    assert moves[-1].why == ErrorCode.EXECUTION_FAILED


def test_an_object_is_put_where_room_was_found_and_elsewhere_where_that_is_blocked() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool == "robot.place_object_at_2d_location" and before == 0:
            return "Error PLACE_BLOCKED: no room."
        return well(tool, arguments, before)

    moves = play("Put the red box left of the can", "unchecked", answers)
    assert kinds(moves) == [
        "look",
        "point roborefer",
        "take",
        "grasp",
        "room roborefer",
        "place",
        "look",
        "room roborefer",
        "place",
        "done",
    ]
    assert (moves[0].thought, moves[4].phrase) == (
        "take red box, put free table left of the can",
        "free table left of the can",
    )
    assert moves[5].point == moves[8].point == THERE


def test_errors_end_in_a_refusal_with_their_code_once_the_retries_are_used_up() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        return "Error OBJECT_NOT_FOUND: nothing." if tool.endswith("detect_all") else well(tool, arguments, before)

    moves = play("Pick up the red box", "", answers)
    assert moves[-1] == Turn("refuse", why=ErrorCode.OBJECT_NOT_FOUND)
    assert kinds(moves).count("look") == 1 + HABITS[""].retries


def test_the_last_turn_is_an_answer() -> None:
    moves = play("Pick up the red box", "", well, turns=3)
    assert kinds(moves) == ["look", "point roborefer", "refuse"]


@pytest.mark.parametrize("sentence", ["Sing a song", "put it down"])
def test_what_it_does_not_understand_it_refuses(sentence: str) -> None:
    assert play(sentence, "", well)[0].kind == "refuse"


def test_varied_rollouts_differ_by_their_seed_and_only_by_it_and_show_how_to_get_out_of_a_wrong_move() -> None:
    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        if tool.endswith("detect_all"):
            return points(HERE, THERE) if before < 2 else "Error OBJECT_NOT_FOUND: nothing."
        return well(tool, arguments, before)

    played = [kinds(play("Pick up the left can", "varied", answers, seed)) for seed in range(40)]
    assert played[3] == kinds(play("Pick up the left can", "varied", answers, 3))
    assert len({tuple(moves) for moves in played}) >= 5
    assert any(moves.count("take") == 2 for moves in played)  # the wrong one first, then the right one
    assert all(moves[-1] in ("done", "refuse") for moves in played)


@pytest.mark.parametrize("cause", [*CURES, ""])
def test_an_oracle_does_what_helps_against_the_causes_that_it_is_told(cause: str) -> None:
    called: list[str] = []

    def answers(tool: str, arguments: dict[str, Any], before: int) -> str:
        called.append(tool)
        if tool.startswith("grasp_generator") and before < 2:
            return "Generated collision-free grasp with confidence 0.995 from 9/99 masked points."
        if tool == "robot.execute_grasp" and before < 2:
            return "Error GRIPPER_EMPTY: The gripper closed on nothing. The hand stopped 41 mm from the pose."
        return points(HERE) if "detect" in tool else "done"

    moves = play("pick up the zorb", "oracle", answers, told=(cause,) if cause else ())
    assert moves[-1] == Turn("done")
    kinds = [move.kind for move in moves]
    assert set(CURES) == set(CAUSES)
    pointers = {tool.partition(".")[0] for tool in called if "detect" in tool}
    assert pointers == {"vlm" if cause == "roborefer" else "roborefer"}
    assert ("sam2.segment_from_points" in called) == (cause == "outline")
    assert ("depth_estimator.estimate_depth_with_pointcloud" in called) == (cause == "depth")
    assert (kinds[:4] == ["look", "point", "take", "next"]) == (cause == "scores")
    assert ("next" in kinds) == (cause != "arm")  # which takes the same grasp again, after a look


def test_it_goes_on_with_no_turns_of_others() -> None:
    messages = [Message("system", "tools"), Message("user", "Pick up the red box", "Pick up the red box")]
    messages += [Message("assistant", "<answer>Done.</answer>"), Message("tool", "seen", "seen", 0)]
    with refused(ErrorCode.INVALID_ARGUMENT, "not one of the teacher careful"):
        CarefulPolicy(protocol=PROTOCOL).respond(messages)


def test_a_protocol_that_runs_one_call_of_a_turn_is_refused() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        make_policy("careful", load_protocol("peria"), ())


def test_it_is_made_by_name_and_no_other_variant_is() -> None:
    policy = make_policy("careful:always", PROTOCOL, (), PolicyOptions(seed=3))
    assert isinstance(policy, CarefulPolicy)
    assert isinstance(make_policy("careful", PROTOCOL, ()), CarefulPolicy)
    with refused(ErrorCode.INVALID_ARGUMENT, "only careful, careful:unchecked"):
        make_policy("careful:reckless", PROTOCOL, ())
