"""The network in torch is the one in numpy, whole rows and with what it has kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agent_node.policies.tiny.eyes import EYE_WIDTH
from agent_node.policies.tiny.network import TinyNetwork
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights, fresh_weights
from tool_nodes.results import ToolError
from training.trainer.network import KeptKeys, TinyTransformer, chosen_device

LENGTHS = (5, 9, 12)


@pytest.fixture(scope="module")
def weights() -> TinyWeights:
    return fresh_weights(3, TinyConfig(width=32, layers=2, heads=4, hidden=48, positions=16))


@pytest.fixture(scope="module")
def rows(weights: TinyWeights) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        (
            rng.integers(len(weights.vocabulary), size=n).astype(np.int32),
            rng.standard_normal((n, EYE_WIDTH)).astype(np.float32),
        )
        for n in LENGTHS
    ]


def test_logits_are_those_of_numpy(weights: TinyWeights, rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
    network = TinyTransformer.from_weights(weights)
    for tokens, eyes in rows:
        expected = TinyNetwork(weights).read(tokens, eyes)
        with torch.no_grad():
            found = network.logits(network(torch.from_numpy(tokens)[None].long(), torch.from_numpy(eyes)[None]))[0]
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
        assert np.ptp(expected) > 0.1, "logits that are all alike would compare equal too"


def test_rows_of_any_length_that_are_read_piece_by_piece_are_read_as_whole_ones(
    weights: TinyWeights, rows: list[tuple[np.ndarray, np.ndarray]]
) -> None:
    network = TinyTransformer.from_weights(weights)
    kept = KeptKeys.none(network).arranged([-1, -1, -1])
    read = [0, 0, 0]
    rng = np.random.default_rng(1)
    while any(done < n for done, n in zip(read, LENGTHS, strict=True)):
        some = [k for k in range(3) if read[k] < LENGTHS[k] and rng.random() < 0.8]
        if not some:
            continue
        counts = [int(rng.integers(1, LENGTHS[k] - read[k] + 1)) for k in some]
        tokens = np.zeros((len(some), max(counts)), np.int64)
        eyes = np.zeros((len(some), max(counts), EYE_WIDTH), np.float32)
        for line, (k, n) in enumerate(zip(some, counts, strict=True)):
            tokens[line, :n], eyes[line, :n] = (part[read[k] : read[k] + n] for part in rows[k])
        with torch.no_grad():
            hidden = network.extend(
                kept,
                None if len(some) == 3 else torch.tensor(some),
                torch.from_numpy(tokens),
                torch.from_numpy(eyes),
                torch.tensor([read[k] for k in some]),
                torch.tensor(counts),
            )
            logits = network.logits(hidden).numpy()
        for line, (k, n) in enumerate(zip(some, counts, strict=True)):
            expected = TinyNetwork(weights).read(*rows[k])[read[k] : read[k] + n]
            np.testing.assert_allclose(logits[line, :n], expected, atol=1e-4)
            read[k] += n


def test_weights_come_back_as_they_went_in(weights: TinyWeights) -> None:
    again = TinyTransformer.from_weights(weights).to_weights(weights)
    assert set(again.tensors) == set(weights.tensors)
    for name, tensor in weights.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)


def test_a_device_that_there_is_not_is_refused() -> None:
    assert chosen_device("auto").type in ("cpu", "cuda")
    with pytest.raises(ToolError, match="torch has no device 'abacus'"):
        chosen_device("abacus")
