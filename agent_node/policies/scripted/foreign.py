"""Whether a sentence is in another language that is written in Latin letters, as far as its small words show."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence

from toolhand.agent_node.policies.scripted.verbs import PRONOUNS, VERBS
from toolhand.tool_nodes.language.vocabulary import catalogue_lexicon
from toolhand.tool_nodes.language.words import COLOURS, DETERMINERS, FILLERS, FUNCTION_WORDS, GENERIC, SIDES, word_set

_VERBS = word_set(
    """
    nimm nehmen greif greife greifen leg lege legen stell stelle stellen setz setze heb hebe hol hole gib bring
    bringe prends prendre prenez mets mettre mettez pose posez ramasse ramassez attrape saisis donne donnez place
    deplace apporte toma tomar tome coge coger coja agarra agarre pon poner ponga pone recoge recoja levanta
    levante dame trae coloca mueve prendi prendere prenda metti mettere metta poni raccogli afferra solleva dammi
    sposta porta pegue pega pegar coloque colocar ponha apanhe segure pak pakken neem leg zet zetten plaats til
    breng geef raap ta tag tage plocka lagg stall satt lyft hamta gi legg sett loft hent plukk laeg stil saet wez
    podnies poloz postaw wloz chwyc daj przenies vezmi zvedni dej vem al koy getir kaldir ota nosta laita aseta
    """
)
"""What such a sentence may begin with, without accents: take, put, give, bring, lift."""
_SMALL = word_set(
    """
    der die das den dem des ein eine einen einem und auf neben hinter vor zwischen unter ueber bitte von vom zum
    zur rechts links nicht le la les un une du sur dans a cote de derriere devant entre s il te plait vous plait
    en el los las una unos sobre al lado del detras delante por favor y lo gli i nel nella sul sulla accanto
    dietro davanti tra per favore e o os as um uma no na nos nas ao em cima da do het een naast achter voor tussen
    op van alstublieft den det ett pa bredvid bakom framfor mellan och ved siden af bag foran mellem i til obok za
    przed miedzy w prosze moi mi me sie z
    """
)
"""Articles, prepositions and courtesy, without accents."""
_ENGLISH = word_set("the a an this that my your in on to of and it is me i do no at by up down please as one")


def is_foreign(words: Sequence[str], text: str) -> bool:
    """True if words begin as a sentence of another language does, and nothing in them is plainly English.

    Args:
        words: In lower case without accents.
        text: The sentence as it was written.
    """
    small = [word in _SMALL - _ENGLISH for word in words]
    first = next((word for word, courtesy in zip(words, small, strict=True) if not courtesy), "")
    if "the" in words or not first:
        return False
    accents = any(unicodedata.normalize("NFKD", c) != c or c in "ßøæłđ" for c in text.lower())
    english = first in VERBS or (len(words) > 1 and all(is_english(word) for word in words if word != first))
    begins = first in _VERBS and (any(small) or accents or (len(words) <= _SHORT and not english))
    return begins or (sum(small) >= _ENOUGH and sum(small) * 3 >= len(words))


@functools.lru_cache(maxsize=4096)
def is_english(word: str) -> bool:
    """Whether a word is one of the grammar or of a product's name: English, whatever else it may be."""
    return word in _GRAMMAR or word in catalogue_lexicon().words


_GRAMMAR = frozenset().union(
    *(FUNCTION_WORDS, DETERMINERS, FILLERS, GENERIC, PRONOUNS, _ENGLISH, VERBS, SIDES, COLOURS),
    word_set("my your its our so am are was were been"),
)
"""Words of the grammar, and small ones that it has no use for."""
_SHORT = 3
"""Longest sentence that may have no small word [words]."""
_ENOUGH = 2
"""Fewest small words of another language, if a third of all, that make a sentence one of it [words]."""
