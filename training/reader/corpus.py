"""What people say with what they mean by it, and what may be exchanged in it without changing its frame."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from toolhand.agent_node.plan.grammar import NotCanonical, split, terminals
from toolhand.agent_node.plan.pieces import words_of
from toolhand.agent_node.plan.reader import context_of
from toolhand.tool_nodes.results import invalid

WORDS = Path(__file__).with_name("words")
"""A folder for each author: said.tsv, plan.tsv, talks.tsv, talkplan.tsv."""
PHRASES = Path(__file__).with_name("phrases.txt")
"""Ways to say which object and where, with the same in the robot's words."""


@dataclass(frozen=True)
class SaidPlan:
    """An utterance and its plan.

    Attributes:
        author: Folder of who wrote it.
        key: Its id in the author's files.
        said: The utterance.
        context: The plan before it, and the robot's question after "?" where one waits; empty at the start.
        plan: Plan in the robot's words.
    """

    author: str
    key: str
    said: str
    context: str
    plan: str


def load(folder: Path) -> list[SaidPlan]:
    """The readings of one author, but for those whose plan the grammar does not read."""
    plans = _table(folder / "plan.tsv")
    found = [
        SaidPlan(folder.name, key, said, "", plans[key][0])
        for key, (said, *_) in _table(folder / "said.tsv").items()
        if key in plans
    ]
    if (folder / "talkplan.tsv").exists():
        plans, before = _table(folder / "talkplan.tsv"), ""
        for key, (happened, said, *_) in _table(folder / "talks.tsv").items():
            if key not in plans:
                continue
            if key.endswith(".1"):
                context = ""
            else:
                asked = re.match(r"(?:\w+ )*?ask(?:ed|s)\b[^:]*:? *(.*)", happened)
                context = context_of(before, asked[1] if asked else "")
            before = plans[key][0]
            found.append(SaidPlan(folder.name, key, said, context, before))
    return [reading for reading in found if _fits(reading.plan)]


def _fits(plan: str) -> bool:
    try:
        terminals(plan)
    except NotCanonical:
        return False
    return True


def _table(path: Path) -> dict[str, list[str]]:
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines() if line.strip())
    return {row[0]: row[1:] for row in rows if len(row) > 1}


def exact_share(folder: Path, readings: Sequence[SaidPlan]) -> str:
    """ "312 of 400": readings whose plan the weights of a folder write word by word."""
    from toolhand.agent_node.plan.learned import LearnedReader

    reader = LearnedReader(folder)
    hit = sum(reader.write(r.said, r.context)[0].split() == split(r.plan) for r in readings)
    return f"{hit} of {len(readings)}"


# ---- What the network writes ----


def target(reading: SaidPlan, sources: Sequence[str]) -> list[tuple[str, str, tuple[int, ...]]]:
    """The plan as (terminal, words, words of the input that it may be copied from).

    A word that people spell in another way is copied from the nearest spelling.
    """
    steps: list[tuple[str, str, tuple[int, ...]]] = []
    for terminal, words in terminals(reading.plan):
        if terminal in ("WORD", "NUMBER", "SAID"):
            # A word with a mark in it is several words of the input.
            steps += [(terminal, word, _places(word, sources)) for word in words_of(words)]
        else:
            steps.append((terminal, words, ()))
    return steps


def _places(word: str, sources: Sequence[str]) -> tuple[int, ...]:
    same = tuple(k for k, source in enumerate(sources) if source == word)
    if same or len(word) < 3:
        return same
    near = [(_alike(word, source), k) for k, source in enumerate(sources)]
    best = max(near, default=(0.0, 0))
    return (best[1],) if best[0] >= 0.75 else ()


def _alike(word: str, source: str) -> float:
    return SequenceMatcher(None, word, source).ratio() if source[:1] == word[:1] and source.isalpha() else 0.0


# ---- What may be exchanged ----


