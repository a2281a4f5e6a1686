"""`toolhand bench spoken`: how soon a graph answers an operator, and what a stop leaves of a sequence.

A graph of the simulated robot is started, whose time runs as the wall clock's. Durations are wall-clock times of one
client that is there already: what `toolhand talk` waits for, without the start of a command.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from simulation_interfaces.srv import LoadWorld, ResetSimulation
from std_srvs.srv import Trigger

from agent_node.events import OperatorAnswer, OperatorQuestion, ignore
from agent_node.ros.operator import Operator
from bench.ros.stop import MOVING, STILL
from sim.ros.graph import started_graph
from sim.scene.files import parse_scene, scene_yaml
from tool_nodes.results import ErrorCode, ToolError, unavailable
from tool_nodes.ros.joint_states import JointReading, JointStates
from tool_nodes.ros.link import RosLink

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
  - {name: red box, position: [0.42, 0.30]}
"""
NO_COMMAND = "what a lovely day"
WHICH = "pick up the red box"
SEQUENCE = "put the toy block behind the left red box, then put the toy block in front of the left red box"
ANSWER = "the left one"

LONGEST_S = 30.0
"""Longest wait for the arm to begin to move [s]."""

WATCH_S = 0.5
"""How long the joints are watched after a confirmed stop, and again after its reset, by the wall clock [s]."""

_LOOK_S = 0.002
"""Time between two looks at the joints [s]: short against what is measured so."""


@dataclass(frozen=True)
class SpokenStop:
    """A stop of a sequence.

    Attributes:
        moment_s: When it came, after the words were sent [s].
        speed: Speed of the fastest joint then [rad/s].
        code: How the words ended.
        later_speed: Speed of the fastest joint after the confirmation [rad/s].
        asked: "go on" led to a question, and nothing moved; None where the sequence was over before the stop.
    """

    moment_s: float
    speed: float
    code: str
    later_speed: float
    asked: bool | None

    @property
    def quiet(self) -> bool:
        """Nothing moved any more."""
        return self.later_speed < 2 * STILL


