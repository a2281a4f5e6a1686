"""The stages of the small experiment, each done once into a folder of its own and found there the next time.

FOLDER/pictures/          what the pointer is trained on
FOLDER/pointer/           start.safetensors, of labels alone; hits.safetensors, improved on hits and misses
FOLDER/teacher/           rollouts of the careful teacher and of the stage-1 expert, and the rows that are kept of them
FOLDER/sft/, rl/          trainings, with checkpoint, log and weights
FOLDER/measured/          rollouts of evaluations, and what was counted

What is whole stays; what was broken off goes on where it was, to the same numbers.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_node.console.terminal import say
from agent_node.runs.folder import write_json
from sim.tasks.generation import TASKS_VERSION
from tool_nodes import plain_json
from tool_nodes.files import NOTES_BYTES, read_file
from tool_nodes.perception.learned.weights import PointerWeights, write_weights
from tool_nodes.perception.learned.weights import read_weights as read_pointer
from tool_nodes.results import invalid, unavailable
from training.advantages.gigpo import PRINTED
from training.experiment.arms import ExperimentArm
from training.experiment.measures import Measures, measure, summarise
from training.experiment.sizes import Sizes, tasks_for
from training.rollouts.collection import read_rollouts
from training.rollouts.engine import collect
from training.rollouts.options import StopRules, WorkerOptions
from training.rollouts.plan import (
    GIVING_UP_COST,
    WRONG_ANSWER_COST,
    WRONG_THING_COST,
    EvaluationPlan,
    RolloutPlan,
)
from training.rollouts.record import RolloutRecord

if TYPE_CHECKING:
    from agent_node.policies.tiny.weights import TinyWeights
    from training.trainer.sequences import TokenSequence

WORLD = "erring"
TIMESTEP_S = 0.004
"""Of the physics: twice the robot's own step, half the time; see `training.rollouts.plan`."""
TURNS = 24
"""Assistant turns of an episode."""
TIMES = "times.json"
"""Wall time of each step, in the run's folder."""
SFT_DROPOUT = 0.1
"""Share of the network's numbers that a step of SFT leaves out. Without it a policy knows its few hundred conversations
by heart, the teacher's coin flips included, and RL has nothing to go by: docs/results/log.md."""
CONSTANTS: Mapping[str, float] = {
    "sft_dropout": SFT_DROPOUT,
    "wrong_thing_cost": WRONG_THING_COST,
    "wrong_answer_cost": WRONG_ANSWER_COST,
    "giving_up_cost": GIVING_UP_COST,
    "tasks_version": TASKS_VERSION,
}
"""What decides every training beside its seed and sizes: a folder that was begun with others is not resumed."""
_THREADS = 2
"""Of torch in an update of RL: the processes that draw rollouts stand still meanwhile. A fixed number, as another one
gives other last digits."""
NEVER = StopRules(0, 0, 0)
"""An evaluation measures whatever a policy does."""


