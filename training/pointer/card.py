"""What is told of a trained pointer: its model card, and its learning curves as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from training.pointer.batch import PLACE_SLOTS, THING_SLOTS, WITHOUT_DEPTH
from training.pointer.phrases import HELD_OUT_SHARE

SIZE_PX = (640, 360)
"""Of the picture of the curves [px]."""
_MARGIN_PX = 46
"""Around the curves [px]."""
_COLOURS = {"things": "#2f5f9e", "side": "#c08a2e", "beside": "#3d8b57", "loss": "#909090"}


def curves(log: Sequence[Mapping[str, Any]]) -> Image.Image:
    """Share of hits on scenes that are not trained on, and the loss as a share of its highest, over epochs."""
    picture = Image.new("RGB", SIZE_PX, "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size=13)
    left, top = _MARGIN_PX, _MARGIN_PX
    right, bottom = SIZE_PX[0] - _MARGIN_PX, SIZE_PX[1] - _MARGIN_PX
    highest = max((row["loss"] for row in log), default=1.0)

    def at(epoch: float, share: float) -> tuple[float, float]:
        return left + (right - left) * epoch / max(len(log), 1), bottom - (bottom - top) * share

    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        draw.line([at(0, tick), at(len(log), tick)], fill="#e4e4e4")
        draw.text((left - 6, at(0, tick)[1]), f"{tick:.0%}", "black", font, anchor="rm")
    for k, (name, colour) in enumerate(_COLOURS.items()):
        points = [
            at(row["epoch"], row["loss"] / highest if name == "loss" else row[name])
            for row in log
            if row.get(name) is not None
        ]
        if len(points) > 1:
            draw.line(points, fill=colour, width=2)
        for x, y in points:
            draw.ellipse([x - 2, y - 2, x + 2, y + 2], fill=colour)
        last = next((row[name] for row in reversed(log) if row.get(name) is not None), None)
        told = "" if last is None else f" {last:.2f}" if name == "loss" else f" {last:.1%}"
        draw.text((left + 145 * k, top - 26), f"{name}{told}", colour, font)
    draw.text((right, bottom + 8), f"{len(log)} epochs", "black", font, anchor="ra")
    return picture


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
