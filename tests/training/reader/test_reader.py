"""The learned reader: its corpus, its network in PyTorch and in NumPy, and weights that it cannot use."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from toolhand.agent_node.plan.grammar import symbols
from toolhand.agent_node.plan.learned import END_SYMBOL, START_SYMBOL, WEIGHTS_FILE, LearnedReader
from toolhand.agent_node.plan.network import ArrayNetwork
from toolhand.agent_node.plan.pieces import PieceVocabulary, words_of
from toolhand.agent_node.plan.reading import is_plan
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.reader.corpus import WORDS, SaidPlan, Varied, load, target
from toolhand.training.reader.fit import Sampler, batch, vocabulary
from toolhand.training.reader.network import ReaderNetwork

SAID = SaidPlan("a", "1", "could you grab the blorp by the bowl", "", "pick up the blorp that is next to the bowl")
PIECES = ("[CLS]", "[SEP]", "[UNK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"))


def test_words_are_split_into_the_longest_pieces() -> None:
    vocabulary = PieceVocabulary((*PIECES, "blo", "##rp"))
    source = vocabulary.encode("the Blorp, déjà", "pick up it")
    assert source.words == ("the", "blorp", ",", "deja", "pick", "up", "it")
    assert vocabulary.pieces("blorp") == [len(PIECES), len(PIECES) + 1]
    assert vocabulary.pieces(",") == [2]
    assert source.types.count(1) == sum(map(len, ("pick", "up", "it"))) + 1
    assert [source.ids[k] for k in source.starts[:2]] == [PIECES.index("t"), len(PIECES)]


def test_words_of_a_plan_are_copied_from_the_nearest_spelling() -> None:
    steps = target(SAID, words_of(SAID.said))
    assert [(words, places) for terminal, words, places in steps if terminal == "WORD"] == [
        ("blorp", (4,)),
        ("bowl", (7,)),
    ]
    slipped = target(SAID, words_of("grab the blrop by the bowl"))
    assert ("WORD", "blorp", (2,)) in slipped


def test_the_corpus_is_read_and_what_is_varied_stays_a_plan() -> None:
    authors = sorted(path.name for path in WORDS.iterdir() if path.is_dir())
    assert len(authors) >= 10
    readings = load(WORDS / authors[1])
    assert len(readings) > 800
    assert any(reading.context for reading in readings)
    varied = list(Varied(["tin of beans", "fork"], seed=3).epoch(readings[:300]))
    assert all(is_plan(reading.plan) for reading in varied)
    assert (
        sum(a != b for a, b in zip(sorted(r.said for r in readings[:300]), sorted(r.said for r in varied), strict=True))
        > 100
    )
    assert list(Varied(["fork"], seed=3).epoch(readings[:20])) == list(Varied(["fork"], seed=3).epoch(readings[:20]))


def _weights(folder: Path, fixed: tuple[str, ...]) -> ReaderNetwork:
    torch.manual_seed(5)
    network = ReaderNetwork(len(PIECES), len(fixed)).eval()
    about = {"pieces": json.dumps(PIECES), "symbols": json.dumps(fixed), "fixed": str(len(fixed))}
    save_file(
        {name: weight.contiguous() for name, weight in network.state_dict().items()}, str(folder / WEIGHTS_FILE), about
    )
    return network


def test_both_networks_compute_the_same(tmp_path: Path) -> None:
    known = vocabulary([SAID], PIECES, frozenset())
    network = _weights(tmp_path, known.symbols)
    sample = Sampler(known).sample(SAID)
    assert sample is not None
    arrays = batch([sample])
    with torch.no_grad():
        states = network.read(arrays["ids"], arrays["types"], arrays["there"])
        scores = network.write(states, arrays["there"], *(arrays[k] for k in ("starts", "words", "symbols", "copies")))
    expected = torch.log_softmax(scores, dim=2)[0].numpy()
    weights = {name: weight.numpy() for name, weight in network.state_dict().items()}
    decoder = ArrayNetwork(weights).read(sample.source)
    steps = [decoder.next(symbol, copied) for symbol, copied in zip(sample.symbols, sample.copies, strict=True)]
    np.testing.assert_allclose(np.stack(steps), expected, atol=2e-4)


def test_whatever_the_weights_are_a_plan_is_written(tmp_path: Path) -> None:
    _weights(tmp_path, (START_SYMBOL, END_SYMBOL, *sorted(symbols())))
    reader = LearnedReader(tmp_path)
    for said in ("put it in the bin", "", "?", "bla " * 3000):
        found = reader.read(said, "pick up the can")
        assert found is None or 0.0 <= found.certainty <= 1.0


@pytest.mark.parametrize("spoilt", ["missing", "cut short", "no weights", "other version"])
def test_weights_that_cannot_be_used_are_one_sentence(tmp_path: Path, spoilt: str) -> None:
    fixed = (
        (START_SYMBOL, END_SYMBOL, "an act of tomorrow")
        if spoilt == "other version"
        else (START_SYMBOL, END_SYMBOL, *sorted(symbols()))
    )
    _weights(tmp_path, fixed)
    path = tmp_path / WEIGHTS_FILE
    if spoilt == "missing":
        path.unlink()
    elif spoilt == "cut short":
        path.write_bytes(path.read_bytes()[:100_000])
    elif spoilt == "no weights":
        save_file({"other": torch.zeros(2)}, str(path))
    with pytest.raises(ToolError) as refused:
        LearnedReader(tmp_path)
    assert refused.value.code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan")])
def test_a_share_of_noise_that_is_none_is_refused(noise: float) -> None:
    with pytest.raises(ToolError, match=r"must be from 0 to 1, got") as refused:
        Varied(["fork"], seed=3, noise=noise)
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
