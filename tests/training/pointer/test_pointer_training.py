"""Training of the pointer in seconds: the same seed, a killed run, what is refused, and numpy against torch."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tool_nodes.perception.learned.forward import network_input
from tool_nodes.perception.learned.reading import Named, read_phrase
from tool_nodes.perception.learned.weights import PointerWeights, read_weights, write_weights
from tool_nodes.results import ErrorCode, ToolError
from training.pointer.batch import Batch, PhraseBook, WordList
from training.pointer.data import PictureSet, cell_truth, joined, make_pictures
from training.pointer.evaluation import area_under_roc, platt
from training.pointer.phrases import held_out
from training.pointer.train import CHECKPOINT, LOG, WEIGHTS, PointerTraining, train_pointer

TINY = PointerTraining(scenes=16, validation_scenes=2, epochs=2, test_scenes=2, threads=1)


def trained(pictures: Path, out: Path, training: PointerTraining = TINY, minutes: float | None = None) -> bytes:
    shutil.copytree(pictures, out / "pictures", dirs_exist_ok=True)
    train_pointer(training, out, processes=1, minutes=minutes)
    return (out / WEIGHTS).read_bytes()


def test_a_run_that_was_killed_goes_on_to_the_same_weights(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.pointer.network import PointerTrainer

    whole = trained(pictures, tmp_path / "whole")
    step = PointerTrainer.step

    def dies_in_the_second_epoch(self: PointerTrainer, batch: Batch) -> tuple[float, dict[str, tuple[int, int]]]:
        if self.step_number == 1:
            raise KeyboardInterrupt
        return step(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(PointerTrainer, "step", dies_in_the_second_epoch)
        with pytest.raises(KeyboardInterrupt):
            trained(pictures, tmp_path / "killed")
    assert not (tmp_path / "killed" / WEIGHTS).exists()
    assert len((tmp_path / "killed" / LOG).read_text().splitlines()) == 1
    assert trained(pictures, tmp_path / "killed") == whole


def test_epochs_that_take_too_long_are_left_out(pictures: Path, tmp_path: Path) -> None:
    trained(pictures, tmp_path, minutes=1e-9)
    assert "0 of 2 epochs" in (tmp_path / "pointer.md").read_text(encoding="utf-8")


def _book(pictures: Path) -> tuple[PictureSet, WordList]:
    shown = make_pictures(pictures, "train", 0, 16)
    return shown, WordList.of(read_phrase(phrase.text) for phrases in shown.phrases for phrase in phrases)


def _sizes(pictures: Path) -> tuple[int, int]:
    vocabulary = _book(pictures)[1]
    return len(vocabulary.words), len(vocabulary.heads)


def test_the_same_seed_makes_the_same_pictures_and_phrases(pictures: Path, tmp_path: Path) -> None:
    again, first = make_pictures(tmp_path, "test", 0, 2), make_pictures(pictures, "test", 0, 2)
    assert np.array_equal(again.rgb, first.rgb)
    assert np.array_equal(again.depth, first.depth, equal_nan=True)
    assert again.phrases == first.phrases


def test_numpy_gives_what_torch_gives(pictures: Path) -> None:
    from training.pointer.network import PointerTrainer, exported, scores_of

    shown, vocabulary = _book(pictures)
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), 4, 0, 1)
    for batch in PhraseBook(shown, vocabulary).batches(8, np.random.default_rng(0)):
        trainer.step(batch)  # so that the batch normalisation is not the one of the beginning
    network = PointerWeights(exported(trainer.network), vocabulary.words, vocabulary.heads).network
    picture = network_input(shown.rgb[0], shown.depth[0], shown.K, shown.T_base_camera[0])
    seen = network.encode(picture)
    word, head = vocabulary.words[5], vocabulary.heads[3]
    features, scores = scores_of(trainer.network, picture, [5], 3)
    assert np.allclose(seen.features, features, atol=2e-4)
    assert np.allclose(network.what(seen, Named((word,), head)), scores, atol=1e-3)


def test_places_are_judged_alike_in_numpy_and_torch(pictures: Path) -> None:
    import torch

    from training.pointer.network import PointerTrainer, Rows, exported

    shown, vocabulary = _book(pictures)
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), 4, 0, 1)
    phrase = next(p.text for phrases in shown.phrases for p in phrases if p.kind == "beside")
    scene = next(k for k, phrases in enumerate(shown.phrases) if any(p.text == phrase for p in phrases))
    book = PhraseBook(replace_phrases(shown, scene, phrase), vocabulary)
    batch = book.batch([scene], np.random.default_rng(0))
    trainer.network.eval()
    with torch.no_grad():
        features = trainer.network.encode(torch.from_numpy(batch.pictures))
        joint = trainer.network.where(features, torch.from_numpy(batch.place), Rows.of(batch.places))
    network = PointerWeights(exported(trainer.network), vocabulary.words, vocabulary.heads).network
    mine, _ = network.where(network.encode(batch.pictures[0]), read_phrase(phrase))
    assert np.allclose(mine, joint[0, -1].numpy(), atol=1e-3)


def test_pictures_without_depth_are_colour_alone_and_keep_their_places(pictures: Path) -> None:
    shown, vocabulary = _book(pictures)
    book = PhraseBook(shown, vocabulary)
    seen, blind = (book.batch([0, 1], np.random.default_rng(0), without_depth=share) for share in (0.0, 1.0))
    assert not blind.pictures[:, 3:].any()
    assert np.array_equal(blind.pictures[:, :3], seen.pictures[:, :3])
    assert seen.pictures[:, 3:].any()
    assert np.array_equal(blind.place, seen.place)


def test_weights_that_were_written_out_are_read_back_into_the_same_network(pictures: Path) -> None:
    import torch

    from training.pointer.network import PointerTrainer, exported

    shown, vocabulary = _book(pictures)
    sizes = len(vocabulary.words), len(vocabulary.heads)
    trainer = PointerTrainer(*sizes, 4, 0, 1)
    batch = PhraseBook(shown, vocabulary).batch([0, 1], np.random.default_rng(0))
    trainer.step(batch)
    weights = PointerWeights(exported(trainer.network), vocabulary.words, vocabulary.heads)
    again = PointerTrainer(*sizes, 4, 1, 1, weights)
    for name, tensor in exported(again.network).items():
        assert np.allclose(tensor, weights.tensors[name], rtol=1e-5, atol=1e-6), name
    shown_to = torch.from_numpy(batch.pictures)
    with torch.no_grad():
        features = [network.eval().encode(shown_to) for network in (trainer.network, again.network)]
    assert torch.allclose(*features, atol=1e-4)
    with pytest.raises(ToolError, match="another size") as raised:
        PointerTrainer(sizes[0] + 1, sizes[1], 4, 1, 1, weights)
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


def replace_phrases(pictures: PictureSet, scene: int, text: str) -> PictureSet:
    """The set, in which one phrase is all that is said of a scene."""
    kept = [
        [p for p in phrases if p.text == text] if k == scene else phrases for k, phrases in enumerate(pictures.phrases)
    ]
    return replace(pictures, phrases=kept)


def test_steps_on_one_scene_bring_its_phrases_to_their_things(pictures: Path) -> None:
    from training.pointer.network import PointerTrainer

    shown, vocabulary = _book(pictures)
    book = PhraseBook(shown, vocabulary)
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), 60, 0, 1)
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(60):
        _, tally = trainer.step(book.batch([0, 1], rng))
        right, n = tally["things"]
        hits.append(right / n)
    assert np.mean(hits[-5:]) > np.mean(hits[:5]) + 0.4


def test_no_phrase_that_is_held_out_is_trained_on(pictures: Path) -> None:
    shown = make_pictures(pictures, "train", 0, 16)
    read = {read_phrase(phrase.text) for phrases in shown.phrases for phrase in phrases}
    assert held_out()
    assert not read & held_out()


def test_the_truth_of_a_cell_is_the_thing_in_its_middle(pictures: Path) -> None:
    shown = make_pictures(pictures, "test", 0, 2)
    truth = cell_truth(shown.ids[0])
    for thing in np.flatnonzero(truth.seen):
        row, column = divmod(int(truth.centres[thing]), 40)
        assert shown.ids[0][4 * row + 2, 4 * column + 2] == thing


def test_a_folder_of_another_training_is_refused(pictures: Path, tmp_path: Path) -> None:
    trained(pictures, tmp_path, replace(TINY, epochs=1))
    with pytest.raises(ToolError, match="holds another training") as raised:
        train_pointer(replace(TINY, epochs=3), tmp_path, processes=1)
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT
    (tmp_path / CHECKPOINT).write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ToolError, match="is damaged or of another training"):
        train_pointer(replace(TINY, epochs=1), tmp_path, processes=1)


def test_a_loss_that_is_no_number_stops_the_training(pictures: Path) -> None:
    from training.pointer.network import PointerTrainer

    shown, vocabulary = _book(pictures)
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), 2, 0, 1)
    batch = PhraseBook(shown, vocabulary).batch([0, 1], np.random.default_rng(0))
    batch.pictures[0, 0, 0, 0] = np.nan
    with pytest.raises(ToolError, match="not a number") as raised:
        trainer.step(batch)
    assert raised.value.code is ErrorCode.INTERNAL
    assert trainer.step_number == 0


def test_a_damaged_file_of_pictures_is_named(pictures: Path, tmp_path: Path) -> None:
    shutil.copytree(pictures, tmp_path / "pictures")
    file = next((tmp_path / "pictures").glob("train-*.npz"))
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(ToolError, match="is damaged") as raised:
        make_pictures(tmp_path / "pictures", "train", 0, 16)
    assert file.name in raised.value.message


def test_without_torch_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "training.pointer.network", raising=False)
    with pytest.raises(ToolError, match="needs torch") as raised:
        train_pointer(TINY, tmp_path, processes=1)
    assert raised.value.code is ErrorCode.UNAVAILABLE
    assert "[learn]" in raised.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [{"scenes": 3}, {"epochs": 0}, {"seed": -1}, {"without_products": 60}])
def test_a_training_that_makes_no_sense_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ToolError):
        PointerTraining(**wrong)


def test_a_full_disk_leaves_no_half_written_weights(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = read_weights_of(pictures, tmp_path)
    target = tmp_path / "again.safetensors"
    write_weights(weights, target)
    before = target.read_bytes()

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_weights(weights, target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["again.safetensors"]


def read_weights_of(pictures: Path, folder: Path) -> PointerWeights:
    """An untrained network's weights."""
    from training.pointer.network import PointerTrainer, exported

    vocabulary = _book(pictures)[1]
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), 1, 0, 1)
    return PointerWeights(exported(trainer.network), vocabulary.words, vocabulary.heads)


