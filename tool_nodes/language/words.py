"""The words of noun phrases: spelling, plurals, colours and the closed classes of their grammar."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

from toolhand.tool_nodes.language.measures import POINTS, TOKENS


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


def _meaning(groups: Mapping[str, str]) -> dict[str, str]:
    """{"left": "left leftmost"} becomes {"left": "left", "leftmost": "left"}."""
    return {word: meaning for meaning, words in groups.items() for word in words.split()}


_SPELLINGS = _meaning(
    {
        "grey": "gray greyish grayish",
        "colour": "color coloured colored colours colors",
        "centre": "center",
        "and": "n &",
        "yoghurt": "yogurt",
        "doughnut": "donut",
        "aluminium": "aluminum",
        "chocolate": "choco",
    }
) | {"pb": "peanut butter"}
"""American to British, and short forms. Names of objects are mended against what is seen."""
_POSSESSIVE_SIDE = re.compile(
    r"\b(?:to|on|at) ((?:(?!to |on |at )[\w-]+ ){0,5}?[\w-]+)'s (left|right|front|back|rear)(?:[ -]hand)?(?: side)?\b"
)
_NORMAL: tuple[tuple[re.Pattern[str] | str, str], ...] = (
    *POINTS,
    (r"\b(that|which)'s\b", r"\1 is"),
    (_POSSESSIVE_SIDE, r"to the \2 of \1"),
    (r"'", ""),
    (r"see[- ]through", "seethrough"),
    (r"\b(left|right|front|back|far|near|rear|upper|top|bottom)[- ]most\b", r"\1most"),
    (r"red bull", "redbull"),
    (r"\bcoca[- ]?cola\b", "cola"),
    (r"\b(?:trash|garbage|rubbish|waste)[- ]?(?:paper )?(?:can|bin|basket|bucket)\b", "bin"),
    (r"[;:()\[\]\"“”–—]|(?:^|\s)-+(?=\s|$)", ","),
)
"""What is rewritten before a text falls into words."""
_IRREGULAR = {
    "knives": "knife",
    "leaves": "leaf",
    "loaves": "loaf",
    "shelves": "shelf",
    "mice": "mouse",
    "dice": "die",
    "children": "child",
    "buses": "bus",
}
SAME_STEM = _meaning(
    {
        "plush": "plushy",
        "drink": "beverage",
        "can": "tin canned tinned",
        "ketchup": "catsup",
        "vegetable": "veggy",
        "soy": "soya",
        "chili": "chilli chile",
        "mayonnaise": "mayo",
        "round": "spherical circular",
        "cylindrical": "cylinder",
        "rigid": "hard solid stiff firm",
        "soft": "squishy fluffy cuddly stuffed furry fuzzy",
        "metal": "metallic",
        "rectangular": "rectangle",
        "square": "cubic",
        "block": "cube",
        "slim": "skinny slender",
    }
)
"""Words that always mean the same."""
_SAME_GROUPS = (
    "cup mug tumbler beaker",
    "bunny rabbit hare",
    "pony horse",
    "bear teddy",
    "flashlight torch",
    "wrench spanner",
    "drink soda pop",
    "cola coke",
    "sausage hotdog",
    "box package pack packet parcel carton",
    "kitchen dish cleaning washing",
    "toy model race racing sport",
    "spicy hot chili",
)
_NEAR_GROUPS = (
    *_SAME_GROUPS,
    "cup mug glass tumbler beaker",
    "pony horse unicorn",
    "bin basket crate tray tub trash garbage rubbish waste bucket",
    "bin box crate tray case",
    "bowl dish",
    "box carton package pack packet parcel present gift",
    "container tube canister",
    "tube can canister cylinder",
    "plush doll",
    "jar pot shaker glass",
)


def _groups(table: tuple[str, ...]) -> dict[str, frozenset[int]]:
    """The numbers of the groups that each word is of."""
    words = word_set(" ".join(table))
    return {word: frozenset(k for k, group in enumerate(table) if word in group.split()) for word in words}


SAME_OBJECT = _groups(_SAME_GROUPS)
"""Groups of words that people call one object by: tried only when a phrase matches nothing as it stands."""
NEAR_SYNONYMS = _groups(_NEAR_GROUPS)
"""Groups of words for objects that are alike and not the same, beside those: what is found by them may be asked about,
and may be a place, but nothing else is done with it."""
GENERIC = word_set("object thing item one stuff everything anything something product article piece")
"""Heads that fit anything."""
DETERMINERS = word_set(
    "the a an this that these those my your our his her their its some any either of there here same other another "
    "said whichever"
)
FILLERS = word_set(
    "please very really most quite just exactly actually only nice lovely beautiful good favourite favorite shiny "
    "colour shape shaped sized looking kind sort type slightly currently now kindly me us which who is are was "
    "sitting standing lying laying located placed positioned resting situated present visible so also still already "
    "table desk surface counter called named labelled labeled marked saying says been being be see over whole "
    "entire own"
)
UNCHECKED = word_set("nice lovely beautiful good favourite favorite shiny over so whole entire here there")
"""Words whose truth no image shows: a pointer passes over them, a command may not."""
PARTICIPLES = word_set("sitting standing lying laying located placed positioned resting situated")
"""They lead to a place: "the can standing next to the box"; of an object itself no image shows whether it lies."""
SURFACES = word_set("table desk surface counter")
SUPPORTS = SURFACES | word_set("tabletop countertop worktop workbench")
"""What objects stand on: alone, such a word means that and never the objects."""
BACKDROPS = word_set("background foreground backdrop surroundings")
"""What is around the objects; in front of a noun the first two say where it is."""
FUNCTION_WORDS = word_set(
    "then than after before during while because since although though as if else too neither nor by for from to into "
    "onto upon at in on with without within off out up down away again via per about along across through toward "
    "towards around past until till it he she they them him i you we no never ever even much more less least few many "
    "several lots enough would should could will shall must do does did done has have had where when why how what not "
    "but except maybe perhaps instead rather apart opposite beneath under below underneath above inside outside "
    "afterwards later soon today tomorrow twice once yet unless whether or anywhere somewhere elsewhere wherever next "
    "beside besides behind between alongside beyond atop touching against amid "
    "together alone half halfway nearly almost hardly barely parallel opposite forward forwards backward backwards "
    "leftward leftwards rightward rightwards ahead "
    "upside upright sideways horizontally vertically facing pointing lengthwise diagonally tilted flat flatly"
)
"""Words that name nothing: where no rule of the grammar has read one, it was not understood."""
LEADING_ON = word_set(
    "then after before during while because since although though as without via per along across through until till "
    "unless whether plus like using avoiding followed above below under underneath beneath nor neither when where how "
    "why what"
)
"""Words after which a phrase speaks of something else: what they lead to was not understood either."""
NUMBERS = {
    word: n for n, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 2)
}
NUMBERS |= {str(n): n for n in range(2, 11)} | {"both": 2, "couple": 2, "pair": 2}
ORDINALS = {word: n for n, word in enumerate(["first", "second", "third", "fourth", "fifth", "sixth", "seventh"], 1)}
ORDINALS |= {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "last": -1, "final": -1}

SIDES = _meaning(
    {
        "left": "left leftmost lefthand",
        "right": "right rightmost righthand",
        "near": "near nearer nearest nearby close closer closest front frontmost foremost foreground lower lowest "
        "bottommost",
        "far": "far further farther furthest farthest furthermost farthermost distant back rear rearmost hindmost "
        "backmost background upper uppermost topmost",
        "middle": "middle centre central mid middlemost centremost",
    }
)
SIZES = _meaning(
    {
        "big": "bigger biggest larger largest",
        "small": "smaller smallest littlest tiniest",
        "tall": "taller tallest highest",
        "short": "shorter shortest flatter flattest",
        "long": "longer longest",
        "wide": "wider widest fatter fattest thicker thickest",
        "thin": "thinner thinnest narrower narrowest slimmer slimmest",
    }
)
RELATIVE = _meaning(
    {
        "big": "big large huge giant",
        "small": "small little tiny mini",
        "tall": "tall high",
        "short": "short low flat",
        "long": "long",
        "wide": "wide fat thick",
        "thin": "thin narrow slim",
    }
)
"""Adjectives that hold relative to the other candidates."""

SHADES = {
    **dict.fromkeys(("dark", "deep", "darker", "darkest"), "dark"),
    **dict.fromkeys(("light", "pale", "paler"), "light"),
    **dict.fromkeys(("bright", "vivid", "brighter", "brightest"), ""),
}
COLOURS = _meaning(
    {
        "red": "red crimson scarlet reddish",
        "orange": "orange",
        "yellow": "yellow yellowish",
        "green": "green greenish",
        "blue": "blue bluish",
        "purple": "purple violet purplish",
        "pink": "pink magenta fuchsia rose pinkish",
        "brown": "brown brownish",
        "black": "black blackish",
        "white": "white whitish",
        "grey": "grey silver silvery",
        "turquoise": "turquoise teal cyan aqua",
        "lime": "lime",
        "gold": "gold golden",
        "tan": "tan beige khaki",
        "cream": "cream ivory",
        "transparent": "transparent clear seethrough colourless translucent",
        "multicolour": "multicolour multicoloured",
        "light purple": "lilac lavender mauve",
        "dark blue": "navy",
        "dark red": "maroon burgundy",
        "dark grey": "charcoal",
        "light blue": "azure",
    }
)
COLOUR_FAMILIES = {
    "lime": ("yellow", "green"),
    "turquoise": ("blue", "green"),
    "tan": ("brown", "yellow"),
    "cream": ("white", "yellow"),
    "gold": ("yellow", "orange"),
    "pink": ("red", "purple"),
    "orange": ("red", "yellow"),
    "brown": ("orange", "red"),
    "purple": ("blue", "pink"),
    "transparent": ("white", "grey"),
    "grey": ("white", "black"),
}
"""What people also call a colour, used when nothing on the table has the colour that they said."""

PACKAGING = word_set("box can bottle carton jar packet pack package bag pot shaker sachet container tube mix powder")
DISCRETE = word_set("ball toy pencil pen tool block cube car egg shoe gift marble coin key card")
"""Objects that are not what a package of them is: a box of pencils is not "the pencil"."""


_PUNCTUATION = ",.?!"


def tokenize(text: str) -> list[str]:
    """Lower-case words of a text, accents removed; `,` `.` `?` `!` stay as tokens.

    "Bob's T-shirt!" gives bobs t shirt !
    """
    spread = unicodedata.normalize("NFKD", re.sub("[’‘`]", "'", text.lower()))
    plain = "".join(sign for sign in spread if not unicodedata.combining(sign))
    for pattern, replacement in _NORMAL:
        plain = re.sub(pattern, replacement, plain)
    tokens = re.findall(rf"{TOKENS}|[^\W_]+|[,.?!&]", plain)
    return [part for token in tokens for part in _SPELLINGS.get(token, token).split()]


def words_only(tokens: Iterable[str]) -> list[str]:
    """The tokens without punctuation."""
    return [token for token in tokens if token[0] not in _PUNCTUATION]


def singular(word: str) -> str:
    """The singular of a plural English noun; other words unchanged as far as spelling shows."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zzes")):
        return word[:-2]
    return word[:-1]


