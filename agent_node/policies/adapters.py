"""LoRA adapters: a few megabytes beside a base model, put into its weights when it is loaded.

A folder holds adapter_config.json and adapter_model.safetensors, as peft writes them. Weights are read from safetensors
alone. Where base and adapter both say which base they are of (`base.json`), that must be the same.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.extras import package
from toolhand.tool_nodes.files import NOTES_BYTES, read_file
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import invalid

BASE = "base.json"
"""Says which base model a folder holds, or is an adapter of: {"base": name, "sha256": of the file it was made from}."""

_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def with_adapter(model: Any, base: str, folder: Path) -> Any:
    """The model with an adapter's part in its weights.

    Args:
        model: A model of transformers; it is changed.
        base: Its folder or name.

    Raises:
        ToolError: INVALID_ARGUMENT where there is no adapter, or one of another base; UNAVAILABLE without peft.
    """
    for name in (_CONFIG, _WEIGHTS):
        if not (folder / name).is_file():
            raise invalid(f"There is no adapter in {folder}: it must hold {_CONFIG} and {_WEIGHTS}.")
    ours, theirs = base_of(Path(base)), base_of(folder)
    if ours and theirs and ours != theirs:
        raise invalid(f"The adapter {folder} is of the base {theirs['base']!s:.60}, and {base} is another one.")
    peft = package("peft", "transformers", "An adapter")
    tensors = package("safetensors", "transformers", "An adapter")
    try:
        with tensors.safe_open(str(folder / _WEIGHTS), framework="pt") as file:
            written = set(file.keys())
        with warnings.catch_warnings():  # of names that peft still takes from transformers: nothing to an operator
            warnings.simplefilter("ignore", FutureWarning)
            wrapped = peft.PeftModel.from_pretrained(model, str(folder))
        # Without embeddings: to find out whether those were learned, it would ask a hub for the base of the adapter.
        expected = set(peft.get_peft_model_state_dict(wrapped, save_embedding_layers=False))
    except Exception as error:  # of the many kinds that peft raises where shapes or names do not fit
        raise invalid(f"The adapter {folder} does not fit {base}: {plain_line(str(error), length=200)}") from error
    if written != expected:
        raise invalid(f"The adapter {folder} is of another model than {base}: their layers differ.")
    return wrapped.merge_and_unload()


def base_of(folder: Path) -> dict[str, Any]:
    """What a folder says of its base; empty where it says nothing."""
    path = folder / BASE
    if not path.is_file():
        return {}
    try:
        found = plain_json.load(read_file(path, NOTES_BYTES, folder))
        return {"base": str(found["base"]), "sha256": str(found["sha256"])}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise invalid(f"{path} cannot be read: {plain_line(str(error))}.") from error


def write_base(folder: Path, base: str, sha256: str) -> None:
    """Note in a folder which base model it is of."""
    (folder / BASE).write_text(f"{json.dumps({'base': base, 'sha256': sha256})}\n", encoding="utf-8")
