"""Words of stopping: what a person says to a robot that is to stand still, in whatever sentence.

Nothing else of the sentence is understood, so that no reader, policy or model can miss it. It fires too often rather
than too seldom: an arm that brakes for a bus stop loses a second, and one that goes on does not get it back.
"""

from __future__ import annotations

import re
import unicodedata

from toolhand.tool_nodes.language.words import word_set


def _plain(text: str) -> str:
    """Lower case without accents and apostrophes, each letter once where it is repeated: "STOOOP" is "stop"."""
    spread = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", text)).casefold()
    return re.sub(r"([^\W\d_])\1+", r"\1", "".join(sign for sign in spread if not unicodedata.combining(sign)))


_APOSTROPHES = re.compile(r"['’‘`´ʼ′＇]")
_BRAKES = word_set(
    _plain("stop stops stopping stoppit stp stpo sotp halt freeze cease desist abort whoa woah brake brakes estop")
)
"""They mean nothing else: each counts at the beginning of any part of an utterance, and at its end."""
_HOLDS = word_set(_plain("wait pause cancel quit enough terminate suspend emergency"))
"""They also correct what is said ("no wait, the lemon"): each counts at the beginning or end of all of it."""
_ALONE = _plain(
    "no|don't|do not|no more|not yet|hold|hold on|hold it|hold up|hold still|hold everything|hang on|stay|stay put"
    "|stay still|stay where you are|stand still|stand down|keep still|don't move|do not move|don't go on|do not go on"
    "|don't continue|do not continue|leave the rest|back off|shut (?:it |that )?(?:down|off)|turn (?:it |that )?off"
    "|switch (?:it |that )?off|power off|(?:just )?(?:one|a) (?:moment|second|minute)"
)
"""They mean it where nothing else is said."""
_ADDRESS = _plain(
    "please pls robot arm hey hi oi ok okay oh ah uh um er god gosh jesus christ my now right away immediately "
    "instantly at once quick quickly fast there here for machine sir sorry damn dammit shit fuck kinova toolhand"
)
"""Whom it is said to, courtesy and alarm: what stands before and after a word of stopping."""
_AROUND = word_set(_ADDRESS) | word_set(
    _plain(
        "no nope you your u i we it its that this thats the a just gripper everything anything moving motion movement "
        "movements command task job action plan program all to do does need needs must should have has had got can "
        "could will would wont cant want wants said say told tell make makes making let lets get and so but then "
        "already sake thing thanks thank really hell fucking bloody idiot stupid what going on doing be is gonna better"
    )
)
"""Beside those, words of insistence, and what is to stop."""
_PARTS = re.compile(r"[.,;:!?…¡¿。，！？\n]+|\s[-‐‑‒–—―]+\s|[–—―]+")
_WORD = re.compile(r"[^\W_]+")
_NOTHING_ELSE = re.compile("(?:(?:{0}) )*(?:{1})(?: (?:{0}|{1}))*".format("|".join(_ADDRESS.split()), _ALONE))


def is_stop(utterance: str) -> bool:
    """Whether somebody wants the robot to stand still: it begins or ends with a word of stopping, or repeats one.

    Args:
        utterance: Anything that was said, as typed or as a recogniser heard it.
    """
    parts = [words for part in _PARTS.split(_plain(utterance)) if (words := _joined(_WORD.findall(part)))]
    said = [word for words in parts for word in words]
    first = [next((word for word in words if word not in _AROUND), "") for words in (said, *parts)]
    last = next((word for word in reversed(said) if word not in _AROUND), "")
    if first[0] in _HOLDS or last in _BRAKES | _HOLDS or not _BRAKES.isdisjoint(first):
        return True
    repeated = any(said.count(word) > 1 for word in _BRAKES | _HOLDS)
    return repeated or _NOTHING_ELSE.fullmatch(" ".join(said)) is not None


def _joined(words: list[str]) -> list[str]:
    """Words with the letters of a torn or doubled one together: "s t o p", "sto p", "stopstop"."""
    if len(words) > 1 and all(len(word) == 1 for word in words):
        return [_plain("".join(words))]
    whole: list[str] = []
    for word in words:
        doubled = next((known for known in _BRAKES if len(word) > len(known) and not word.replace(known, "")), word)
        if whole and 1 in (len(word), len(whole[-1])) and whole[-1] + word in _BRAKES:
            whole[-1] += word
        else:
            whole += [doubled] if doubled == word else [doubled, doubled]
    return whole
