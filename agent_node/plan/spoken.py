"""Objects of a plan as noun phrases, in the words that the tools' reader of phrases takes."""

from __future__ import annotations

from dataclasses import replace

from toolhand.agent_node.plan.types import ObjectRef

_RELATIONS = {"left of": "to the left of", "right of": "to the right of", "near": "next to", "touching": "next to"}
_MOST = {"nearest": "closest to me", "farthest": "farthest away"}


def noun_phrase(ref: ObjectRef) -> str:
    """An object, with its article, as the pointing tools are asked for it."""
    match ref.quantity:
        case "it" | "them" | "me" | "you":
            return ref.quantity
        case "something":
            return "a thing"
        case "everything" | "everything except":
            return "everything"
    if any(clause.kind in ("moved last", "held") for clause in ref.clauses) and ref.words in ("one", "object", "thing"):
        return "it"
    every = f"the {ref.number}" if ref.number else "all the"
    article = {"the": "the", "a": "a", "another": "another", "the other": "the other", "all": every, "both": "both",
               "number": ref.number}[ref.quantity]  # fmt: skip
    return f"{article} {bare_phrase(ref)}"


def bare_phrase(ref: ObjectRef) -> str:
    """An object without its article."""
    if ref.quantity in ("everything", "everything except"):
        ref = replace(ref, words="object")
    ref = _of_its_group(ref)
    before, after = [], []
    superlative = ref.superlative
    for clause in ref.clauses:
        lead = "not " if clause.denied else ""
        objects = " and ".join(map(noun_phrase, clause.objects))
        match clause.kind:
            case "most" if not clause.denied:
                superlative = superlative or clause.words
            case "words" if clause.denied:
                after.append(f"not the {clause.words} one")
            case "words":
                before.append(clause.words)
            case "relation":
                after.append(f"{lead}{_RELATIONS.get(clause.words, clause.words)} {objects}")
            case "extreme":
                after.append(f"{lead}{clause.words} {objects}")
            case "part" if not clause.denied and _sides(clause.words):
                before.insert(0, _sides(clause.words))
            case "part":
                after.append(f"{lead}{in_the_image(clause.words)}")
    if superlative in _MOST and not ref.ordinal:
        after.insert(0, _MOST[superlative])
        superlative = ""
    said = [ref.ordinal, superlative, *before, ref.words, f"with {ref.part}" if ref.part else ""]
    said += [f"from the {ref.side}" if ref.side else "", "at ({:.3f}, {:.3f})".format(*ref.point) if ref.point else ""]
    return " ".join(word for word in (*said, *after) if word)


def _sides(part: str) -> str:
    """ "back" and "front left" of "at the back" and "in the front left corner"; empty for no side."""
    words = [word for word in in_the_image(part).split() if word in ("left", "right", "front", "back", "middle")]
    return " ".join(words)


def in_the_image(words: str) -> str:
    """Words with the image's left and right: the robot stands opposite, so that its left is the right of the image."""
    turned = {"left": "right", "right": "left"}
    return (
        " ".join(turned.get(word, word) for word in words.replace("your", "the").split()) if "your" in words else words
    )


def _of_its_group(ref: ObjectRef) -> ObjectRef:
    """ "The red one of the cans on the left" as "the red can on the left"."""
    group = next((clause for clause in ref.clauses if clause.kind == "group"), None)
    if group is None:
        return ref
    others = tuple(clause for clause in ref.clauses if clause is not group)
    if not group.objects:
        return replace(ref, clauses=others)
    [kind] = group.objects
    words = ref.words.removesuffix("one").removesuffix("ones").strip()
    return replace(ref, words=f"{words} {_one(kind.words)}".strip(), clauses=(*others, *kind.clauses))


def _one(words: str) -> str:
    return words[:-1] if words.endswith("s") and not words.endswith("ss") else words


def relation_words(relation: str) -> str:
    """ "to the left of" of "left of": a relation as the pointing tools are asked for it."""
    return _RELATIONS.get(relation, relation)
