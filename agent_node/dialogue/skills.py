"""Skills by a policy of fixed calls: gripper, park position, lift, pointing, handover, a look from the wrist."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.dialogue.acts import SkillAct
from toolhand.agent_node.dialogue.fixed_calls import FixedCalls, at_once
from toolhand.agent_node.dialogue.looking import FREE_TABLE, look
from toolhand.agent_node.dialogue.telling import bare
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policies.scripted.points import describe
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptPart, ScriptStep
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

SUITES = ("spacetools", "wrist", "skills")
"""Suites of tools that the policy calls; a session that offers a model fewer keeps a toolbox of these beside it."""
A_LITTLE_M = 0.05
"""How far a little lift goes [m]; a round figure, easily seen."""


def skill_policy(act: SkillAct, memory: RobotMemory, protocol: Protocol, on_the_way: bool = False) -> Policy:
    """The policy that does one skill, with the tools of `SUITES`.

    Args:
        act: The skill.
        memory: Memory of the robot.
        protocol: Protocol that the policy writes.
        on_the_way: It is no command of its own, but what has to be done before one.
    """
    still = act.name in ("hold_still", "look_again")
    return FixedCalls("skills", lambda: _Doing(act, memory).script(), protocol, still, on_the_way)


class _Doing:
    """The script of one skill."""

    def __init__(self, act: SkillAct, memory: RobotMemory) -> None:
        self._act, self._memory = act, memory
        self._image = 0
        self._held: str | None = None
        self._speed: dict[str, float] = {"speed": act.speed} if act.speed < 1.0 else {}

    def script(self) -> Script:
        scripts: Mapping[str, Callable[[], Script]] = {
            "open_gripper": lambda: self._simply("robot.open_gripper", {}),
            "close_gripper": lambda: self._simply("robot.close_gripper", {}),
            "park": lambda: self._simply("robot.return_to_park", self._speed),
            "lift_a_little": self._lift,
            "hold_low": self._hold_low,
            "point_at": self._point_at,
            "hand_over": self._hand_over,
            "upright": self._upright,
            "look_again": self._look_again,
            "hold_still": lambda: at_once("Nothing is to move.", "I am holding still."),
        }
        return scripts[self._act.name]()

    def _simply(self, tool: str, arguments: Mapping[str, object]) -> Script:
        [response] = yield ScriptStep("I do that.", (ToolCall(tool, dict(arguments)),))
        raise Done("That is the end of it.", _answer(response))

    # -- looking -------------------------------------------------------------------------------

    def _look(self) -> Script:
        seen = yield from look("I have to look first.", depth=False)
        self._image, self._held = seen.image_index or 0, seen.held

    def _call(self, thought: str, tool: str, failed: str, **arguments: object) -> ScriptPart[Response]:
        """The answer to one call about the image; the script ends with another thought where it has failed."""
        call = ToolCall(tool, {**arguments, "image_index": self._image})
        [response] = yield ScriptStep(thought, (call,))
        if not response.ok:
            raise Done(failed, _answer(response))
        return response

    def _one(self, phrase: str) -> ScriptPart[ImagePoint]:
        """Where the one object of a phrase is; the script ends where there is none, or several."""
        failed = f"I cannot find {phrase}."
        response = yield from self._call(f"Where is {phrase}?", "roborefer.detect_all", failed, obj_name=phrase)
        points = sorted(response.points)
        if len(points) > 1 and not parse_noun_phrase(phrase).indefinite:
            which = f"Which {bare(phrase)} do you mean: {describe(points)}?"
            raise Done("Which one?", f"{ErrorCode.AMBIGUOUS}: {which}")
        return points[0]

    def _require_held(self, command: str) -> Script:
        """End the script unless the gripper holds what the skill is about."""
        yield from self._look()
        obj = bare(self._act.object)
        holds = self._held
        if holds is None:
            named = obj if obj and obj not in ("it", "that", "this") else "thing"
            raise Done(
                "The hand is empty.",
                f'{ErrorCode.NOT_HOLDING}: I hold nothing. Say "pick up the {named}", then "{command}".',
            )
        known = holds or (self._memory.held.object if self._memory.held is not None else "")
        if obj and obj not in ("it", "that", "this") and known and bare(known) != obj:
            raise Done(
                "I hold something else.",
                f"{ErrorCode.ALREADY_HOLDING}: I hold the {bare(known)}, not the {obj}. "
                'Say "put it on the table" first.',
            )

    # -- skills --------------------------------------------------------------------------------

    def _lift(self) -> Script:
        if self._act.object:
            yield from self._require_held("lift it a little")
        yield from self._simply("robot.lift", {"distance_m": A_LITTLE_M, **self._speed})

    def _hold_low(self) -> Script:
        """Hold what was picked up a little above where it stood, or above free table where that is not known."""
        yield from self._require_held("hold it low")
        stood = self._memory.held.before if self._memory.held is not None else None
        if stood is not None:
            x, y = stood.point
        else:
            x, y = yield from self._free_table()
        failed = "I cannot hold it there."
        yield from self._call("I lower it.", "robot.point_at", failed, point=[x, y], **self._speed)
        raise Done("It is a little above the table.", f"I hold {_it(self._held)} a little above the table.")

    def _free_table(self) -> ScriptPart[ImagePoint]:
        failed, tool = "There is no room.", "roborefer.detect_one"
        response = yield from self._call("Where is room for it?", tool, failed, obj_name=FREE_TABLE)
        return response.points[0]

    def _point_at(self) -> Script:
        yield from self._look()
        x, y = yield from self._one(self._act.object or "thing")
        failed = "I cannot point at it."
        yield from self._call("I point at it.", "robot.point_at", failed, point=[x, y], **self._speed)
        raise Done("The hand is above it.", f"I point at the {bare(self._act.object)} from above.")

    def _hand_over(self) -> Script:
        yield from self._require_held("hand over it")
        yield from self._simply("robot.hand_over", self._speed)

    def _upright(self) -> Script:
        yield from self._require_held("stand it up")
        x, y = yield from self._free_table()
        yield from self._simply("robot.stand_upright", {"point": [x, y], "image_index": self._image})

    def _look_again(self) -> Script:
        yield from self._look()
        if not self._act.object:
            raise Done("I have a new picture.", 'I have looked again. "What do you see" tells what is there.')
        x, y = yield from self._one(self._act.object)
        failed = "I cannot look closer."
        yield from self._call("I look at it from the wrist.", "robot.look_closer", failed, point=[x, y])
        raise Done("I have seen it from close up.", f"I have looked at the {bare(self._act.object)} from the wrist.")


def _it(held: str | None) -> str:
    """What is held, by the words that it was grasped by."""
    return f"the {bare(held)}" if held else "it"


def _answer(response: Response) -> str:
    return response.text if response.ok else f"{response.error}: {response.text}"
