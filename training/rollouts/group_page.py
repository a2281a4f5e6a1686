"""The rollouts of one group side by side, with what each turn brought and what two kinds of advantage make of it.

One HTML file without scripts that needs no network. A column is a rollout, a row is a turn; a letter names the
observation that OR-GIGPO compares the turn by: as printed the one that its call brought, or the one that it answered.
GRPO gives all turns of a rollout the same advantage; OR-GIGPO adds A_S, by which turns with the same observation differ
where their returns differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent_node.runs.folder import encode, write_atomically
from agent_node.runs.report import page
from agent_node.runs.report_parts import badge_of, escaped, img_of, jpegs_of
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import FloatArray
from training.advantages.gigpo import GAMMA, PRINTED, AnchorChoice, TurnAdvantages, or_gigpo
from training.advantages.grpo import EPSILON, grpo
from training.advantages.steps import ScoredRollout
from training.rollouts.credit import credited
from training.rollouts.labels import calls_with_things
from training.rollouts.pictures import PictureSource
from training.rollouts.record import CallEntry, RolloutRecord, TurnRecord

PICTURES_BYTES = 8_000_000
"""What the pictures of a page may take (a third more in base64) [bytes]: browsers open that at once."""
_SIZES = ((200, 65), (160, 50), (120, 40), (80, 30))
"""(longer side [px], JPEG quality) of pictures, the best that fits."""
_PLAIN = 0.05
"""Advantages of less than this are shown without colour [-]; a round figure."""


@dataclass(frozen=True, eq=False)
class GroupCredit:
    """What the turns of a group of N rollouts are worth.

    Attributes:
        rollouts: With the stage credit r_t of each turn.
        grpo: (N,) advantage of each rollout, the same for all of its turns.
        steps: Advantages by OR-GIGPO.
        returns: N arrays (T_i,), discounted returns R_t.
        anchor: Which observation its turns are compared by, see `training.advantages.gigpo.or_gigpo`.
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
    records: Sequence[RolloutRecord], pictures: PictureSource, path: Path, anchor: AnchorChoice = PRINTED
) -> None:
    """Write the page of one group, atomically.

    Args:
        records: Records of one group: they began in the same state.
        pictures: Has their pictures; of one that is missing the page says so.
        path: The page.
        anchor: Which observation OR-GIGPO compares turns by.

    Raises:
        ToolError: INVALID_ARGUMENT for records that are not two or more of one group; UNAVAILABLE where the file cannot
            be written.
    """
    credit, did = GroupCredit.of(records, anchor), _DID[anchor]
    gallery = _Gallery(pictures, PICTURES_BYTES // max(1, sum(len(_shown(turn)) for r in records for turn in r.turns)))
    names = _letters(credit.steps.groups)
    longest = max(len(record.turns) for record in records)
    rows = [
        "".join(_cell(record, t, k, credit, names, gallery) for k, record in enumerate(records)) for t in range(longest)
    ]
    body = f"""<header>
<h1>One group, {len(records)} rollouts</h1>
<p class="sentence" dir="auto">{escaped(records[0].text, 300)}</p>
{_LEGEND.format(did=did)}
</header>
<section aria-label="Rollouts"><div class="scroll"><table class="group">
<thead><tr><th scope="col">turn</th>{"".join(_head(r, credit.grpo[k]) for k, r in enumerate(records))}</tr></thead>
<tbody>{"".join(f'<tr><th scope="row">{t + 1}</th>{row}</tr>' for t, row in enumerate(rows))}</tbody>
</table></div></section>
<section><h2>Turns that {did} the same observation</h2>
{_comparisons(records, credit, names)}
</section>"""
    style = Path(__file__).with_name("group_page.css").read_text(encoding="utf-8")
    write_atomically(path, encode(page(f"Toolhand: a group of {len(records)} rollouts", "", body, style)))


_DID: Mapping[AnchorChoice, str] = {"returned": "brought", "answered": "answered"}
"""What a turn has to do with the observation that it is compared by."""
_LEGEND = f"""<dl class="legend">
<dt>r</dt><dd>stage credit: share of the task's stages that were first reached in this turn; the sum is the reward</dd>
<dt>GRPO</dt><dd>the rollout's reward compared with its group's: one number for all of its turns</dd>
<dt>A_S</dt><dd>the turn's return (what came from it on, discounted by {GAMMA:g}) compared with those of the turns that
{{did}} the same observation, which a letter names; 0 for a turn that stands alone</dd>
<dt>OR-GIGPO</dt><dd>GRPO's number plus A_S: a good turn of a bad rollout can be worth more than a bad turn of a good
one</dd></dl>"""


# -- cells ---------------------------------------------------------------------------------------------


class _Gallery:
    """Pictures as elements of a bounded size."""

    def __init__(self, store: PictureSource, room: int) -> None:
        self._store, self._room = store, room

    def img(self, name: str, caption: str) -> str:
        try:
            rgb = self._store.get(name)
        except ToolError as error:
            return f'<p class="soft">{escaped(error, 200)}</p>'
        jpegs = jpegs_of([rgb], self._room, _SIZES)
        return img_of(rgb, jpegs[0], caption) if jpegs else f'<p class="soft">{escaped(caption, 80)}: did not fit</p>'


def _head(record: RolloutRecord, advantage: float) -> str:
    badge = badge_of("done", "good") if record.true_success else badge_of("not done", "bad")
    return (
        f'<th scope="col"><span class="soft">{escaped(record.id, 40)}</span> {badge}<br>'
        f"reward {record.total:.2f}, GRPO {_signed(advantage)}</th>"
    )


def _cell(
    record: RolloutRecord,
    t: int,
    k: int,
    credit: GroupCredit,
    names: Mapping[int, str],
    gallery: _Gallery,
) -> str:
    if t >= len(record.turns):
        return '<td class="over"></td>'
    turn, steps = record.turns[t], credit.steps
    total = float(steps.total[k][t])
    letter = names.get(int(steps.groups[k][t]), "")
    same = f'<span class="letter" title="the observation that it {_DID[credit.anchor]}">{letter or "alone"}</span>'
    figures = (
        ("r", f"{credit.rollouts[k].turns[t].reward:.2f}"),
        ("GRPO", _signed(float(credit.grpo[k]))),
        ("A_S", _signed(float(steps.turns[k][t]))),
        ("OR-GIGPO", _signed(total)),
    )
    numbers = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in figures)
    shown = "".join(gallery.img(call.picture or "", call.tool) for call in _shown(turn))
    return (
        f'<td class="{_sign(total)}">{same}<p class="move" dir="auto">{escaped(_move(turn), 300)}</p>'
        f'{_results(turn)}{shown}<dl class="figures">{numbers}</dl></td>'
    )


