"""Makes a task of a free sentence, as the scripted policy's own parser reads it in the true scene."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, cast

import numpy as np

from toolhand.agent_node.episode import UNREAD, Episode
from toolhand.agent_node.events import OperatorAnswer
from toolhand.agent_node.policies.scripted.answers import another_command, choose, only_candidate, with_two
from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.steps import AnotherCommand
from toolhand.sim.camera.ray import CameraModel
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.tasks.arranged import ArrangedTask, Placing
from toolhand.sim.tasks.judge import JudgedStation
from toolhand.sim.tasks.predicates import THRESHOLDS, PlaceRelation
from toolhand.sim.tasks.task import History, SceneTask, Score, Task, Transcript, held_ids
from toolhand.sim.tasks.tasks import task_of
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import FloatArray, ObjectView
from toolhand.training.env.episode import NotJudged, Outcome, judged
from toolhand.training.env.goal_places import goal_place

OWN_READING = "the robot's own reading of the sentence, not independent"
_UNKNOWN = re.compile(r"I do not know ('[^']*')")
"""How the reader says that it lacks a word."""


@dataclass(frozen=True)
class UnreadTask(SceneTask):
    """A sentence of which the judge's own reader makes no goal: what is done about it may be right, and is not judged.

    Attributes:
        problem: Word that the reader lacks, or why it finds no goal.
    """

    problem: str
    source: str = field(default=OWN_READING, kw_only=True)
    holds_s: ClassVar[tuple[float, ...]] = (0.1,)

    @property
    def goal(self) -> str:
        """See Task."""
        return f"{UNREAD}{self.problem}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """Raises NotJudged."""
        raise NotJudged(self.problem)


def true_views(station: JudgedStation) -> list[ObjectView]:
    """The scene's objects as a perfect observer would describe them, in the order of `scene.objects`."""
    camera = station.scene_camera()
    T_camera_base = np.linalg.inv(camera.T_base_camera)
    width, height = camera.size
    views = []
    snapshot = station.world.snapshot()
    for placed in station.scene.objects:
        item = placed.asset
        position = snapshot.objects[placed.id].position_m
        x, y, z = (T_camera_base @ np.append(position, 1.0))[:3]
        u, v = (camera.K @ (x / z, y / z, 1.0))[:2]
        views.append(item.seen((float(u / width), float(v / height)), position, _size(placed, snapshot)))
    return views


def _size(placed: PlacedObject, snapshot: Snapshot) -> FloatArray:
    """Extents (x, y, z) of an object [m]: as it stands, or along the base's axes where it lies on its side."""
    R = matrix_from_quat_wxyz(snapshot.objects[placed.id].quat_wxyz)
    if R[2, 2] >= np.cos(THRESHOLDS.tilt_rad):
        return np.asarray(placed.asset.size_m, float)
    return np.ptp(placed.asset.hull_points @ R.T, axis=0)


