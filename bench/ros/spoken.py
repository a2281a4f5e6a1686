"""`toolhand bench spoken`: how soon a graph answers an operator, and what a stop leaves of a sequence.

A graph of the simulated robot is started, whose time runs as the wall clock's while durations are measured, and faster
for the stops. Durations are wall-clock times of one client that is there already: what `toolhand talk` waits for,
without the start of a command.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from simulation_interfaces.srv import LoadWorld, ResetSimulation
from std_srvs.srv import Trigger

from agent_node.dialogue.memory_file import FOLDER
from agent_node.events import (
    Ask,
    CommandBegan,
    Event,
    Listener,
    OperatorAnswer,
    OperatorQuestion,
    ToolAnswered,
    ToolCalled,
    ignore,
    nobody,
)
from agent_node.ros.operator import Operator
from bench.ros.stop import MOVING, STILL
from sim.ros.anew import set_seed
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

FAST = 3.0
"""Real-time factor of the sequences that are stopped [-]; above, pictures get too old on a busy machine."""

_REHEARSALS = 5
"""A thing may slip from the hand: so often the sequence is tried before it is said to be impossible."""

_NOTED = 10
"""Progress is told after so many stops."""

_LOOK_S = 0.002
"""Time between two looks at the joints [s]: short against what is measured so."""


@dataclass(frozen=True)
class SpokenStop:
    """A stop of a sequence.

    Attributes:
        moment_s: When it came, after the words were sent [s].
        phase: Step of the sequence and tool that was at work then.
        speed: Speed of the fastest joint then [rad/s].
        code: How the words ended.
        later_speed: Speed of the fastest joint from the confirmation to the answer to "go on" [rad/s].
        asked: "go on" led to a question; None where the sequence was over before the stop, or had not begun.
    """

    moment_s: float
    phase: str
    speed: float
    code: str
    later_speed: float
    asked: bool | None

    @property
    def quiet(self) -> bool:
        """Nothing moved any more."""
        return self.later_speed < 2 * STILL


class HeardStep:
    """Where a sequence is, as its operator hears of it.

    Attributes:
        step: Number of the step that goes on, from 1; 0 before the first.
    """

    def __init__(self) -> None:
        self.step, self._tool = 0, "thinking"

    def hear(self, event: Event) -> None:
        """See `agent_node.events.Listener`."""
        match event:
            case CommandBegan():
                self.step += 1
            case ToolCalled(call):
                self._tool = call.name
            case ToolAnswered():
                self._tool = "thinking"

    def __str__(self) -> str:
        return f"step {self.step}, {self._tool}" if self.step else "before the first step"


class SpokenTrials:
    """Speaks to a graph and watches its arm.

    Args:
        link: Takes part in the graph.
        seed: Seed of the moments of stops.
        runs_dir: Folder of the runs of its agent.

    Raises:
        ToolError: UNAVAILABLE where the graph has no simulator.
    """

    def __init__(self, link: RosLink, seed: int, runs_dir: Path) -> None:
        self._link, self._runs_dir, self._seed = link, runs_dir, seed
        self._moments = np.random.default_rng(seed)
        self._readings: list[JointReading] = []
        self._joints = JointStates(link.node, "joint_states", self._readings.append)
        self._words = 0
        answer = link.call(LoadWorld, "/load_world", LoadWorld.Request(resource_string=scene_yaml(parse_scene(SCENE))))
        if answer.result.result != 1:
            raise unavailable(f"The world could not be loaded: {answer.result.error_message}")

    def reset(self) -> None:
        """Begin the world anew; the robot forgets the one before."""
        for file in (self._runs_dir / FOLDER).glob("*.json"):
            file.unlink()
        self._link.call(ResetSimulation, "/reset_simulation", ResetSimulation.Request())
        set_seed(self._link, "motion", self._seed)  # it holds nothing then
        time.sleep(WATCH_S)  # the newest picture is one of this world then

    def operator(self, ask: Ask = nobody, listener: Listener = ignore) -> Operator:
        """Somebody new, in a session of their own."""
        self._words += 1
        return Operator(self._link, listener, ask, f"bench {self._words}")

    def set_rate(self, factor: float) -> None:
        """Have time pass so much faster than the wall clock's. Raises ToolError INTERNAL where that is refused."""
        parameters = [Parameter("real_time_factor", value=factor).to_parameter_msg()]
        request = SetParameters.Request(parameters=parameters)
        (result,) = self._link.call(SetParameters, "/sim/set_parameters", request).results
        if not result.successful:
            raise ToolError(ErrorCode.INTERNAL, f"The simulator refuses its speed: {result.reason}")

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

        operator = self.operator(answer if waiting else nobody)
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

    def moments(self, n: int, total_s: float) -> list[float]:
        """Moments of n stops, in random order: one in each n-th part of a time [s]."""
        return [float(k) * total_s / n for k in self._moments.permutation(n) + self._moments.uniform(size=n)]

    def stop(self, moment_s: float, in_motion: bool) -> SpokenStop:
        """Stop a sequence.

        Args:
            moment_s: When, after its words were sent [s].
            in_motion: Wait from then on until the arm moves.
        """
        self.reset()
        phase = HeardStep()
        operator = self.operator(listener=phase.hear)
        codes: list[str] = []

        def speak() -> None:
            codes.append(str(operator.carry_out(SEQUENCE).error_code or ""))

        speaking = threading.Thread(target=speak, daemon=True)
        speaking.start()
        time.sleep(moment_s)
        while in_motion and speaking.is_alive() and self._speed() <= MOVING:
            time.sleep(_LOOK_S)
        at, speed = str(phase), self._speed()
        self._call("/stop")
        del self._readings[:]
        time.sleep(WATCH_S)
        speaking.join(LONGEST_S)
        self._call("/reset_stop")
        time.sleep(WATCH_S)
        code = codes[0] if codes else "none"
        asked: bool | None = None
        if code:
            answered = operator.carry_out("go on").error_code
            begun = phase.step > 0 or answered is not ErrorCode.INVALID_ARGUMENT
            asked = answered is ErrorCode.AMBIGUOUS if begun else None
        return SpokenStop(moment_s, at, speed, code, self._fastest(), asked)

    def rehearse(self) -> float:
        """How long the sequence lasts [s]. Raises ToolError INTERNAL where it cannot be done."""
        for _ in range(_REHEARSALS):
            self.reset()
            began = time.monotonic()
            episode = self.operator().carry_out(SEQUENCE)
            if episode.success:
                return time.monotonic() - began
        raise ToolError(ErrorCode.INTERNAL, f"The sequence ended with {episode.error_code}: {episode.answer}")

    def _fastest(self) -> float:
        return max(map(_speed, self._readings), default=0.0)

    def _speed(self) -> float:
        newest = self._readings[-1] if self._readings else None
        return 0.0 if newest is None else _speed(newest)

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