def _move(turn: TurnRecord) -> str:
    return turn.thought or turn.problem or turn.text


def _results(turn: TurnRecord) -> str:
    lines = []
    for call, on in calls_with_things(turn):
        outcome = call.error_code or ("ok" if on is None else f"on {', '.join(name or 'the table' for name in on)}")
        lines.append(f"<li>{escaped(call.tool.rpartition('.')[2], 60)}: {escaped(outcome, 120)}</li>")
    return f'<ul class="results">{"".join(lines)}</ul>' if lines else ""


def _shown(turn: TurnRecord) -> list[CallEntry]:
    """Calls of a turn whose pictures are shown: the last one, on which is drawn what came of the turn."""
    pictured = [call for call in turn.calls if call.picture is not None and not call.tool.endswith("with_pointcloud")]
    return pictured[-1:]


def _signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def _sign(value: float) -> str:
    return "plain" if abs(value) < _PLAIN else "better" if value > 0 else "worse"


# -- observations --------------------------------------------------------------------------------------


def _letters(groups: Sequence[NDArray[np.int64]]) -> dict[int, str]:
    """A name for each observation that two turns or more are compared by: A to Z, then A2 and so on."""
    numbers, counts = np.unique(np.concatenate([np.asarray(group) for group in groups]), return_counts=True)
    shared = [int(number) for number, count in zip(numbers, counts, strict=True) if count > 1]
    return {number: f"{chr(ord('A') + k % 26)}{k // 26 + 1 if k >= 26 else ''}" for k, number in enumerate(shared)}


def _comparisons(records: Sequence[RolloutRecord], credit: GroupCredit, names: Mapping[int, str]) -> str:
    """For each shared observation what was done about it, what came from there on, and A_S."""
    parts = []
    for number, letter in names.items():
        places = [
            (k, t)
            for k, groups in enumerate(credit.steps.groups)
            for t in range(len(groups))
            if int(groups[t]) == number
        ]
        places.sort(key=lambda place: -float(credit.returns[place[0]][place[1]]))
        rows = "".join(
            f"<tr><td>{escaped(records[k].id, 40)}, turn {t + 1}</td>"
            f'<td dir="auto">{escaped(_move(records[k].turns[t]), 160)}</td>'
            f"<td>{float(credit.returns[k][t]):.2f}</td><td>{_signed(float(credit.steps.turns[k][t]))}</td></tr>"
            for k, t in places
        )
        parts.append(
            f'<details class="card observation"><summary><span class="letter">{letter}</span> '
            f"{_DID[credit.anchor]} by {len(places)} turns</summary><table><thead><tr>"
            '<th scope="col">turn</th><th scope="col">what was done</th><th scope="col">return</th>'
            f'<th scope="col">A_S</th></tr></thead><tbody>{rows}</tbody></table></details>'
        )
    return "".join(parts) or '<p class="soft">No two turns are compared: both advantages agree.</p>'
