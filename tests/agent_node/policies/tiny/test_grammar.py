"""What the grammar allows is what can be called, and what a policy is asked for is among it."""

from __future__ import annotations

import numpy as np
import pytest

from agent_node.context_window import Memory
from agent_node.policies.options import PolicyOptions
from agent_node.policies.tiny.dialect import REASONS, Move, Plan, Registers, parse_move, render_turn, spell_move
from agent_node.policies.tiny.dialogue_state import DialogueState
from agent_node.policies.tiny.grammar import GuidedTurn, TurnGrammar, grammar_of
from agent_node.policies.tiny.policy import TinyPolicy
from agent_node.policies.tiny.vocabulary import DONE, END, MOVES, REFUSE, default_vocabulary
from agent_node.policies.tiny.weights import fresh_weights
from agent_node.protocol import load_protocol
from tests.agent_node.policies.tiny.talks import Talk
from tool_nodes.results import ErrorCode, ToolError

VOCABULARY = default_vocabulary()
GRAMMAR = grammar_of(VOCABULARY)
PROTOCOL = load_protocol("spacetools")


def context(*told: str) -> tuple[np.ndarray, np.ndarray]:
    """Tokens, and which of them the policy wrote: those of parts that begin with "+"."""
    tokens = [(token, part.startswith("+")) for part in told for token in part.removeprefix("+").split()]
    return VOCABULARY.encode([token for token, _ in tokens]), np.array([own for _, own in tokens])


LOOKED = ("[task] put the left [w1] box next to the tea box and the red box [go]", "+LOOK END", "[see] OK [go]")
POINTED = (*LOOKED, "+POINT VLM box END", "p1 p2 [go]")
TAKEN = (*POINTED, "+TAKE p1 END", "OK OK [go]")
ROOMY = (*TAKEN, "+ROOM VLM ON tea box END", "p3 [go]")


def allows(grammar: TurnGrammar, before: tuple[str, ...], said: tuple[str, ...]) -> bool:
    turn = grammar.turn(*context(*before))
    for token in (*said, END):
        if not turn.mask[VOCABULARY.id(token)]:
            return False
        turn.take(VOCABULARY.id(token))
    return True


@pytest.mark.parametrize(
    "move",
    [
        Move("look"),
        Move("next"),
        Move("grasp"),
        Move("point", "vlm", ("left", "[w1]")),
        Move("room", "roborefer", (), "anywhere"),
        Move("room", "vlm", ("tea", "box"), "on"),
        Move("room", "vlm", ("tea", "box", "and", "red", "box"), "between"),
        Move("take", register=2),
        Move("place", register=3),
        Move("refuse", why="AMBIGUOUS"),
    ],
)
def test_every_kind_of_move_is_allowed(move: Move) -> None:
    assert allows(GRAMMAR, (*ROOMY, "+ROOM VLM ON tea box END", "EMPTY [go]"), spell_move(move))


def test_a_plan_comes_before_anything_else() -> None:
    plan = spell_move(Move("look", plan=Plan(("[w1]", "box"), "next_to", ("tea", "box"))))
    assert allows(GRAMMAR, LOOKED[:1], plan)
    assert not allows(GRAMMAR, LOOKED, plan)
    assert allows(GRAMMAR, (*LOOKED, "+DONE END", LOOKED[0]), plan), "the operator says something else"


@pytest.mark.parametrize(
    "said",
    [
        "TAKE p3",
        "PLACE",
        "TAKE p1 p2",
        "PLAN LOOK",
        "PLAN box",
        "LOOK LOOK",
        "POINT box",
        "POINT VLM",
        "REFUSE box",
        "REFUSE TIMEOUT",
        "ROOM VLM box",
        "ROOM VLM ANYWHERE box",
        "ROOM VLM BETWEEN box",
        "ROOM VLM ON and box",
        "ROOM VLM BETWEEN box and",
        "POINT VLM [w2]",
        "POINT VLM cola",
        "PLAN box ON cola LOOK",
        "box",
        "OK",
        "[see]",
        "POINT VLM left box",
        "POINT VLM red box tea",
        "POINT VLM box and",
        "ROOM VLM ON tea box and red",
        "ROOM VLM BETWEEN box and tea",
        "ROOM VLM BETWEEN red and box",
        "ROOM VLM BETWEEN tea and red and box",
    ],
)
def test_what_cannot_be_called_is_not_allowed(said: str) -> None:
    assert not allows(GRAMMAR, POINTED, tuple(said.split()))


