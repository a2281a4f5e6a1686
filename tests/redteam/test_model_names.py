"""Model folders and names of the hub: nothing pickled is read, no code of a folder runs, no name leads elsewhere."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.tool_nodes.models import loading
from toolhand.tool_nodes.models.spec import parse_address, parse_model, parse_server
from toolhand.tool_nodes.results import ErrorCode, ToolError

NAMES = [
    "",
    ".",
    "..",
    "../x",
    "/etc",
    "/no/such",
    "a",
    "a/b/c",
    "a//b",
    "/a/b",
    "./a/b",
    "../a/b",
    "a/..",
    "-a/b",
    "a/b ",
    "a b/c",
    "a/b\n",
    "a/b\0",
    "https://hub.example/a/b",
    "hf://a/b",
    "a/b@main",
    "a/b?x=1",
    "a\\b",
    "ä/b",
    "~/no/such",
    "a" * 10_000,
    "a/" + "b" * 300,
    "file:a/b",
    "a/b;rm",
    "$(id)/b",
    "%2e%2e/b",
]

SERVERS = [
    "",
    "m",
    "m@",
    "@http://h",
    "m@h",
    "m@ftp://h",
    "m@file:///etc/passwd",
    "m@http://",
    "m@http://u:p@h",
    "m@http://h#f",
    "m@http://h:0",
    "m@http://h:99999",
    "m@http://h\n",
    "m@http://a b",
    "m@gopher://h",
    "m@javascript:x",
    "m@//h",
    "m@http://h?x=1",
    "m@http://h?batch=0",
    "m@http://h?batch=1e999",
    "m@http://h?batch=nan",
    "m@http://[::1",
]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_that_is_no_folder_and_no_name_of_the_hub_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def asked(package: str) -> Any:
        raise AssertionError(f"the hub was asked for {name!r}")

    monkeypatch.setattr(loading, "needed", asked)
    monkeypatch.chdir(tmp_path)
    with refused(ErrorCode.INVALID_ARGUMENT, within=500):
        loading.read_config("qwen", loading.folder_of("qwen", name), ["qwen2_vl"])


@pytest.mark.parametrize("text", SERVERS, ids=range(len(SERVERS)))
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, within=500):
        parse_server("pointing", text)


@pytest.mark.parametrize(
    "text", ["", ":5", "h:", "h:-1", "h:99999", "h:1e3", "tcp://", "ipc:///x", "h/x", "h h", "h\n", "h:٣٣٣٣٣٣"]
)
def test_a_socket_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ToolError):
        parse_address("graspgen", text, 5556, {})


@pytest.mark.parametrize(
    "text", ["w?device=rm", "w?dtype=object", "w?batch=-1", "w?x=1", "w?batch=1&batch=2", "w?device=cuda:x"]
)
def test_options_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ToolError):
        parse_model("sam2", text)


def _safetensors(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def _index(folder: Path, weight_map: Any) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


WEIGHTS: dict[str, Callable[[Path], Any]] = {
    "nothing": lambda folder: None,
    "pickled": lambda folder: (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cposix\nsystem\n."),
    "pickled by another name": lambda folder: (folder / "model.safetensors").write_bytes(b"\x80\x04cposix\nsystem\n."),
    "an index that leads out": lambda folder: _index(folder, {"a": "../../secret.safetensors"}),
    "an index to an absolute name": lambda folder: _index(folder, {"a": "/etc/passwd"}),
    "an index to a pickle": lambda folder: (
        (folder / "x.bin").write_bytes(b"\x80\x04."),
        _index(folder, {"a": "x.bin"}),
    ),
    "an index of numbers": lambda folder: _index(folder, {"a": 7}),
    "an index of lists": lambda folder: _index(folder, [["a", "b"]]),
    "an index of mixed kinds": lambda folder: _index(folder, {"a": "x", "b": 7}),
    "an index of mappings": lambda folder: _index(folder, {"a": {"b": "c"}}),
    "an index of nothing": lambda folder: _index(folder, {}),
    "a header of 2^63 bytes": lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 8 + b"{}"),
    "a header that is a list": lambda folder: (folder / "model.safetensors").write_bytes(_safetensors([1])),
    "offsets of 400 digits": lambda folder: (folder / "model.safetensors").write_bytes(
        _safetensors(b'{"a": {"data_offsets": [0, 1' + b"0" * 400 + b"]}}")
    ),
    "offsets that are texts": lambda folder: (folder / "model.safetensors").write_bytes(
        _safetensors({"a": {"data_offsets": ["0", "4"]}})
    ),
    "offsets below zero": lambda folder: (folder / "model.safetensors").write_bytes(
        _safetensors({"a": {"data_offsets": [0, -9]}})
    ),
    "offsets of infinity": lambda folder: (folder / "model.safetensors").write_bytes(
        _safetensors(b'{"a": {"data_offsets": [0, 1e999]}}')
    ),
    "a body that is cut": lambda folder: (folder / "model.safetensors").write_bytes(
        _safetensors({"a": {"data_offsets": [0, 4]}}, b"xx")
    ),
    "a pipe": lambda folder: os.mkfifo(folder / "model.safetensors"),
    "a device": lambda folder: (folder / "model.safetensors").symlink_to("/dev/zero"),
    "an index that is a pipe": lambda folder: os.mkfifo(folder / "model.safetensors.index.json"),
    "an index to a pipe": lambda folder: (os.mkfifo(folder / "p.safetensors"), _index(folder, {"a": "p.safetensors"})),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_that_are_none_are_refused_before_a_tensor_is_read(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path.parent / "secret.safetensors").write_bytes(_safetensors({}))
    WEIGHTS[kind](folder)
    with refused(ErrorCode.INVALID_ARGUMENT, within=600):
        loading.check_weights(folder)


@pytest.mark.parametrize(
    "config",
    [
        "{}",
        "[]",
        "7",
        '{"model_type": null}',
        '{"model_type": ["qwen2_vl"]}',
        '{"model_type": "evil"}',
        "{",
        "NaN",
        '{"auto_map": {"AutoModel": "evil.Model"}}',
        '{"model_type": "' + "x" * 10_000 + '"}',
        '{"model_type": 1e999}',
        "[" * 100_000,
    ],
)
def test_a_configuration_of_another_model_is_refused(config: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(config)
    with refused(ErrorCode.INVALID_ARGUMENT, within=500):
        loading.read_config("qwen", tmp_path, ["qwen2_vl"])