class SpokenTrials:
    """Speaks to a graph and watches its arm.

    Args:
        link: Takes part in the graph.
        seed: Seed of the moments of stops.

    Raises:
        ToolError: UNAVAILABLE where the graph has no simulator.
    """

    def __init__(self, link: RosLink, seed: int) -> None:
        self._link = link
        self._moments = np.random.default_rng(seed)
        self._readings: list[JointReading] = []
        self._joints = JointStates(link.node, "joint_states", self._readings.append)
        self._words = 0
        answer = link.call(LoadWorld, "/load_world", LoadWorld.Request(resource_string=scene_yaml(parse_scene(SCENE))))
        if answer.result.result != 1:
            raise unavailable(f"The world could not be loaded: {answer.result.error_message}")

    def reset(self) -> None:
        """Begin the world anew."""
        self._link.call(ResetSimulation, "/reset_simulation", ResetSimulation.Request())

    def operator(self, ask: Any = None) -> Operator:
        """Somebody new, in a session of their own."""
        self._words += 1
        session = f"bench {self._words}"
        return Operator(self._link, ignore, ask, session) if ask else Operator(self._link, ignore, session=session)

    def seconds_to(self, text: str, code: ErrorCode, n: int) -> list[float]:
        """Times from words of one operator to their answer [s]. Raises ToolError INTERNAL for another answer."""
        operator, seconds = self.operator(), []
        for _ in range(n + 1):  # the first one makes the connections
            began = time.monotonic()
            episode = operator.carry_out(text)
            seconds.append(time.monotonic() - began)
            if episode.error_code is not code:
                raise ToolError(ErrorCode.INTERNAL, f"{text!r} ended with {episode.error_code}: {episode.answer}")
        return seconds[1:]

    def answer_to_motion(self, waiting: bool) -> float:
        """Time from an answer to the first motion [s]; the command is cancelled then.

        Args:
            waiting: The command waits for the answer; else it is said afterwards.
        """
        self.reset()
        answered: list[float] = []

        def answer(question: OperatorQuestion) -> OperatorAnswer:
            answered.append(time.monotonic())
            return OperatorAnswer(ANSWER)

        operator = self.operator(answer if waiting else None)
        texts = [WHICH] if waiting else [WHICH, ANSWER]

        said: list[str] = []

        def speak() -> None:
            for text in texts:
                if text == ANSWER:
                    answered.append(time.monotonic())
                said.append(operator.carry_out(text).answer)

        speaking = threading.Thread(target=speak, daemon=True)
        speaking.start()
        self._wait(lambda: bool(answered), speaking, said)
        del self._readings[:]
        moved_s = self._wait(lambda: self._speed() > MOVING, speaking, said)
        operator.cancel()
        speaking.join()
        return moved_s - answered[0]

    def stop(self, total_s: float) -> SpokenStop:
        """Stop a sequence within its first `total_s` seconds."""
        self.reset()
        operator = self.operator()
        codes: list[str] = []

        def speak() -> None:
            codes.append(str(operator.carry_out(SEQUENCE).error_code or ""))

        speaking = threading.Thread(target=speak, daemon=True)
        speaking.start()
        moment_s = float(self._moments.uniform(0.0, total_s))
        time.sleep(moment_s)
        speed = self._speed()
        self._call("/stop")
        del self._readings[:]
        time.sleep(WATCH_S)
        speaking.join(LONGEST_S)
        self._call("/reset_stop")
        time.sleep(WATCH_S)
        code, later = codes[0] if codes else "none", self._fastest()
        asked: bool | None = None
        if code:
            asked = operator.carry_out("go on").error_code is ErrorCode.AMBIGUOUS and self._fastest() < 2 * STILL
        return SpokenStop(moment_s, speed, code, later, asked)

    def rehearse(self) -> float:
        """How long the sequence lasts [s]. Raises ToolError INTERNAL where it cannot be done."""
        self.reset()
        began = time.monotonic()
        episode = self.operator().carry_out(SEQUENCE)
        if not episode.success:
            raise ToolError(ErrorCode.INTERNAL, f"The sequence ended with {episode.error_code}: {episode.answer}")
        return time.monotonic() - began

    def _fastest(self) -> float:
        return max((float(np.abs(reading.qd).max()) for reading in self._readings), default=0.0)

    def _speed(self) -> float:
        newest = self._readings[-1] if self._readings else None
        return 0.0 if newest is None else float(np.abs(newest.qd).max())

    def _call(self, name: str) -> None:
        answer = self._link.call(Trigger, name, Trigger.Request())
        if not answer.success:
            raise ToolError(ErrorCode.INTERNAL, f"{name} failed: {answer.message}")

    def _wait(self, condition: Callable[[], bool], speaking: threading.Thread, said: list[str]) -> float:
        """When a condition was met, by the monotonic clock [s]. Raises ToolError TIMEOUT."""
        until_s = time.monotonic() + LONGEST_S
        while not condition():
            if time.monotonic() > until_s or not speaking.is_alive():
                raise ToolError(ErrorCode.TIMEOUT, f"The arm did not move within {LONGEST_S:g} s; I was told: {said}")
            time.sleep(_LOOK_S)
        return time.monotonic()


def measured(n: int, stops: int, seed: int, progress: Callable[[str], None]) -> Mapping[str, Any]:
    """Durations, in seconds by their names, and stops, on a graph that is started for them.

    Args:
        n: Samples of each duration.
        stops: How many sequences are stopped.
        seed: Seed of the graph and of the moments.
        progress: Hears a line for each part.
    """
    with started_graph({"seed": str(seed)}) as graph, RosLink(graph.environment) as link:
        trials = SpokenTrials(link, seed)
        progress(f"{n} samples of each duration")
        timings = {
            "refusal": trials.seconds_to(NO_COMMAND, ErrorCode.NOT_UNDERSTOOD, n),
            "question, after a look": trials.seconds_to(WHICH, ErrorCode.AMBIGUOUS, n),
            "answer that is waited for to motion": [trials.answer_to_motion(waiting=True) for _ in range(n)],
            "answer as the next words to motion": [trials.answer_to_motion(waiting=False) for _ in range(n)],
        }
        samples = []
        if stops:
            total_s = trials.rehearse()
            progress(f"{stops} stops of a sequence of {total_s:.0f} s")
            samples = [trials.stop(total_s) for _ in range(stops)]
    return {"timings": timings, "stops": samples, "codes": dict(Counter(sample.code for sample in samples))}
