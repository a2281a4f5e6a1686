"""What a sentence of an operator means: a deed, a question to be asked, or words to be refused."""

from dataclasses import dataclass
from typing import Literal

from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks.predicates import PlaceRelation

Wanted = Literal["deed", "question", "refusal", "absence"]


@dataclass(frozen=True)
class Sentence:
    """A sentence with its meaning.

    Attributes:
        family: Family of sentences that it belongs to, e.g. "denied place".
        text: Sentence of the operator.
        scene: The table before.
        wanted: A deed is to be done; a question is to be asked back; words are to be refused; or, after a look, the
            robot is to say that it sees no such thing.
        target_ids: Ids of the things that may be moved, any one of them.
        relation: Where to, None for a pick.
        reference_ids: In relation to what.
        where: Words that the place has in a robot's own account of it, where no single relation is it.
        quoted: Words that a refusal has to repeat, so that the operator knows which to change.
        kept: The rest without those words is another wish: they may not be called needless.
        looked_for: The words mean a thing, so that "I do not know it" is an answer; a place or a manner is no thing.
    """

    family: str
    text: str
    scene: Scene
    wanted: Wanted
    target_ids: tuple[str, ...] = ()
    relation: PlaceRelation | None = None
    reference_ids: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    kept: bool = False
    looked_for: bool = False
