"""The small policy's dialect, lossless both ways: a move of a few tokens is one to three calls of SpaceTools' suite.

| tokens | what it does |
|---|---|
| `PLAN red box NEXT_TO tea box` | nothing: thought before a move, of the target and where it is to go |
| `LOOK` | a picture and its depth |
| `POINT ROBOREFER red box` | every point of a phrase; `VLM` is the other pointer |
| `ROOM ROBOREFER NEXT_TO tea box` | one point of free room; `BETWEEN pony and bunny` has two references |
| `TAKE p2` | the outline at a point, and a grasp of it |
| `NEXT` | the next best grasp of the same outline |
| `GRASP` | the grasp is executed |
| `PLACE p3` | what is held is put down at a point |
| `DONE` | the answer, that it is done |
| `REFUSE AMBIGUOUS` | the answer, that it is not, and the code why |

A turn is a move and END. Its text is the protocol's: the tokens as the thought, then the calls. Points are registers:
`p1` is the first that a pointer gave since the newest look, and the call holds its coordinates. Tokens that are no move
become a thought without a call, which the agent counts as a malformed turn and which reads back to the same tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from agent_node.calls import ToolCall
from agent_node.policies.scripted.transcript import PicturePoint
from agent_node.policies.tiny import vocabulary as v
from agent_node.protocol import Protocol, load_protocol
from tool_nodes.language.places import free_space_phrase
from tool_nodes.results import ErrorCode, ToolError, invalid

MoveKind = Literal["look", "point", "room", "take", "next", "grasp", "place", "done", "refuse"]

TOOLS = (
    "robot.capture_image",
    "robot.get_depth_with_pointcloud",
    "robot.execute_grasp",
    "robot.place_object_at_2d_location",
    "roborefer.detect_all",
    "roborefer.detect_one",
    "vlm.detect_all",
    "vlm.detect_one",
    "sam2.segment_from_point",
    "grasp_generator.compute_grasp",
)
"""The tools that moves call; all are in the suite `spacetools`."""

DONE_ANSWER = "Done."
"""The answer of `DONE`."""

REASONS: dict[str, str] = {
    ErrorCode.NOT_UNDERSTOOD: "I do not understand what is asked for.",
    ErrorCode.AMBIGUOUS: "I am not sure which thing is meant, and I must not guess.",
    ErrorCode.NOT_RECOGNISED: "I do not know what these words look like.",
    ErrorCode.OBJECT_NOT_FOUND: "I do not see what is asked for.",
    ErrorCode.EMPTY_MASK: "I cannot outline the thing.",
    ErrorCode.NO_DEPTH: "I do not know how far away the thing is.",
    ErrorCode.NO_GRASP: "I see no way to grasp the thing.",
    ErrorCode.OUT_OF_WORKSPACE: "That is out of reach.",
    ErrorCode.PLACE_BLOCKED: "There is no room there.",
    ErrorCode.IK_FAILED: "The arm has no posture for that.",
    ErrorCode.PLAN_FAILED: "The arm finds no way there.",
    ErrorCode.SCENE_CHANGED: "The table keeps changing.",
    ErrorCode.EXECUTION_FAILED: "It did not work.",
    ErrorCode.GRIPPER_EMPTY: "The gripper closed on nothing.",
    ErrorCode.OBJECT_DROPPED: "The thing was dropped.",
    ErrorCode.NOT_HOLDING: "The gripper holds nothing.",
}
"""What `REFUSE` may give as its reason, with the answer's words; faults of the system are not for a policy to claim."""

_GRASP_FROM = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}


NOWHERE = "nowhere"
"""Where a plan that is a pick alone puts the thing, where it is written in lines."""


@dataclass(frozen=True)
class Plan:
    """What is thought before the first move, in the operator's words.

    Attributes:
        target: Words of the thing, its side and what it is beside among them: ("left", "can").
        relation: Where it is to go, a value of `RELATION_TOKENS`; empty for a pick.
        reference: Words of what the place is in relation to.
    """

    target: tuple[str, ...]
    relation: str = ""
    reference: tuple[str, ...] = ()