def test_weights_are_read_back_as_written_and_by_the_safetensors_package(pictures: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    weights = read_weights_of(pictures, tmp_path)
    write_weights(weights, tmp_path / "w.safetensors")
    back = read_weights(tmp_path / "w.safetensors")
    theirs = safetensors.load_file(tmp_path / "w.safetensors")
    assert back.words == weights.words
    assert set(theirs) == set(weights.tensors)
    for name, tensor in weights.tensors.items():
        assert np.array_equal(back.tensors[name], tensor)
        assert np.array_equal(theirs[name], tensor)


def test_the_area_under_the_curve_counts_pairs() -> None:
    assert area_under_roc([0.9, 0.8, 0.1], [True, True, False]) == 1.0
    assert area_under_roc([0.5, 0.5], [True, False]) == 0.5
    assert area_under_roc([0.5, 0.6], [True, True]) is None


def test_calibrated_scores_are_right_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(0.0, 2.0, 20000)
    right = rng.random(20000) < 1.0 / (1.0 + np.exp(-(0.5 * score - 1.0)))
    a, b = platt(np.column_stack([1.0 / (1.0 + np.exp(-score)), right]))
    assert (a, b) == pytest.approx((0.5, -1.0), abs=0.08)


def test_sets_are_joined_in_order(pictures: Path) -> None:
    one = make_pictures(pictures, "test", 0, 2)
    assert len(joined([one, one])) == 4