class Varied:
    """Exchanges names and colours of readings, says objects with slips, and joins two sentences to one.

    Args:
        names: Names of objects, as people say them; some of several words.
        seed: Seed of every choice.
        noise: Share of readings that get a slip of the finger, a recogniser's output or a remark [0..1].
        phrases: Share of the readings with a plain object or place that get another phrase for it [0..1].

    Raises:
        ToolError: INVALID_ARGUMENT for a share of noise that is none.
    """

    def __init__(self, names: Sequence[str], seed: int, noise: float = 0.5, phrases: float = 0.35) -> None:
        if not 0.0 <= noise <= 1.0:
            raise invalid(f"The share of sentences with noise must be from 0 to 1, got {noise:g}.")
        self._names, self._random, self._noise = list(names), random.Random(seed), noise
        self._share, self._phrases = phrases, _phrases()
        known = {name.split()[-1] for name in names if len(name) > 2} | set(names)
        either = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
        self._pattern = re.compile(rf"\b(?:{either})(?P<many>e?s)?\b")

    def epoch(self, readings: Sequence[SaidPlan]) -> Iterator[SaidPlan]:
        """Each reading once, varied, in a random order."""
        order = list(readings)
        self._random.shuffle(order)
        for k, reading in enumerate(order):
            if self._random.random() < 0.06 and not reading.context:
                reading = self._joined(reading, order[k - 1])
            yield self.noisy(self._rephrased(self._renamed(reading)))

    def _renamed(self, reading: SaidPlan) -> SaidPlan:
        chance = self._random
        said, plan, context = reading.said, reading.plan, reading.context
        if chance.random() < 0.65:
            held = {m.group() for m in self._pattern.finditer(plan)}
            new: dict[str, str] = {}
            for name in sorted(held, key=len, reverse=True):
                if re.search(rf"\b{re.escape(name)}\b", f"{said} {context}".lower()) and chance.random() < 0.8:
                    new[name] = self._name(name)
            if new:
                swap = re.compile(
                    rf"\b(?:{'|'.join(sorted(map(re.escape, new), key=len, reverse=True))})\b", re.IGNORECASE
                )
                said, plan, context = (
                    swap.sub(lambda m: new[m.group().lower()], text) for text in (said, plan, context)
                )
        colours = [c for c in _COLOURS if re.search(rf"\b{c}\b", plan)]
        if colours and chance.random() < 0.5:
            turned = dict(zip(colours, chance.sample(_COLOURS, len(colours)), strict=True))
            swap = re.compile(rf"\b(?:{'|'.join(colours)})\b", re.IGNORECASE)
            said, plan, context = (
                swap.sub(lambda m: turned[m.group().lower()], text) for text in (said, plan, context)
            )
        changed = replace(reading, said=said, plan=plan, context=context)
        return changed if _fits(plan) else reading

    def _rephrased(self, reading: SaidPlan) -> SaidPlan:
        """Another phrase for an object that is only named, or for a place that is said in the robot's own words."""
        chance = self._random
        if chance.random() >= self._share:
            return reading
        said, plan = reading.said, reading.plan
        named = [m for m in _NAMED.finditer(plan) if len(re.findall(rf"\b{_ARTICLE} {m['noun']}\b", said, re.I)) == 1]
        place = _PLACE.search(plan)
        placed = place is not None and plan.count(place[1]) == 1 and said.lower().count(place[1]) == 1
        if named and (not placed or chance.random() < 0.5):
            noun = chance.choice(named)["noun"]
            words, meant = self._phrase("object", noun)
            said = re.sub(rf"\b{_ARTICLE} {noun}\b", words, said, count=1, flags=re.I)
            plan = re.sub(rf"\b(?:the|a) {noun}\b", meant, plan)
        elif placed and place is not None:
            words, meant = self._phrase("place", "")
            said = re.sub(re.escape(place[1]), words, said, count=1, flags=re.I)
            plan = plan.replace(place[1], meant)
        changed = replace(reading, said=said, plan=plan)
        return changed if _fits(plan) else reading

    def _phrase(self, kind: str, noun: str) -> tuple[str, str]:
        """A phrase and what it means, with names in it."""
        names = {"X": noun, "Y": self._name(""), "Z": self._name("")}
        pair = self._random.choice(self._phrases[kind])
        words, meant = (re.sub(r"\b[XYZ](?=s?\b)", lambda m: names[m[0]], each) for each in pair)
        return words, meant

    def _name(self, old: str) -> str:
        chance = self._random
        if chance.random() < 0.1:
            name = "".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(1, 3)))
        else:
            name = chance.choice(self._names)
        if old.endswith("s") and not old.endswith("ss") and not name.endswith("s"):
            name += "s"
        return name

    def _joined(self, first: SaidPlan, then: SaidPlan) -> SaidPlan:
        lone = re.compile(r"(?:pick up|put|hand over|point|lift|stand|open|close|go home|swap|stack)\b")
        if then.context or not (lone.match(first.plan) and lone.match(then.plan)):
            return first
        join = self._random.choice((", then ", " and then ", ". ", " and ", ", and after that ", " then "))
        said = f"{first.said.rstrip(' .!?')}{join}{then.said[:1].lower()}{then.said[1:]}"
        return replace(first, said=said, plan=f"{first.plan} ; {then.plan}")

    def noisy(self, reading: SaidPlan) -> SaidPlan:
        """The reading, or its like with a slip of the finger, as a recogniser writes it, or with a remark."""
        chance, said = self._random, reading.said
        if chance.random() >= self._noise:
            return reading
        kind = chance.random()
        if kind < 0.35:
            said = self._slip(said)
        elif kind < 0.6:
            said = re.sub(r"[.,!?;:]", "", said).lower()
        elif kind < 0.7 and not reading.context:
            said = f"{chance.choice(_BEFORE)}{said[:1].lower()}{said[1:]}"
        elif kind < 0.8 and not reading.plan.startswith(("cannot", "nothing", "unclear")):
            said = f"{said.rstrip(' .')}{chance.choice(_AFTER)}"
        elif kind < 0.9:
            at = chance.randrange(len(said.split()) + 1)
            words = said.split()
            said = " ".join([*words[:at], chance.choice(("um", "uh", "er", "like", "you know")), *words[at:]])
        else:
            said = said.upper() if chance.random() < 0.3 else said.capitalize()
        return replace(reading, said=said)

    def _slip(self, said: str) -> str:
        chance = self._random
        words = said.split()
        long = [k for k, word in enumerate(words) if len(word) > 3 and word.isalpha()]
        if not long:
            return said
        k = chance.choice(long)
        word = words[k]
        at = chance.randrange(1, len(word) - 1)
        kind = chance.random()
        if kind < 0.35:
            word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        elif kind < 0.6:
            word = word[:at] + word[at + 1 :]
        elif kind < 0.8:
            word = word[:at] + word[at] + word[at:]
        else:
            word = word[:at] + chance.choice("aeiorstnlm") + word[at + 1 :]
        words[k] = word
        return " ".join(words)