@dataclass(frozen=True)
class ExperimentRun:
    """One seed's run.

    Attributes:
        folder: Folder of the run.
        seed: Seed of the run.
        sizes: How much of everything.
        workers: Processes that draw rollouts.
    """

    folder: Path
    seed: int
    sizes: Sizes
    workers: int = 2

    # -- stage 1 ---------------------------------------------------------------------------------------

    def pointer(self, improved: bool) -> Path:
        """Weights of the pointer that labels alone made, or of that which hits have improved.

        Raises:
            ToolError: UNAVAILABLE without torch; as of `training.pointer.hits`.
        """
        path = self.folder / "pointer" / ("hits.safetensors" if improved else "start.safetensors")
        if path.exists():
            return path
        start = self.pointer(improved=False) if improved else None  # a step of its own, with its own time
        with self._step(f"stage 1, {'hits' if improved else 'labels'}"):
            weights = self._improved(start) if start else self._labelled()
            _saved(path, lambda: write_weights(weights, path))
        return path

    def _labelled(self) -> PointerWeights:
        from tool_nodes.perception.learned.reading import read_phrase
        from training.pointer.batch import WITHOUT_DEPTH, WordList
        from training.pointer.data import make_pictures
        from training.pointer.evaluation import calibrated
        from training.pointer.hits import learned_from_labels

        sizes, pictures = self.sizes, self.folder / "pictures"
        shown = make_pictures(pictures, "train", self.seed, sizes.hit_scenes, self.workers)
        words = WordList.of(read_phrase(phrase.text) for phrases in shown.phrases for phrase in phrases)
        labelled = shown.some(range(min(sizes.label_scenes, len(shown))))
        weights, _ = learned_from_labels(labelled, words, self.seed, sizes.label_steps, without_depth=WITHOUT_DEPTH)
        return calibrated(weights, labelled)

    def _improved(self, start: Path) -> PointerWeights:
        from training.pointer.batch import WITHOUT_DEPTH
        from training.pointer.data import make_pictures
        from training.pointer.hits import HitTraining, improve_by_hits

        sizes, folder = self.sizes, self.folder / "pointer"
        shown = make_pictures(self.folder / "pictures", "train", self.seed, sizes.hit_scenes, self.workers)
        # The policy's visual encoder is this one, and its pictures have no depth.
        training = HitTraining(self.seed, sizes.hit_steps, without_depth=WITHOUT_DEPTH)
        return improve_by_hits(read_pointer(start), shown, training, folder).weights

    # -- teacher data ----------------------------------------------------------------------------------

    def plan(self, use: str, policy: str, count: int, pointer: Path, **more: Any) -> RolloutPlan:
        """A plan in the erring world with a pointer of one's own."""
        return RolloutPlan(**self._fields(use, policy, count, pointer), **more)

    def _fields(self, use: str, policy: str, count: int, pointer: Path) -> dict[str, Any]:
        return {
            "tasks": tasks_for(use, self.seed, count),
            "seed": self.seed,
            "policy": policy,
            "reward": "stages",
            "turns": TURNS,
            "timestep": TIMESTEP_S,
            "world": f"{WORLD}:{pointer}",
        }

    def rows(self, arm: ExperimentArm) -> list[TokenSequence]:
        """What SFT learns from: conversations that truly ended well, and refusals that were right.

        Raises:
            ToolError: INVALID_ARGUMENT where there is none; as of `training.rollouts.engine.collect`.
        """
        from training.trainer.reading import sequences_of_folder
        from training.trainer.sequences import TokenSequence, read_sequences, write_sequences

        path = self.folder / "teacher" / f"rows{_suffix(replace(arm, sft_times=1), rl=False)}.npz"
        if path.exists():
            return read_sequences(path)
        weights, sequences, left_out = self._fresh(arm), list[TokenSequence](), Counter[str]()
        for use, policy, count in (
            ("careful", "careful:varied", self.sizes.careful),
            ("expert", "careful:expert", self.sizes.expert),
        ):
            folder = self._taught(use, policy, count, arm)
            found, bad = sequences_of_folder(folder, weights, _worth_learning, self.sizes.sft_wordings)
            sequences += found
            left_out += bad
        for why, count in left_out.items():
            say(f"{count} conversations cannot be learned from: {why}")
        if not sequences:
            raise invalid("No rollout of the teachers ended well: nothing to learn from.")
        _saved(path, lambda: write_sequences(path, sequences))
        return sequences

    def _taught(self, use: str, policy: str, count: int, arm: ExperimentArm) -> Path:
        folder = self.folder / "teacher" / f"{use}{'' if arm.stage1 else '-start'}"
        with self._step(f"teacher data, {use}"):
            plan = self.plan(use, policy, -(-count // 2), self.pointer(arm.stage1), group_size=2)
            collect(plan, folder, WorkerOptions(self.workers), stops=NEVER)
        return folder

    # -- stages 2 and 3 --------------------------------------------------------------------------------

    def _fresh(self, arm: ExperimentArm) -> TinyWeights:
        from agent_node.policies.tiny.weights import TinyConfig, fresh_weights
        from training.teacher.vocabulary import taught_vocabulary

        pointer = read_pointer(self.pointer(arm.stage1))
        return fresh_weights(self.seed, TinyConfig(blind=arm.blind), taught_vocabulary(), pointer)

    def sft(self, arm: ExperimentArm) -> Path:
        """Weights of the policy after SFT, or untrained where the arm has none.

        Raises:
            ToolError: As of `training.trainer.sft.supervise`.
        """
        from agent_node.policies.tiny.weights import write_weights as write_tiny
        from training.trainer.settings import SupervisedSettings
        from training.trainer.sft import supervise

        path = self.folder / "sft" / f"tiny{_suffix(arm, rl=False)}.safetensors"
        if path.exists():
            return path
        start = self._fresh(arm)
        if arm.sft:
            rows = self.rows(arm)
            settings = SupervisedSettings(
                epochs=arm.sft_times * self.sizes.sft_epochs,
                dropout=SFT_DROPOUT,
                sentences=self.sizes.sft_sentences,
                conversations=self.sizes.sft_conversations,
            )
            with self._step(f"stage 2, SFT{_suffix(arm, rl=False)}"):
                start = supervise(start, rows, settings, path.with_suffix(""), self.seed)
        _saved(path, lambda: write_tiny(start, path))
        return path

    def rl(self, arm: ExperimentArm) -> Path:
        """Weights of the policy after stage 3, or after stage 2 where the arm has no RL.

        Raises:
            ToolError: As of `training.trainer.rl.reinforce`.
        """
        from agent_node.policies.tiny.weights import read_weights as read_tiny
        from agent_node.policies.tiny.weights import write_weights as write_tiny
        from training.trainer.rl import reinforce
        from training.trainer.settings import ReinforceSettings

        begun = self.sft(arm)
        path = self.folder / "rl" / f"tiny{_suffix(arm)}.safetensors"
        if arm.rl is None or path.exists():
            return begun if arm.rl is None else path
        settings = ReinforceSettings(
            learning_rate=arm.rate,
            advantages=arm.rl,
            anchor=arm.anchor,
            iterations=self.sizes.rl_iterations,
            group_size=self.sizes.rl_group,
            workers=self.workers,
            threads=_THREADS,
        )
        with self._step(f"stage 3{_suffix(arm)}"):
            better = reinforce(
                read_tiny(begun), lambda k: self._rl_plan(arm, k), settings, path.with_suffix(""), self.seed
            )
            _saved(path, lambda: write_tiny(better, path))
        return path

    def _rl_plan(self, arm: ExperimentArm, iteration: int) -> RolloutPlan:
        """Of one iteration: tasks and seeds that no other one has.

        The rollouts of a group meet the same failures, so that what they differ by is what the policy chose. To pick up
        something else costs more than to refuse.
        """
        groups = self.sizes.rl_groups
        tasks = tasks_for("rl", self.seed, groups * self.sizes.rl_iterations)[groups * iteration :][:groups]
        fields = self._fields("rl", "scripted", groups, self.pointer(arm.stage1))
        return RolloutPlan(
            **fields
            | {
                "tasks": tasks,
                "seed": 1_000 * self.seed + iteration,
                "reward": "safe_stages",
                "shared_failures": True,
            },
            group_size=self.sizes.rl_group,
        )

    # -- measuring -------------------------------------------------------------------------------------

    def measured(self, name: str, policy: str, pointer: Path, temperature: float, n: int | None = None) -> Measures:
        """What a policy does in the erring world, each episode another task that nothing was trained on.

        Args:
            name: Name of the measurement's folder.
            policy: Name that `toolhand run --policy` takes.
            pointer: Behind roborefer.*.
            temperature: 0 takes the likeliest token.
            n: Episodes; those of the sizes where None.
        """
        folder, count = self.folder / "measured" / name, n or self.sizes.evaluated
        path = folder / "measures.json"
        if path.exists():
            # One that was written before there was another measure is counted anew: the rollouts are still there.
            with suppress(KeyError, TypeError, ValueError, OSError):
                return Measures.of_document(plain_json.load(read_file(path, NOTES_BYTES, folder)))
        plan = EvaluationPlan(
            **self._fields("evaluation", policy, count, pointer), group_size=1, settings={"temperature": temperature}
        )
        with self._step(f"measure {name}"):
            report = collect(plan, folder / "rollouts", WorkerOptions(self.workers), stops=NEVER)
        if report.dropped:
            say(f"{name}: dropped {dict(report.dropped)}")
        found = summarise(read_rollouts(folder / "rollouts"), count)
        write_json(path, found.document())
        return found

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        """Says how long it took; the times of all are kept."""
        began = time.monotonic()
        say(f"seed {self.seed}: {what}")
        yield
        took = time.monotonic() - began
        path = self.folder / TIMES
        times: dict[str, float] = plain_json.load(read_file(path, NOTES_BYTES)) if path.exists() else {}
        times[what] = round(times.get(what, 0.0) + took, 1)
        write_json(path, times)


def _worth_learning(record: RolloutRecord) -> bool:
    found = measure(record)
    return found.true_success or (found.refused_rightly and not found.wrong_thing)


def _suffix(arm: ExperimentArm, rl: bool = True) -> str:
    """What of an arm makes its weights others'."""
    parts = {
        "start": not arm.stage1,
        "fresh": not arm.sft,
        "longer": arm.sft_times > 1,
        "blind": arm.blind,
        arm.rl or "": rl and arm.rl is not None,
        "printed": rl and arm.rl == "or_gigpo" and arm.anchor == PRINTED,
    }
    return "".join(f"-{name}" for name, true in parts.items() if true)


def _saved(path: Path, write: Callable[[], None]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise unavailable(
            f"Cannot write {path}: {error.strerror or error}.", "The same command goes on then."
        ) from error
