"""Sentences of operators, written by hand, each with what an able person would do with it.

`tuned.yaml` was there while the reader was made, `unseen.yaml` was only measured until the kinds that failed were
repaired, `fresh.yaml` was written after that reader and measured once before its kinds were repaired, and so were the
three parts of `independent.yaml`, by two writers who had not seen the reader. A line is
`sentence => meaning`; equal meanings are joined by " or ". What a person would refuse or ask stands
beside what she would do.

| meaning | what is right |
|---|---|
| `hold a_1` | it is held in the end; `a_1|b_1` is any one of them |
| `a_1 @ PLACE` | it stands there, see `_place`; several with `;`, one after the other with `then` |
| `swap a_1 b_1`, `stack a_1 b_1` (from the top), `groups a_1 a_2/b_1 b_2` | the objects do |
| `open`, `closed`, `park`, `look`, `point a_1`, `handover a_1`, `little a_1` | see `toolhand.sim.tasks.gestures` |
| `ask` | the robot asks back |
| `refuse "these words"` | a refusal that quotes them; `"a"|"b"` is one of them |
| `cannot "these words"` | the same, and it does not call them needless |
| `answer "word"`, `answer yes`, `answer no`, `answer 3`, `answer 9 cm`, `answer` | an answer with that in it |
| `quiet` | nothing moves, whatever is said |

`after` is what was said in the same conversation before. The sentences of a group of the kind "talk" are one
conversation, in their order; those of another group are each said at the same moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from toolhand.bench.dialogue.expected import (
    Expected,
    Uttered,
    answered,
    asked,
    counts,
    gives_length,
    plain,
    quiet,
    refused,
    says_no,
    says_yes,
)
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.tasks.arranged import ArrangedTask, Placing, SortedTask, stack_task, swap_task
from toolhand.sim.tasks.gestures import HandOverTask, JawsTask, LiftedTask, ParkedTask, PointTask, UntouchedTask
from toolhand.sim.tasks.places import (
    AllOf,
    AtDistance,
    AtSpot,
    Closer,
    Direction,
    Farthest,
    GoalPlace,
    InLine,
    InPart,
    InRegion,
    NotRelated,
    Nudged,
    OnTable,
    Related,
    Towards,
    Upright,
)
from toolhand.sim.tasks.predicates import RELATIONS, Relation
from toolhand.sim.tasks.regions import TABLE_REGIONS, TableRegion
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes import plain_yaml
from toolhand.tool_nodes.results import ToolError, invalid

SAID_HERE = ("tuned", "unseen", "fresh", "independent", "voices", "unheard")
"""Names of the files of this folder."""
TALK = "talk"
"""Kind of the groups that are one conversation."""
_FOLDER = Path(__file__).parent
_KINDS = "hold|swap|stack|groups|open|closed|park|look|point|handover|little|ask|refuse|cannot|answer|quiet"
_OR = re.compile(rf" or (?=(?:(?:{_KINDS})\b|[\w|]+ @ ))")


@dataclass(frozen=True)
class HandwrittenLine:
    """A sentence of a file.

    Attributes:
        kind: Ability that it tries.
        after: Utterances before it.
        meaning: Outcome that is right.
        group: Number of its group in the file.
    """

    kind: str
    scene_seed: int
    after: tuple[str, ...]
    words: str
    meaning: str
    group: int = 0

    @property
    def talks(self) -> bool:
        """Whether the sentences of its group are said one after the other."""
        return self.kind == TALK

    @property
    def scene(self) -> Scene:
        """The table at the start."""
        return _scene(self.scene_seed)

    @property
    def open(self) -> bool:
        """True if an able person would do or answer something, and not ask or refuse."""
        return not re.fullmatch(r"(?:ask|quiet|(?:refuse|cannot) \S.*)", _OR.split(self.meaning)[0].strip())


def said_file(source: str) -> Path:
    """The file of a name of this folder, or of a path that ends with ".yaml". Raises ToolError INVALID_ARGUMENT."""
    path = _FOLDER / f"{source}.yaml" if source in SAID_HERE else Path(source)
    if path.suffix != ".yaml" or not path.is_file():
        raise invalid(f"--said takes {', '.join(SAID_HERE)} or a file that ends with .yaml, got {source[:200]!r}.")
    return path


def load_lines(source: str) -> list[HandwrittenLine]:
    """The sentences of a file, in its order.

    Args:
        source: See `said_file`.

    Raises:
        ToolError: INVALID_ARGUMENT for no file, or one that has another form, with the place where.
    """
    path = said_file(source)
    groups: Any = plain_yaml.load(path.read_text(encoding="utf-8"))
    if not isinstance(groups, list) or not groups:
        raise invalid(f"{path.name} is no list of groups of sentences, each with kind, scene and said.")
    return [
        replace(line, group=number)
        for number, group in enumerate(groups, 1)
        for line in _lines_of(group, f"group {number} of {path.name}")
    ]


def _lines_of(group: Any, where: str) -> list[HandwrittenLine]:
    """The sentences of one group. Raises ToolError INVALID_ARGUMENT."""
    if not isinstance(group, Mapping) or set(group) - {"kind", "scene", "after", "said"}:
        raise invalid(f"In {where} only kind, scene, after and said may stand.")
    kind, scene, after, said = (group.get(key) for key in ("kind", "scene", "after", "said"))
    if not isinstance(kind, str) or not isinstance(scene, int) or not isinstance(said, list):
        raise invalid(f"In {where} kind has to be a name, scene a whole number and said a list.")
    if not all(isinstance(words, str) for words in (*said, *(after or ()))):
        raise invalid(f"In {where} not every sentence is text: set it in quotes.")
    found = []
    for line in said:
        words, arrow, meaning = line.partition(" => ")
        if not arrow or not words.strip() or not meaning.strip():
            raise invalid(f'In {where} {line[:80]!r} is no "sentence => meaning".')
        found.append(HandwrittenLine(kind, scene, tuple(after or ()), words, meaning))
    return found


def said_of(line: HandwrittenLine, start: Snapshot, now: Snapshot) -> Uttered:
    """The sentence with its meanings as goals.

    Args:
        start: The objects at the start of the conversation.
        now: The objects before the sentence.

    Raises:
        ToolError: INVALID_ARGUMENT for a meaning that is none in its scene.
    """
    reader = _Meaning(line, start, now)
    options: list[Expected] = []
    for meaning in _OR.split(line.meaning):
        try:
            options += reader.options(meaning.strip())
        except (KeyError, IndexError, ValueError, ToolError) as error:
            raise invalid(f"{line.words!r}: {meaning!r} is no meaning in scene {line.scene_seed}: {error}.") from error
    return Uttered(line.kind, line.words, tuple(options))


@lru_cache(maxsize=64)
def _scene(number: int) -> Scene:
    return generate_scene(number)


@dataclass(frozen=True)
class _Meaning:
    line: HandwrittenLine
    start: Snapshot
    now: Snapshot

    def options(self, meaning: str) -> list[Expected]:
        words, scene = self.line.words, self.line.scene
        kind, _, rest = meaning.partition(" ")
        quoted = tuple(re.findall(r'"([^"]*)"', meaning))
        if kind == "ask":
            return [asked(words, scene)]
        if kind == "quiet":
            return [quiet(words, scene)]
        if kind in ("refuse", "cannot"):
            if not quoted:
                raise invalid("it quotes nothing")
            return [refused(words, scene, *quoted, kept=kind == "cannot")]
        if kind == "answer":
            return [answered(words, scene, self._right(rest, quoted))]
        return [Expected("deed", self._task(meaning, kind, rest.split()))]

    @staticmethod
    def _right(rest: str, quoted: tuple[str, ...]) -> Any:
        if quoted:
            return lambda answer: any(plain(word) in plain(answer) for word in quoted)
        if rest in ("yes", "no"):
            return says_yes if rest == "yes" else says_no
        if rest.endswith(" cm"):
            return gives_length(*(float(number) / 100 for number in rest.split()[:-1]))
        return counts(int(rest)) if rest else bool

    def _task(self, meaning: str, kind: str, names: list[str]) -> Task:
        words, scene = self.line.words, self.line.scene
        match kind:
            case "open" | "closed":
                return JawsTask(words, scene, "open" if kind == "open" else "closed")
            case "park":
                return ParkedTask(words, scene)
            case "look":
                return UntouchedTask(words, scene, hand_stays=False)
            case "point":
                return PointTask(words, scene, self._ids(names[0]))
            case "handover":
                return HandOverTask(words, scene, self._ids(names[0]))
            case "little":
                return LiftedTask(words, scene, self._ids(names[0]))
            case "swap":
                return swap_task(words, scene, self._id(names[0]), self._id(names[1]), self.now)
            case "stack":
                return stack_task(words, scene, [self._id(name) for name in names])
            case "groups":
                groups = " ".join(names).split("/")
                return SortedTask(words, scene, tuple(tuple(group.split()) for group in groups))
        ordered = " then " in meaning
        placings: list[Placing] = []
        held: tuple[str, ...] = ()
        for part in re.split(r" then |; *", meaning):
            first, at, where = part.strip().partition(" @ ")
            if not at:
                held = self._ids(first.removeprefix("hold "))
            else:
                ids = self._ids(first)
                placings.append(Placing(ids, self._place(where, ids[0])))
        return ArrangedTask(words, scene, tuple(placings), held, ordered)

    def _id(self, name: str) -> str:
        return self.line.scene.find(name).id

    def _ids(self, names: str) -> tuple[str, ...]:
        return tuple(self.line.scene.find(name).id for name in names.split("|"))

    def _place(self, where: str, moved: str) -> GoalPlace:
        """The place of an object.

        `anywhere`, `elsewhere`, `upright`, `start` (where it stood at the start), a relation with ids, `not` and a
        relation, the name of a region, `part SIDE ID`, `toward SIDE ID`, `closer` or `away` with an id, operator or
        robot, `farthest ID`, `line ID ID`, `gap CM SIDE ID`, `nudge SIDE [CM]`; several with +.
        """
        if " + " in where:
            return AllOf(tuple(self._place(part, moved) for part in where.split(" + ")))
        if where in TABLE_REGIONS:
            return InRegion(next(region for region in get_args(TableRegion) if region == where))
        kind, *rest = where.split()
        match kind:
            case "anywhere" | "elsewhere":
                return OnTable(elsewhere=kind == "elsewhere")
            case "upright":
                return Upright()
            case "start":
                x, y, z = (float(value) for value in self.start.objects[moved].position_m)
                return AtSpot((x, y, z))
            case "not":
                return NotRelated(_relation(rest[0]), tuple(self._id(name) for name in rest[1:]))
            case "part":
                return InPart(self._id(rest[1]), _side(rest[0]))
            case "toward":
                return Towards(_side(rest[0]), self._id(rest[1]))
            case "closer" | "away":
                to = rest[0] if rest[0] in ("operator", "robot") else self._id(rest[0])
                return Closer(to, away=kind == "away")
            case "farthest":
                return Farthest(self._id(rest[0]))
            case "line":
                return InLine((self._id(rest[0]), self._id(rest[1])))
            case "gap":
                return AtDistance(float(rest[0]) / 100, _side(rest[1]), self._id(rest[2]))
            case "nudge":
                return Nudged(_side(rest[0]), float(rest[1]) / 100 if len(rest) > 1 else None)
        return Related(_relation(kind), tuple(self._id(name) for name in rest))


def _side(word: str) -> Direction:
    return next(side for side in get_args(Direction) if side == word)


def _relation(word: str) -> Relation:
    if word not in RELATIONS:
        raise invalid(f"{word} is no place")
    return next(relation for relation in RELATIONS if relation == word)
