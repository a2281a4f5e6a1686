"""The words that operators use: spelling, plurals, colours and the closed classes of the grammar."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_CONTRACTIONS = (
    (r"\bcan'?t\b", "can not"),
    (r"\bwon'?t\b", "will not"),
    (r"\b(do|does|did|is|are|should|would|could|must)n'?t\b", r"\1 not"),
    (r"\b(i|you|we|they)'d\b", r"\1 would"),
    (r"\b(i|you|we|they)'ll\b", r"\1 will"),
    (r"\b(i|you|we|they)'ve\b", r"\1 have"),
    (r"\b(that|it|there|what|where|who|which|how)'?s\b(?<!its)", r"\1 is"),
    (r"\bi'?m\b", "i am"),
    (r"\blet'?s\b", "let us"),
    (r"\b(one|object|thing|item)'s\b", r"\1 is"),
)

_SPELLINGS = {
    "gray": "grey", "greyish": "grey", "color": "colour", "coloured": "colour", "colored": "colour", "colours": "colour",
    "colors": "colour", "center": "centre", "farer": "farther", "teh": "the", "hte": "the", "adn": "and", "nad": "and",
    "rigth": "right", "rihgt": "right", "lefft": "left", "lfet": "left", "infront": "in front", "ontop": "on top",
    "inbetween": "between", "becide": "beside", "behid": "behind", "behing": "behind", "behinde": "behind",
    "betwen": "between", "beetween": "between", "bettween": "between", "insde": "inside", "isnide": "inside",
    "besdie": "beside", "lft": "left", "rght": "right", "fron": "front", "frnt": "front", "nxt": "next",
    "neer": "near", "closet": "closest", "closests": "closest", "neares": "nearest", "furthes": "furthest",
    "yogurt": "yoghurt", "donut": "doughnut", "aluminum": "aluminium", "leftmos": "leftmost", "plese": "please",
    "pleas": "please", "pls": "please", "plz": "please", "&": "and",
}  # fmt: skip
"""American to British, and slips of the closed classes. Names of things are corrected against what is seen."""

_IRREGULAR = {
    "knives": "knife", "leaves": "leaf", "loaves": "loaf", "shelves": "shelf", "mice": "mouse", "dice": "die",
    "people": "person", "children": "child", "feet": "foot", "teeth": "tooth", "geese": "goose", "buses": "bus",
}  # fmt: skip
_SAME_STEM = {
    "plushy": "plush", "beverage": "drink", "tin": "can", "catsup": "ketchup", "veggy": "vegetable", "soya": "soy",
    "chilli": "chili", "mayo": "mayonnaise", "oatmeal": "oat", "telly": "tv", "spherical": "round", "cylinder": "cylindrical",
    "hard": "rigid", "solid": "rigid", "stiff": "rigid", "squishy": "soft", "fluffy": "soft", "cuddly": "soft",
    "stuffed": "soft", "furry": "soft", "metallic": "metal", "rectangle": "rectangular", "cubic": "square", "cube": "block",
    "circular": "round", "skinny": "slim", "slender": "slim", "translucent": "transparent",
}  # fmt: skip
NEAR_SYNONYMS = {
    "mug": "cup", "glass": "cup", "tumbler": "cup", "beaker": "cup", "rabbit": "bunny", "horse": "pony", "basket": "bin",
    "crate": "bin", "tray": "bin", "tub": "bin", "trash": "bin", "garbage": "bin", "rubbish": "bin", "waste": "bin",
    "bucket": "bin", "dish": "bowl", "carton": "box", "package": "box", "pack": "box", "packet": "box", "tube": "container",
    "canister": "container", "cylindrical": "container", "doll": "plush", "teddy": "bear", "torch": "flashlight",
    "spanner": "wrench", "soda": "drink", "pop": "drink", "coke": "cola", "hotdog": "sausage",
}  # fmt: skip
"""Words that a speaker may mean by each other: tried only when a phrase matches nothing as it stands."""

GENERIC = frozenset("object thing item one stuff everything anything something product article piece".split())
"""Heads that fit anything."""
DETERMINERS = frozenset(
    "the a an this that these those my your our his her their its some any either of there here same other another said".split()
)
FILLERS = frozenset(
    "please very really quite just exactly actually only nice lovely beautiful good favourite favorite shiny colour shape "
    "shaped sized looking kind sort type slightly bit currently now kindly me us which who is are was sitting "
    "standing lying laying located placed positioned resting situated present visible so also still already table desk "
    "surface counter called named labelled labeled marked saying says been being be see over whole entire own".split()
)
NUMBERS = {w: n for n, w in enumerate("zero one two three four five six seven eight nine ten".split())} | {
    str(n): n for n in range(2, 11)
}
NUMBERS.update({"both": 2, "couple": 2, "pair": 2})
ORDINALS = {w: n for n, w in enumerate("first second third fourth fifth sixth seventh eighth".split(), 1)}
ORDINALS.update({"1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "5th": 5, "6th": 6, "last": -1})

SIDES = {
    "left": "left", "leftmost": "left", "leftest": "left", "lefthand": "left", "right": "right", "rightmost": "right",
    "righthand": "right", "near": "near", "nearer": "near", "nearest": "near", "nearby": "near", "close": "near",
    "closer": "near", "closest": "near", "front": "near", "frontmost": "near", "foremost": "near", "foreground": "near",
    "lower": "near", "lowest": "near", "bottommost": "near", "far": "far", "further": "far", "farther": "far",
    "furthest": "far", "farthest": "far", "furthermost": "far", "farthermost": "far", "farmost": "far", "distant": "far",
    "back": "far", "rear": "far", "rearmost": "far", "hindmost": "far", "backmost": "far", "background": "far",
    "upper": "far", "uppermost": "far", "topmost": "far", "middle": "middle", "centre": "middle", "central": "middle",
    "mid": "middle", "centermost": "middle", "middlemost": "middle",
}  # fmt: skip
SIZES = {
    "bigger": "big", "biggest": "big", "larger": "big", "largest": "big", "smaller": "small", "smallest": "small",
    "littlest": "small", "tiniest": "small", "taller": "tall", "tallest": "tall", "highest": "tall", "shorter": "short",
    "shortest": "short", "longer": "long", "longest": "long", "wider": "wide", "widest": "wide", "fatter": "wide",
    "fattest": "wide", "thicker": "wide", "thickest": "wide", "thinner": "thin", "thinnest": "thin", "narrower": "thin",
    "narrowest": "thin", "slimmer": "thin", "slimmest": "thin", "flatter": "short", "flattest": "short",
}  # fmt: skip
RELATIVE = {
    "big": "big", "large": "big", "huge": "big", "giant": "big", "small": "small", "little": "small", "tiny": "small",
    "mini": "small", "tall": "tall", "high": "tall", "short": "short", "low": "short", "flat": "short", "long": "long",
    "wide": "wide", "fat": "wide", "thick": "wide", "thin": "thin", "narrow": "thin", "slim": "thin",
}  # fmt: skip
"""Adjectives that hold relative to the other candidates."""

SHADES = {"dark": "dark", "deep": "dark", "light": "light", "pale": "light", "bright": "", "vivid": ""}
COLOURS = {
    c: c
    for c in (
        "red orange yellow green blue purple pink brown black white grey turquoise lime gold tan cream transparent "
        "multicolour"
    ).split()
} | {
    "violet": "purple", "lilac": "light purple", "lavender": "light purple", "mauve": "light purple", "navy": "dark blue",
    "maroon": "dark red", "burgundy": "dark red", "crimson": "red", "scarlet": "red", "golden": "gold", "silver": "grey",
    "silvery": "grey", "beige": "tan", "khaki": "tan", "teal": "turquoise", "cyan": "turquoise", "aqua": "turquoise",
    "magenta": "pink", "fuchsia": "pink", "rose": "pink", "ivory": "cream", "charcoal": "dark grey", "clear": "transparent",
    "seethrough": "transparent", "colourless": "transparent", "azure": "light blue", "multicolored": "multicolour",
    "reddish": "red", "bluish": "blue", "greenish": "green", "yellowish": "yellow", "brownish": "brown",
    "purplish": "purple", "pinkish": "pink", "whitish": "white", "blackish": "black", "translucent": "transparent",
}  # fmt: skip
COLOUR_FAMILIES = {
    "lime": ("yellow", "green"), "turquoise": ("blue", "green"), "tan": ("brown", "yellow"), "cream": ("white", "yellow"),
    "gold": ("yellow", "orange"), "pink": ("red", "purple"), "orange": ("red", "yellow"), "brown": ("orange", "red"),
    "purple": ("blue", "pink"), "transparent": ("white", "grey"), "grey": ("white", "black"), "dark grey": ("black",),
    "light grey": ("white",),
}  # fmt: skip
"""What people also call a colour, used when nothing on the table has the colour that they said."""

PACKAGING = frozenset("box can bottle carton jar packet pack package bag tin pot shaker sachet container".split())
DISCRETE = frozenset("ball toy pencil pen tool block cube car egg shoe gift marble coin key card".split())
"""Things that are not what a package of them is: a box of pencils is not "the pencil"."""


def tokenize(text: str) -> list[str]:
    """Lower-case words of a text, accents removed, contractions opened; `,` `.` `?` `!` stay as tokens.

    "Don't take Bob's T-shirt!" gives do not take bobs t shirt !
    """
    plain = unicodedata.normalize("NFKD", text.lower().replace("’", "'").replace("‘", "'").replace("`", "'"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    for pattern, replacement in _CONTRACTIONS:
        plain = re.sub(pattern, replacement, plain)
    plain = plain.replace("'", "").replace("see-through", "seethrough").replace("see through", "seethrough")
    plain = re.sub(r"\b(left|right|front|back|far|near|rear|upper|top|bottom)[- ]most\b", r"\1most", plain)
    plain = re.sub(r"[;:()\[\]\"“”–—]|(?:^|\s)-+(?=\s|$)", ",", plain)
    tokens = re.findall(r"[^\W_]+|[,.?!&]", plain)
    return [part for token in tokens for part in _SPELLINGS.get(token, token).split()]


def words_only(tokens: Iterable[str]) -> list[str]:
    """The tokens without punctuation."""
    return [token for token in tokens if token[0] not in ",.?!"]


def singular(word: str) -> str:
    """The singular of a plural English noun; other words unchanged as far as spelling can tell."""
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
    return _SAME_STEM.get(short, short)


def plural(name: str) -> str:
    """The plural of a name: "coconut water" gives "coconut waters"."""
    if re.search(r"(s|x|ch|sh|z)$", name):
        return name + "es"
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + "s"


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
