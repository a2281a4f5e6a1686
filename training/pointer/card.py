"""The model card of a trained pointer, and its learning curves as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from training.pointer.batch import PLACE_SLOTS, THING_SLOTS, WITHOUT_DEPTH
from training.pointer.phrases import HELD_OUT_SHARE
from training.trainer.plots import plotted

_RATES = ("things", "side", "beside")
"""Of an epoch's row, the shares of hits."""


def curves(log: Sequence[Mapping[str, Any]]) -> Image.Image:
    """Share of hits on scenes that are not trained on, and the loss, over epochs."""

    def curve(name: str) -> list[tuple[float, float]]:
        return [(row["epoch"], row[name]) for row in log if row.get(name) is not None]

    return plotted({"hits": {name: curve(name) for name in _RATES}, "loss": {"loss": curve("loss")}}, "epoch")


def model_card(result: Mapping[str, Any]) -> str:
    """The model card of `training.pointer.train.train_pointer`'s result, as Markdown."""
    about = result["training"]
    slots = {**THING_SLOTS, **PLACE_SLOTS}
    lines = [
        "# A pointer that sees",
        "",
        "Input: colour and depth of a scene camera's frame at 160 x 120 px, its calibration and pose, and a phrase. "
        "Output: a score for each of 40 x 30 cells: every candidate's point, its certainty, and whether anything is "
        "there at all.",
        "",
        f"- **Network**: {about['parameters']:,} parameters; a patch stem and three dilated residual blocks in numpy "
        "(`tool_nodes/perception/learned/forward.py`). A phrase fits a cell where all of its words do (soft minimum); "
        'a side is a direction on the table, "left of X" a small network over the offset from where X is seen. The '
        "grammar (which words are the thing, the side, the other thing) is the project's, not learned.",
        f"- **Data**: {about['scenes']} scenes of `generate_scene`, in half of them two of one product, seed "
        f"{about['seed']}; pictures of the simulated ray camera, no physics; labels from the camera's object ids. "
        f"Phrases: all descriptions of the catalogue but {HELD_OUT_SHARE:.0%}, compounds of them, what is not there, "
        f'side words, "the can left of the red box"; {", ".join(f"{n} {kind}" for kind, n in slots.items())} a '
        f"scene and step. {WITHOUT_DEPTH:.0%} of the pictures were shown as colour alone.",
        f"- **Training**: {about['epochs_done']} of {about['epochs']} epochs, AdamW, {about['threads']} thread(s), "
        f"{sum(row['cpu_s'] for row in result['log']):.0f} s of processor time.",
        f"- **Certainty**: Platt's calibration on {about['validation_scenes']} scenes apart. Of phrases that mean one "
        "thing, the share of the softmax around the surest point tells right from wrong with AUC "
        f"{_number(result['auc'])}; the surest point's own tells there from not there with AUC "
        f"{_number(result['auc_present'])}.",
    ]
    if about["without"]:
        lines.append(f"- **Never shown**: {', '.join(about['without'])}.")
    lines += [
        "",
        f"## On {about['test_scenes']} scenes apart",
        "",
        "Things of 20 px and more of the small picture.",
        "",
        "| phrases | right | n | share |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {right} | {n} | {right / n:.1%} |" for name, (right, n) in result["rows"].items()]
    if result.get("unseen_products"):
        hits = [row for row in result["unseen_products"].values() if row[1]]
        total = sum(right for right, _ in hits), sum(n for _, n in hits)
        lines += ["", "## Products that were in no picture", "", "| product | right | n | share |", "|---|---|---|---|"]
        named = {**result["unseen_products"], "all": total}
        lines += [f"| {name} | {right} | {n} | {right / n:.1%} |" for name, (right, n) in named.items() if n]
    lines += [
        "",
        "## Limits",
        "",
        "- Trained on this simulator's pictures alone: its lamp, its table, its scene camera (within a centimetre and "
        "a degree). Another camera is refused.",
        "- In a picture without depth it knows what things are; which of them is left, right or beside another is "
        "refused.",
        "- It knows the words that it was trained on; others are NOT_RECOGNISED. Ordinals, sizes, the middle, "
        '"between", "in", "on", "with" and "not" are refused too.',
        "- Phrases never trained on are new companies of known words; products never trained on are not known.",
        "",
    ]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
