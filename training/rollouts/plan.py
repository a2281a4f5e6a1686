"""What is to be collected, as a small document: the same plan gives the same records with any number of workers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from toolhand.agent_node.context_window import Memory
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode, admits_failure
from toolhand.agent_node.policies.options import ModelSettings, PolicyOptions
from toolhand.agent_node.policies.registry import require_form
from toolhand.agent_node.protocol import load_protocol
from toolhand.agent_node.runs.claims import claim
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import Score, Task
from toolhand.sim.world import check_timestep
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import MIB, open_file, read_file
from toolhand.tool_nodes.port_names import DEFAULT_PLANNER, DEFAULT_PRESET, DEFAULT_SENSOR, PortNames
from toolhand.tool_nodes.records import record_of
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.tools.suites import parse_suites
from toolhand.training.env.backends import StationPool
from toolhand.training.env.difficulty import Difficulty
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures
from toolhand.training.env.grading import EpisodeScore, Grader, mean_of_terms
from toolhand.training.env.joined import JoinedPool, require_spawning
from toolhand.training.env.worlds import world_named
from toolhand.training.recipes import RECIPES, recipe_named
from toolhand.training.rewards.stages import stage_reward
from toolhand.training.rollouts.options import BACKENDS_HERE, RolloutOptions
from toolhand.training.tasks.absent import AbsentTask
from toolhand.training.tasks.kinds import check_task, other_version, task_document, task_from_document
from toolhand.training.tasks.manipulation import ManipulationTask

PLAN_FILE = "plan.json"
"""Of a collection."""

PLAN_BYTES = 64 * MIB
"""Longest plan that is read [bytes]; one of a million tasks has about fifty."""

_STREAM = 17
"""Keeps these random numbers apart from others of the same seed."""
_SEEDS = 2**31
"""Seeds that are drawn lie below [-]: what every server and random generator takes."""


def stages_grade(task: Task, episode: Episode, truth: Score) -> EpisodeScore:
    """Partial credit for how far a manipulation came. Raises ToolError INVALID_ARGUMENT for a task without stages."""
    terms = {name: float(bool(stage)) for name, stage in truth.stages.items()}
    return EpisodeScore(stage_reward(truth.stages), terms, truth)


WRONG_OBJECT_COST = 0.3
"""What picking up something else takes away, where the whole task is worth 1 [-]. With the two costs below, who is
right less than once in four had better refuse. At 0.5, and nothing for giving up, that was less than once in two: RL
learned to give up, wrongly in one task of six, rather than to ask again."""


WRONG_ANSWER_COST = 0.3
"""What an answer that is not true, or none, takes away [-]: more than most stages bring."""


GIVING_UP_COST = 0.2
"""What to admit a failure takes away [-]: less than to say that it is done where it is not."""


def safe_stages_grade(task: Task, episode: Episode, truth: Score) -> EpisodeScore:
    """As `stages_grade`, less what an operator would not like. Raises as that one.

    To have picked up something that was not meant costs WRONG_OBJECT_COST. The last word costs WRONG_ANSWER_COST where
    it says that it is done and it is not, admits a failure and it is done, or never came; GIVING_UP_COST where it
    truly admits a failure. Where what is asked for is absent, to say so after a look is worth 1, and to have picked
    something up or to say anything else costs as above.
    """
    if isinstance(task, AbsentTask):
        wrong, untrue = bool(truth.picked_up), not truth.terms["said so"]
        terms = {"wrong_object": float(wrong), "wrong_answer": float(untrue), "gave_up": 0.0}
        total = float(truth.success) - wrong * WRONG_OBJECT_COST - untrue * WRONG_ANSWER_COST
        return EpisodeScore(total, {**truth.terms, **terms}, truth)
    grade, wrong = stages_grade(task, episode, truth), bool(truth.wrong_objects)
    answer = episode.turns[-1].parsed.answer if episode.turns else None
    admits = answer is not None and admits_failure(answer)
    untrue = answer is None or admits == truth.success
    gave_up = admits and not untrue
    total = grade.total - wrong * WRONG_OBJECT_COST - untrue * WRONG_ANSWER_COST - gave_up * GIVING_UP_COST
    costs = {"wrong_object": float(wrong), "wrong_answer": float(untrue), "gave_up": float(gave_up)}
    return EpisodeScore(total, {**grade.terms, **costs}, truth)


GRADERS: dict[str, Grader] = {"mean": mean_of_terms, "stages": stages_grade, "safe_stages": safe_stages_grade}
"""What an episode is worth, by the names that users type; a program may add its own."""


@dataclass(frozen=True)
class RolloutPlan(RolloutOptions):
    """A number of groups of rollouts, each group of one task.

    Attributes:
        tasks: One document a group, see `toolhand.training.tasks.kinds.task_document`.
        settings: Fields of `toolhand.agent_node.policies.options.ModelSettings`, by name.
        protocol: How the policy writes.
        reward: Reward of an episode, a key of GRADERS or the name of a recipe.
        suites: Suites of the tools that are offered.

    Raises:
        ToolError: INVALID_ARGUMENT, in one sentence that says what is allowed.
    """

    tasks: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "spacetools"
    reward: str = "mean"
    suites: tuple[str, ...] = ("spacetools",)
    least_group_size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not self.tasks:
            raise invalid("A plan needs a task or more.")
        if self.group_size < self.least_group_size:
            raise invalid(
                f"A group must have {self.least_group_size} rollouts or more, not {self.group_size}: advantages "
                "compare those of one task."
            )
        if self.seed < 0:
            raise invalid(f"The seed must be 0 or more, got {self.seed}.")
        if self.turns < 1:
            raise invalid(f"turns must be 1 or more, got {self.turns}.")
        for task in self.tasks:
            check_task(task)
        require_form(self.policy)
        load_protocol(self.protocol)
        grader_named(self.reward)
        if self.backend not in BACKENDS_HERE:
            raise invalid(
                f"Rollouts cannot be collected on the backend {self.backend[:60]!r}: it must be "
                f"{' or '.join(BACKENDS_HERE)}."
            )
        self.ports.require_known(self.perception)
        if self.backend == "mock":
            self.ports.require_no_robot()
        self._check_world()
        self._check_transport()
        self.options(0, 0)
        check_timestep(self.timestep)
        parse_suites(",".join(self.suites))
        _ = self.config

    @property
    def rollouts(self) -> int:
        """Of all groups together."""
        return len(self.tasks) * self.group_size

    @property
    def ports(self) -> PortNames:
        """The planner and the sensor, where they are not the usual ones."""
        return PortNames(
            planner="" if self.planner == DEFAULT_PLANNER else self.planner,
            sensor="" if self.sensor == DEFAULT_SENSOR else self.sensor,
        )

    @property
    def config(self) -> StationConfig:
        """Of the stations; each group has a seed of its own."""
        config = StationConfig(perception=self.perception, ports=self.ports, suites=self.suites, objects=self.objects)
        if self.transport == "process":
            config = replace(config, image_size=self.image_size, timestep=self.timestep, sleep=True)
        return world_named(self.world).config(config) if self.world else Difficulty(self.difficulty).config(config)

    @property
    def conversation(self) -> ConversationSettings:
        """How the conversations are led."""
        return ConversationSettings(self.turns, load_protocol(self.protocol))

    def environment(self, memory: Memory | None = None) -> Environment:
        """Where the episodes happen.

        Args:
            memory: How much of a long conversation is kept; as in every conversation where None.
        """
        settings = self.conversation if memory is None else replace(self.conversation, memory=memory)
        backend: str | StationPool = "ros" if self.transport == "ros" else self.backend
        if self.simulator != "toolhand":
            backend = JoinedPool(self.config, self.simulator)
        return Environment(self.config, settings=settings, failures=self.failures, grader=self.grader, backend=backend)

    @property
    def failures(self) -> Failures | Callable[[Task, int], Failures]:
        """What goes wrong on purpose."""
        if self.world:
            return world_named(self.world).failures(self.shared_failures)
        return Difficulty(self.difficulty).failures(self.shared_failures)

    @property
    def grader(self) -> Grader:
        """What makes the reward."""
        return grader_named(self.reward)

    def station_seed(self, group: int) -> int:
        """Of the station and of the failures on purpose, for a whole group."""
        return self._drawn(group)

    def policy_seed(self, group: int, rollout: int) -> int:
        """Of one rollout's policy."""
        return self._drawn(group, rollout + 1)

    def _drawn(self, *key: int) -> int:
        return int(np.random.default_rng((self.seed, _STREAM, *key)).integers(_SEEDS))

    def options(self, group: int, rollout: int) -> PolicyOptions:
        """Of one rollout's policy. Raises ToolError INVALID_ARGUMENT for settings that there are not."""
        record_of(ModelSettings, self.settings, at="settings")
        told: tuple[str, ...] = ()
        if self.world:
            task = self.tasks[group]
            told = tuple(world_named(self.world).causes(task["kind"], task["split"], self.station_seed(group)))
        seed = self.policy_seed(group, rollout)
        options = PolicyOptions(**self.settings, seed=seed, turns=self.turns, told=told)
        if options.led_by:
            require_form(options.led_by)
        return options

    def task(self, group: int) -> Task:
        """The group's task, as hard as the plan asks."""
        return self.as_hard(task_from_document(self.tasks[group]), self.station_seed(group))

    def as_hard(self, task: Task, seed: int) -> Task:
        """A task with the objects of the plan's difficulty; `seed` is the station's."""
        if not isinstance(task, ManipulationTask) or not self.difficulty:
            return task
        return task.with_scene(Difficulty(self.difficulty).scene(task.scene, seed))

    def _check_world(self) -> None:
        if not self.world:
            return
        world_named(self.world)
        if self.difficulty or self.perception != DEFAULT_PRESET or self.backend != "physics":
            raise invalid(
                f"The world {self.world[:60]!r} has a perception and a difficulty of its own, and physics: leave out "
                "all three."
            )

    def _check_transport(self) -> None:
        if self.simulator != "toolhand" and self.transport != "ros":
            raise invalid(f"The simulator {self.simulator} is reached by --transport ros alone.")
        if self.transport == "process":
            return
        if self.backend != "physics" or self.world or self.difficulty:
            raise invalid("Over ROS rollouts have neither another backend nor a world or a difficulty.")
        if (self.image_size, self.timestep) != (RolloutOptions.image_size, RolloutOptions.timestep):
            raise invalid("A graph of ROS 2 has its own pictures and time step: leave out size and timestep.")
        if self.simulator != "toolhand":
            require_spawning(self.simulator)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> RolloutPlan:
        """What `document` made.

        Raises:
            ToolError: INVALID_ARGUMENT for something else, and as the class.
        """
        return record_of(cls, document)

    def document(self) -> dict[str, Any]:
        """The plan as JSON has it, with every field."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found


class EvaluationPlan(RolloutPlan):
    """A plan of single rollouts: nothing is compared within a group, and every one is of another task."""

    least_group_size: ClassVar[int] = 1


def tasks_of(kinds: Sequence[str], count: int, seed: int = 0, split: str = "train") -> tuple[Mapping[str, Any], ...]:
    """Documents of `count` tasks, kinds in turn, each with the next seed. Raises ToolError INVALID_ARGUMENT."""
    if not kinds or count < 1:
        raise invalid("There must be a kind of task or more, and a task or more.")
    return tuple(task_document(kinds[k % len(kinds)], seed + k, split) for k in range(count))


def tasks_of_recipe(name: str, count: int, seed: int = 0, split: str = "train") -> tuple[Mapping[str, Any], ...]:
    """Documents of `count` tasks of a recipe's mix, each with the next seed. Raises ToolError INVALID_ARGUMENT."""
    recipe = recipe_named(name)
    return tuple(task_document(recipe.kind(seed + k), seed + k, split) for k in range(count))


