"""Weights that cannot be used are refused before anything is read, each in one sentence."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.tool_nodes.models.conftest import Folder
from tests.tool_nodes.models.tiny import make_image
from toolhand.tool_nodes.models import loading
from toolhand.tool_nodes.models.depth_anything import DepthAnything
from toolhand.tool_nodes.models.depth_pro import DepthPro
from toolhand.tool_nodes.models.sam2 import Sam2
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import PointPrompt


@pytest.fixture
def copied(folder: Folder, tmp_path: Path) -> Path:
    """A segmenter's folder that may be damaged."""
    return Path(shutil.copytree(folder("sam2"), tmp_path / "sam2"))


def refused(spec: object, code: ErrorCode = ErrorCode.INVALID_ARGUMENT) -> str:
    with pytest.raises(ToolError) as raised:
        Sam2(str(spec))
    assert raised.value.code is code
    assert "\n" not in str(raised.value)
    return raised.value.message


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "There is no folder" in refused(tmp_path / "nothing")
    assert "no readable config.json" in refused(tmp_path)


def test_a_model_that_the_hub_does_not_give_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked = []

    def offline(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    message = refused("owner/name", ErrorCode.UNAVAILABLE)
    assert "the hub does not give a model of that name: OSError: no route to host" in message
    assert asked[0][0] == "owner/name"
    assert not [pattern for pattern in asked[0][1] if pattern.endswith((".bin", ".pt", ".py"))]


def test_a_name_of_the_hub_is_loaded_from_where_the_hub_put_it(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, allow_patterns: str(folder("sam2")))
    assert Sam2("owner/name").segment(make_image(), PointPrompt([(0.5, 0.5)])).backend == "sam2"


def test_another_architecture_is_told_apart(folder: Folder) -> None:
    assert "holds a model of the type 'depth_anything'; sam2 takes sam2" in refused(folder("depth_anything"))


def test_weights_that_are_missing_cut_short_or_longer_are_refused(copied: Path) -> None:
    file = copied / "model.safetensors"
    whole = file.read_bytes()
    for data, words in (
        (whole[:-100], "bytes, and its header says"),
        (whole + b"more", "bytes, and its header says"),
        (whole[:50], "is cut short, or no safetensors file"),
        (b"", "is cut short, or no safetensors file"),
        (b"\x02\0\0\0\0\0\0\0[]", "its header is no safetensors header"),
        ((20).to_bytes(8, "little") + b'{"a": {"shape": []}}', "described as no safetensors header does it"),
        (b"\x04\0\0\0\0\0\0\0nope", "is no whole safetensors file: it is no JSON"),
    ):
        file.write_bytes(data)
        assert words in refused(copied)
    file.unlink()
    assert "model.safetensors is missing" in refused(copied)


def test_pickled_weights_are_never_read(copied: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (copied / "sprung",)  # type: ignore[return-value]

    (copied / "model.safetensors").unlink()
    (copied / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    assert "holds pickled weights only (pytorch_model.bin)" in refused(copied)
    assert not (copied / "sprung").exists()


def test_a_shard_that_is_missing_is_named(copied: Path) -> None:
    tensors = safetensors.torch.load_file(copied / "model.safetensors")
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, part in parts.items():
        safetensors.torch.save_file({name: tensors[name] for name in part}, copied / file, {"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: file for file, part in parts.items() for name in part}}
    (copied / "model.safetensors.index.json").write_text(json.dumps(index))
    (copied / "model.safetensors").unlink()
    assert Sam2(str(copied)).device == "cpu"
    (copied / "b.safetensors").unlink()
    assert "The weights are incomplete" in refused(copied)
    assert "b.safetensors is missing" in refused(copied)


def test_a_tensor_that_is_missing_or_of_another_shape_is_no_noise(copied: Path) -> None:
    file = copied / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    dropped = "prompt_encoder.not_a_point_embed.weight"
    safetensors.torch.save_file({n: t for n, t in tensors.items() if n != dropped}, file, {"format": "pt"})
    assert f"lack 1 tensors of sam2, e.g. {dropped}" in refused(copied)
    safetensors.torch.save_file(tensors | {dropped: torch.zeros(1, 3)}, file, {"format": "pt"})
    assert "sam2 cannot be loaded from" in refused(copied)


def test_a_device_that_is_not_there_is_named(folder: Folder) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    message = refused(f"{folder('sam2')}?device=cuda", ErrorCode.UNAVAILABLE)
    assert message == "The device 'cuda' is not there: this machine has cpu."


def test_a_package_that_is_not_there_is_named_with_its_extra() -> None:
    with pytest.raises(ToolError) as raised:
        loading.needed("no_such_package")
    assert raised.value.code is ErrorCode.UNAVAILABLE
    assert "[models]" in raised.value.hint


def test_numbers_are_kept_as_they_were_asked_for(folder: Folder) -> None:
    half = Sam2(f"{folder('sam2')}?dtype=bfloat16")
    assert next(half._model.parameters()).dtype is torch.bfloat16
    assert next(Sam2(str(folder("sam2")))._model.parameters()).dtype is torch.float32
    masks = half.segment(make_image(), PointPrompt([(0.5, 0.5)])).value
    assert {one.mask.shape for one in masks} == {(60, 80)}
    depth = DepthAnything(f"{folder('depth_anything')}?dtype=bfloat16").estimate(make_image()).value[0]
    assert depth.dtype == np.float32


def test_depth_in_no_unit_is_refused(folder: Folder) -> None:
    with pytest.raises(ToolError, match="not metric"):
        DepthAnything(str(folder("depth_anything", "relative")))
    with pytest.raises(ToolError, match="without a model of the field of view"):
        DepthPro(str(folder("depth_pro", False)))
