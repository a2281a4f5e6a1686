"""While the backends are up, no calls of a policy end an episode without a score, whatever they are."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.bench.redteam.fuzz import CallFuzzer
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode
from toolhand.tool_nodes.tools.suites import SUITES
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import ran_out_of_time
from toolhand.training.env.session import EpisodeSession
from toolhand.training.tasks.kinds import make_task

KINDS = ("pick_and_place", "yes_no", "map_route", "box")
"""A deed, questions about the table and one about a drawing, which is shown with the sentence."""
WORDS = (
    "red box",
    "the left can",
    "everything",
    "table",
    "free table left of the salt",
    "violin",
    "A",
    "second largest",
)
CALLS = 12


class ToolUser(CallFuzzer):
    """Calls whose arguments make sense more often: images and variables of the conversation, words of the table."""

    images = 0

    def _value(self, name: str, schema: Mapping[str, Any], variables: Sequence[str]) -> Any:
        if self._rng.random() < 0.2:
            return super()._value(name, schema, variables)
        fitting = [own for own in variables if own in name or name in own]
        if fitting:
            return f"${self._one(fitting)}"
        if name in ("image_index", "image", "img_path") and self.images:
            index = int(self._rng.integers(self.images))
            return index if schema.get("type") == "integer" else f"image-{index}"
        if schema.get("type") == "string" and "pattern" not in schema:
            return self._one(WORDS)
        return self._of(schema, variables)


def play(session: EpisodeSession, seed: int) -> list[Any]:
    """The records of so many calls, and an answer."""
    user = ToolUser(np.random.default_rng(seed), session.tools(), np.eye(4))
    for k in range(CALLS):
        memory = session.episode.session
        user.images = len(memory.images)
        name, arguments = user.call(list(memory.variables))
        if not memory.images or k == 1:
            name, arguments = ("robot.capture_image", "robot.get_depth_with_pointcloud")[k % 2], {}
        if isinstance(name, str) and isinstance(arguments, Mapping) and not session.done:
            session.say(session.episode.protocol.render_turn("", (ToolCall(name, arguments),)))
    if not session.done:
        session.say("<answer>(A)</answer>")
    return session.episode.records


@pytest.mark.parametrize(("perception", "backend"), [("sim", "physics"), ("pixels", "physics"), ("sim", "mock")])
def test_no_calls_of_a_policy_end_an_episode_without_a_score(perception: str, backend: str) -> None:
    config = StationConfig(perception=perception, suites=SUITES, image_size=(160, 120), timestep=0.004, sleep=True)
    environment, tried = Environment(config, backend=backend, settings=ConversationSettings(turn_budget=CALLS + 1)), 0
    for seed, kind in enumerate(itertools.chain(KINDS, KINDS)):
        with environment.open(make_task(kind, seed), seed) as session:
            for record in play(session, seed):
                tried += 1
                error = record.result.error
                assert error is None or error.code not in INFRASTRUCTURE_ERRORS, (record.name, record.arguments, error)
                assert not ran_out_of_time(record), (record.name, record.arguments)
            session.score()
    assert tried > 4 * len(KINDS)


POINT = ("roborefer.detect_one", {"obj_name": "red box", "image_index": 1})
USELESS = {
    "the robot's depth": [("robot.get_depth", {}), POINT],
    "an estimate of depth": [("depth_estimator.estimate_depth", {"image_index": 0}), POINT],
    "no picture at all": [POINT],
}
"""Calls the last of which looks at an image in which nothing can be found; the question itself shows image 0."""
PROGRAMS = ("while True:\n    pass", "x = [0]\nwhile True:\n    x = x + x", "raise SystemExit")


def failed(perception: str, calls: Sequence[tuple[str, dict[str, Any]]]) -> ErrorCode | None:
    """The code of the last of some calls, of an episode that is answered and scored."""
    config = StationConfig(perception=perception, image_size=(160, 120), sleep=True)
    with Environment(config).open(make_task("yes_no", 3), 1) as session:
        codes = [session.call(name, arguments).error_code for name, arguments in calls]
        session.say("<answer>Yes.</answer>")
        assert session.healthy
        assert session.score().total in (0.0, 1.0)
    return codes[-1]


@pytest.mark.parametrize("perception", ["sim", "pixels"])
@pytest.mark.parametrize("calls", USELESS.values(), ids=USELESS)
def test_to_look_at_the_wrong_image_is_scored(calls: Sequence[tuple[str, dict[str, Any]]], perception: str) -> None:
    assert failed(perception, calls) in (ErrorCode.IMAGE_UNUSABLE, ErrorCode.INVALID_ARGUMENT)


@pytest.mark.parametrize("code", PROGRAMS)
def test_a_program_that_has_to_be_ended_is_scored(code: str) -> None:
    assert failed("sim", [("code_executor.exec", {"code": code})]) is ErrorCode.EXECUTION_FAILED
