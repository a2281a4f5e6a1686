"""The network in numpy: cached as uncached, its formula, and its file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_node.policies.tiny import weights as weights_module
from agent_node.policies.tiny.network import NORM_EPSILON, TinyNetwork, gelu, log_softmax, normed, softmax
from agent_node.policies.tiny.visual_encoder import FEATURES, VISUAL_WIDTH
from agent_node.policies.tiny.vocabulary import FIXED, Vocabulary
from agent_node.policies.tiny.weights import (
    MAX_BYTES,
    TinyConfig,
    TinyWeights,
    fresh_weights,
    read_kept,
    read_weights,
    shipped_weights,
    tensor_shapes,
    write_weights,
)
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.tensor_files import write_tensors

SMALL = TinyConfig(width=16, layers=2, heads=2, hidden=32, positions=40)
WORDS = Vocabulary(("red", "box", "cola"))


def rough(seed: int = 0, config: TinyConfig = SMALL) -> TinyWeights:
    """Weights large enough that every part of the network shows in the logits."""
    fresh = fresh_weights(seed, config, WORDS)
    rng = np.random.default_rng(seed)
    tensors = {name: rng.normal(0.0, 0.3, tensor.shape).astype(np.float32) for name, tensor in fresh.tensors.items()}
    return replace(fresh, tensors=tensors)


def row(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    eyes = rng.normal(size=(count, VISUAL_WIDTH)).astype(np.float32) * (rng.random((count, 1)) < 0.5)
    return rng.integers(0, len(WORDS), count).astype(np.int32), eyes.astype(np.float32)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=5).filter(lambda parts: sum(parts) <= 40), st.integers(0, 20))
@settings(max_examples=40)
def test_reading_in_parts_gives_the_logits_of_reading_at_once(parts: list[int], seed: int) -> None:
    weights = rough()
    tokens, eyes = row(sum(parts), seed)
    whole = TinyNetwork(weights).read(tokens, eyes)
    network, at, got = TinyNetwork(weights), 0, []
    for part in parts:
        got.append(network.read(tokens[at : at + part], eyes[at : at + part]))
        at += part
    assert network.length == sum(parts)
    np.testing.assert_allclose(np.concatenate(got), whole, atol=1e-4)
    network.rewind(parts[0])
    again = network.read(tokens[parts[0] :], eyes[parts[0] :]) if len(parts) > 1 else whole[parts[0] :]
    np.testing.assert_allclose(again, whole[parts[0] :], atol=1e-4)


def test_the_network_is_its_formula() -> None:
    """As the docstring has it, in double precision and without the cache."""
    weights = rough(1)
    w = {name: tensor.astype(np.float64) for name, tensor in weights.tensors.items()}
    tokens, eyes = row(9, 4)
    embedding = w["token.weight"] + weights.words.astype(np.float64) @ w["word.weight"].T
    before = np.concatenate([np.zeros((1, 16)), embedding[tokens[:-1]]])
    x = embedding[tokens] + before @ w["before.weight"].T + w["position.weight"][:9] + eyes @ w["eye.weight"].T

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt(x.var(axis=1, keepdims=True) + NORM_EPSILON) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    for k in range(2):
        q, key, value = np.split(linear(norm(x, f"layer.{k}.norm1"), f"layer.{k}.qkv"), 3, axis=1)
        heads = []
        for h in range(2):
            part = slice(8 * h, 8 * h + 8)
            scores = q[:, part] @ key[:, part].T / np.sqrt(8)
            scores[np.triu_indices(9, 1)] = -np.inf
            e = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(e / e.sum(axis=1, keepdims=True) @ value[:, part])
        x = x + linear(np.concatenate(heads, axis=1), f"layer.{k}.out")
        up = linear(norm(x, f"layer.{k}.norm2"), f"layer.{k}.up")
        up = 0.5 * up * (1 + np.tanh(np.sqrt(2 / np.pi) * (up + 0.044715 * up**3)))
        x = x + linear(up, f"layer.{k}.down")
    np.testing.assert_allclose(TinyNetwork(weights).read(tokens, eyes), norm(x, "norm") @ embedding.T, atol=1e-4)


def test_its_parts() -> None:
    x = np.array([[1.0, 2.0, 3.0, 6.0]], np.float32)
    np.testing.assert_allclose(normed(x).std(axis=1), 1.0, atol=1e-4)
    np.testing.assert_allclose(softmax(x).sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(np.exp(log_softmax(x)), softmax(x), atol=1e-6)
    np.testing.assert_allclose(log_softmax(x + 1000.0), log_softmax(x), atol=1e-4)
    np.testing.assert_allclose(gelu(np.array([[-9.0, 0.0, 1.0, 9.0]], np.float32))[0], [0, 0, 0.841192, 9], atol=1e-5)


def test_more_tokens_than_positions_are_refused() -> None:
    network = TinyNetwork(rough())
    network.read(*row(40))
    with pytest.raises(ValueError, match="1 tokens after 40 do not fit into 40 positions"):
        network.read(*row(1))
    with pytest.raises(ValueError, match="0 tokens"):
        TinyNetwork(rough()).read(*row(0))


def test_the_default_policy_is_small_and_the_same_for_a_seed() -> None:
    weights = fresh_weights(0)
    assert weights.parameters < 1_500_000
    assert {name: tensor.shape for name, tensor in weights.tensors.items()} == tensor_shapes(
        weights.config, len(weights.vocabulary)
    )
    again, other = fresh_weights(0), fresh_weights(1)
    assert all((weights.tensors[name] == again.tensors[name]).all() for name in weights.tensors)
    assert any((weights.tensors[name] != other.tensors[name]).any() for name in weights.tensors)
    np.testing.assert_array_equal(weights.tensors["word.weight"], weights.tensors["eye.weight"][:, :FEATURES])
    known = np.abs(weights.words).sum(axis=1) > 0
    assert not known[: len(FIXED)].any()
    assert known[weights.vocabulary.id("cola")]
    assert not known[weights.vocabulary.id("please")]


def test_a_file_holds_everything(tmp_path: Path) -> None:
    weights = replace(rough(3, replace(SMALL, blind=True)), about="a test")
    path = tmp_path / "tiny.safetensors"
    write_weights(weights, path)
    read = read_weights(path)
    assert (read.config, read.vocabulary, read.about) == (weights.config, weights.vocabulary, "a test")
    for group in ("tensors", "encoder"):
        before, after = getattr(weights, group), getattr(read, group)
        assert before.keys() == after.keys()
        assert all((before[name] == after[name]).all() for name in before)
    np.testing.assert_array_equal(read.words, weights.words)
    picture = np.random.default_rng(0).integers(0, 255, (48, 64, 3), dtype=np.uint8)
    assert np.abs(read.visual_encoder.look(picture).things()).sum() == 0  # blind
    assert read_kept(path) is read_kept(path)
    write_weights(replace(weights, about="another"), path)
    assert read_kept(path).about == "another"


def test_the_shipped_size_is_far_below_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "tiny.safetensors"
    write_weights(fresh_weights(0), path)
    assert path.stat().st_size < MAX_BYTES / 4


def damaged(path: Path, change: str) -> None:
    """Write a file that is wrong in one way."""
    weights = rough()
    write_weights(weights, path)
    data = path.read_bytes()
    tensors = {**weights.tensors, "words": weights.words, "biases": weights.biases}
    tensors |= {f"eyes.{name}": tensor for name, tensor in weights.encoder.items()}
    told = {
        "config": json.dumps(
            {"width": 16, "layers": 2, "heads": 2, "hidden": 32, "positions": 40, "blind": False, "guided": True}
        ),
        "vocabulary": json.dumps(weights.vocabulary.tokens),
        "about": "",
    }
    match change:
        case "cut":
            path.write_bytes(data[: len(data) // 2])
            return
        case "empty":
            path.write_bytes(b"")
            return
        case "text":
            path.write_bytes(b"these are no weights at all, but a sentence")
            return
        case "large":
            with path.open("ab") as file:
                file.truncate(MAX_BYTES + 1)
            return
        case "nan":
            tensors["norm.bias"] = np.full(16, np.nan, np.float32)
        case "missing":
            del tensors["layer.1.out.bias"]
        case "shape":
            tensors["norm.bias"] = np.zeros(17, np.float32)
        case "dialect":
            told["vocabulary"] = json.dumps(["[task]", "JUMP", *weights.vocabulary.tokens[2:]])
        case "words":
            told["vocabulary"] = json.dumps([*weights.vocabulary.tokens[:-1], "Cola"])
        case "fewer words":
            told["vocabulary"] = json.dumps(weights.vocabulary.tokens[:-1])
        case "config":
            told["config"] = json.dumps({"width": 16})
        case "heads":
            told["config"] = told["config"].replace('"heads": 2', '"heads": 3')
        case "size":
            told["config"] = told["config"].replace('"positions": 40', '"positions": 1e9')
        case "visual_features":
            tensors["eyes.mix.1.weight"] = np.zeros((3, 3), np.float32)
        case "no eyes":
            del tensors["eyes.anything"]
    write_tensors(path, tensors, told)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("cut", "cut short|its header says"),
        ("empty", "cut short"),
        ("text", "cut short"),
        ("large", "longer than 20,000,000 bytes"),
        ("nan", "no numbers"),
        ("missing", r"another network \(layer.1.out.bias\)"),
        ("shape", "norm.bias"),
        ("dialect", "another version of the dialect"),
        ("words", "lower-case"),
        ("fewer words", "another network"),
        ("config", "another network"),
        ("heads", "multiple of heads"),
        ("size", "positions"),
        ("visual_features", "do not fit each other"),
        ("no eyes", "eyes.anything"),
    ],
)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path: Path, change: str, words: str) -> None:
    path = tmp_path / "tiny.safetensors"
    damaged(path, change)
    with pytest.raises(ToolError, match=words) as error:
        read_weights(path)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert str(error.value).startswith(f"{path} is no small policy's weights: ")
    assert len(str(error.value).removeprefix(str(path))) < 300


def test_no_file_is_told(tmp_path: Path) -> None:
    for read in (read_weights, read_kept):
        with pytest.raises(ToolError, match="No such file"):
            read(tmp_path / "none")


def test_without_shipped_weights_the_command_that_makes_them_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "SHIPPED_SHA256", "")
    shipped_weights.cache_clear()
    with pytest.raises(ToolError, match=r"toolhand train dirl --preset tiny.*tiny:FILE") as error:
        shipped_weights()
    assert error.value.code is ErrorCode.UNAVAILABLE
    monkeypatch.setattr(weights_module, "SHIPPED_SHA256", "0" * 64)
    monkeypatch.setattr(weights_module, "SHIPPED", Path("/nowhere/tiny.safetensors"))
    with pytest.raises(ToolError, match="are missing") as error:
        shipped_weights()
    assert error.value.code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"width": 30, "heads": 4},
        {"layers": 1.5},
        {"positions": 10**6},
        {"blind": 1},
        {"guided": 0},
        {"heads": -1},
    ],
)
def test_a_size_out_of_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ToolError) as error:
        TinyConfig(**wrong)  # type: ignore[arg-type]
    assert error.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_seed_below_nothing_is_refused() -> None:
    with pytest.raises(ToolError, match="0 or more"):
        fresh_weights(-1)
