"""Rates, means and times of one side of a grasp benchmark, and the paired table of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from scipy.stats import binomtest

from toolhand.bench.commands.grasp import GraspProtocol
from toolhand.bench.grasp.records import POOR_IOU, GraspRecord
from toolhand.bench.perception.metrics import mean_row
from toolhand.bench.stats import rate_row, timing_row, with_unscored

Records = Sequence[GraspRecord]
SceneKey = tuple[str, int]
"""Kind and seed: two sides are paired by it."""

FIRST, FIRST_CHOSEN = "first attempt", "first attempt, the robot chooses"
"""Names of the rows of first attempts: at an object that is asked for, and at whatever the tools see best, as the
papers of GraspNet, VGN and GIGA have it."""
DISAGREEMENTS: Mapping[str, Callable[[GraspRecord], bool]] = {
    "false success": lambda r: r.false_success,
    "held, said to have failed": lambda r: r.held_untold,
}
"""Rows in which the tools and the judge disagree, either way."""
OCCLUDED = tuple(k / 10 for k in range(11))
"""Bounds of the shares of an object that others hide, by which attempts are counted [-]: tenths, as TARGO (Xia et al.,
arXiv 2407.06168) has them."""


def rows_of(records: Records, protocol: GraspProtocol) -> list[dict[str, Any]]:
    """The rows of one side: rates with Wilson intervals, means with intervals over scenes, percentiles of times.

    Rows of parts of a whole have the entry `part`: "kind", "family", or what else the whole is divided by.
    """
    scored = [r for r in records if r.scored]
    moved = [r for r in scored if r.executed]
    kinds, families = _by(scored, lambda r: r.kind), _by(scored, lambda r: r.family)
    several = list(kinds.items()) if len(kinds) > 1 else []
    rows: list[dict[str, Any]] = []
    if protocol == "clear":
        rows += [cleared_row("decluttered", scored)]
        rows += [cleared_row(kind, chosen, part="kind") for kind, chosen in several]
        rows += [_emptied_row(scored), picks_row(scored)]
        rows += [_rate(FIRST_CHOSEN, _firsts(scored))]
        rows += [_rate(kind, _firsts(chosen), part="first attempt") for kind, chosen in several]
    else:
        whole = _rate(FIRST if protocol == "attempt" else FIRST_CHOSEN, scored)
        rows += with_unscored(whole, len(records) - len(scored))
        rows += [_rate(kind, chosen, part="kind") for kind, chosen in several]
        rows += _lies(scored, "first attempt, target")
        for kind, chosen in several:
            rows += _lies(chosen, kind) if any(r.under for r in chosen) else []
        rows += [_rate(family, chosen, part="family") for family, chosen in sorted(families.items()) if family]
    rows += [_rate("grasp success, of executed", moved)]
    if any(r.actions for r in scored):
        rows.append(mean_row("grasps for one object", [[float(r.actions)] for r in scored]))
        rows.append(rate_row("nothing fell off the table", sum(not r.fell for r in scored), len(scored)))
    for name, told_otherwise in DISAGREEMENTS.items():
        rows.append(rate_row(name, sum(map(told_otherwise, scored)), len(scored)))
        rows += [rate_row(kind, sum(map(told_otherwise, c)), len(c), part=name) for kind, c in several]
    masked = [r for r in scored if r.mask_iou is not None]
    rows += [
        rate_row(f"mask IoU {POOR_IOU:g} or more", sum(not r.poor_mask for r in masked), len(masked)),
        rate_row("a mask was given", len(masked), len(scored)),
        mean_row("mask IoU", [[r.mask_iou or 0.0 for r in chosen] for chosen in _scenes(masked).values()]),
    ]
    return rows + _times(scored)


def _firsts(records: Records) -> list[GraspRecord]:
    """The first attempt in each scene."""
    return [r for r in records if r.attempt == 0]


def _lies(records: Records, name: str) -> list[dict[str, Any]]:
    """Success by whether something rested on the object, by how wide it was, and by how much of it was seen."""
    known = [r for r in records if r.under is not None]
    rows = [
        _rate(f"{name} {words}", [r for r in known if r.under is under], part="lie")
        for words, under in (("free on top", False), ("under another", True))
    ]
    rows += [
        _rate(f"{name} {words}", [r for r in records if r.fits is fits], part="lie")
        for words, fits in (("narrower than the jaws", True), ("wider than the jaws", False))
        if any(r.fits is False for r in records)
    ]
    hidden = [(min(int(10 * (1.0 - r.visible + 1e-9)), 9), r) for r in known if r.visible is not None]
    for tenth, (low, high) in enumerate(pairwise(OCCLUDED)):
        chosen = [r for k, r in hidden if k == tenth]
        rows += [_rate(f"{name} occluded, {low:g} to {high:g}", chosen, part="lie")] if chosen else []
    return rows


def _rate(name: str, records: Records, **more: Any) -> dict[str, Any]:
    return rate_row(name, sum(r.success for r in records), len(records), **more)


def _by(records: Records, key: Callable[[GraspRecord], str]) -> dict[str, list[GraspRecord]]:
    found: dict[str, list[GraspRecord]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return found


def _scenes(records: Iterable[GraspRecord]) -> dict[SceneKey, list[GraspRecord]]:
    found: dict[SceneKey, list[GraspRecord]] = {}
    for record in records:
        found.setdefault((record.kind, record.seed), []).append(record)
    return found


def _cleared(attempts: Records) -> tuple[int, int]:
    """(objects taken away, objects there at first) of one scene."""
    return sum(r.removed for r in attempts), attempts[0].objects


def cleared_row(name: str, records: Records, **more: Any) -> dict[str, Any]:
    """Share of all objects that were taken away before the scenes were left."""
    counts = [_cleared(attempts) for attempts in _scenes(records).values()]
    return rate_row(name, sum(gone for gone, _ in counts), sum(all_of for _, all_of in counts), **more)


def _emptied_row(records: Records) -> dict[str, Any]:
    counts = [_cleared(attempts) for attempts in _scenes(records).values()]
    return rate_row("scenes emptied", sum(gone == all_of for gone, all_of in counts), len(counts))


def picks_row(records: Records) -> dict[str, Any]:
    """Objects taken away in an hour of simulated time, in which thinking takes none."""
    spent, gone = sum(r.robot_s for r in records), sum(r.removed for r in records)
    return {"name": "picks per simulated hour", "n": gone, "per_hour": round(3600 * gone / spent, 1) if spent else None}


def _times(records: Records) -> list[dict[str, Any]]:
    return [
        timing_row("segment, processor", [r.segment_s for r in records if r.segment_s is not None]),
        timing_row("compute_grasp, processor", [r.compute_s / r.computed for r in records if r.compute_s is not None]),
        timing_row("planning, processor", [r.plan_s for r in records if r.plan_s is not None]),
        timing_row("attempt, robot's time", [r.robot_s for r in records if r.executed]),
        timing_row("check, robot's time", [r.check_s for r in records if r.check_s is not None]),
    ]


def causes_of(records: Records) -> dict[str, int]:
    """How often each cause of failure came, the commonest first."""
    return dict(Counter(r.cause for r in records if r.cause).most_common())


def cause_rows(records: Records) -> list[dict[str, Any]]:
    """The share of all attempts that each cause of failure took, those that are not scored too."""
    return [rate_row(cause, count, len(records), part="cause") for cause, count in causes_of(records).items()]


def objects_of(records: Records) -> list[dict[str, Any]]:
    """Success of every single object."""
    return [_rate(name, chosen, part="thing") for name, chosen in sorted(_by(records, lambda r: r.object).items())]


def paired(first: Records, second: Records, protocol: GraspProtocol) -> list[dict[str, Any]]:
    """How two sides did on the same scenes, of each kind and all together.

    For first attempts: how many both did, only one of them, and neither. For clearing: in how many scenes one took away
    more objects than the other. `p` is that of the two-sided sign test over the scenes in which they differ.
    """
    mine, theirs = (_scenes(r for r in records if r.scored) for records in (first, second))
    scenes = [scene for scene in mine if scene in theirs]
    kinds = list(dict.fromkeys(kind for kind, _ in scenes))
    rows = []
    for name in ["all", *(kinds if len(kinds) > 1 else ())]:
        chosen = [scene for scene in scenes if name in ("all", scene[0])]
        pairs = [(_points(mine[scene], protocol), _points(theirs[scene], protocol)) for scene in chosen]
        only_first, only_second = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
        row: dict[str, Any] = {"name": name, "n": len(pairs), "first": only_first, "second": only_second}
        if protocol != "clear":
            row |= {"both": sum(a == b == 1 for a, b in pairs), "neither": sum(a == b == 0 for a, b in pairs)}
        else:
            row["alike"] = sum(a == b for a, b in pairs)
        rows.append(row | {"p": sign_test(only_first, only_second)})
    return rows


def _points(attempts: Records, protocol: GraspProtocol) -> int:
    return _cleared(attempts)[0] if protocol == "clear" else int(attempts[0].success)


def sign_test(first: int, second: int) -> float:
    """Two-sided p of so uneven a split, or a more uneven one, of pairs that differ, by chance; 1 where none does."""
    return float(f"{binomtest(first, first + second).pvalue:.3g}") if first + second else 1.0


def format_paired(rows: Sequence[Mapping[str, Any]], first: str, second: str) -> str:
    """`paired` as text; the names are those of the sides."""
    keys = ("both", "neither") if "both" in rows[0] else ("alike",)
    lines = [f"{first} (A) and {second} (B) on the same scenes"]
    head = {"first": "only A" if len(keys) > 1 else "more by A", "second": "only B" if len(keys) > 1 else "more by B"}
    lines.append(
        f"{'':28}{'n':>6}" + "".join(f"{head.get(k, k):>11}" for k in ("first", "second", *keys)) + "  sign test"
    )
    for row in rows:
        cells = "".join(f"{row[k]:>11}" for k in ("first", "second", *keys))
        lines.append(f"{row['name']:28}{row['n']:>6}{cells}  p = {row['p']:.3g}")
    return "\n".join(lines)
