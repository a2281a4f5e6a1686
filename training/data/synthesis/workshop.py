"""What making trajectories needs in one process: tasks, teachers, and environments that are kept."""

from __future__ import annotations

from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policy import Policy
from agent_node.protocol import Protocol, load_protocol
from sim.station import StationConfig
from training.data.synthesis.last import ViewTask, ViewTeacher, view_task
from training.data.synthesis.reflection import Reflecting
from training.difficulty import Difficulty
from training.environment import Environment
from training.failures import Failures
from training.recipes import Recipe, recipe_named
from training.splits import Split
from training.tasks.kinds import MANIPULATION, TrainingTask, make_task
from training.teacher import QuestionTeacher

VIEW = "view"
"""The kind of LAST's questions about a tool's picture, beside `training.tasks.kinds.TASK_KINDS`."""

IMAGE_SIZE = (320, 240)
"""Of the pictures (width, height) [px]; that of fast rollouts."""

DataTask = TrainingTask | ViewTask


class Workshop:
    """Tasks, teachers and environments.

    Args:
        split: Whose tasks.
        policy: Does them in place of the scripted teachers, in each recipe's protocol; e.g. a language model.
    """

    def __init__(self, split: Split = "train", policy: Policy | None = None) -> None:
        self.split = split
        self.policy = policy
        self._environments: dict[tuple[str, float, str], Environment] = {}

    def task(self, kind: str, seed: int) -> DataTask:
        """The task of a kind and seed. Raises as `training.tasks.kinds.make_task`."""
        return view_task(seed) if kind == VIEW else make_task(kind, seed, self.split)

    def protocol(self, recipe: str) -> Protocol:
        """In which form a recipe's policies write."""
        return load_protocol(recipe_named(recipe).protocol)

    def teacher(self, task: DataTask, recipe: str) -> Policy:
        """Who does such a task: the policy, or else rules."""
        if self.policy is not None:
            return self.policy
        protocol = self.protocol(recipe)
        if isinstance(task, ViewTask):
            return ViewTeacher(task, protocol)
        return ScriptedPolicy(protocol=protocol) if task.kind in MANIPULATION else QuestionTeacher(protocol)

    def reflecting(self, task: DataTask, recipe: str, seed: int) -> Policy:
        """The same, but for doubtful calls, which are checked and made again."""
        return Reflecting(self.teacher(task, recipe), self.protocol(recipe), seed)

    def environment(self, recipe: str, level: float = 0.0, failures: Failures | None = None) -> Environment:
        """Stations as a recipe has them, of a difficulty; failures on purpose are the difficulty's where None."""
        key = (recipe, level, repr(failures))
        if key not in self._environments:
            self._environments[key] = self._made(recipe_named(recipe), Difficulty(level), failures)
        return self._environments[key]

    def _made(self, recipe: Recipe, difficulty: Difficulty, failures: Failures | None) -> Environment:
        config = StationConfig(suites=recipe.suites, image_size=IMAGE_SIZE, sleep=True)
        return Environment(
            difficulty.config(config),
            protocol=load_protocol(recipe.protocol),
            failures=failures or difficulty.failures(),
            grader=recipe.grader,
        )