def _speed(reading: JointReading) -> float:
    """Speed of the fastest joint, the jaws' included [rad/s]."""
    return max(float(np.abs(reading.qd).max()), abs(reading.knuckle_velocity))


def measured(n: int, stops: int, seed: int, progress: Callable[[str], None]) -> Mapping[str, Any]:
    """Durations, in seconds by their names, and stops, on a graph that is started for them.

    Args:
        n: Samples of each duration.
        stops: How many sequences are stopped.
        seed: Seed of the graph and of the moments.
        progress: Hears a line for each part.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        started_graph({"seed": str(seed), "runs_dir": folder}) as graph,
        RosLink(graph.environment) as link,
    ):
        trials = SpokenTrials(link, seed, Path(folder))
        progress(f"{n} samples of each duration")
        timings = {
            "refusal": trials.seconds_to(NO_COMMAND, ErrorCode.NOT_UNDERSTOOD, n),
            "question, after a look": trials.seconds_to(WHICH, ErrorCode.AMBIGUOUS, n),
            "answer that is waited for to motion": [trials.answer_to_motion(waiting=True) for _ in range(n)],
            "answer as the next words to motion": [trials.answer_to_motion(waiting=False) for _ in range(n)],
        }
        samples: list[SpokenStop] = []
        if stops:
            trials.set_rate(FAST)
            total_s = trials.rehearse()
            progress(f"{stops} stops of a sequence of {total_s:.0f} s, simulated time {FAST:g} times as fast")
            for moment_s in trials.moments(stops, total_s):
                samples.append(trials.stop(moment_s, in_motion=len(samples) % 2 == 1))
                if len(samples) % _NOTED == 0:
                    progress(f"{len(samples)} stops, after {sum(not each.quiet for each in samples)} something moved")
    return {"timings": timings, "stops": samples, "codes": dict(Counter(sample.code for sample in samples))}