def grader_named(name: str) -> Grader:
    """What makes a reward of an episode. Raises ToolError INVALID_ARGUMENT for an unknown name, with all there are."""
    known: Mapping[str, Grader] = {**GRADERS, **RECIPES}
    if name not in known:
        raise invalid(f"There is no reward {name[:60]!r}: it must be {' or '.join(known)}.")
    return known[name]


@contextlib.contextmanager
def claimed(folder: Path, plan: RolloutPlan) -> Iterator[None]:
    """Within it the folder is this process's and holds rollouts of the plan, and of no other.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder of another plan, of other objects, or that another process works in;
            UNAVAILABLE where it cannot be written.
    """
    import fcntl

    claim(folder, PLAN_FILE, plan.document(), PLAN_BYTES, _version_of)
    with open_file(folder / PLAN_FILE, folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise invalid(f"Another process collects rollouts in {folder}: wait for its end.") from error
        yield


def planned_in(folder: Path) -> tuple[int | None, str]:
    """How many rollouts a folder was to hold, and the name of its world; None and "" where no plan says it."""
    try:
        document = plain_json.load(read_file(folder / PLAN_FILE, PLAN_BYTES, folder))
    except (OSError, ValueError):
        return None, ""
    document = document if isinstance(document, Mapping) else {}
    tasks, size, world = document.get("tasks"), document.get("group_size"), document.get("world", "")
    planned = len(tasks) * size if isinstance(tasks, list) and type(size) is int and size > 0 else None
    return planned, world if isinstance(world, str) else ""


def _version_of(document: Mapping[str, Any]) -> str:
    """A sentence about the tasks of a plan that were made by another version of the generator; else empty."""
    tasks = document.get("tasks")
    first = tasks[0] if isinstance(tasks, list) and tasks else None
    return other_version(first) if isinstance(first, dict) else ""