@dataclass(frozen=True)
class TrueScene:
    """What a sentence can mean: the objects of a station as they stand before it is carried out.

    Attributes:
        scene: The table before.
        views: The objects as a perfect observer would describe them, in the order of `scene.objects`.
        held: Ids of what the gripper holds.
    """

    scene: Scene
    views: tuple[ObjectView, ...]
    held: frozenset[str]
    camera: CameraModel

    @classmethod
    def of(cls, station: JudgedStation) -> TrueScene:
        """The scene as it is now."""
        held = frozenset(held_ids(station.world.snapshot()))
        return cls(station.scene, tuple(true_views(station)), held, station.scene_camera())

    def task(self, text: str, answers: Sequence[OperatorAnswer] = ()) -> Task:
        """The task of a free sentence, as the scripted policy's own parser reads it.

        "Put it down" means what the gripper holds. A parser that errs here errs in the policy too, so the task says
        that its goal is the robot's own reading: where a task was there before its sentence, use that one.

        Args:
            text: The operator's sentence.
            answers: Answers of the operator to questions meanwhile.
        """
        said = [answer.words for answer in answers]
        try:
            command = parse_command(text)
            while True:
                try:
                    return self._task(text, command, said)
                except AnotherCommand as other:
                    command = other.command
        except ToolError as error:
            unknown = _UNKNOWN.match(error.message)
            problem = f"it does not know {unknown[1]}" if unknown else error.message.partition("; I see: ")[0]
            return UnreadTask(text, self.scene, problem)

    def _task(self, text: str, command: Command, said: list[str]) -> Task:
        """Raises AnotherCommand where an answer is one; ToolError where words mean nothing here."""
        if command.target is None:
            targets = tuple(sorted(self.held))
            named = set(self._refer(command.held_as.text)) if command.held_as else set(targets)
            if targets and not named & set(targets):
                return UnreadTask(text, self.scene, "what the gripper holds is called otherwise.")
        else:
            targets = self._meant(command.target, said)
        references = tuple(id for phrase in command.references for id in self._meant(phrase, said))
        own = command.references if command.form is None else command.references[: len(command.form.references)]
        if command.relation == "between" and len(own) == len(command.references) and len(references) != 2:
            command = _settled(command, said, partial(with_two, command=command))
            references = tuple(id for phrase in command.references for id in self._meant(phrase, said))
        if not targets:
            return UnreadTask(text, self.scene, "the command names no object, and the gripper held none at its start.")
        if command.form is not None:
            groups = [self._meant(phrase, said) for phrase in command.references]
            return self._arranged(text, command, targets, groups)
        most = {"in": 1, "on": 1, "between": 2}.get(command.relation or "", len(references))
        if len(references) != most:
            return UnreadTask(
                text, self.scene, f"a place {command.relation} something is one to {most}, not to {len(references)}."
            )
        if command.relation == "in" and not self.scene.find(references[0]).asset.takes_objects:
            return UnreadTask(text, self.scene, f"nothing fits in the {self.scene.find(references[0]).item}.")
        relation = cast(PlaceRelation | None, command.relation)
        return replace(task_of(text, self.scene, targets, relation, references), source=OWN_READING)

    def _arranged(
        self, text: str, command: Command, targets: tuple[str, ...], groups: Sequence[tuple[str, ...]]
    ) -> Task:
        """The task of a place that no single relation says."""
        place = goal_place(command.place(), groups, self.camera)
        return ArrangedTask(text, self.scene, (Placing(targets, place),), source=OWN_READING)

    def _refer(self, phrase: str) -> tuple[str, ...]:
        return tuple(self.scene.objects[i].id for i in refer(phrase, self.views))

    def _meant(self, phrase: NounPhrase, said: list[str]) -> tuple[str, ...]:
        """Ids of what a phrase means: of several candidates the one that the next answers single out, else all."""
        found = self._refer(phrase.text)
        several = len(found) > 1 and not (phrase.indefinite or phrase.plural)
        points = [view.point for view, placed in zip(self.views, self.scene.objects, strict=True) if placed.id in found]
        found = tuple(placed.id for placed in self.scene.objects if placed.id in found) if several else found
        while several and said:
            words = said.pop(0)
            meant = choose(words, phrase, points)
            if isinstance(meant, int):
                return (found[meant],)
            if other := another_command(words):
                raise AnotherCommand(other)
            for looked_for in meant:
                with contextlib.suppress(ToolError):
                    hits = [found.index(id) for id in self._refer(looked_for) if id in found]
                    if (index := only_candidate(hits)) is not None:
                        return (found[index],)
        return found


def _settled(command: Command, said: list[str], understand: Callable[[str], Command | None]) -> Command:
    """The command as the next answer that is understood makes it; as it was without one."""
    while said:
        words = said.pop(0)
        if changed := understand(words):
            return changed
        if other := another_command(words):
            raise AnotherCommand(other)
    return command


def task_from_text(text: str, station: JudgedStation) -> Task:
    """The task of a free sentence in the true scene as it is now, see `TrueScene.task`."""
    return TrueScene.of(station).task(text)


def judged_sentence(
    station: JudgedStation,
    carry_out: Callable[[], Episode],
    answers: Callable[[Episode], Sequence[OperatorAnswer]] = lambda episode: episode.answers,
) -> Outcome:
    """Score what is done about the operator's sentence, which is read after the deed, in the scene before it.

    Args:
        carry_out: Carries out the sentence, which stands in the episode.
        answers: Answers of the operator to questions about it, in order.
    """
    before = TrueScene.of(station)
    return judged(station, carry_out, lambda episode: before.task(episode.task, answers(episode)))
