"""A conversation as a row of tokens: nothing that was read is read otherwise later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policies.tiny.context import TELLING_FIT, ContextReader, read_context, read_registers
from agent_node.policies.tiny.visual_encoder import FEATURES, FIT, SEEN, VISUAL_WIDTH, VisualEncoder, place_features
from agent_node.policies.tiny.vocabulary import LOOKS, REGISTERS, default_vocabulary
from agent_node.policies.tiny.weights import fresh_weights
from agent_node.policy import Message
from tests.agent_node.policies.tiny.talks import Talk, done_talk, picture
from tool_nodes.results import ErrorCode, ToolError

VOCABULARY = default_vocabulary()
ENCODER = fresh_weights(0).visual_encoder
BLIND = VisualEncoder(fresh_weights(0).encoder, blind=True)

SEES = " ".join(["[see]"] * SEEN)


def told(talk: Talk) -> str:
    return " ".join(VOCABULARY.decode(read_context(talk.messages, BLIND, VOCABULARY).tokens))


def test_a_whole_episode_in_tokens() -> None:
    talk = done_talk(VOCABULARY)
    context = read_context(talk.messages, ENCODER, VOCABULARY)
    assert told(talk) == (
        "[task] take the cola and place it next to the red box [go] "
        f"PLAN cola NEXT_TO red box LOOK END {SEES} OK [go] "
        "POINT ROBOREFER cola END p1 [go] POINT VLM cola END p2 SAME p1 [go] "
        "ROOM ROBOREFER NEXT_TO red box END p3 SAME p1 [go] TAKE p1 END OK OK [go] GRASP END GRIPPER_EMPTY [go] "
        f"LOOK END {SEES} OK [go] POINT VLM cola END p1 [go] TAKE p1 END OK OK [go] NEXT END OK [go] "
        f"GRASP END HOLDS {SEES} [go] POINT ROBOREFER cola END OBJECT_NOT_FOUND [go] "
        f"ROOM VLM NEXT_TO red box END p2 SAME p1 [go] PLACE p2 END PLACED {SEES} [go] DONE END"
    )
    written = " ".join(VOCABULARY.decode(context.tokens[context.sampled]))
    assert written.split("END")[:3] == ["PLAN cola NEXT_TO red box LOOK ", " POINT ROBOREFER cola ", " POINT VLM cola "]
    assert len(context) == len(context.sampled) == len(context.visual_features)
    seen = [VOCABULARY.tokens[k] for k in context.tokens[np.abs(context.visual_features).sum(axis=1) > 0]]
    assert set(seen) == {"[see]", "p1", "p2", "p3"}


def test_the_context_of_a_shorter_conversation_begins_that_of_the_longer() -> None:
    talk = done_talk(VOCABULARY)
    whole = read_context(talk.messages, ENCODER, VOCABULARY)
    reader = ContextReader(ENCODER, VOCABULARY)
    for count in range(1, len(talk.messages) + 1):
        part = read_context(talk.messages[:count], ENCODER, VOCABULARY)
        grown = reader.read(talk.messages[:count])
        for got in (part, grown):
            n = len(got)
            np.testing.assert_array_equal(got.tokens, whole.tokens[:n])
            np.testing.assert_array_equal(got.visual_features, whole.visual_features[:n])
            np.testing.assert_array_equal(got.sampled, whole.sampled[:n])
    assert len(grown) == len(whole)


def test_a_picture_that_was_let_go_is_still_seen_by_a_reader_and_by_no_other() -> None:
    talk = done_talk(VOCABULARY)
    reader = ContextReader(ENCODER, VOCABULARY)
    before = reader.read(talk.messages[:8])
    talk.messages[3] = replace(talk.messages[3], picture=None)
    after = reader.read(talk.messages)
    np.testing.assert_array_equal(after.visual_features[: len(before)], before.visual_features)
    with pytest.raises(ToolError, match="Picture 0 of the conversation is not kept") as error:
        read_context(talk.messages, ENCODER, VOCABULARY)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert read_registers(talk.messages, VOCABULARY).points == ((0.588, 0.35),) * 2  # needs no picture


def test_another_conversation_begins_anew_even_where_its_words_are_the_same() -> None:
    talk = done_talk(VOCABULARY)
    reader = ContextReader(ENCODER, VOCABULARY)
    first = reader.read(talk.messages)
    talk.messages[3] = replace(talk.messages[3], picture=picture(99))
    second = reader.read(talk.messages)
    np.testing.assert_array_equal(first.tokens, second.tokens)
    assert (first.visual_features != second.visual_features).any()


@pytest.mark.parametrize(
    ("tokens", "points", "error", "answer"),
    [
        ("POINT VLM cola", ((0.1, 0.2), (0.3, 0.4)), "", "p1 p2 [go]"),
        ("POINT VLM cola", (), "", "EMPTY [go]"),
        (
            "POINT VLM cola",
            ((0.1, 0.2),) * (REGISTERS + 1),
            "",
            " ".join(f"p{k}" for k in range(1, REGISTERS + 1)) + " MORE [go]",
        ),
        ("POINT VLM cola", (), "NOT_RECOGNISED", "NOT_RECOGNISED [go]"),
        ("GRASP", (), "GRIPPER_EMPTY", "GRIPPER_EMPTY [go]"),
        ("LOOK", (), "TIMEOUT", "TIMEOUT TIMEOUT [go]"),
        ("TAKE p9", (), "", "INVALID_ARGUMENT [go]"),
        ("NEXT", (), "NO_GRASP", "NO_GRASP [go]"),
    ],
)
def test_answers_in_tokens(tokens: str, points: tuple[tuple[float, float], ...], error: str, answer: str) -> None:
    talk = Talk("pick up the cola", VOCABULARY)
    talk.say([*tokens.split(), "END"], points, error)
    assert told(talk).partition("END ")[2] == answer


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        ("", "EMPTY"),
        ("Note: One turn is left: it must answer.", "EMPTY LAST"),
        ("Detected 1 instance(s) of 'cola': [(0.1, 0.2)]\nNote: One turn is left: it must answer.", "p1 LAST"),
        ("Detected 1 instance(s) of 'cola': [(0.1, 0.2)]\nNote: nothing is new.", "p1 NOTE"),
        ("Error TIMEOUT: no result.\nNote: try again.", "TIMEOUT NOTE"),
        ("Not run: an earlier motion in this turn failed.", "CANCELLED"),
    ],
)
def test_notes_of_the_agent_and_empty_answers(words: str, tokens: str) -> None:
    talk = Talk("pick up the cola", VOCABULARY)
    talk.say(["POINT", "VLM", "cola", "END"])
    talk.messages[-1] = Message("tool", f"<tool_response>{words}</tool_response>", words)
    assert told(talk).partition("END ")[2] == f"{tokens} [go]"


def test_registers_begin_again_at_each_look_and_calls_name_the_newest_picture() -> None:
    talk = Talk("pick up the zorble can", VOCABULARY)
    talk.say(["LOOK", "END"])
    talk.say(["POINT", "VLM", "[w1]", "can", "END"], ((0.1, 0.2), (0.3, 0.4)))
    registers = read_registers(talk.messages, VOCABULARY)
    assert (registers.points, registers.image_index, registers.slots) == (((0.1, 0.2), (0.3, 0.4)), 0, ("zorble",))
    talk.say(["GRASP", "END"])
    newest = read_registers(talk.messages, VOCABULARY)
    assert newest.points == registers.points
    assert newest.image_index == talk.messages[-1].image_index
    talk.say(["LOOK", "END"])
    assert read_registers(talk.messages, VOCABULARY).points == ()


def test_a_conversation_of_another_policy_is_refused() -> None:
    talk = Talk("pick up the cola", VOCABULARY)
    talk.take(ScriptedPolicy().respond(talk.messages).text)
    with pytest.raises(ToolError, match="not in the small policy's dialect") as error:
        read_context(talk.messages, BLIND, VOCABULARY)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT


def test_an_answer_without_a_call_is_refused() -> None:
    talk = Talk("pick up the cola", VOCABULARY)
    talk.answer("hello")
    with pytest.raises(ToolError, match="follows no call"):
        read_context(talk.messages, BLIND, VOCABULARY)


def test_the_blind_are_told_where_points_are_and_see_nothing() -> None:
    talk = done_talk(VOCABULARY)
    seen, blind = (read_context(talk.messages, encoder, VOCABULARY) for encoder in (ENCODER, BLIND))
    looks = np.isin(seen.tokens, VOCABULARY.encode(LOOKS))
    assert looks.any()
    assert not np.isin(blind.tokens, VOCABULARY.encode(LOOKS)).any()
    np.testing.assert_array_equal(seen.tokens[~looks], blind.tokens)
    seen_eyes = seen.visual_features[~looks]
    assert np.abs(seen.visual_features[:, :FEATURES]).sum() > 0
    assert np.abs(blind.visual_features[:, :FEATURES]).sum() == 0
    points = [VOCABULARY.tokens[k].startswith("p") for k in blind.tokens] & (
        np.abs(blind.visual_features).sum(axis=1) > 0
    )
    np.testing.assert_array_equal(seen_eyes[points, FEATURES:FIT], blind.visual_features[points, FEATURES:FIT])
    assert seen.visual_features[:, FIT].any()
    assert not blind.visual_features[:, FIT].any()
    see = blind.tokens == VOCABULARY.id("[see]")
    assert np.abs(blind.visual_features[see]).sum() == 0
    assert np.abs(seen_eyes[see][:, FEATURES:]).sum() > 0


def test_eyes_say_of_each_point_whether_what_is_there_looks_like_what_was_asked_for() -> None:
    talk = done_talk(VOCABULARY)
    context = read_context(talk.messages, ENCODER, VOCABULARY)
    said = 0
    for k, token in enumerate(VOCABULARY.decode(context.tokens)):
        fit = float(context.visual_features[k, FIT])
        if fit and token.startswith("p"):
            expected = "LIKE" if fit >= TELLING_FIT else "UNLIKE" if fit <= -TELLING_FIT else None
            following = VOCABULARY.tokens[context.tokens[k + 1]]
            assert following == expected if expected else following not in LOOKS
            said += expected is not None
    assert said


def test_eyes_see_a_thing_where_it_is_whatever_the_size_of_the_picture() -> None:
    rgb = np.kron(picture(3), np.ones((5, 5, 1), np.uint8))  # 320 x 240
    seen = ENCODER.look(rgb)
    things = seen.things()
    assert things.shape == (SEEN, VISUAL_WIDTH)
    places = (things[:, FEATURES : FEATURES + 2] + 1) / 2
    for thing, (x, y) in zip(things, places, strict=True):
        np.testing.assert_allclose(seen.at((x, y)), thing, atol=1e-5)  # a point on a thing sees that thing
    np.testing.assert_array_equal(ENCODER.look(picture(3)).things(), ENCODER.look(picture(3)).things())
    wide = np.full((240, 640, 3), 127, np.uint8)
    wide[:, 160:480] = rgb
    narrow = ENCODER.look(wide).at((0.5, 0.5))
    assert narrow.shape == (VISUAL_WIDTH,)
    np.testing.assert_allclose(narrow[FEATURES : FEATURES + 2], 0.0, atol=1e-6)


def test_places_compare_by_their_distance_alone() -> None:
    waves = place_features([(0.2, 0.3), (0.25, 0.35), (0.6, 0.1), (0.65, 0.15), (0.9, 0.9)])[:, 2:]
    products = waves @ waves.T
    np.testing.assert_allclose(np.diag(products), products[0, 0], rtol=1e-5)
    np.testing.assert_allclose(products[0, 1], products[2, 3], rtol=1e-5)
    assert products[0, 0] > products[0, 1] > products[0, 4]