@dataclass(frozen=True)
class Move:
    """One turn of the policy.

    Attributes:
        kind: Kind of move.
        pointer: Who is asked by "point" and "room": "roborefer" or "vlm".
        words: Words of the phrase that "point" asks for; the references of "room", with "and" between two.
        relation: Relation of "room", a value of `RELATION_TOKENS`.
        register: K of the point pK of "take" and "place", from 1.
        why: Reason of "refuse", a key of REASONS.
        plan: Thought before it.
    """

    kind: MoveKind
    pointer: str = ""
    words: tuple[str, ...] = ()
    relation: str = ""
    register: int = 0
    why: str = ""
    plan: Plan | None = None


@dataclass(frozen=True)
class Registers:
    """What a move's tokens stand for at one moment of a conversation.

    Attributes:
        points: Normalized points since the newest look, p1 first; at most `vocabulary.REGISTERS`.
        image_index: The newest picture of the camera, which the next calls look at; 0 before the first.
        slots: The operator's unknown words, `[w1]` first.
    """

    points: tuple[PicturePoint, ...] = ()
    image_index: int = 0
    slots: tuple[str, ...] = ()


def spell_move(move: Move) -> tuple[str, ...]:
    """The tokens of a move, without END. Raises ToolError INVALID_ARGUMENT for a field that has no token."""
    plan: tuple[str, ...] = ()
    if move.plan is not None:
        where = (_relation_token(move.plan.relation), *move.plan.reference) if move.plan.relation else ()
        plan = (v.PLAN, *move.plan.target, *where)
    return (*plan, move.kind.upper(), *_arguments(move))


def _arguments(move: Move) -> tuple[str, ...]:
    if move.kind == "point":
        return (_pointer_token(move.pointer), *move.words)
    if move.kind == "room":
        return (_pointer_token(move.pointer), _relation_token(move.relation), *move.words)
    if move.kind in ("take", "place"):
        return (f"p{move.register}",)
    return (move.why,) if move.kind == "refuse" else ()


def _pointer_token(pointer: str) -> str:
    if pointer.upper() not in v.POINTERS:
        raise invalid(f"The pointer of a move is {' or '.join(v.POINTERS.values())}, not {pointer!r}.")
    return pointer.upper()


def _relation_token(relation: str) -> str:
    if relation.upper() not in v.RELATION_TOKENS:
        raise invalid(f"The relation of a move is one of {', '.join(v.RELATION_TOKENS.values())}, not {relation!r}.")
    return relation.upper()


def parse_move(tokens: Sequence[str]) -> Move | None:
    """The move of tokens without END; None where they are none."""
    rest, plan = list(tokens), None
    if rest and rest[0] == v.PLAN:
        end = next((k for k, token in enumerate(rest) if k and token in v.MOVES), len(rest))
        plan = _parse_plan(rest[1:end])
        if plan is None:
            return None
        rest = rest[end:]
    move = _parse_bare(rest)
    return move and replace(move, plan=plan)


def _parse_plan(tokens: Sequence[str]) -> Plan | None:
    at = next((k for k, token in enumerate(tokens) if token in v.RELATION_TOKENS), len(tokens))
    target, reference = tuple(tokens[:at]), tuple(tokens[at + 1 :])
    if not target or not all(map(_is_word, (*target, *reference))):
        return None
    return Plan(target, v.RELATION_TOKENS[tokens[at]] if at < len(tokens) else "", reference)


