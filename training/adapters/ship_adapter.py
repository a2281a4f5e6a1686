"""An adapter of the policy smollm2 as it ships in the package: its files, their checksums, its log and its card.

    .venv/bin/python -m toolhand.training.adapters.ship_adapter FOLDER [TABLE]

FOLDER is one of `toolhand.training.adapters.sft_on_trl`, whose adapter is trained; TABLE the table.json in a folder of
`toolhand bench policy` with a row of the policy smollm2, for the figures of the card.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from toolhand.agent_node.policies.adapters import base_of, write_base
from toolhand.agent_node.policies.smollm2 import LICENCE, NAME, SHA256, SHIPPED, SUMS, SURE
from toolhand.agent_node.runs.pages import fill
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import NOTES_BYTES, read_file, read_lines
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.training.adapters.chat_rows import IN_A_ROW
from toolhand.training.adapters.environments import run_stage
from toolhand.training.adapters.sft_on_trl import ADAPTER, DATA, LOG, SETTINGS, LoraSettings, read_rows, read_settings

MOST_BYTES = 8_000_000
"""Largest file of weights that ships [bytes]: a limit of the package."""
CARD, CONFIG, WEIGHTS = "card.md", "adapter_config.json", "adapter_model.safetensors"
AGAIN = "toolhand train dirl --preset smollm2"
"""The command that makes such an adapter."""

_CARD = Path(__file__).with_name("card.md.j2")
_TABLE_BYTES = 50_000_000
"""Largest table that is read [bytes]."""
_LONGEST_LINE = 100_000
"""Of the log [bytes]."""
_RATES = {
    "success": "true success",
    "wrong_object": "wrong object",
    "false_success": "false success",
    "refused_rightly": "refused rightly after a look",
}


def ship(folder: Path, table: Path | None = None, to: Path = SHIPPED) -> Path:
    """Write the folder that ships, in place of the one that is there; returns its card.

    Args:
        to: Folder that ships.

    Raises:
        ToolError: INVALID_ARGUMENT where the training is not finished, its adapter is of another base, not in half
            precision or too large, and where the table cannot be read or lacks the policy.
    """
    settings, rows = read_settings(folder), read_rows(folder)
    adapter = folder / ADAPTER
    for name in (CONFIG, WEIGHTS):
        if not (adapter / name).is_file():
            raise invalid(f"{adapter} has no {name}: its training is not finished.")
    base = base_of(Path(settings.model))
    if base.get("sha256") != SHA256:
        raise invalid(f"The adapter {adapter} is of the base {settings.model}, which is not {NAME} as it ships.")
    size = (adapter / WEIGHTS).stat().st_size
    if size > MOST_BYTES:
        raise invalid(f"{adapter / WEIGHTS} has {size:,} bytes; what ships has {MOST_BYTES:,} at most.")
    types = _types(adapter / WEIGHTS)
    if types != {"F16"}:
        raise invalid(f"{adapter / WEIGHTS} holds {', '.join(sorted(types))}; what ships is in half precision, F16.")
    losses = _losses(folder)
    made_of = plain_json.load(read_file(folder / DATA, NOTES_BYTES, folder)) if (folder / DATA).is_file() else {}
    card = _card(settings, rows, made_of, losses, size, table)
    part = Path(tempfile.mkdtemp(prefix=f".{to.name}-", dir=to.parent))
    try:
        # Of the machine that trained it there is to be nothing, such as the folder of its base.
        config = dict(plain_json.load(read_file(adapter / CONFIG, NOTES_BYTES, folder)))
        config["base_model_name_or_path"] = NAME
        (part / CONFIG).write_text(f"{json.dumps(config, indent=1)}\n", "utf-8")
        shutil.copyfile(adapter / WEIGHTS, part / WEIGHTS)
        shutil.copyfile(folder / LOG, part / LOG)
        write_base(part, NAME, SHA256)
        (part / CARD).write_text(card, "utf-8")
        named = sorted(path.name for path in part.iterdir())
        sums = [f"{sha256((part / name).read_bytes()).hexdigest()}  {name}\n" for name in named]
        (part / SUMS).write_text("".join(sums), "utf-8")
        part.chmod(0o755)
        shutil.rmtree(to, ignore_errors=True)
        part.replace(to)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return to / CARD


def _types(path: Path) -> set[str]:
    """Types of the tensors in a safetensors file, by its head."""
    try:
        with path.open("rb") as file:
            head = plain_json.load(file.read(min(int.from_bytes(file.read(8), "little"), NOTES_BYTES)))
        return {str(tensor["dtype"]) for name, tensor in head.items() if name != "__metadata__"}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise invalid(f"{path} is no whole file of weights: {error}.") from error


def _losses(folder: Path) -> list[float]:
    path = folder / LOG
    try:
        found = [plain_json.load(line) for line in read_lines(path, _LONGEST_LINE, folder)]
        losses = [float(row["loss"]) for row in found if "loss" in row]
    except (OSError, ValueError, TypeError) as error:
        raise invalid(f"{path} cannot be read: {error}.") from error
    if not losses:
        raise invalid(f"{path} has no loss: its training is not finished.")
    return losses


def _evaluated(path: Path) -> dict[str, Any]:
    """What an evaluation found, for the card."""
    try:
        document = plain_json.load(read_file(path, _TABLE_BYTES, path.parent))
        row = next((row for row in document["rows"] if row["policy"] == NAME), None)
        if row is None:
            raise invalid(f"{path} has no row of the policy {NAME}.")
        beside, sure = path.with_name(SETTINGS), None
        if beside.is_file():
            sure = plain_json.load(read_file(beside, NOTES_BYTES, path.parent))["policies"][NAME]["sure"]
        return {"row": row, "tasks": document["tasks"], "limit": "" if sure is None else f" --model.sure {sure:g}"}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _no_table(path, error) from error


def _no_table(path: Path, error: Exception) -> ToolError:
    return invalid(f"{path} is no table of toolhand bench policy: {error!r:.100}.")


def _card(
    settings: LoraSettings,
    rows: Sequence[Mapping[str, Any]],
    made_of: Mapping[str, int],
    losses: Sequence[float],
    size: int,
    table: Path | None,
) -> str:
    n, wordings = made_of.get("conversations", len(rows)), made_of.get("wordings", 1)
    sentences, unresolved = made_of.get("sentences", 0), made_of.get("unresolved", 0)
    values = {
        "settings": settings, "size": size, "losses": losses, "n": n, "kept": made_of.get("of", n),
        "wordings": wordings, "sentences": sentences, "unresolved": unresolved, "in_a_row": IN_A_ROW,
        "of_conversations": len(rows) - -(-sentences // IN_A_ROW) - unresolved,
        "tokens": sum(len(row["input_ids"]) for row in rows),
        "learned": sum(label >= 0 for row in rows for label in row["labels"]),
        "name": NAME, "sure": SURE, "licence": LICENCE, "sha256": SHA256, "again": AGAIN, "log": LOG, "rates": _RATES,
        "found": None if table is None else _evaluated(table),
    }  # fmt: skip
    try:
        return fill(_CARD, **values)
    except (TemplateError, TypeError, ValueError) as error:
        if table is None:
            raise
        raise _no_table(table, error) from error


if __name__ == "__main__":
    run_stage(lambda: ship(*map(Path, sys.argv[1:])))
