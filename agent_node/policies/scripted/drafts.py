"""A command while its clauses are read."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhand.agent_node.policies.scripted.places import SpokenPlace
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.traced import Token


@dataclass
class Draft:
    """A command while its clauses are read.

    Attributes:
        target: Thing to be moved.
        place: Where it is to go.
        picks: A clause asks to pick up.
        unplaced: A clause asks to place and says not where.
        lets_go: The only deed is to let go of what is held.
        lead: The words before the first verb, where they name the target.
        asides: See Command.
        gone: Words that say no more than that a thing is to be gone, quoted; a place may yet follow.
    """

    target: NounPhrase | None = None
    place: SpokenPlace | None = None
    picks: bool = False
    unplaced: bool = False
    lets_go: bool = False
    lead: tuple[str, ...] = ()
    gone: str = ""
    asides: list[tuple[NounPhrase, str]] = field(default_factory=list)


@dataclass(frozen=True)
class ClauseHalves:
    """The words before and after `table`, such as "on the table", which is empty where a clause has none."""

    before: list[Token]
    table: str
    after: list[Token]
