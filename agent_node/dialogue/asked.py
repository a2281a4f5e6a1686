"""Questions whose subject is named before them: "ketchup to red box, what's the distance?", "the lemon, where is it?".

What stands before such a question is no order, however much it looks like a thing and its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolhand.agent_node.dialogue.clauses import clause_of
from toolhand.agent_node.policies.scripted.points import the
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.traced import Token
from toolhand.tool_nodes.language.words import DETERMINERS, word_set

_SIGNS = ",.!?"
_ASKS = word_set("what where which how who whose why when")
"""Words with which a question begins, as far as nothing else begins with them here."""
_ASKED = word_set(
    "is are was were do does did far big tall high wide long heavy much many deep thick large small close can will"
)
"""Words after one of them that make a question of it also where no sign does."""
_NO_QUESTION = word_set("a an about if you")
""" "What a mess", "how about", "when you can"."""
_VERBAL = word_set(
    "is are was were be go goes belong belongs should must want wants need needs would like likes has have had please "
    "put puts stay stays see"
)
"""Words of a clause that says or asks for something by itself."""
_PROPERTIES = word_set("colour size height width length position place")
"""What a question asks of a thing."""
_BOTH = ("to", "and", "from", "with", "until")
"""Words between two things that a question compares."""


def topic_of(text: str, tokens: Sequence[Token]) -> tuple[str, list[str]] | None:
    """The question of a sentence that names its subject first, and how it may be said in one; None for other sentences.

    Args:
        text: The sentence.
        tokens: Its tokens.

    Returns:
        (what stands before the question, the sentences that it may be, of which some may mean nothing).
    """
    marked = tokens[-1:] == ["?"]
    for k in range(1, len(tokens)):
        after = tokens[k + 1] if k + 1 < len(tokens) else ""
        dictated = k > 1 and tokens[k] in ("what", "how") and after in _ASKED
        if tokens[k] not in _ASKS or after in _NO_QUESTION or not (tokens[k - 1] in _SIGNS or dictated):
            continue
        topic = list(tokens[:k])
        if topic[0] in VERBS or _VERBAL.intersection(topic) or not (marked or after in _ASKED):
            return None
        while topic and topic[-1] in _SIGNS:
            topic.pop()
        question = [token for token in tokens[k:] if token not in _SIGNS]
        if not topic:
            return None
        return clause_of(text, tokens[:k]).said, list(_said_in_one(topic, [str(word) for word in question]))
    return None


def _said_in_one(topic: Sequence[str], question: list[str]) -> Iterator[str]:
    said = " ".join(question)
    for k in range(1, len(topic) - 1):
        if topic[k] in _BOTH:
            first, second = (_named(part) for part in (topic[:k], topic[k + 1 :]))
            for pronouns in {"they", "them", "these", "those"}.intersection(question):
                yield " ".join(f"{first} and {second}" if word == pronouns else word for word in question)
            yield f"{said.removesuffix(' between them').removesuffix(' apart')} between {first} and {second}"
            if said.startswith("how far"):
                yield f"how far is {first} from {second}"
    for pronoun in ("it", "that", "this", "they", "them"):
        if pronoun in question and not {"to", "until"}.intersection(topic):
            yield " ".join(_named(topic) if word == pronoun else word for word in question)
    if question[-1] in _PROPERTIES:
        yield f"{said} of {_named(topic)}"


def _named(words: Sequence[str]) -> str:
    text = " ".join(words)
    return text if words[0] in DETERMINERS else the(text)
