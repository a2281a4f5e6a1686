"""Utterances that ask for an answer, for something else than a pick or a place, or for what is to be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from toolhand.bench.dialogue.expected import (
    Expected,
    Uttered,
    answered,
    counts,
    gives_length,
    names,
    plain,
    quiet,
    refused,
    says_yes,
)
from toolhand.bench.dialogue.saying_places import UtteranceMaker
from toolhand.bench.dialogue.tabletop import Tabletop, apart_m, plural
from toolhand.sim.scene.scenes import PlacedObject, gap
from toolhand.sim.tasks.arranged import ArrangedTask
from toolhand.sim.tasks.gestures import HandOverTask, JawsTask, LiftedTask, ParkedTask, PointTask, UntouchedTask
from toolhand.sim.tasks.places import OnTable
from toolhand.sim.tasks.predicates import THRESHOLDS, Shapes

_CLEARLY_M = 0.12
"""A thing stands clearly on a side of the table when it is so far from its middle [m]."""
_MISSING = ("banana", "lemon", "pear", "screwdriver", "sponge", "mustard")
"""What is not there in most scenes."""
_NEARER_M = 0.04
"""One thing is clearly nearer than all others by so much [m]."""


def _answer(table: Tabletop, kind: str, words: str, right: Callable[[str], bool] = bool) -> Uttered:
    return Uttered(kind, words, (answered(words, table.scene, right),))


# ---- Questions ----


def see(table: Tabletop) -> Iterator[Uttered]:
    """What is there."""
    words = table.say("what do you see?", "what is on the table?", "what can you see")
    items = sorted({placed.item for placed in table.scene.objects})
    yield _answer(
        table, "what do you see", words, lambda answer: sum(names(i, answer) for i in items) >= len(items) - 1
    )


def how_many(table: Tabletop) -> Iterator[Uttered]:
    """How many of a kind, or in all."""
    if not table.has_twins or (table.held is None and table.rng.random() < 0.5):
        total = len(table.scene.objects)
        yield _answer(
            table,
            "how many",
            table.say("how many things are on the table?", "how many objects do you see?"),
            counts(total),
        )
        return
    words = table.say("how many {} are there?", "how many {} do you see").format(plural(table.twins[0].item))
    yield _answer(table, "how many", words, counts(2))


def where(table: Tabletop) -> Iterator[Uttered]:
    """Where a thing is."""
    for thing in table.named:
        y = float(table.xy(thing)[1])
        if abs(y) >= _CLEARLY_M:
            side, other = ("right", "left") if y > 0 else ("left", "right")

            def right(answer: str, name: str = thing.item, side: str = side, other: str = other) -> bool:
                said = plain(answer)
                spoken = side in said or other not in said
                return spoken and (side in said or "(0." in said or " of " in said or "next to" in said)

            yield _answer(table, "where is", table.say("where is {}?", "where's {}").format(table.the(thing)), right)
            return


def is_there(table: Tabletop) -> Iterator[Uttered]:
    """Whether there is a thing."""
    thing = table.named[0] if table.named else None
    if thing is not None:
        name = table.names(thing)[0]
        article = "an" if name[0] in "aeiou" else "a"
        yield _answer(
            table, "is there", table.say(f"is there {article} {name}?", f"do you see {article} {name}?"), says_yes
        )
    absent = next(
        (
            name
            for name in ("banana", "lemon", "pear", "hammer", "sponge", "mustard", "milk", "bunny")
            if _absent(table, name)
        ),
        "",
    )
    if absent:
        yield _answer(table, "is there", f"is there a {absent}?", lambda answer: not says_yes(answer))


def _absent(table: Tabletop, name: str) -> bool:
    return not any(name in " ".join(placed.asset.words) for placed in table.scene.objects)


def nearest(table: Tabletop) -> Iterator[Uttered]:
    """Which thing is nearest to another one."""
    for thing in table.named:
        others = [other for other in table.things if other.id != thing.id]
        others.sort(key=lambda other: apart_m(table.xy(other), table.xy(thing)))
        if apart_m(table.xy(others[1]), table.xy(thing)) - apart_m(table.xy(others[0]), table.xy(thing)) > _NEARER_M:
            words = table.say("what is nearest to {}?", "which thing is closest to {}?").format(table.the(thing))
            yield _answer(table, "which is nearest", words, _naming(others[0]))
            return


def _naming(thing: PlacedObject) -> Callable[[str], bool]:
    words = [thing.item, *thing.asset.synonyms]
    return lambda answer: any(names(word, answer) for word in words)


def size(table: Tabletop) -> Iterator[Uttered]:
    """How big a thing is."""
    for thing in table.named[:1]:
        x, y, z = thing.asset.size_m
        if table.rng.random() < 0.5:
            yield _answer(table, "how big", f"how tall is {table.the(thing)}?", gives_length(z))
        else:
            yield _answer(table, "how big", f"how big is {table.the(thing)}?", gives_length(x, y, z))


def apart(table: Tabletop) -> Iterator[Uttered]:
    """How far apart two things are: middles or edges."""
    things = table.named
    if len(things) >= 2:
        a, b = things[:2]
        shapes = Shapes(table.scene, table.now.objects, THRESHOLDS)
        lengths = apart_m(table.xy(a), table.xy(b)), gap(shapes.outline(a.id), shapes.outline(b.id))
        words = table.say("how far apart are {0} and {1}?", "how far is {0} from {1}?").format(
            table.the(a), table.the(b)
        )
        yield _answer(table, "how far apart", words, gives_length(*lengths, least=0.03, share=0.2))


def holding(table: Tabletop) -> Iterator[Uttered]:
    """What the gripper holds, before and after a pick."""
    yield _answer(
        table,
        "what are you holding",
        "what are you holding?",
        lambda answer: "nothing" in plain(answer) or "empty" in plain(answer) or "not holding" in plain(answer),
    )
    for thing in table.movable[:1]:
        yield table.pick("plain pick", f"pick up {table.the(thing)}", thing)
        if table.held is not None:
            yield _answer(
                table,
                "what are you holding",
                table.say("what are you holding?", "what's in your hand?"),
                _naming(thing),
            )


def reach(table: Tabletop) -> Iterator[Uttered]:
    """Whether a thing can be reached: all that is movable can."""
    for thing in table.movable[:1]:
        yield _answer(table, "can you reach", f"can you reach {table.the(thing)}?", says_yes)


def did(table: Tabletop) -> Iterator[Uttered]:
    """What was done."""
    for thing in table.movable[:1]:
        yield table.pick("plain pick", f"pick up {table.the(thing)}", thing)
        yield _answer(table, "what did you do", table.say("what did you do?", "what have you done?"), _naming(thing))


def why_not(table: Tabletop) -> Iterator[Uttered]:
    """Why something was refused."""
    for thing in table.movable[:1]:
        words = f"pick up {table.the(thing)} tomorrow"
        yield Uttered("time", words, (refused(words, table.scene, "tomorrow", kept=True),))
        yield _answer(
            table, "why not", "why not?", lambda answer: "tomorrow" in plain(answer) or "time" in plain(answer)
        )


def can(table: Tabletop) -> Iterator[Uttered]:
    """What the robot can do."""

    def right(answer: str) -> bool:
        return "pick" in plain(answer) and ("place" in plain(answer) or "put" in plain(answer))

    yield _answer(table, "what can you do", table.say("what can you do?", "help"), right)


QUESTIONS: dict[str, UtteranceMaker] = {
    "what do you see": see,
    "how many": how_many,
    "where is": where,
    "is there": is_there,
    "which is nearest": nearest,
    "how big": size,
    "how far apart": apart,
    "what are you holding": holding,
    "can you reach": reach,
    "what did you do": did,
    "why not": why_not,
    "what can you do": can,
}


# ---- Skills ----


def jaws(table: Tabletop) -> Iterator[Uttered]:
    """The empty gripper is closed and opened."""
    words = table.say("close the gripper", "close your gripper")
    yield table.deed("gripper", words, JawsTask(words, table.scene, "closed"))
    words = table.say("open the gripper", "open your hand")
    yield table.deed("gripper", words, JawsTask(words, table.scene, "open"))


def home(table: Tabletop) -> Iterator[Uttered]:
    """Parked."""
    words = table.say("go home", "park", "go to your home position", "move out of the way")
    yield table.deed("go home", words, ParkedTask(words, table.scene))


def look(table: Tabletop) -> Iterator[Uttered]:
    """Another look."""
    words = table.say("look again", "take another look", "look again please")
    yield table.deed("look again", words, UntouchedTask(words, table.scene, hand_stays=False))


def hold_still(table: Tabletop) -> Iterator[Uttered]:
    """Nothing, for a while."""
    words = table.say("hold still", "don't move", "stay where you are")
    yield Uttered("hold still", words, (quiet(words, table.scene),))


def lift(table: Tabletop) -> Iterator[Uttered]:
    """A little."""
    for thing in table.movable[:1]:
        words = table.say("lift {} a little", "raise {} a little", "lift {} a bit").format(table.the(thing))
        yield table.deed("lift a little", words, LiftedTask(words, table.scene, (thing.id,)))


def hand_over(table: Tabletop) -> Iterator[Uttered]:
    """Held out to the operator."""
    for thing in table.movable[:1]:
        words = table.say("hand over {}", "hand me {}", "hand {} over to me").format(table.the(thing))
        picked = ArrangedTask(words, table.scene, held=(thing.id,))
        tasks = (HandOverTask(words, table.scene, (thing.id,)), *((picked,) if words.startswith("hand me") else ()))
        yield table.deed("hand over", words, *tasks)


def point(table: Tabletop) -> Iterator[Uttered]:
    """Shown from above."""
    for thing in table.named[:1]:
        words = table.say("point at {}", "point to {}", "show me {}").format(table.the(thing))
        said = table.deed("point at", words, PointTask(words, table.scene, (thing.id,)))
        if words.startswith("show"):  # to say where it is shows it, too
            said = replace(said, options=(*said.options, answered(words, table.scene, _naming(thing))))
        yield said


def slowly(table: Tabletop) -> Iterator[Uttered]:
    """A pick, slowly."""
    for thing in table.movable[:1]:
        words = table.say("slowly pick up {}", "pick up {} slowly").format(table.the(thing))
        yield table.pick("slowly", words, thing)


def down_or_open(table: Tabletop) -> Iterator[Uttered]:
    """ "Open the gripper" with a thing in it: it is put down, or the robot asks or refuses."""
    for thing in table.movable[:1]:
        yield table.pick("plain pick", f"pick up {table.the(thing)}", thing)
        words = "open the gripper"
        put = Expected("deed", table.arranged(words, (thing, OnTable())))
        yield Uttered(
            "gripper", words, (put, Expected("asked", UntouchedTask(words, table.scene)), refused(words, table.scene))
        )


SKILLS: dict[str, UtteranceMaker] = {
    "gripper": jaws,
    "go home": home,
    "look again": look,
    "hold still": hold_still,
    "lift a little": lift,
    "hand over": hand_over,
    "point at": point,
    "slowly": slowly,
    "open with a thing": down_or_open,
}

# ---- What is to be refused ----

_REFUSED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("time", "pick up {} tomorrow", ("tomorrow",)),
    ("time", "pick up {} in five minutes", ("five minutes",)),
    ("time", "put {} away after lunch", ("after lunch", "lunch")),
    ("condition", "pick up {} if it is empty", ("if it is empty", "if")),
    ("condition", "pick up {} unless it is heavy", ("unless it is heavy", "unless")),
    ("condition", "when I say go, pick up {}", ("when i say go", "when")),
    ("pretence", "pretend to pick up {}", ("pretend to", "pretend")),
    ("pretence", "plan how to pick up {}", ("plan how to", "plan")),
    ("pretence", "imagine you pick up {}", ("imagine",)),
    ("other deed", "shake {}", ("shake",)),
    ("other deed", "throw {} across the room", ("throw", "across the room")),
    ("other deed", "cut {} in half", ("cut",)),
    ("nonsense", "blorf {} quickly", ("blorf",)),
    ("denied", "do not pick up {}", ("do not", "not")),
    ("denied", "don't touch {}", ("don t", "don't", "not", "touch")),
)
LANGUAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("nimm die Banane", ("deutsch", "german", "englisch")),
    ("leg die Zitrone in die Schüssel", ("deutsch", "german", "englisch")),
    ("prends la banane", ("français", "french", "anglais")),
    ("mets le citron dans le bol", ("français", "french", "anglais")),
    ("recoge la manzana", ("español", "spanish", "inglés")),
    ("pon el limón en el tazón", ("español", "spanish", "inglés")),
    ("pegue a banana por favor", ("português", "portuguese", "inglês")),
    ("拿起香蕉", ("中文", "英", "chinese")),
    ("возьми банан", ("русск", "russian", "английск")),
    ("केला उठाओ", ("हिन्दी", "हिंदी", "hindi", "अंग्रेज")),
    ("التقط الموزة", ("العربية", "arabic", "الإنجليزية")),
    ("バナナを取って", ("日本語", "japanese", "英語")),
)
"""Sentences, and words of their language, or its name, of which the refusal has one."""


def refusal(table: Tabletop) -> Iterator[Uttered]:
    """Times, conditions, pretences, other deeds."""
    kind, form, quoted = _REFUSED[int(table.rng.integers(len(_REFUSED)))]
    for thing in table.movable[:1]:
        words = form.format(table.the(thing))
        yield Uttered(kind, words, (refused(words, table.scene, *quoted, kept=True),))


def language(table: Tabletop) -> Iterator[Uttered]:
    """Another language."""
    words, quoted = LANGUAGES[int(table.rng.integers(len(LANGUAGES)))]
    yield Uttered("another language", words, (refused(words, table.scene, *quoted),))


def absent(table: Tabletop) -> Iterator[Uttered]:
    """A thing that is not there."""
    for name in _MISSING:
        if _absent(table, name):
            words = f"pick up the {name}"
            yield Uttered("absent thing", words, (refused(words, table.scene, name),))
            return


REFUSED: dict[str, UtteranceMaker] = {"refusal": refusal, "another language": language, "absent thing": absent}


def wrong_answer_to_nothing(table: Tabletop) -> Iterator[Uttered]:
    """An answer to no question moves nothing."""
    words = table.say("the left one", "number 2", "yes", "no")
    yield Uttered("answer to nothing", words, (quiet(words, table.scene),))


def small_talk(table: Tabletop) -> Iterator[Uttered]:
    """Friendly words."""
    words = table.say("thanks a million", "good job!", "hello robot", "thank you", "well done")
    yield Uttered("small talk", words, (quiet(words, table.scene),))


TALK: dict[str, UtteranceMaker] = {"answer to nothing": wrong_answer_to_nothing, "small talk": small_talk}
