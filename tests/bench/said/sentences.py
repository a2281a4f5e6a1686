"""Sentences of operators, written by hand, each with what it means; nothing here knows how the robot reads.

`tuned.yaml` was there while the reader was made; `unseen.yaml` was written before, and no rule was made for it. A line
is `sentence => meaning`, and meanings that are as good are joined by " or ":

| meaning | what is right |
|---|---|
| `pick a_1` | the thing is lifted and kept; `a_1|a_2` is any one of them |
| `place a_1 in_front_of b_1 c_1` | it is put there |
| `put a_1 "on the left side of the table"` | it is put there, which the robot says in these words |
| `ask` | the robot asks which one is meant (AMBIGUOUS) |
| `refuse "these words"` | a refusal that quotes them; `"a"|"b"` is one of them |
| `cannot "these words"` | the same, and it does not say that they could be left out: the rest is another wish |
| `unknown "word"` | after a look, the robot says that it finds or knows no such thing |
| `help` | it says what it can do |

`after` is a command that was carried out before, and `holds` what the gripper has held since then.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

from tests.bench.said.meaning import Sentence
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.predicates import PlaceRelation
from toolhand.tool_nodes import plain_yaml
from toolhand.tool_nodes.results import invalid

Half = Literal["tuned", "unseen"]

CAN_DO = "I can pick things up and place them"
"""What a robot says that is asked for help."""
_FOLDER = Path(__file__).parent
_OR = re.compile(r" or (?=(?:pick|place|put|ask|refuse|cannot|unknown|help)\b)")
_DEED = re.compile(r"(?P<verb>pick|place) (?P<targets>\S+)(?: (?P<relation>\w+)(?P<references>.*))?")


@dataclass(frozen=True)
class Utterance:
    """A sentence with all that it may mean.

    Attributes:
        options: Each right by itself; they differ in nothing but the meaning.
        after: A command that was carried out before, or "".
        holds: Id of what the gripper has held since then, or "".
    """

    options: tuple[Sentence, ...]
    after: str = ""
    holds: str = ""

    @property
    def family(self) -> str:
        """What it tries."""
        return self.options[0].family

    @property
    def text(self) -> str:
        """What the operator says."""
        return self.options[0].text

    @property
    def scene(self) -> Scene:
        """The table before."""
        return self.options[0].scene


def load_said(half: Half) -> list[Utterance]:
    """The sentences of a half, in the order of the file.

    Raises:
        ToolError: INVALID_ARGUMENT for a line that is none, with the sentence.
    """
    groups = plain_yaml.load((_FOLDER / f"{half}.yaml").read_text(encoding="utf-8"))
    return [_said(line, group) for group in groups for line in group["said"]]


def read_meanings(meaning: str, plain: Sentence) -> list[Sentence]:
    """A sentence once for each of its meanings, as a line gives them. Raises ToolError INVALID_ARGUMENT."""
    return [option for words in _OR.split(meaning) for option in _options(words.strip(), plain)]


def _said(line: str, group: Mapping[str, Any]) -> Utterance:
    text, _, meaning = line.partition(" => ")
    options = read_meanings(meaning, Sentence(group["kind"], text, _scene(group["scene"]), "refusal"))
    return Utterance(tuple(options), group.get("after", ""), group.get("holds", ""))


@lru_cache(maxsize=64)
def _scene(number: int) -> Scene:
    return generate_scene(number)


def _options(meaning: str, plain: Sentence) -> list[Sentence]:
    quoted = re.findall(r'"([^"]*)"', meaning)
    kind = meaning.split(" ")[0]
    if kind == "ask":
        return [replace(plain, wanted="question")]
    if kind == "help":
        return [replace(plain, quoted=(CAN_DO,))]
    if kind in ("refuse", "cannot") and quoted:
        return [replace(plain, quoted=(words,), kept=kind == "cannot") for words in quoted]
    if kind == "unknown" and quoted:
        return [replace(plain, wanted="absence", quoted=(words,)) for words in quoted]
    if kind == "put" and len(quoted) == 1:
        ids = tuple(meaning.split(" ")[1].split("|"))
        if set(ids) <= {placed.id for placed in plain.scene.objects}:
            return [replace(plain, wanted="deed", target_ids=ids, where=(quoted[0],))]
    deed = _DEED.fullmatch(meaning)
    known = {placed.id for placed in plain.scene.objects}
    targets = deed["targets"].split("|") if deed else []
    references = re.split(r"[ |]", (deed["references"] or "").strip()) if deed else []
    if (
        deed is None
        or not {*targets, *filter(None, references)} <= known
        or (deed["verb"] == "pick") == bool(deed["relation"])
    ):
        raise invalid(f"{plain.text!r}: {meaning!r} is no meaning in {plain.scene.name or 'its scene'}.")
    return [
        replace(
            plain,
            wanted="deed",
            target_ids=tuple(targets),
            relation=cast(PlaceRelation | None, deed["relation"]),
            reference_ids=tuple(filter(None, references)),
        )
    ]