def stem(word: str) -> str:
    """A form in which singular and plural and common spellings of one word are equal; for comparison only."""
    short = singular(word)
    if short.endswith("ie"):
        short = short[:-2] + "y"
    if short.endswith("oe"):
        short = short[:-1]
    return SAME_STEM.get(short, short)


def plural(name: str) -> str:
    """The plural of a name: "coconut water" gives "coconut waters"."""
    if re.search(r"(s|x|ch|sh|z)$", name):
        return name + "es"
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + "s"


COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""How so many objects are counted in words."""


def counted(number: int, name: str) -> str:
    """ "two cans"; the name may be singular or plural already."""
    word = COUNTS[number] if number < len(COUNTS) else str(number)
    one = one_of(name)
    return f"{word} {one if number == 1 else plural(one)}"


def one_of(name: str) -> str:
    """A name in the singular: "red box" of "red boxes"."""
    *words, last = name.split()
    return " ".join([*words, singular(last)])


def is_plural(word: str) -> bool:
    """True if the word looks like a plural noun."""
    return singular(word) != word


def one_letter_apart(a: str, b: str) -> bool:
    """True if one insertion, deletion, substitution or swap of neighbours turns a into b."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    i = 0
    while i < min(len(a), len(b)) and a[i] == b[i]:
        i += 1
    if len(a) == len(b):
        return a[i + 1 :] == b[i + 1 :] or (a[i : i + 2] == b[i : i + 2][::-1] and a[i + 2 :] == b[i + 2 :])
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer[i + 1 :] == shorter[i:]


_LONG = 6
"""Letters from which on another letter inside a word makes a slip of it rather than another word."""


def is_slip(said: str, meant: str) -> bool:
    """True if a word is another one with a slip of one letter; "bear" is no slip of "pear", nor "love" of "move"."""
    if not one_letter_apart(said, meant):
        return False
    other_letter = len(said) == len(meant) and sorted(said) != sorted(meant)
    return not other_letter or (len(said) >= _LONG and said[0] == meant[0])
