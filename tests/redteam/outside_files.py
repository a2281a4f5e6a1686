"""Files as somebody hostile would leave them where one of ours is expected, and all that reads files from outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.training.data.rollouts_at_hand import rollout
from toolhand.agent_node.policies.replay import read_record
from toolhand.agent_node.runs.index import read_result
from toolhand.agent_node.runs.mcap.reading import read_run
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.scene.files import load_scene
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.models.loading import check_weights, read_config
from toolhand.tool_nodes.ros.proofs import read_token
from toolhand.tool_nodes.serve.config import read_config as read_served
from toolhand.tool_nodes.toolbox.image_files import USUAL, ImageFileError, opened
from toolhand.tool_nodes.tools.last.loading import load_skill
from toolhand.training.data.public_sets import RowError, rows_of
from toolhand.training.rollouts.branching import plan_of
from toolhand.training.rollouts.collection import read_rollouts, write_shard
from toolhand.training.rollouts.images import ImageStore

DIGITS = b"1" + b"0" * 400


def _written(content: bytes) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content)


def _socket(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # a socket's name has at most 107 characters
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(before)


def _endless(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 42)


HOSTILE: Mapping[str, Callable[[Path], Any]] = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
    "a socket": _socket,
    "a folder": lambda path: path.mkdir(),
    "a file of 4 TB": _endless,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to a process's memory": lambda path: path.symlink_to("/proc/self/mem"),
    "nothing in it": _written(b""),
    "zeros": _written(bytes(5000)),
    "noise": _written(bytes(range(256)) * 20),
    "another encoding": _written("{ä: 1}".encode("utf-16")),
    "deep lists": _written(b"[" * 200_000),
    "deep mappings": _written(b'{"a":' * 100_000),
    "an infinite number": _written(b'{"total": 1e999}\n'),
    "a number of 400 digits": _written(b'{"total": ' + DIGITS + b"}\n"),
    "no number": _written(b'{"total": NaN}\n'),
    "a text": _written(b'"text"\n'),
    "null": _written(b"null\n"),
}
"""What lies where a file is expected, made by each."""


def _in_store(read: Callable[[ImageStore], Any]) -> Callable[[Path], Any]:
    return lambda path: read(ImageStore(path.parents[1] if path.suffix == ".txt" else path.parents[2]))


def _rows(path: Path) -> None:
    for _, row in rows_of(path):
        if isinstance(row, RowError):
            raise row
        if not isinstance(row, Mapping):
            raise AssertionError(row)


def _all(rows: Iterator[Any]) -> list[Any]:
    return list(rows)


HASH = "0" * 64

READERS: Mapping[str, tuple[str, Callable[[Path], Any]]] = {
    "a shard of rollouts": ("shards/00000.jsonl", lambda path: _all(read_rollouts(path.parents[1]))),
    "a picture of rollouts": (f"pictures/00/{HASH}.png", _in_store(lambda store: store.get(HASH))),
    "a text of rollouts": (f"texts/{HASH}.txt", _in_store(lambda store: store.get_text(HASH))),
    "a plan of rollouts": ("plan.json", lambda path: plan_of(path.parent)),
    "the result of a run": ("result.json", read_result),
    "the record of a run": ("trajectory.jsonl", read_record),
    "a recording": ("run.mcap", read_run),
    "a scene": ("scene.yaml", load_scene),
    "a catalogue": ("catalogue.yaml", load_catalogue),
    "a skill": ("skill.yaml", load_skill),
    "what is served": ("serve.yaml", read_served),
    "a data set of the mock robot": ("dataset.yaml", lambda path: read_dataset(path.parent)),
    "a picture": ("picture.png", lambda path: opened(path, USUAL).__enter__()),
    "a model's configuration": ("config.json", lambda path: read_config("qwen", path.parent, ["qwen2_vl"])),
    "a model's weights": ("model.safetensors", lambda path: check_weights(path.parent)),
    "a model's index": ("model.safetensors.index.json", lambda path: check_weights(path.parent)),
    "a token": ("token", lambda path: read_token(path)),
    "a public set": ("rows.json", _rows),
}
"""Where each looks, below a folder, and how it is asked."""

REFUSED = (RowError, ImageFileError)
"""How parts refuse that only add the end of a sentence; all others do with a ToolError."""

HARMLESS = {"a shard of rollouts": ("nothing in it",), "what is served": ("null",)}
"""What is no file as it should be and holds nothing either, by its reader."""


def a_rollout(folder: Path) -> None:
    """A collection of one good record."""
    store = ImageStore(folder)
    write_shard(folder, 0, [rollout(store).to_json(store)])
