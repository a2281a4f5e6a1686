"""What words can be said of an object that is seen, and how well a phrase fits them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from toolhand.tool_nodes.catalogue import CatalogueItem, ProductWords, load_catalogue, spoken_words
from toolhand.tool_nodes.language.words import (
    COLOUR_FAMILIES,
    COLOURS,
    DETERMINERS,
    DISCRETE,
    FILLERS,
    FUNCTION_WORDS,
    GENERIC,
    NEAR_SYNONYMS,
    NUMBERS,
    PACKAGING,
    RELATIVE,
    SAME_OBJECT,
    SAME_STEM,
    SHADES,
    SIDES,
    is_slip,
    stem,
    tokenize,
    word_set,
    words_only,
)
from toolhand.tool_nodes.types import ObjectView

Stems = tuple[str, ...]

_PARTS = {"lid": "cap", "top": "cap", "cover": "cap", "stopper": "cap", "sticker": "label", "wrapper": "label"}
"""Parts whose names people use for each other."""


@lru_cache(maxsize=4096)
def stems(text: str) -> Stems:
    """Comparable forms of a name's words, head last: "can of soup" and "soup cans" are equal."""
    words = [stem(word) for word in words_only(tokenize(text)) if word not in ("and", "the", "a")]
    if "of" in words[1:-1]:
        at = words.index("of", 1)
        words = words[at + 1 :] + words[:at]
    return tuple(words)


@dataclass(frozen=True)
class Vocabulary:
    """The words that explain one object, as stems.

    Attributes:
        name: Its most specific name.
        names: Names, synonyms, kind and categories.
        heads: Words that can be the head of a phrase about it.
        words: All words of its names, attributes and kind.
        colour: (shade, base colour), either may be empty.
        second: The same of a part that has another colour, as the product list says.
        part: That part, such as "cap", or "".
    """

    name: Stems
    names: frozenset[Stems]
    heads: frozenset[str]
    words: frozenset[str]
    colour: tuple[str, str]
    second: tuple[str, str] = ("", "")
    part: str = ""

    @classmethod
    def of(cls, view: ObjectView, spoken: bool = False) -> Vocabulary:
        """The vocabulary of a view; with what else people call it where `spoken`."""
        more = spoken_words().get(view.name, ProductWords()) if spoken else ProductWords()
        specific = [stems(text) for text in (view.name, *view.synonyms, *more.synonyms) if stems(text)]
        classes = (view.kind, *view.categories, *more.categories)
        names = frozenset([*specific, *(s for s in map(stems, classes) if s)])
        contents = {
            name[-2]
            for name in specific
            if len(name) > 1 and name[-1] in PACKAGING and name[-2] not in DISCRETE and name[-2] not in COLOURS
        }
        attributes = {word for text in (*view.attributes, *more.attributes) for word in stems(text)}
        product = load_catalogue().get(view.name)
        return cls(
            name=stems(view.name),
            names=names,
            heads=frozenset({name[-1] for name in names} | contents),
            words=frozenset({word for name in names for word in name} | attributes),
            colour=_colour(words_only(tokenize(view.colour))),
            second=_colour(words_only(tokenize((product and product.secondary_colour) or ""))),
            part=(product and product.secondary_part) or "",
        )

    def has(self, word: str) -> bool:
        """True if the word can be said of the object."""
        return stem(word) in self.words

    def has_part(self, words: Sequence[str]) -> bool:
        """True if the object has a part in a colour, such as ("red", "cap"); a part that is no cap and no label, such
        as a stripe or a handle, may be whatever of the object has that colour."""
        shade, base = _colour(words)
        parts = {_PARTS.get(stem(word), stem(word)) for word in words if word not in (*COLOURS, *SHADES, *RELATIVE)}
        own = {_PARTS.get(self.part, self.part)}
        if not base:
            return bool(self.part) and parts <= own
        closures = parts & set(_PARTS.values())
        colours = (self.second,) if closures else (self.second, self.colour)
        return closures <= own and any(base == each[1] and shade in ("", each[0]) for each in colours)


@dataclass(frozen=True)
class Match:
    """How well a phrase fits.

    Attributes:
        tier: 0 the name itself, 1 a whole synonym, kind or category, 2 words of several of them.
        shade: 0 the colour as said, 1 another shade of it.
        approximate_colour: The colour is only what some people also call so.
    """

    tier: int
    shade: int
    approximate_colour: bool

    @property
    def rank(self) -> tuple[int, int]:
        """Smaller is better."""
        return self.tier, self.shade


