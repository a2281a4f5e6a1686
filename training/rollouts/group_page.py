"""The rollouts of one group side by side, with what each turn brought and what two kinds of advantage make of it.

One HTML file without scripts that needs no network. A column is a rollout, a row is a turn; a letter names the
observation that OR-GIGPO compares the turn by: as printed the one that its call brought, or the one that it answered.
GRPO gives all turns of a rollout the same advantage; OR-GIGPO adds A_S, by which turns with the same observation differ
where their returns differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.agent_node.runs.folder import encode, write_atomically
from toolhand.agent_node.runs.pages import Gallery, render
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.advantages.gigpo import GAMMA, PRINTED, AnchorChoice, TurnAdvantages, or_gigpo
from toolhand.training.advantages.grpo import EPSILON, grpo
from toolhand.training.advantages.steps import ScoredRollout
from toolhand.training.rollouts.credit import credited
from toolhand.training.rollouts.images import ImageSource
from toolhand.training.rollouts.labels import calls_with_objects
from toolhand.training.rollouts.record import CallEntry, RolloutRecord, TurnRecord

IMAGES_BYTES = 8_000_000
"""What the images of a page may take (a third more in base64) [bytes]: browsers open that at once."""
_SIZES = ((200, 65), (160, 50), (120, 40), (80, 30))
"""(longer side [px], JPEG quality) of images, the best that fits."""
_PLAIN = 0.05
"""Advantages of less than this are shown without colour [-]; a round figure."""


@dataclass(frozen=True, eq=False)
class GroupCredit:
    """What the turns of a group of N rollouts are worth.

    Attributes:
        rollouts: With the stage credit r_t of each turn.
        grpo: (N,) advantage of each rollout, the same for all of its turns.
        returns: N arrays (T_i,), discounted returns R_t.
        anchor: Which observation its turns are compared by, see `toolhand.training.advantages.gigpo.or_gigpo`.
    """

    rollouts: tuple[ScoredRollout, ...]
    grpo: FloatArray
    steps: TurnAdvantages
    returns: tuple[FloatArray, ...]
    anchor: AnchorChoice

    @classmethod
    def of(cls, records: Sequence[RolloutRecord], anchor: AnchorChoice = PRINTED) -> GroupCredit:
        """Raises ToolError INVALID_ARGUMENT for records that are not two or more of one group, or have no turns."""
        rollouts = tuple(credited(record) for record in records)
        if len(rollouts) < 2 or len({rollout.prompt for rollout in rollouts}) != 1:
            raise invalid("A page of a group shows two rollouts or more of one task and one seed.")
        whole = grpo([rollout.total for rollout in rollouts], epsilon=EPSILON)
        returns = tuple(rollout.returns(GAMMA) for rollout in rollouts)
        return cls(rollouts, whole, or_gigpo(rollouts, anchor=anchor), returns, anchor)


def write_group_page(
    records: Sequence[RolloutRecord], images: ImageSource, path: Path, anchor: AnchorChoice = PRINTED
) -> None:
    """Write the page of one group, atomically.

    Args:
        records: Records of one group: they began in the same state.
        images: Has their images; of one that is missing the page says so.
        anchor: Which observation OR-GIGPO compares turns by.

    Raises:
        ToolError: INVALID_ARGUMENT for records that are not two or more of one group; UNAVAILABLE where the file cannot
            be written.
    """
    credit = GroupCredit.of(records, anchor)
    shown = sum(len(_shown(turn)) for record in records for turn in record.turns)
    names = _letters(credit.steps.groups)
    page = render(
        Path(__file__).with_name("group_page.html"),
        f"Toolhand: a group of {len(records)} rollouts",
        records=records,
        grpo=credit.grpo,
        rows=[
            [_cell(record, t, k, credit, names) for k, record in enumerate(records)]
            for t in range(max(len(record.turns) for record in records))
        ],
        comparisons=_comparisons(records, credit, names),
        gallery=Gallery(images, IMAGES_BYTES // max(1, shown), _SIZES),
        did=_DID[anchor],
        gamma=GAMMA,
    )
    write_atomically(path, encode(page))


_DID: Mapping[AnchorChoice, str] = {"returned": "brought", "answered": "answered"}
"""What a turn has to do with the observation that it is compared by."""


def _cell(
    record: RolloutRecord, t: int, k: int, credit: GroupCredit, names: Mapping[int, str]
) -> dict[str, Any] | None:
    """A turn of a rollout; None after its last one."""
    if t >= len(record.turns):
        return None
    turn, steps = record.turns[t], credit.steps
    total = float(steps.total[k][t])
    return {
        "sign": "plain" if abs(total) < _PLAIN else "better" if total > 0 else "worse",
        "letter": names.get(int(steps.groups[k][t]), "alone"),
        "move": _move(turn),
        "results": list(_results(turn)),
        "shown": _shown(turn),
        "r": credit.rollouts[k].turns[t].reward,
        "figures": {"GRPO": credit.grpo[k], "A_S": steps.turns[k][t], "OR-GIGPO": total},
    }


def _move(turn: TurnRecord) -> str:
    return turn.thought or turn.problem or turn.text


def _results(turn: TurnRecord) -> Iterator[tuple[str, str]]:
    """(name, what came of it) of each call."""
    for call, on in calls_with_objects(turn):
        outcome = call.error_code or ("ok" if on is None else f"on {', '.join(name or 'the table' for name in on)}")
        yield call.tool.rpartition(".")[2], outcome


def _shown(turn: TurnRecord) -> list[CallEntry]:
    """Calls of a turn whose images are shown: the last one, on which is drawn what came of the turn."""
    imaged = [call for call in turn.calls if call.image is not None and not call.tool.endswith("with_pointcloud")]
    return imaged[-1:]


def _letters(groups: Sequence[NDArray[np.int64]]) -> dict[int, str]:
    """A name for each observation that two turns or more are compared by: A to Z, then A2 and so on."""
    numbers, counts = np.unique(np.concatenate([np.asarray(group) for group in groups]), return_counts=True)
    shared = [int(number) for number, count in zip(numbers, counts, strict=True) if count > 1]
    return {number: f"{chr(ord('A') + k % 26)}{k // 26 + 1 if k >= 26 else ''}" for k, number in enumerate(shared)}


def _comparisons(
    records: Sequence[RolloutRecord], credit: GroupCredit, names: Mapping[int, str]
) -> dict[str, list[tuple[str, int, str, float, float]]]:
    """For each shared observation (rollout, turn, what was done, return, A_S) of those that had it, the best first."""
    found: dict[str, list[tuple[str, int, str, float, float]]] = {letter: [] for letter in names.values()}
    for k, groups in enumerate(credit.steps.groups):
        for t, group in enumerate(groups):
            if (letter := names.get(int(group))) is not None:
                returned, step = float(credit.returns[k][t]), float(credit.steps.turns[k][t])
                found[letter].append((records[k].id, t + 1, _move(records[k].turns[t]), returned, step))
    return {letter: sorted(turns, key=lambda turn: -turn[3]) for letter, turns in found.items()}