def _parse_bare(tokens: Sequence[str]) -> Move | None:
    if not tokens or tokens[0] not in v.MOVES:
        return None
    kind, given = cast(MoveKind, tokens[0].lower()), tuple(tokens[1:])
    if tokens[0] in (v.LOOK, v.NEXT, v.GRASP, v.DONE):
        return None if given else Move(kind)
    if tokens[0] == v.REFUSE:
        return Move(kind, why=given[0]) if len(given) == 1 and given[0] in REASONS else None
    if tokens[0] in (v.TAKE, v.PLACE):
        named = len(given) == 1 and given[0] in v.FIXED and given[0].startswith("p")
        return Move(kind, register=int(given[0][1:])) if named else None
    if tokens[0] not in (v.POINT, v.ROOM) or not given or given[0] not in v.POINTERS:
        return None
    pointer = v.POINTERS[given[0]]
    if tokens[0] == v.POINT:
        words = given[1:]
        return Move(kind, pointer, words) if words and all(map(_is_word, words)) else None
    if len(given) < 2 or given[1] not in v.RELATION_TOKENS or not all(map(_is_word, given[2:])):
        return None
    move = Move(kind, pointer, given[2:], v.RELATION_TOKENS[given[1]])
    groups = _groups(move.words)
    right = not move.words if move.relation == "anywhere" else all(groups)
    return move if right else None


def _is_word(token: str) -> bool:
    """Whether a token is the operator's: a word or a slot."""
    return token not in v.FIXED or token.startswith("[w")


def _groups(words: Sequence[str]) -> list[list[str]]:
    """Words of several references, which "and" separates."""
    groups: list[list[str]] = [[]]
    for word in words:
        if word == "and":
            groups.append([])
        else:
            groups[-1].append(word)
    return groups


