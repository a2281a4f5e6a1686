"""What making trajectories needs in one process: tasks, teachers, and environments that are kept."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.registry import make_policy, require_form
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, PortNames
from toolhand.tool_nodes.tools.suites import POINTING
from toolhand.training.data.synthesis.evic import Confirming
from toolhand.training.data.synthesis.last import ViewTask, ViewTeacher
from toolhand.training.data.synthesis.reflection import Reflecting
from toolhand.training.env.difficulty import Difficulty
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures
from toolhand.training.env.grading import mean_of_terms
from toolhand.training.recipes import recipe_named
from toolhand.training.recipes.dirl import EXPERT_PROTOCOL
from toolhand.training.tasks.kinds import MANIPULATION, make_task
from toolhand.training.tasks.splits import Split
from toolhand.training.teacher.policy import TeacherPolicy

VIEW = "view"
"""The kind of LAST's questions about a tool's image."""

IMAGE_SIZE = (320, 240)
"""Of the images (width, height) [px]; that of fast rollouts."""

ENVIRONMENTS_KEPT = 2
"""Environments that are kept, those that were used last: each has a station of 15 to 20 MB, and another station is made
within 0.1 s."""


class TeacherPool:
    """Tasks, teachers and environments.

    Args:
        policy: Does them in place of the scripted teachers, in each recipe's protocol, as `toolhand run --policy` takes
            it; the scripted teachers where empty.
        sensor: Name of the cameras' sensor model.

    Raises:
        ToolError: INVALID_ARGUMENT for a policy that is none.
    """

    def __init__(self, split: Split = "train", policy: str = "", sensor: str = DEFAULT_SENSOR) -> None:
        if policy:
            require_form(policy)
        self.split = split
        self.policy = policy
        self._ports = PortNames(sensor=sensor)
        self._environments: OrderedDict[tuple[object, ...], Environment] = OrderedDict()

    def task(self, kind: str, seed: int) -> Task:
        """The task of a kind and seed. Raises as `toolhand.training.tasks.kinds.make_task`."""
        return make_task(kind, seed, self.split)

    def protocol(self, recipe: str) -> Protocol:
        """In which form a recipe's policies write."""
        return load_protocol(recipe_named(recipe).protocol)

    def teacher(self, task: Task, recipe: str) -> Policy:
        """Who does such a task: the policy, or else rules."""
        protocol = self.protocol(recipe)
        if self.policy:
            return make_policy(self.policy, protocol, schemas_of(suites_of(recipe)))
        if isinstance(task, ViewTask):
            return ViewTeacher(task, protocol)
        teacher = TeacherPolicy(protocol, suites_of(recipe))
        return Confirming(teacher, protocol, IMAGE_SIZE) if recipe == "evic" else teacher

    def expert(self) -> Policy:
        """The policy as SpaceTools' pointing expert: with the pointing tool and the prompt that it was trained with."""
        return make_policy(self.policy, load_protocol(EXPERT_PROTOCOL), schemas_of((POINTING,)))

    def reflecting(self, task: Task, recipe: str, seed: int) -> Policy:
        """The same, but for doubtful calls, which are checked and made again."""
        return Reflecting(self.teacher(task, recipe), self.protocol(recipe), seed)

    def environment(
        self,
        recipe: str,
        level: float = 0.0,
        failures: Failures | None = None,
        by_terms: bool = False,
        pointing: bool = False,
        protocol: str = "",
    ) -> Environment:
        """Stations as a recipe has them.

        Args:
            recipe: Recipe with the tools, protocol and rewards.
            level: Level of the difficulty.
            failures: On purpose; the difficulty's where None.
            by_terms: The reward is the mean of the task's terms, for kinds that the recipe has no reward for.
            pointing: With the tool and the prompt of SpaceTools' pointing expert alone.
            protocol: Name of the protocol; the recipe's where empty.
        """
        protocol = protocol or (EXPERT_PROTOCOL if pointing else recipe_named(recipe).protocol)
        key = (recipe, level, repr(failures), by_terms, pointing, protocol)
        if key not in self._environments:
            difficulty = Difficulty(level)
            suites = (POINTING,) if pointing else suites_of(recipe)
            config = StationConfig(ports=self._ports, suites=suites, image_size=IMAGE_SIZE, sleep=True)
            self._environments[key] = Environment(
                difficulty.config(config),
                settings=ConversationSettings(protocol=load_protocol(protocol)),
                failures=failures or difficulty.failures(),
                grader=mean_of_terms if by_terms else recipe_named(recipe),
            )
        self._environments.move_to_end(key)
        while len(self._environments) > ENVIRONMENTS_KEPT:
            self._environments.popitem(last=False)[1].close()
        return self._environments[key]


@functools.cache
def schemas_of(suites: tuple[str, ...]) -> Sequence[Mapping[str, Any]]:
    """JSON schemas of the tools of some suites."""
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=suites)).toolbox.schemas()


def suites_of(recipe: str) -> tuple[str, ...]:
    """Whose tools are offered: the recipe's, and for E-ViC's, which only draw, those of SpaceTools beside them."""
    suites = recipe_named(recipe).suites
    return ("spacetools", *suites) if recipe == "evic" else suites


def kinds_of(recipe: str) -> tuple[str, ...]:
    """The questions of a recipe's mix that the scripted teacher's tools can answer."""
    teacher = TeacherPolicy(suites=suites_of(recipe))
    return tuple(kind for kind in recipe_named(recipe).kinds if kind not in MANIPULATION and teacher.answers(kind))