PLANNED = (LOOKED[0], "+PLAN left box ON tea box LOOK END", "[see] OK [go]")


@pytest.mark.parametrize(
    ("plan", "asked", "else_"),
    [
        ("left box ON tea box", "POINT VLM left box; ROOM ROBOREFER ON tea box", "POINT VLM box; ROOM VLM ON tea"),
        ("[w1] box BETWEEN tea and red box", "ROOM VLM BETWEEN tea and red box", "ROOM VLM BETWEEN tea and box"),
        ("box ANYWHERE", "POINT VLM box; ROOM VLM ANYWHERE", "ROOM VLM ON tea box; POINT VLM red box"),
        ("red box", "POINT ROBOREFER red box", "ROOM VLM ANYWHERE; POINT VLM box; POINT VLM red"),
        # a place that cannot be asked for: as if there were no plan for it
        ("box BETWEEN tea", "POINT VLM box; ROOM VLM BETWEEN tea and box; ROOM VLM ON tea", "POINT VLM tea"),
        ("box ON", "POINT VLM box; ROOM VLM ON tea box", "POINT VLM tea"),
    ],
)
def test_what_is_asked_for_is_what_was_planned(plan: str, asked: str, else_: str) -> None:
    planned = (LOOKED[0], f"+PLAN {plan} LOOK END", "[see] OK [go]", "+LOOK END", "[see] OK [go]")
    for question in asked.split("; "):
        assert allows(GRAMMAR, planned, tuple(question.split())), question
    for question in else_.split("; "):
        assert not allows(GRAMMAR, planned, tuple(question.split())), question


def test_a_side_may_be_thought_of_in_other_words_than_it_was_said() -> None:
    for side in ("left", "right", "near", "far"):
        assert allows(GRAMMAR, LOOKED[:1], ("PLAN", side, "tea", "box", "LOOK"))
        planned = (LOOKED[0], f"+PLAN {side} tea box LOOK END", "[see] OK [go]")
        assert allows(GRAMMAR, planned, ("POINT", "VLM", side, "tea", "box"))
    for plan in ("PLAN far LOOK", "PLAN far near box LOOK", "PLAN box far LOOK", "PLAN far box tea LOOK"):
        assert not allows(GRAMMAR, LOOKED[:1], tuple(plan.split())), plan
    assert not allows(GRAMMAR, LOOKED[:1], ("PLAN", "box", "ON", "far", "tea", "box", "LOOK")), "a place has none"


def test_another_sentence_has_another_plan() -> None:
    again = (*PLANNED, "+DONE END", "[task] pick up the red box [go]")
    assert allows(GRAMMAR, again, ("POINT", "VLM", "red", "box"))
    replanned = (*again, "+PLAN red box LOOK END", "[see] OK [go]")
    assert not allows(GRAMMAR, replanned, ("POINT", "VLM", "left", "box"))
    assert not allows(GRAMMAR, replanned, ("ROOM", "VLM", "ON", "tea", "box"))
    assert allows(GRAMMAR, again, ("ROOM", "VLM", "ON", "tea", "box")), "it was not said that nothing is put down"


@pytest.mark.parametrize(
    "plan",
    [
        "PLAN put box LOOK",
        "PLAN box ON LOOK",
        "PLAN box ANYWHERE box LOOK",
        "PLAN box BETWEEN tea LOOK",
        "PLAN box BETWEEN tea and tea box LOOK",
        "PLAN box BETWEEN tea and red and box LOOK",
        "PLAN LOOK",
        "PLAN box ON tea and red LOOK",
        "PLAN box PLAN box LOOK",
    ],
)
def test_a_plan_that_cannot_be_asked_for_is_not_written(plan: str) -> None:
    assert not allows(GRAMMAR, LOOKED[:1], tuple(plan.split()))
    for right in ("PLAN box LOOK", "PLAN left [w1] box ANYWHERE LOOK", "PLAN tea BETWEEN tea and red box LOOK"):
        assert allows(GRAMMAR, LOOKED[:1], tuple(right.split()))


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        ("", {"ROOM VLM ANYWHERE"}),
        ("tea and", {"ROOM VLM ANYWHERE", "POINT VLM tea", "ROOM VLM ON tea"}),
        ("and tea", {"ROOM VLM ANYWHERE", "POINT VLM tea", "ROOM VLM ON tea"}),
        ("tea and box", {"ROOM VLM ANYWHERE", "POINT VLM tea", "ROOM VLM ON tea", "ROOM VLM BETWEEN tea and box"}),
    ],
)
def test_a_place_between_needs_two_references(sentence: str, right: set[str]) -> None:
    known = (f"[task] {sentence} [go]", "+LOOK END", "[see] OK [go]")
    said = ("POINT VLM tea", "ROOM VLM ANYWHERE", "ROOM VLM ON tea", "ROOM VLM BETWEEN tea and box")
    assert {one for one in said if allows(GRAMMAR, known, tuple(one.split()))} == right


