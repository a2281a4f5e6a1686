"""Weights of real models: found, checked before anything is read, and loaded from safetensors alone.

A pickled file can run any code when it is read, so none is: a folder that has nothing else is refused. The header of
each safetensors file says how long the file must be, so that one that is missing or cut short is named in a sentence
instead of filling the model with noise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.extras import package
from toolhand.tool_nodes.files import MIB, open_file, read_file, why
from toolhand.tool_nodes.models.spec import ModelSpec
from toolhand.tool_nodes.results import ToolError, invalid, kind_and_words, unavailable
from toolhand.tool_nodes.tensor_files import read_header

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LONGEST_NAME = 96
"""Longest name of the hub [characters], as the hub has it."""
_FETCHED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
"""What is fetched from the hub: configuration, tokenizer and weights, nothing that could run."""
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_LONGEST_JSON = 64 * MIB
"""Longest JSON file of a model that is read [bytes]; vocabularies have about ten."""
_SHOWN = 3
"""Most names of tensors or types that a message lists."""


def needed(name: str) -> Any:
    """A package that models in this process need, imported now. Raises ToolError UNAVAILABLE with the extra."""
    return package(name, "models", "This model")


def device_of(torch: Any, wanted: str) -> str:
    """The device of a spec, of those that this machine has. Raises ToolError UNAVAILABLE."""
    there = devices(torch)
    if wanted == "auto":
        return "cuda" if "cuda:0" in there else "cpu"
    if wanted not in ("cpu", "cuda", *there) or (wanted == "cuda" and "cuda:0" not in there):
        raise unavailable(f"The device {wanted!r} is not there: this machine has {', '.join(there)}.")
    return wanted


def devices(torch: Any) -> list[str]:
    """What models can run on here, e.g. ["cpu", "cuda:0"]."""
    found = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
    return found + (["mps"] if torch.backends.mps.is_available() else [])


def folder_of(name: str, weights: str) -> Path:
    """The folder with the weights: the one that was named, or what is fetched from the hub.

    Raises:
        ToolError: INVALID_ARGUMENT for what is neither; UNAVAILABLE where the hub does not give it.
    """
    folder = Path(weights).expanduser()
    if os.path.isdir(folder):  # False for a name that no folder can have, too
        return folder
    if not _HUB_NAME.fullmatch(weights) or len(weights) > _LONGEST_NAME:
        raise invalid(
            f"There is no folder {weights[:200]!r} with weights of {name}; a name of the hub has the form OWNER/NAME."
        )
    hub = needed("huggingface_hub")
    try:
        return Path(hub.snapshot_download(weights, allow_patterns=list(_FETCHED)))
    except Exception as error:  # the hub's own, those of its HTTP client, and of the disk
        reason = f"does not give a model of that name: {kind_and_words(error)}."
        if type(error).__name__ == "LocalEntryNotFoundError":
            reason = "cannot be reached, and no copy of that model lies on this machine."
        raise unavailable(f"There is no folder {weights!r}, and the hub {reason}") from error


def read_config(name: str, folder: Path, types: Sequence[str]) -> dict[str, Any]:
    """config.json of a folder, of one of the given types. Raises ToolError INVALID_ARGUMENT."""
    config = read_json(folder / "config.json")
    if config is None:
        raise invalid(f"{folder} holds no readable config.json: it is no model's folder.")
    found = str(config.get("model_type"))
    if found not in types:
        raise invalid(f"{folder} holds a model of the type {found[:60]!r}; {name} takes {' or '.join(types)}.")
    return config


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None where there is none."""
    try:
        document = plain_json.load(read_file(path, _LONGEST_JSON))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def check_weights(folder: Path) -> None:
    """Refuse a folder whose weights are missing, cut short or pickled; no tensor is read.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if whole.is_file():
        files = [whole]
    elif index.is_file():
        named = (read_json(index) or {}).get("weight_map")
        if not isinstance(named, dict) or not named or not all(isinstance(file, str) for file in named.values()):
            raise invalid(f"{index} names no weights.")
        files = [folder / Path(file).name for file in sorted(set(named.values()))]
    else:
        pickled = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLED)
        if pickled:
            raise invalid(
                f"{folder} holds pickled weights only ({pickled[0]}), which can run code when they are read.",
                "Convert them to safetensors, or name a model that has them.",
            )
        raise invalid(f"{folder} holds no weights: model.safetensors is missing.")
    for file in files:
        _check_file(file)


def _check_file(file: Path) -> None:
    """Its header must be one, and its length what that says."""
    try:
        with open_file(file) as stream:
            read_header(stream, os.fstat(stream.fileno()).st_size)
    except FileNotFoundError:
        raise invalid(f"The weights are incomplete: {file} is missing.") from None
    except (OSError, ValueError) as error:
        raise invalid(f"{file} is no whole safetensors file: {why(error)}.") from None


def load_model(name: str, factory: Any, folder: Path, spec: ModelSpec, device: str) -> Any:
    """A model of transformers in evaluation mode on its device, all of its tensors read from the folder.

    Args:
        name: The backend, for sentences.
        factory: A class of transformers with `from_pretrained`.
        folder: With weights that were checked.
        spec: For its dtype.
        device: Device as `device_of` returns it.

    Raises:
        ToolError: INVALID_ARGUMENT where the weights do not fit the model; UNAVAILABLE where memory does not suffice.
    """
    torch = needed("torch")
    dtype = "auto" if spec.dtype == "auto" else getattr(torch, spec.dtype)
    if spec.dtype == "auto" and device == "cpu":
        dtype = torch.float32
    logging = needed("transformers").logging
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # what it would warn of is an error below
    try:
        model, report = factory.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, local_files_only=True, output_loading_info=True
        )
        lacking = sorted(report["missing_keys"])
        if lacking:
            raise invalid(
                f"The weights in {folder} lack {len(lacking)} tensors of {name}, e.g. {', '.join(lacking[:_SHOWN])}."
            )
        return model.to(device).eval()
    except ToolError:
        raise
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise unavailable(f"The memory of {device} does not suffice for {name}.") from error
    except Exception as error:
        raise invalid(f"{name} cannot be loaded from {folder}: {kind_and_words(error)}.") from error
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def load_processor(name: str, factory: Any, folder: Path) -> Any:
    """A tokenizer or image processor of transformers from a folder; no code in it is run. Raises INVALID_ARGUMENT."""
    try:
        return factory.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        raise invalid(f"{folder} lacks what {name} needs beside its weights: {kind_and_words(error)}.") from error