def _phrases() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in PHRASES.read_text("utf-8").splitlines():
        words, bar, meant = line.partition(" | ")
        if bar:
            found[next(reversed(found))].append((words, meant))
        elif line and not line.startswith("#"):
            found[line] = []
    return found


_ARTICLE = r"(?:the|a|an|that|this|my|your|some)"
_NAMED = re.compile(
    r"\b(?:the|a) (?P<noun>[a-z]+)(?= ;|$| (?:in|on|left|right|behind|next|near|between|to|closer|out|at|away) )"
)
"""An object of a plan that is only named."""
_PLACE = re.compile(
    r"^put (?:it|the [a-z]+(?: [a-z]+)?) ((?:in|on|behind|next to|left of|right of|in front of|at) (?:the )?[a-z ]+)$"
)
"""The place of a plan of one act."""
_COLOURS = (
    "red", "blue", "green", "yellow", "black", "white", "orange", "purple", "brown", "grey", "pink", "silver"
)  # fmt: skip
_SYLLABLES = ("bla", "kor", "tin", "mo", "fep", "zur", "lin", "wob", "dax", "gle", "sno", "pri")
_BEFORE = (
    "hey robot, ", "ok ", "okay so ", "right, ", "please ", "no no, ", "hi, ", "excuse me, ", "listen, ", "so, ",
    "alright then, ", "robot: ", "could you ", "would you please ", "i want you to ", "you know what, ", "sorry, ",
)  # fmt: skip
_AFTER = (
    " please", ", thanks", ", would you", " ok?", ", thank you", " now", ", mate", ", if you can", " for me",
    " please and thank you", " real quick", ", love", ". thanks a lot", ", that would be great",
)  # fmt: skip