def test_what_was_said_before_can_still_be_quoted() -> None:
    again = (*LOOKED, "+DONE END", "[task] put it on the cola [go]", "+LOOK END", "[see] OK [go]")
    assert allows(GRAMMAR, again, ("POINT", "VLM", "red", "box"))
    assert not allows(GRAMMAR, again, ("POINT", "VLM", "box", "put")), "two sentences are no phrase"
    assert not allows(GRAMMAR, again, ("ROOM", "VLM", "BETWEEN", "box", "and", "cola"))


@pytest.mark.parametrize(
    ("answered", "pictures"), [("p1 p2", 1), ("p1 SAME p2", 1), ("MORE", 1), ("OBJECT_NOT_FOUND", 0), ("", 0)]
)
def test_no_question_is_about_a_picture_that_is_kept_no_more(answered: str, pictures: int) -> None:
    old = [*POINTED]
    for pointer in ("VLM", "ROBOREFER") * 5:
        old += [f"+POINT {pointer} box END", f"{answered} [go]"]
        newer = 2 + pictures * (len(old) // 2 - 2)  # the depth's, the first answer's, and these
        mask = GRAMMAR.turn(*context(*old)).mask
        for move in ("POINT", "ROOM", "TAKE"):
            assert mask[VOCABULARY.id(move)] == (newer < Memory().pictures), newer
        assert mask[VOCABULARY.id("LOOK")]
    assert pictures == 0 or newer == Memory().pictures
    assert allows(GRAMMAR, (*old, "+LOOK END", "[see] OK [go]"), ("POINT", "VLM", "box"))


def test_an_outline_and_a_grasp_bring_a_picture_each() -> None:
    eleven = (*TAKEN, *("+TAKE p1 END", "OK OK [go]") * 3, "+NEXT END", "OK [go]")
    for more, kept in ((("+NEXT END", "NO_GRASP [go]"), True), (("+NEXT END", "OK [go]"), False)):
        mask = GRAMMAR.turn(*context(*eleven, *more)).mask
        assert {bool(mask[VOCABULARY.id(move)]) for move in ("TAKE", "NEXT", "POINT", "ROOM")} == {kept}


def test_what_was_written_against_the_plan_is_read_all_the_same() -> None:
    tokens, sampled = context(*PLANNED, "+POINT VLM tea box END", "p1 [go]", "+TAKE p1 END")
    masks = GRAMMAR.masks(tokens, sampled)
    assert masks[np.arange(len(masks)), tokens[sampled]].all()
    assert masks[-2].sum() == 1, "of the register"


def test_a_motion_is_called_when_it_can_be_run() -> None:
    held = (*TAKEN, "+GRASP END", "HOLDS [see] [go]", "+ROOM VLM ON tea box END", "p3 p4 [go]")
    refused = (*held, "+PLACE p3 END", "PLACE_BLOCKED [go]")
    for after, moves in (
        (LOOKED, ""),
        (POINTED, "TAKE"),
        ((*POINTED, "+TAKE p1 END", "EMPTY [go]"), "TAKE"),
        ((*POINTED, "+TAKE p1 END", "OK NO_GRASP [go]"), "TAKE NEXT"),
        (TAKEN, "TAKE NEXT GRASP"),
        ((*TAKEN, "+GRASP END", "PLAN_FAILED [go]"), "TAKE NEXT"),
        ((*TAKEN, "+GRASP END", "PLAN_FAILED [go]", "+NEXT END", "OK [go]"), "TAKE NEXT GRASP"),
        ((*TAKEN, "+GRASP END", "HOLDS [see] [go]"), "TAKE NEXT"),
        (held, "TAKE PLACE NEXT"),
        ((*held, "+NEXT END", "OK [go]"), "TAKE PLACE NEXT"),
        ((*held, "+PLACE p3 END", "OBJECT_DROPPED [go]", "+NEXT END", "OK [go]"), "TAKE NEXT GRASP"),
        ((*held, "+PLACE p3 END", "PLACED [see] [go]", "+NEXT END", "OK [go]"), "TAKE NEXT GRASP"),
        (refused, "TAKE PLACE NEXT"),
        ((*refused, "+PLACE p4 END", "PLACE_BLOCKED [go]"), "TAKE NEXT"),
        ((*refused, "+LOOK END", "[see] OK [go]"), "NEXT"),
    ):
        mask = GRAMMAR.turn(*context(*after)).mask
        allowed = [move for move in ("TAKE", "PLACE", "NEXT", "GRASP") if mask[VOCABULARY.id(move)]]
        assert allowed == moves.split(), after
    assert not allows(GRAMMAR, refused, ("PLACE", "p3"))
    again = (
        *refused,
        "+ROOM VLM ON tea box END",
        "p5 LIKE SAME p3 [go]",
        "+ROOM VLM ON tea box END",
        "p6 SAME p5 [go]",
    )
    assert [k for k in range(1, 17) if allows(GRAMMAR, again, ("PLACE", f"p{k}"))] == [4], "p5 and p6 are where p3 is"
    assert allows(GRAMMAR, refused, ("PLACE", "p4"))


PICKED, PLACED = ("+GRASP END", "HOLDS [see] [go]"), ("+PLACE p3 END", "PLACED [see] [go]")
PLAN_PICK = (LOOKED[0], "+PLAN box LOOK END", "[see] OK [go]", *POINTED[3:], *TAKEN[-2:])
PLAN_PLACE = (LOOKED[0], "+PLAN box ON tea box LOOK END", "[see] OK [go]", *ROOMY[3:])


@pytest.mark.parametrize(
    ("told", "may_be_done"),
    [
        (LOOKED, False),
        (TAKEN, False),
        ((*TAKEN, *PICKED), True),
        ((*ROOMY, *PICKED, *PLACED), True),
        (PLAN_PICK, False),
        ((*PLAN_PICK, *PICKED), True),
        ((*PLAN_PICK, "+GRASP END", "GRIPPER_EMPTY [go]"), False),
        ((*PLAN_PLACE, *PICKED), False),
        ((*PLAN_PLACE, *PICKED, "+PLACE p3 END", "OBJECT_DROPPED [go]"), False),
        ((*PLAN_PLACE, *PICKED, *PLACED), True),
        ((*PLAN_PLACE, *PICKED, *PLACED, *TAKEN[-2:], *PICKED), False),
        ((*ROOMY, *PICKED, *PLACED, "+DONE END", LOOKED[0]), False),  # another sentence
    ],
)
def test_nothing_is_done_that_the_tools_have_not_said(told: tuple[str, ...], may_be_done: bool) -> None:
    assert allows(GRAMMAR, told, ("DONE",)) == may_be_done


ASKED, ASKED_TOO = "+POINT VLM box END", "+POINT ROBOREFER box END"
AGAIN = ("+LOOK END", "[see] OK [go]")
DROPPED = (*TAKEN, "+GRASP END", "OBJECT_DROPPED [go]")
SLIPPED = (*TAKEN[-2:], "+GRASP END", "GRIPPER_EMPTY [go]")


@pytest.mark.parametrize(
    ("told", "reasons"),
    [
        (LOOKED[:1], "NOT_UNDERSTOOD"),
        (LOOKED, ""),
        ((*LOOKED, ASKED, "p1 [go]"), ""),
        ((*LOOKED, ASKED, "p1 LIKE [go]", ASKED_TOO, "p2 LIKE SAME p1 [go]"), ""),
        ((*LOOKED, ASKED, "p1 UNLIKE [go]"), "AMBIGUOUS"),
        (POINTED, "AMBIGUOUS"),
        ((*LOOKED, ASKED, "p1 [go]", ASKED_TOO, "p2 [go]"), "AMBIGUOUS"),
        ((*LOOKED, ASKED, "EMPTY [go]"), "OBJECT_NOT_FOUND"),
        ((*LOOKED, ASKED, "OBJECT_NOT_FOUND [go]", ASKED_TOO, "p1 [go]"), "AMBIGUOUS"),  # one of them does see it
        ((*LOOKED, ASKED, "p1 [go]", ASKED_TOO, "OBJECT_NOT_FOUND [go]"), "AMBIGUOUS"),
        ((*LOOKED, ASKED, "EMPTY [go]", *AGAIN), ""),
        ((*LOOKED, ASKED, "NOT_RECOGNISED [go]"), "NOT_RECOGNISED"),
        ((*LOOKED, ASKED, "p1 [go]", "+TAKE p1 END", "EMPTY [go]"), "EMPTY_MASK"),
        ((*LOOKED, ASKED, "p1 [go]", "+TAKE p1 END", "OK NO_GRASP [go]"), "NO_GRASP"),
        ((*LOOKED, ASKED, "p1 [go]", "+TAKE p1 END", "OK NO_GRASP [go]", "+TAKE p1 END", "OK OK [go]"), ""),
        ((*TAKEN, "+ROOM VLM ON box END", "p3 [go]"), ""),  # which thing is meant is no question of room
        ((*DROPPED, *AGAIN), ""),
        (
            (*DROPPED, *AGAIN, *TAKEN[3:], "+GRASP END", "GRIPPER_EMPTY [go]"),
            "AMBIGUOUS EXECUTION_FAILED GRIPPER_EMPTY",
        ),
        ((*DROPPED, *AGAIN, ASKED, "p1 [go]", *SLIPPED, *AGAIN), "EXECUTION_FAILED"),
        ((*DROPPED, *AGAIN, *DROPPED[3:], "+REFUSE OBJECT_DROPPED END", LOOKED[0]), "NOT_UNDERSTOOD"),
        ((*LOOKED, *PICKED), "EXECUTION_FAILED"),  # no tool says whether it is what was meant
        ((LOOKED[0], *(2 * ("+LOOK END", "UNAVAILABLE [go]"))), "EXECUTION_FAILED"),
    ],
)
def test_a_refusal_says_why_in_what_the_tools_have_said(told: tuple[str, ...], reasons: str) -> None:
    allowed = [code for code in sorted(REASONS) if allows(GRAMMAR, told, ("REFUSE", code))]
    assert allowed == reasons.split()
    assert bool(GRAMMAR.turn(*context(*told)).mask[VOCABULARY.id("REFUSE")]) == bool(reasons)


def test_who_does_not_know_the_words_is_not_asked_for_them_again() -> None:
    one = (*LOOKED, "+POINT VLM box END", "NOT_RECOGNISED [go]", "+LOOK END", "[see] OK [go]")
    assert not allows(GRAMMAR, one, ("POINT", "VLM", "box"))
    assert allows(GRAMMAR, one, ("POINT", "ROBOREFER", "box"))
    assert allows(GRAMMAR, one, ("ROOM", "VLM", "ANYWHERE"))
    nobody = (*one, "+POINT ROBOREFER box END", "NOT_RECOGNISED [go]")
    mask = GRAMMAR.turn(*context(*nobody)).mask
    assert [GRAMMAR.tokens[k] for k in np.flatnonzero(mask)] == ["REFUSE"]
    assert allows(GRAMMAR, nobody, ("REFUSE", "NOT_RECOGNISED"))
    assert not allows(GRAMMAR, nobody, ("REFUSE", "AMBIGUOUS"))
    assert allows(GRAMMAR, (*nobody, "+REFUSE NOT_RECOGNISED END", LOOKED[0]), ("POINT", "VLM", "box"))
    assert allows(GRAMMAR, (*TAKEN, *PICKED, *one[3:], *nobody[-2:]), ("DONE",)), "what is in the hand stays there"
    moved = (*POINTED, *one[3:5], *TAKEN[-2:], *PICKED)
    assert allows(GRAMMAR, moved, ("POINT", "VLM", "box")), "something has moved"


def test_what_neither_pointer_finds_in_several_pictures_is_not_there() -> None:
    missed = ("OBJECT_NOT_FOUND [go]", *AGAIN)
    thrice = (*LOOKED, ASKED_TOO, *missed, ASKED, *missed, ASKED, *missed)
    four, seen = (*thrice, ASKED, missed[0]), (*thrice, ASKED, "p1 [go]", *AGAIN, ASKED, missed[0])
    mask = GRAMMAR.turn(*context(*four)).mask
    assert [GRAMMAR.tokens[k] for k in np.flatnonzero(mask)] == ["REFUSE"]
    assert [code for code in REASONS if allows(GRAMMAR, four, ("REFUSE", code))] == ["OBJECT_NOT_FOUND"]
    one_pointer = (*LOOKED, *(4 * (ASKED, *missed)))
    same_picture = (*LOOKED, ASKED_TOO, missed[0], *(3 * (ASKED, missed[0])))
    for told in (thrice, seen, one_pointer, same_picture, (*four, "+REFUSE OBJECT_NOT_FOUND END", *LOOKED)):
        assert allows(GRAMMAR, told, ("POINT", "ROBOREFER", "box")), told


def test_things_are_taken_and_room_is_filled() -> None:
    again = (*ROOMY, "+POINT ROBOREFER box END", "p4 SAME p3 [go]")
    for move, allowed in (("TAKE", {1, 2, 4}), ("PLACE", {3})):
        assert {k for k in range(1, 17) if allows(GRAMMAR, again, (move, f"p{k}"))} == allowed


@pytest.mark.parametrize(
    ("after", "points"),
    [
        (LOOKED, 0),
        (POINTED, 2),
        ((*POINTED, "+LOOK END", "[see] OK [go]"), 0),
        ((*POINTED, "+LOOK END", "UNAVAILABLE [go]"), 2),  # no new picture: the points of the old one stay
        ((*POINTED, "+TAKE p1 END", "OK OK [go]", "+GRASP END", "HOLDS [see] [go]"), 2),
    ],
)
def test_registers_are_those_since_the_newest_look(after: tuple[str, ...], points: int) -> None:
    allowed = [k for k in range(1, 17) if allows(GRAMMAR, after, ("TAKE", f"p{k}"))]
    assert allowed == [*range(1, points + 1)]


def test_nobody_is_asked_more_often_in_a_row_than_the_tools_answer() -> None:
    again = ("+POINT VLM box END", "OBJECT_NOT_FOUND [go]")
    asked = (*LOOKED, *again, *again)
    assert allows(GRAMMAR, asked, ("POINT", "VLM", "box"))
    thrice = (*asked, *again)
    assert not allows(GRAMMAR, thrice, ("POINT", "VLM", "box"))
    assert allows(GRAMMAR, thrice, ("POINT", "ROBOREFER", "box"))
    assert allows(GRAMMAR, thrice, ("ROOM", "VLM", "ANYWHERE"))
    assert allows(GRAMMAR, (*thrice, "+LOOK END", "[see] OK [go]"), ("POINT", "VLM", "box"))


def test_whatever_is_drawn_from_it_is_a_move_that_can_be_called() -> None:
    rng = np.random.default_rng(0)
    registers = Registers(((0.2, 0.3), (0.4, 0.5), (0.6, 0.5)), 1, ("frobnicator",))
    kinds = set()
    for _ in range(400):
        turn, said = GRAMMAR.turn(*context(*ROOMY, "+ROOM VLM ON tea box END", "EMPTY [go]")), []
        while not said or said[-1] != VOCABULARY.id(END):
            said.append(int(rng.choice(np.flatnonzero(turn.mask))))
            turn.take(said[-1])
        tokens = VOCABULARY.decode(said)
        move = parse_move(tokens[:-1])
        assert move is not None, tokens
        kinds.add(move.kind)
        parsed = PROTOCOL.parse(render_turn(tokens, registers))
        assert parsed.calls or parsed.answer is not None, tokens
    assert len(kinds) == 8, kinds


def test_something_is_allowed_whatever_was_said() -> None:
    rng = np.random.default_rng(1)
    for sentence in ("[task] and [go]", "[task] [go]"):
        for _ in range(100):
            turn = GRAMMAR.turn(*context(sentence, "p1 [go]"))
            for _ in range(12):
                assert turn.mask.any(), sentence
                turn.take(int(rng.choice(np.flatnonzero(turn.mask))))


ANSWERS = {
    "LOOK": ("[see] OK", "UNAVAILABLE"),
    "POINT": ("p1", "p1 p2", "p3 SAME p1", "p2 UNLIKE", "MORE", "EMPTY", "OBJECT_NOT_FOUND", "NOT_UNDERSTOOD"),
    "ROOM": ("p4", "p1 SAME p4", "EMPTY", "PLACE_BLOCKED", "OBJECT_NOT_FOUND"),
    "TAKE": ("OK OK", "OK NO_GRASP", "EMPTY", "EMPTY_MASK"),
    "NEXT": ("OK OK", "NO_GRASP"),
    "GRASP": ("HOLDS [see]", "GRIPPER_EMPTY", "PLAN_FAILED"),
    "PLACE": ("PLACED [see]", "PLACED UNVERIFIED [see]", "OBJECT_DROPPED", "NOT_HOLDING", "PLACE_BLOCKED"),
}
"""What tools tell of each move; besides, any of them can say NOT_RECOGNISED, or run out of time."""


def test_something_is_allowed_whatever_the_tools_answer() -> None:
    """Conversations of random turns, half of them said once more, as a policy does that knows no better."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        state, turn = DialogueState(), list[str]()
        for token in LOOKED[0].split():
            state.update(token, from_policy=False)
        for _ in range(16):
            guided, said = GuidedTurn(GRAMMAR, state), list[str]()
            again = iter(turn if rng.random() < 0.5 else ())
            while not said or said[-1] != END:
                assert guided.mask.any(), (turn, said)
                token = next(again, "")
                if not token or not guided.mask[VOCABULARY.id(token)]:
                    again, token = iter(()), GRAMMAR.tokens[int(rng.choice(np.flatnonzero(guided.mask)))]
                said.append(token)
                guided.take(VOCABULARY.id(token))
            for token in said:
                state.update(token, from_policy=True)
            move = next(token for token in reversed(said) if token in MOVES)
            if move in (DONE, REFUSE):
                break
            told = rng.choice([*ANSWERS[move], "NOT_RECOGNISED", "TIMEOUT"])
            for token in (*told.split(), "[go]"):
                state.update(token, from_policy=False)
            turn = said


def test_who_may_not_be_asked_again_leaves_no_question_where_the_other_does_not_know_the_words() -> None:
    strange = (*LOOKED, "+POINT ROBOREFER box END", "NOT_RECOGNISED [go]")
    thrice = (*strange, *(3 * ("+POINT VLM box END", "NOT_UNDERSTOOD [go]")))
    assert allows(GRAMMAR, thrice[:-2], ("POINT", "VLM", "box"))
    assert not GRAMMAR.turn(*context(*thrice)).mask[VOCABULARY.id("POINT")]
    assert allows(GRAMMAR, thrice, ("LOOK",))


def test_masks_are_those_of_the_turns_and_have_what_was_written() -> None:
    tokens, sampled = context(*POINTED, "+TAKE p2 END", "OK OK [go]", "+p1 END")
    masks = GRAMMAR.masks(tokens, sampled)
    assert masks.shape == (int(sampled.sum()), len(VOCABULARY))
    assert masks[np.arange(len(masks)), tokens[sampled]].all(), "also p1, which no grammar allows there"
    begin = GRAMMAR.turn(*context(*POINTED))
    assert (masks[6] == begin.mask).all()
    assert GRAMMAR.masks(tokens[:4], sampled[:4]).shape == (0, len(VOCABULARY))


def test_a_guided_policy_that_knows_nothing_still_moves() -> None:
    talk = Talk("pick up the red box", VOCABULARY)
    for seed in range(20):
        reply = TinyPolicy(fresh_weights(1), PolicyOptions(temperature=1.0, seed=seed)).respond(talk.messages)
        parsed = PROTOCOL.parse(reply.text)
        cut = reply.token_ids is not None and reply.token_ids[-1] != VOCABULARY.id(END)
        assert parsed.calls or parsed.answer is not None or cut
        assert reply.logprobs is not None
        assert np.isfinite(reply.logprobs).all()


def test_a_grammar_that_leaves_nothing_to_say_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuidedTurn, "mask", property(lambda self: np.zeros(len(VOCABULARY), bool)))
    talk = Talk("pick up the red box", VOCABULARY)
    with pytest.raises(ToolError, match="leaves nothing to say") as caught:
        TinyPolicy(fresh_weights(1), PolicyOptions(temperature=1.0)).respond(talk.messages)
    assert caught.value.code is ErrorCode.INTERNAL
