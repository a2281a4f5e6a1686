"""Weights of the learned pointer as a safetensors file, its vocabulary in the header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tool_nodes import plain_json
from tool_nodes.perception.learned.forward import Array, PointerForward, Weights, layer_shapes
from tool_nodes.results import ToolError, invalid
from tool_nodes.tensor_files import read_tensors, require_shipped, write_tensors

SHIPPED = Path(__file__).with_name("pointer.safetensors")
"""The weights that come with the package; pointer.md beside it is their model card."""

SHIPPED_SHA256 = "8bfd76d3bacc5d96ee86748a1781b7476cceab074efa1f39dba1084a14236bfc"
"""Digest of that file."""

MAX_BYTES = 2_000_000
"""Largest file that is read [bytes]: a limit of the package, four times what the network has."""

CALIBRATED = ("thing", "side", "beside", "colour")
"""Kinds of answers with a certainty: things by words, one of several by a side, one beside another thing; things by
words in a picture without depth."""


def uncalibrated() -> dict[str, tuple[float, float]]:
    """Certainties that are the plain sigmoids of the scores."""
    return dict.fromkeys(CALIBRATED, (1.0, 0.0))


@dataclass(frozen=True, eq=False)
class PointerWeights:
    """A trained pointer.

    Attributes:
        tensors: By name, float32.
        words, heads: Vocabulary: known words, and known heads of phrases.
        calibration: For each of CALIBRATED (a, b): a score's certainty is 1 / (1 + exp(-(a * score + b))).
        about: How it was made, for its model card.
    """

    tensors: Weights
    words: tuple[str, ...]
    heads: tuple[str, ...]
    calibration: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: dict.fromkeys(CALIBRATED, (1.0, 0.0))
    )
    about: str = ""

    @property
    def network(self) -> PointerForward:
        """The network, ready to be asked."""
        return PointerForward(self.tensors, self.words, self.heads)


def write_weights(weights: PointerWeights, path: Path) -> None:
    """Write a safetensors file, whole or not at all. Raises OSError."""
    metadata = {
        "words": json.dumps(weights.words),
        "heads": json.dumps(weights.heads),
        "calibration": json.dumps({name: list(pair) for name, pair in weights.calibration.items()}),
        "about": weights.about,
    }
    write_tensors(path, weights.tensors, metadata)


def read_weights(path: Path) -> PointerWeights:
    """A file of `write_weights`.

    Raises:
        ToolError: INVALID_ARGUMENT where it cannot be read, is damaged, or is of another network.
    """
    try:
        return _checked(*read_tensors(path, MAX_BYTES))
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad(path, str(error) or type(error).__name__) from error


def _bad(path: Path, why: str) -> ToolError:
    return invalid(f"{path} is no pointer's weights: {why}.", "toolhand train pointer makes them.")


def _checked(tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> PointerWeights:
    words, heads = tuple(plain_json.load(metadata["words"])), tuple(plain_json.load(metadata["heads"]))
    calibration = {name: (float(a), float(b)) for name, (a, b) in plain_json.load(metadata["calibration"]).items()}
    wrong = [
        name
        for name, shape in layer_shapes(len(words), len(heads)).items()
        if name not in tensors
        or tensors[name].ndim != len(shape)
        or any(want not in (None, have) for want, have in zip(shape, tensors[name].shape, strict=True))
    ]
    if wrong or set(calibration) != set(CALIBRATED):
        raise ValueError(f"it is of another network ({', '.join(wrong[:3]) or 'calibration'})")
    return PointerWeights(tensors, words, heads, calibration, metadata.get("about", ""))


@cache
def shipped_weights() -> PointerWeights:
    """The weights that come with the package.

    Raises:
        ToolError: UNAVAILABLE where they are missing or not what was shipped.
    """
    require_shipped(SHIPPED, SHIPPED_SHA256, "learned pointer")
    return read_weights(SHIPPED)
