"""The store: each image and text once, whole or not at all, and what it says is checked when it is read."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rollouts.images import ImageStore, hash_of

RGB = np.random.default_rng(3).integers(0, 256, (24, 32, 3), dtype=np.uint8)


def test_an_image_is_kept_once_and_comes_back_to_the_pixel(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    name = store.add(RGB)
    assert store.add(RGB.copy()) == name == ImageStore(tmp_path).add(np.asfortranarray(RGB))
    assert store.add(RGB.reshape(32, 24, 3)) != name, "the same bytes in another shape are another picture"
    np.testing.assert_array_equal(ImageStore(tmp_path).get(name), RGB)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2


def test_a_text_is_kept_once_and_comes_back_to_the_letter(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    for text in ("You are a robot.\r\n", "half a pair \ud83d", ""):
        name = store.add_text(text)
        assert store.add_text(text) == name
        assert ImageStore(tmp_path).get_text(name) == text


@pytest.mark.parametrize("wrong", [RGB[..., 0], RGB.astype(float), np.zeros((0, 4, 3), np.uint8), "picture"])
def test_what_is_no_image_is_refused(wrong: Any) -> None:
    with pytest.raises(ToolError, match="uint8 with the shape"):
        hash_of(wrong)


def test_a_file_that_is_gone_damaged_or_another_one_is_told(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    name, text = store.add(RGB), store.add_text("words")
    other = store.add(RGB[::-1].copy())
    whole = store.path(name).read_bytes()
    store.path(name).write_bytes(whole[:-40])
    with pytest.raises(ToolError, match=r"no picture .* that can be read: it is damaged"):
        store.get(name)
    store.path(name).write_bytes(store.path(other).read_bytes())
    with pytest.raises(ToolError, match="is not what it was"):
        store.get(name)
    store.path(name).unlink()
    with pytest.raises(ToolError, match=r"no picture .* that can be read: No such file"):
        store.get(name)
    (tmp_path / "texts" / f"{text}.txt").write_text("other words")
    with pytest.raises(ToolError, match="is not what it was"):
        store.get_text(text)
    for no_hash in ("../../etc/passwd", "A" * 64, ""):
        with pytest.raises(ToolError, match="is no SHA-256"):
            store.get(no_hash)
        with pytest.raises(ToolError, match="is no SHA-256"):
            store.get_text(no_hash)


def test_a_full_disk_gives_one_sentence_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ImageStore(tmp_path)

    def full(path: Path, content: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ToolError, match=r"Cannot write .*: No space left on device\. Check the folder") as error:
        store.add(RGB)
    assert error.value.code is ErrorCode.UNAVAILABLE
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    monkeypatch.undo()
    np.testing.assert_array_equal(store.get(store.add(RGB)), RGB)
