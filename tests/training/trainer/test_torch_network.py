"""The network in torch is the one in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agent_node.policies.tiny.network import TinyNetwork
from agent_node.policies.tiny.visual_encoder import VISUAL_WIDTH
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights, fresh_weights
from tool_nodes.results import ToolError
from training.trainer.network import TinyTransformer, chosen_device

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
            rng.standard_normal((n, VISUAL_WIDTH)).astype(np.float32),
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


def test_weights_come_back_as_they_went_in(weights: TinyWeights) -> None:
    again = TinyTransformer.from_weights(weights).to_weights(weights)
    assert set(again.tensors) == set(weights.tensors)
    for name, tensor in weights.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor)


def test_a_device_that_there_is_not_is_refused() -> None:
    assert chosen_device("auto").type in ("cpu", "cuda")
    with pytest.raises(ToolError, match="torch has no device 'abacus'"):
        chosen_device("abacus")
