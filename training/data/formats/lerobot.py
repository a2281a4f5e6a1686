"""A LeRobot data set, version 3.0: `lerobot.datasets.lerobot_dataset.LeRobotDataset(name, root=DIR)` reads it.

    DIR/data/chunk-000/file-000.parquet ...             frames of some episodes, images inside as PNG
    DIR/meta/episodes/chunk-000/file-000.parquet ...    the same episodes, a row each: where they lie, their statistics
    DIR/meta/tasks.parquet, stats.json, info.json       of all episodes so far

| feature | shape | what |
|---|---|---|
| `observation.state` | (J + 1,) | measured joints [rad] and opening of the jaws [m] |
| `action` | (J + 1,) | the same one frame later: no command is logged |
| `observation.images.scene` | (H, W, 3) | the scene camera |
| `next.reward`, `next.success` | (1,) | the judge's, in the last frame; 0 and false before |
| `next.done` | (1,) | true in the last frame |

`meta/` is written anew after each file of frames, `info.json` last: a killed run leaves a data set of whole episodes.
Statistics are exact, also quantiles, over all frames and pixels; colours count in 0..1.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.sim.tasks.generation import TASKS_VERSION
from toolhand.tool_nodes.results import invalid
from toolhand.training.data.arrow import arrow, parquet_bytes, table_of
from toolhand.training.data.demonstrations import Demonstration
from toolhand.training.data.formats.shards import require_empty

VERSION = "v3.0"
CAMERA = "observation.images.scene"
"""Feature of the images."""

CHUNK_FILES, FILE_MB = 1000, 100
"""Files of a chunk and size of a file [MB], as LeRobot's own defaults."""
FILE_BYTES = 48 << 20
"""Bytes of images at which a file of frames is written, below FILE_MB: a killed run loses less."""

QUANTILES = (0.01, 0.10, 0.50, 0.90, 0.99)
"""Those that LeRobot keeps."""

_DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_EPISODES = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_LEVELS = 256
"""Of a colour."""


@dataclass
class _Rows:
    """Columns of frames."""

    frames: dict[str, Any]
    count: int