def _colour(words: Sequence[str]) -> tuple[str, str]:
    """(shade, base) of colour words such as "dark blue" or "navy"; ("", "") when there is none."""
    shade, base = "", ""
    for word in words:
        if word in SHADES:
            shade = SHADES[word]
        elif word in COLOURS:
            *own_shade, base = COLOURS[word].split()
            shade = own_shade[0] if own_shade else shade
    return shade, base


def _split_colours(words: Sequence[str]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Colour units ("dark blue") and the other words."""
    units: list[tuple[str, ...]] = []
    others: list[str] = []
    i = 0
    while i < len(words):
        if words[i] in SHADES and i + 1 < len(words) and words[i + 1] in COLOURS:
            units.append((words[i], words[i + 1]))
            i += 1
        elif words[i] in COLOURS or words[i] in SHADES:
            units.append((words[i],))
        else:
            others.append(words[i])
        i += 1
    return units, others


def _fit_colour(unit: tuple[str, ...], vocabulary: Vocabulary, naming: bool = True) -> Match | None:
    """Match of one colour unit; its tier is 0. `naming`: it may be a word of a name, as in "green pear"."""
    shade, base = _colour(unit)
    own_shade, own_base = vocabulary.colour
    if not base:
        dark = own_base in ("black", "brown", "purple")
        fits = own_shade == shade or (dark if shade == "dark" else own_base in ("white", "cream"))
        return Match(0, int(own_shade != shade), False) if fits else None
    said = tuple(stem(word) for word in unit)
    named = naming and any(
        name[i : i + len(said)] == said and (i == 0 or name[i - 1] not in SHADES)
        for name in vocabulary.names
        for i in range(len(name))
    )
    if named or (shade, base) == (own_shade, own_base):
        return Match(0, 0, False)
    if base == own_base and not shade:
        return Match(0, int(naming), False)
    own_names = (
        own_base,
        *COLOUR_FAMILIES.get(f"{own_shade} {own_base}".strip(), ()),
        *COLOUR_FAMILIES.get(own_base, ()),
    )
    opposite = {shade, own_shade} == {"dark", "light"}
    return Match(0, 1, True) if base in own_names and not opposite and not shade == own_shade == "dark" else None


NAMED: tuple[tuple[Mapping[str, frozenset[int]], bool], ...] = (({}, False), (SAME_OBJECT, False), (SAME_OBJECT, True))
"""How a name is looked for, in this order: groups of words for one object, and whether what else people call it counts
(`spoken` of `Vocabulary.of`)."""


def match(
    words: Sequence[str],
    head: str,
    vocabulary: Vocabulary,
    groups: Mapping[str, frozenset[int]],
    naming: bool = True,
) -> Match | None:
    """How well words with a head noun ("" fits anything) describe an object; None if some word is unexplained.

    A word explains another one of a group of theirs, such as of `SAME_THING`; with no groups none does.
    Without `naming` the words are those of a "object": "the orange object" says a colour, and the orange, whose name it
    is too, is no better than an orange box.
    """

    def known(word: str, explained: frozenset[str]) -> bool:
        if word in explained:
            return True
        near = groups.get(word, frozenset())
        return any(near & groups.get(other, frozenset()) for other in explained)

    units, others = _split_colours([word for word in words if word != head or word not in COLOURS])
    plain = [stem(word) for word in others]
    contents = plain[:-1] if plain and plain[-1] in PACKAGING else plain
    # "Jar of ketchup" for a bottle: the contents are named, the package is not what it is called.
    repacked = bool(groups) and tuple(contents) in vocabulary.names and bool(vocabulary.heads & PACKAGING)
    if head and not known(stem(head), vocabulary.heads) and not (repacked and stem(head) in PACKAGING):
        return None
    if not all(known(word, vocabulary.words) for word in (contents if repacked else plain)):
        return None
    colours = [_fit_colour(unit, vocabulary, naming) for unit in units]
    fits = [colour for colour in colours if colour is not None]
    # Of two colours one may be that of the label or the lid.
    others_on_part = sum(_colour(u) == vocabulary.second for u, c in zip(units, colours, strict=True) if c is None)
    if len(fits) + others_on_part < len(units) or (units and not fits):
        return None
    said = tuple(stem(word) for word in words)
    whole = any(tuple(name[i:]) in vocabulary.names for name in (plain, contents) for i in range(len(name)))
    tier = 0 if naming and said == vocabulary.name else 1 if whole or not head else 2
    return Match(tier, max((c.shade for c in fits), default=0), any(c.approximate_colour for c in fits))


def correct(head: str, words: Stems, vocabularies: Sequence[Vocabulary]) -> Iterator[tuple[str, Stems]]:
    """(head, words) as said, then with words that nothing explains split, joined or mended by one letter."""
    yield head, words
    known = {word for v in vocabularies for word in v.words}
    here = known | {colour for v in vocabularies for colour in (*v.colour, *v.second) if colour}
    groups = frozenset[int]().union(*(NEAR_SYNONYMS.get(word, frozenset()) for word in known))
    sayable = here | {word for word in SAME_STEM if SAME_STEM[word] in known} | set(COLOURS) | set(SHADES)
    sayable |= {word for word, near in NEAR_SYNONYMS.items() if near & groups}
    pairs = {a + b: (a, b) for v in vocabularies for name in v.names for a, b in pairwise(name)}
    mended: list[str] = []
    new_head = head
    for i, word in enumerate(words):
        s = stem(word)
        replacement: tuple[str, ...] = (word,)
        joined = stem(words[i - 1]) + s if i else ""
        if joined in known:
            mended[-1:] = []
            replacement = (joined,)
        elif s in pairs and s not in known:
            replacement = pairs[s]
        elif s not in sayable and word not in SHADES and s not in _product_words():
            replacement = (_meant(s, here) or _meant(s, sayable) or word,)
        if word == head:
            new_head = replacement[-1]
        mended += replacement
    if tuple(mended) != tuple(words):
        yield new_head, tuple(mended)


def may_show(words: Sequence[str], vocabulary: Vocabulary) -> bool:
    """True unless words name a colour that an object does not have."""
    units, _ = _split_colours(words)
    return all(_fit_colour(unit, vocabulary) or _colour(unit)[1] in vocabulary.words for unit in units)


@dataclass(frozen=True)
class Lexicon:
    """The words whose objects a backend would recognise: whether there are others it cannot say.

    Attributes:
        words: Known words, as stems.
        description: Noun phrase for all that the backend knows, e.g. "the products of the catalogue".
    """

    words: frozenset[str]
    description: str

    @classmethod
    def of_products(cls, items: Iterable[CatalogueItem]) -> Lexicon:
        """What can be said of products."""
        said = (spoken_words().get(item.name, ProductWords()) for item in items)
        more = {text for each in said for text in (*each.synonyms, *each.categories, *each.attributes)}
        words = {word for text in more.union(*(item.words for item in items)) for word in stems(text)}
        return cls(frozenset(words | {*_PARTS, *_PARTS.values()}), "the products of the catalogue")

    def knows(self, word: str) -> bool:
        """True if the word, or another one for the same, can be said of some object."""
        s = stem(word)
        if s in self.words or word in COLOURS or word in SHADES or word in RELATIVE:
            return True
        return bool(NEAR_SYNONYMS.get(s, frozenset()) & self._near_groups)

    @cached_property
    def _near_groups(self) -> frozenset[int]:
        return frozenset[int]().union(*(NEAR_SYNONYMS.get(word, frozenset()) for word in self.words))


@lru_cache(maxsize=1)
def catalogue_lexicon() -> Lexicon:
    """The words of the shipped catalogue."""
    return Lexicon.of_products(load_catalogue().values())


def is_english(word: str) -> bool:
    """Whether a word is one of the grammar or of a product's name: English, whatever else it may be."""
    return word in _GRAMMAR or word in _product_words()


_GRAMMAR = frozenset().union(
    *(FUNCTION_WORDS, DETERMINERS, FILLERS, GENERIC, SIDES, COLOURS, NUMBERS),
    word_set("of and my your its our so am are was were been no as do this that him her"),
)
"""Words of the grammar, and small ones that it has no use for."""


def _product_words() -> frozenset[str]:
    """Every word that names some product: a pear that is not there is no slip of a bear that is."""
    return catalogue_lexicon().words


def _meant(slip: str, words: Iterable[str]) -> str | None:
    """The only word of which a word may be a slip of one letter."""
    close = {stem(word) for word in words if min(len(slip), len(word)) >= 4 and is_slip(slip, word)}
    return close.pop() if len(close) == 1 else None