def calls_of(move: Move, registers: Registers) -> tuple[ToolCall, ...]:
    """The calls of a move; none for an answer.

    Raises:
        ToolError: INVALID_ARGUMENT where it names a register or a slot that there is not.
    """
    image = {"image_index": registers.image_index}
    grasp = ToolCall("grasp_generator.compute_grasp", {**_GRASP_FROM, **image})
    if move.kind == "look":
        return ToolCall("robot.capture_image", {}), ToolCall("robot.get_depth_with_pointcloud", {})
    if move.kind == "point":
        return (ToolCall(f"{move.pointer}.detect_all", {"obj_name": _said(move.words, registers), **image}),)
    if move.kind == "room":
        references = [_said(group, registers) for group in _groups(move.words) if group]
        return (
            ToolCall(f"{move.pointer}.detect_one", {"obj_name": free_space_phrase(move.relation, references), **image}),
        )
    if move.kind == "take":
        x, y = _point(move.register, registers)
        return ToolCall("sam2.segment_from_point", {"x": x, "y": y, **image}), grasp
    if move.kind == "next":
        return (grasp,)
    if move.kind == "grasp":
        return (ToolCall("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),)
    if move.kind == "place":
        at: dict[str, Any] = {"placement_point_2d": list(_point(move.register, registers))}
        return (ToolCall("robot.place_object_at_2d_location", at),)
    return ()


def _point(register: int, registers: Registers) -> PicturePoint:
    if not 1 <= register <= len(registers.points):
        raise invalid(f"There is no point p{register}: there are {len(registers.points)} since the newest look.")
    return registers.points[register - 1]


def _said(words: Sequence[str], registers: Registers) -> str:
    """The words themselves, in place of their slots."""
    unbound = [word for word in words if word.startswith("[") and not 0 < int(word[2:-1]) <= len(registers.slots)]
    if unbound:
        raise invalid(
            f"The slot {unbound[0]} stands for no word: the sentence has {len(registers.slots)} unknown ones."
        )
    return " ".join(registers.slots[int(word[2:-1]) - 1] if word.startswith("[") else word for word in words)


def _in_slots(words: tuple[str, ...], registers: Registers) -> tuple[str, ...]:
    return tuple(f"[w{registers.slots.index(word) + 1}]" if word in registers.slots else word for word in words)


def render_move(move: Move, registers: Registers, protocol: Protocol | None = None) -> str:
    """The turn of a move, as the protocol writes it.

    Args:
        move: Its words may be the operator's unknown ones: they are written as the slots that stand for them.
        registers: Values of the moment, see `context.read_registers`.
        protocol: SpaceTools' where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a move that cannot be written or that names what there is not.
    """
    plan = move.plan and replace(
        move.plan,
        target=_in_slots(move.plan.target, registers),
        reference=_in_slots(move.plan.reference, registers),
    )
    slotted = replace(move, words=_in_slots(move.words, registers), plan=plan)
    tokens = spell_move(slotted)
    if parse_move(tokens) != slotted:
        raise invalid(f"{' '.join(tokens)[:120]!r} is no move of the dialect.")
    return _valid(tokens, slotted, registers, protocol)


def _valid(tokens: Sequence[str], move: Move, registers: Registers, protocol: Protocol | None) -> str:
    protocol = protocol or load_protocol("spacetools")
    return protocol.render_turn(" ".join(tokens), calls_of(move, registers), _answer(move))


def _answer(move: Move) -> str | None:
    return {"done": DONE_ANSWER, "refuse": f"{move.why}: {REASONS.get(move.why, '')}"}.get(move.kind)


def render_lines(move: Move, points: Sequence[PicturePoint], protocol: Protocol) -> str:
    """The turn of a move where each line is a call: without tokens, and every call looks at the newest view.

    Args:
        move: With the operator's words as they are.
        points: The points that its registers name.
        protocol: One with lines.

    Raises:
        ToolError: INVALID_ARGUMENT where it names a register that there is not.
    """
    calls = [
        replace(call, arguments={**call.arguments, "image_index": "$captured_image"})
        if "image_index" in call.arguments
        else call
        for call in calls_of(move, Registers(tuple(points)))
    ]
    return protocol.render_turn(_plan_in_words(move.plan), calls, _answer(move))


def _plan_in_words(plan: Plan | None) -> str:
    """A plan as a thought in the words of the calls that follow, so that a later turn need not read the sentence."""
    if plan is None:
        return ""
    references = [" ".join(group) for group in _groups(plan.reference) if group]
    where = free_space_phrase(plan.relation, references) if plan.relation else NOWHERE
    return f"take {' '.join(plan.target)}, put {where}"


def planned(tokens: Sequence[str], registers: Registers) -> str:
    """The plan of a turn's tokens in words, as of `agent_node.policies.accounting`; empty for a turn without one."""
    move = parse_move(tokens[:-1]) if tokens and tokens[-1] == v.END else None
    plan = _plan_in_words(None if move is None else move.plan)
    return re.sub(r"\[w(\d+)\]", lambda slot: "".join(registers.slots[int(slot[1]) - 1 :][:1]), plan)


def render_turn(tokens: Sequence[str], registers: Registers, protocol: Protocol | None = None) -> str:
    """The turn of any tokens, the END that closes it included: that of their move, or a thought without a call."""
    move = parse_move(tokens[:-1]) if tokens and tokens[-1] == v.END else None
    if move is not None:
        try:
            return _valid(tokens[:-1], move, registers, protocol)
        except ToolError:
            pass  # it names a register or a slot that there is not
    return (protocol or load_protocol("spacetools")).render_turn(" ".join(tokens), ())


def read_turn(text: str, registers: Registers, protocol: Protocol | None = None) -> tuple[str, ...] | None:
    """The tokens of a turn that `render_turn` wrote with the same registers; None for any other text."""
    parsed = (protocol or load_protocol("spacetools")).parse(text)
    tokens = tuple(parsed.thought.split(" ")) if parsed.thought else ()
    if parsed.calls or parsed.answer is not None:
        tokens = (*tokens, v.END)
    return tokens if render_turn(tokens, registers, protocol) == text else None


def read_move(text: str, registers: Registers, protocol: Protocol | None = None) -> Move | None:
    """The move of a turn; None where it is none, or was not written in this dialect."""
    tokens = read_turn(text, registers, protocol)
    parsed = (protocol or load_protocol("spacetools")).parse(text)
    return parse_move(tokens[:-1]) if tokens and (parsed.calls or parsed.answer is not None) else None