class LeRobotWriter:
    """Writes one data set.

    Args:
        folder: Where it goes; not there yet, or empty.

    Attributes:
        episodes, frames, successes: Numbers of them that are written or wait for their file.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder holds something; UNAVAILABLE without pyarrow.
    """

    def __init__(self, folder: Path) -> None:
        arrow()
        require_empty(folder)
        self.folder = folder
        self.episodes = self.frames = self.successes = 0
        self._first: Demonstration | None = None
        self._tasks: dict[str, int] = {}
        self._values: dict[str, list[NDArray[Any]]] = {}
        self._colours = np.zeros((3, _LEVELS), np.int64)
        self._waiting: list[_Rows] = []
        self._entries: list[dict[str, Any]] = []
        self._bytes = self._files = 0

    def add(self, shown: Demonstration) -> None:
        """Add an episode.

        Raises:
            ToolError: INVALID_ARGUMENT where its rate, joints, robot or image size are not those of the first;
                UNAVAILABLE where a file cannot be written.
        """
        self._require_alike(shown)
        count, index, episode = len(shown.states), self.frames, self.episodes
        task = self._tasks.setdefault(shown.text, len(self._tasks))
        last = np.arange(count) == count - 1
        values: dict[str, NDArray[Any]] = {
            "observation.state": shown.states,
            "action": shown.actions,
            "next.reward": np.where(last, shown.reward, 0.0).astype(np.float32),
            "next.done": last,
            "next.success": last & shown.success,
            "timestamp": (np.arange(count) / shown.fps).astype(np.float32),
            "frame_index": np.arange(count),
            "episode_index": np.full(count, episode),
            "index": np.arange(index, index + count),
            "task_index": np.full(count, task),
        }
        source_images = [_png(image) for image in shown.images]
        colours = np.stack([np.bincount(shown.images[..., k].ravel(), minlength=_LEVELS) for k in range(3)])
        self._colours += colours
        for name, value in values.items():
            self._values.setdefault(name, []).append(value)
        statistics = {name: statistics_of(value) for name, value in values.items()} | {
            CAMERA: colour_statistics(colours, count)
        }
        self._entries.append(
            {
                "episode_index": episode,
                "tasks": [shown.text],
                "length": count,
                "dataset_from_index": index,
                "dataset_to_index": index + count,
                "success": shown.success,
                "reward": shown.reward,
                "seed": shown.seed,
                **{f"stats/{name}/{key}": value for name, found in statistics.items() for key, value in found.items()},
            }
        )
        images = [{"bytes": png, "path": f"frame-{k:06d}.png"} for k, png in enumerate(source_images)]
        self._waiting.append(_Rows({CAMERA: images, **values}, count))
        self.episodes, self.frames = episode + 1, index + count
        self.successes += shown.success
        self._bytes += sum(map(len, source_images))
        if self._bytes >= FILE_BYTES:
            self.flush()

    def finish(self) -> None:
        """Write what is left. Raises ToolError INVALID_ARGUMENT without an episode; UNAVAILABLE as `add`."""
        self.flush()
        if not self.episodes:
            raise invalid("There is no episode to be written.")

    def document(self) -> dict[str, Any]:
        """What was written, as a JSON document."""
        return {"episodes": self.episodes, "frames": self.frames, "successes": self.successes, "files": self._files}

    def __str__(self) -> str:
        done = f"{self.successes} of them done by the simulator's truth"
        return f"{self.folder}: {self.episodes} episodes ({done}), {self.frames} frames in {self._files} files"

    def flush(self) -> None:
        """Write what waits, and then `meta/`. Raises ToolError UNAVAILABLE where a file cannot be written."""
        if not self._waiting or self._first is None:
            return
        place = {"chunk_index": self._files // CHUNK_FILES, "file_index": self._files % CHUNK_FILES}
        features = self._features()
        schema = _frame_schema(features)
        tables = [table_of(_rows(rows), schema) for rows in self._waiting]
        write_atomically(self.folder / _DATA.format(**place), parquet_bytes(tables), durable=True)
        located = {f"{part}/{name}": value for part in ("data", "meta/episodes") for name, value in place.items()}
        entries = [entry | located for entry in self._entries]
        write_atomically(
            self.folder / _EPISODES.format(**place), parquet_bytes([arrow().Table.from_pylist(entries)]), durable=True
        )
        statistics = {name: statistics_of(np.concatenate(values)) for name, values in self._values.items()}
        statistics[CAMERA] = colour_statistics(self._colours, self.frames)
        write_atomically(self.folder / "meta/tasks.parquet", _tasks_file(self._tasks), durable=True)
        self._write_json("meta/stats.json", statistics)
        self._write_json(
            "meta/info.json",
            {
                "codebase_version": VERSION,
                "robot_type": self._first.robot,
                "total_episodes": self.episodes,
                "total_frames": self.frames,
                "total_tasks": len(self._tasks),
                "chunks_size": CHUNK_FILES,
                "data_files_size_in_mb": FILE_MB,
                "video_files_size_in_mb": FILE_MB,
                "fps": self._first.fps,
                "splits": {"train": f"0:{self.episodes}"},
                "data_path": _DATA,
                "video_path": None,
                "features": features,
                "tasks_version": TASKS_VERSION,
            },
        )
        self._files += 1
        self._bytes = 0
        self._waiting, self._entries = [], []

    def _write_json(self, name: str, document: Mapping[str, Any]) -> None:
        write_atomically(self.folder / name, f"{json.dumps(document, indent=4)}\n".encode(), durable=True)

    def _require_alike(self, shown: Demonstration) -> None:
        first = self._first = self._first or shown
        for name, mine, its in (
            ("rate", first.fps, shown.fps),
            ("robot", first.robot, shown.robot),
            ("joints", first.names, shown.names),
            ("picture size", first.images.shape[1:], shown.images.shape[1:]),
        ):
            if mine != its:
                raise invalid(f"All episodes of a data set have one {name}: {mine}, not {its}.")

    def _features(self) -> dict[str, Any]:
        assert self._first is not None
        vector = {"dtype": "float32", "shape": [len(self._first.names)], "names": list(self._first.names)}
        image = {
            "dtype": "image",
            "shape": list(self._first.images.shape[1:]),
            "names": ["height", "width", "channels"],
        }
        single = {
            "next.reward": "float32",
            "next.done": "bool",
            "next.success": "bool",
            "timestamp": "float32",
            "frame_index": "int64",
            "episode_index": "int64",
            "index": "int64",
            "task_index": "int64",
        }
        return {
            CAMERA: image,
            "observation.state": vector,
            "action": vector,
            **{name: {"dtype": kind, "shape": [1], "names": None} for name, kind in single.items()},
        }


# -- statistics ------------------------------------------------------------------------------------


def statistics_of(values: NDArray[Any]) -> dict[str, list[float]]:
    """Of each column of (N,) or (N, D) values: min, max, mean, std (ddof 0), quantiles; and their count, (1,)."""
    columns = values.reshape(len(values), -1).astype(np.float64)
    found = {
        "min": columns.min(0),
        "max": columns.max(0),
        "mean": columns.mean(0),
        "std": columns.std(0),
        "count": np.array([len(columns)]),
    }
    quantiles = np.quantile(columns, QUANTILES, axis=0)
    found |= {_quantile(q): row for q, row in zip(QUANTILES, quantiles, strict=True)}
    return {name: value.tolist() for name, value in found.items()}


def colour_statistics(counts: NDArray[np.int64], frames: int) -> dict[str, Any]:
    """Of each channel, from how often each level occurs, (3, 256); values in 0..1 and of the shape (3, 1, 1)."""
    levels = np.arange(_LEVELS) / (_LEVELS - 1)
    total = counts.sum(1)
    mean = counts @ levels / total
    cumulative = counts.cumsum(1)
    found = {
        "min": levels[(counts > 0).argmax(1)],
        "max": levels[_LEVELS - 1 - (counts[:, ::-1] > 0).argmax(1)],
        "mean": mean,
        "std": np.sqrt(np.maximum(counts @ levels**2 / total - mean**2, 0.0)),
        **{_quantile(q): levels[(cumulative >= q * total[:, None]).argmax(1)] for q in QUANTILES},
    }
    return {name: value.reshape(3, 1, 1).tolist() for name, value in found.items()} | {"count": [frames]}


def _quantile(q: float) -> str:
    return f"q{round(100 * q):02d}"


# -- Parquet ---------------------------------------------------------------------------------------


def _png(image: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def _rows(rows: _Rows) -> list[dict[str, Any]]:
    columns = {name: column if isinstance(column, list) else column.tolist() for name, column in rows.frames.items()}
    return [{name: column[k] for name, column in columns.items()} for k in range(rows.count)]


def _frame_schema(features: Mapping[str, Any]) -> Any:
    """The columns of the frames, with the features that `datasets` reads from the metadata."""
    pa = arrow()
    kinds = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_()}
    columns: list[tuple[str, Any]] = []
    known: dict[str, Any] = {}
    for name, feature in features.items():
        kind, size = feature["dtype"], feature["shape"][0]
        if kind == "image":
            columns.append((name, pa.struct([("bytes", pa.binary()), ("path", pa.string())])))
            known[name] = {"_type": "Image"}
        elif feature["shape"] == [1]:
            columns.append((name, kinds[kind]))
            known[name] = {"dtype": kind, "_type": "Value"}
        else:
            columns.append((name, pa.list_(kinds[kind], size)))
            known[name] = {"feature": {"dtype": kind, "_type": "Value"}, "length": size, "_type": "List"}
    return pa.schema(columns, metadata={"huggingface": json.dumps({"info": {"features": known}})})


def _tasks_file(tasks: Mapping[str, int]) -> bytes:
    """The table that pandas reads with the sentence as its index."""
    pa = arrow()
    columns = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy_type, "metadata": None}
        for name, kind, numpy_type in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": columns,
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.3.0",
    }
    schema = pa.schema([("task_index", pa.int64()), ("task", pa.string())], metadata={"pandas": json.dumps(pandas)})
    return parquet_bytes(
        [pa.Table.from_pydict({"task_index": list(tasks.values()), "task": list(tasks)}, schema=schema)]
    )
