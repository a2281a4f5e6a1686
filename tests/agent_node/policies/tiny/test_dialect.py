"""The dialect is lossless: tokens to turns and back, whatever the tokens are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_node.policies.tiny.dialect import (
    REASONS,
    TOOLS,
    Move,
    Plan,
    Registers,
    calls_of,
    parse_move,
    read_move,
    read_turn,
    render_move,
    render_turn,
    spell_move,
)
from agent_node.policies.tiny.vocabulary import MOVES as MOVE_TOKENS
from agent_node.policies.tiny.vocabulary import POINTERS, RELATION_TOKENS, default_vocabulary
from tests.agent_node.policies.tiny.talks import MOVES, SPACETOOLS
from tool_nodes.results import ErrorCode, ToolError

VOCABULARY = default_vocabulary()
REGISTERS = Registers(((0.588, 0.35), (0.263, 0.283)), 7, ("zorble", "look"))

words = st.sampled_from((*VOCABULARY.words[::9], "[w1]", "[w2]", "red", "box"))
phrases = st.lists(words.filter(lambda word: word != "and"), min_size=1, max_size=5).map(tuple)
pointers = st.sampled_from(tuple(POINTERS.values()))
relations = st.sampled_from([name for name in RELATION_TOKENS.values() if name != "anywhere"])
plans = st.none() | st.builds(Plan, phrases) | st.builds(Plan, phrases, relations, phrases)
moves = st.one_of(
    st.builds(Move, st.sampled_from(("look", "next", "grasp", "done")), plan=plans),
    st.builds(Move, st.just("point"), pointers, phrases, plan=plans),
    st.builds(Move, st.just("room"), pointers, phrases, relations),
    st.builds(lambda p, a, b: Move("room", p, (*a, "and", *b), "between"), pointers, phrases, phrases),
    st.builds(Move, st.sampled_from(("take", "place")), register=st.integers(1, 2)),
    st.builds(Move, st.just("refuse"), why=st.sampled_from(tuple(REASONS))),
)
anything = st.lists(
    st.sampled_from(VOCABULARY.tokens)
    | st.sampled_from((*MOVE_TOKENS, "END", "p1", "p3", "ROBOREFER", "[w1]", "[w7]", "red")),
    max_size=12,
)


@given(moves)
def test_a_move_is_its_turn_and_the_turn_its_move(move: Move) -> None:
    text = render_move(move, REGISTERS)
    assert read_move(text, REGISTERS) == move
    tokens = read_turn(text, REGISTERS)
    assert tokens == (*spell_move(move), "END")
    assert render_turn(tokens, REGISTERS) == text
    parsed = SPACETOOLS.parse(text)
    assert not parsed.problem
    assert parsed.calls == calls_of(move, REGISTERS)


@given(anything)
@settings(max_examples=300)
def test_any_tokens_read_back_as_themselves(tokens: list[str]) -> None:
    text = render_turn(tokens, REGISTERS)
    assert read_turn(text, REGISTERS) == tuple(tokens)
    parsed = SPACETOOLS.parse(text)
    move = read_move(text, REGISTERS)
    assert bool(parsed.problem) == (move is None)  # what is no move is a malformed turn to the agent, and only that
    assert all(not call.problem for call in parsed.calls)


@pytest.mark.parametrize(
    "tokens",
    [
        "",
        "LOOK",
        "END",
        "LOOK LOOK END",
        "POINT ROBOREFER END",
        "POINT cola END",
        "POINT ROBOREFER LOOK END",
        "ROOM VLM cola END",
        "ROOM VLM LEFT_OF END",
        "ROOM VLM ANYWHERE box END",
        "ROOM VLM BETWEEN pony and END",
        "TAKE END",
        "TAKE p3 END",
        "TAKE p1 p2 END",
        "PLACE box END",
        "REFUSE END",
        "REFUSE INTERNAL END",
        "DONE box END",
        "PLAN cola END",
        "PLAN LOOK END",
        "PLAN NEXT_TO box LOOK END",
        "POINT VLM [w3] END",
        "box END",
        "PLAN box PLAN LOOK END",
        "[see] END",
        "LOOK END END",
    ],
)
def test_what_is_no_move_calls_nothing(tokens: str) -> None:
    text = render_turn(tokens.split(), REGISTERS)
    assert SPACETOOLS.parse(text).problem == "a turn needs a <tool_call> or an <answer>"
    assert read_turn(text, REGISTERS) == tuple(tokens.split())


def test_calls_hold_what_the_tokens_stand_for() -> None:
    said = {
        kind: [(call.name, call.arguments) for call in calls_of(move, REGISTERS)]
        for kind, move in (
            ("point", Move("point", "vlm", ("[w1]", "cup"))),
            ("room", Move("room", "roborefer", ("pony", "and", "[w2]", "box"), "between")),
            ("take", Move("take", register=2)),
            ("place", Move("place", register=1)),
        )
    }
    assert said["point"] == [("vlm.detect_all", {"obj_name": "zorble cup", "image_index": 7})]
    room = "free table between the pony and the look box"
    assert said["room"] == [("roborefer.detect_one", {"obj_name": room, "image_index": 7})]
    assert said["take"][0] == ("sam2.segment_from_point", {"x": 0.263, "y": 0.283, "image_index": 7})
    assert said["take"][1][0] == "grasp_generator.compute_grasp"
    assert said["place"] == [("robot.place_object_at_2d_location", {"placement_point_2d": [0.588, 0.35]})]


def test_moves_call_the_tools_that_they_say_they_need() -> None:
    called = {call.name for move in MOVES for call in calls_of(move, REGISTERS)}
    assert called == set(TOOLS)


def test_an_unknown_word_may_be_written_itself() -> None:
    text = render_move(Move("point", "vlm", ("zorble", "cup"), plan=Plan(("zorble", "cup"))), REGISTERS)
    assert read_turn(text, REGISTERS) == ("PLAN", "[w1]", "cup", "POINT", "VLM", "[w1]", "cup", "END")


def test_a_refusal_says_its_code_and_a_sentence() -> None:
    answer = SPACETOOLS.parse(render_move(Move("refuse", why="AMBIGUOUS"), REGISTERS)).answer
    assert answer == "AMBIGUOUS: I am not sure which thing is meant, and I must not guess."
    assert SPACETOOLS.parse(render_move(Move("done"), REGISTERS)).answer == "Done."


@pytest.mark.parametrize(
    "move",
    [
        Move("take", register=3),
        Move("place"),
        Move("point", "vlm"),
        Move("point", "molmo", ("box",)),
        Move("point", "vlm", ("LOOK",)),
        Move("point", "vlm", ("[w3]",)),
        Move("room", "vlm", ("box",)),
        Move("room", "vlm", ("box",), "under"),
        Move("refuse"),
        Move("refuse", why="INTERNAL"),
        Move("look", plan=Plan(())),
        Move("look", plan=Plan(("box",), "in", ("NEXT",))),
    ],
)
def test_a_move_that_cannot_be_written_is_refused(move: Move) -> None:
    with pytest.raises(ToolError) as error:
        render_move(move, REGISTERS)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert str(error.value).endswith((".", "ones."))


def test_other_texts_are_not_in_the_dialect() -> None:
    look = render_move(Move("look"), REGISTERS)
    others = [
        look.replace("LOOK", "I look"),
        look.replace("capture_image", "capture_images"),
        render_move(Move("take", register=1), REGISTERS).replace("0.588", "0.589"),
        "<think>DONE</think>\n<answer>I did it.</answer>",
        "look",
    ]
    assert [read_turn(text, REGISTERS) for text in others] == [None] * len(others)
    assert parse_move(()) is None
