"""Recorded RGB-D frames on disk: the data behind the mock robot.

A data set is a folder:

    dataset.yaml            name, seed, n (frames), made (how it was made)
    000/, 001/, ...         one folder a frame:
        image.png           8-bit RGB
        depth.png           16-bit grey, distance along the optical axis in millimetres, 0 where unknown
                            (what ROS's depth pictures call 16UC1)
        frame.yaml          K (3x3) [px], T_base_camera (4x4) [m], stamp [s], size [width, height] [px],
                            focal_length_px (K's fx), scene_seed, and labels: what the ids are called
        ids.png             8 or 16-bit grey, 0 where there is no object, else 1 + its index in labels; may be missing
        point_cloud.npy     float (H*W, 3), row-major, camera frame [m], NaN where unknown; may be missing: then the
                            depth is back-projected

Everything is checked when it is read, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import reprlib
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from PIL import Image

from tool_nodes.files import FileRefused, read_file, require_regular
from tool_nodes.geometry import backproject
from tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load
from tool_nodes.results import ToolError, invalid, unavailable
from tool_nodes.toolbox.picture_files import PictureFileError, opened
from tool_nodes.types import FloatArray, Frame

SHIPPED = Path(__file__).with_name("frames")
"""Twenty frames of simulated scenes: `toolhand mock record mock_frames --n 20 --seed 0`."""

MAX_FRAMES = 1000
"""Frames of a data set: their folders have names of three digits."""
MAX_SEED = 2**63 - 1
"""Greatest seed: that of a signed 64-bit integer."""
SIZES = (64, 2048)
"""Smallest and largest side of a picture [px]."""

_MM = 1000.0
"""Millimetres in a metre: depth is stored in whole millimetres."""
_MAX_MM = 65535
"""Greatest depth that 16 bits hold [mm]."""
_LIMITS = YamlLimits(size=100_000, depth=4, nodes=50_000)
"""Limits of a YAML file."""
_MAX_LABEL = 100
"""Longest label [characters]; a round figure."""
_MAX_NUMBER = 1e12
"""Greatest number of a file, far beyond any length here."""
_MAX_LABELS = 65535
"""Labels of a frame: ids are stored in 16 bits."""


@dataclass(frozen=True, eq=False)
class MockFrame:
    """One recorded frame.

    Attributes:
        frame: The picture; with ids and labels where they were recorded.
        scene_seed: Seed of the simulated scene that it shows; None for another origin.
        cloud: Recorded float32 (H*W, 3) points in the camera frame [m]; None where the depth is to be back-projected.
    """

    frame: Frame
    scene_seed: int | None = None
    cloud: NDArray[np.float32] | None = None

    @property
    def focal_length_px(self) -> float:
        """fx [px]."""
        return float(self.frame.K[0, 0])

    def scaled(self, size: tuple[int, int]) -> MockFrame:
        """The frame with fewer pixels: each n-th of each n-th row, with ids and depth of the same ones.

        Raises:
            ToolError: INVALID_ARGUMENT for a size (width, height) [px] that is not a whole part of the frame's.
        """
        frame = self.frame
        every = frame.size[0] // max(size[0], 1)
        if every < 1 or frame.size != (size[0] * every, size[1] * every):
            (w, h), (width, height) = size, frame.size
            raise invalid(f"A frame of {width}x{height} px can have a whole part of that size, not {w}x{h}.")
        if every == 1:
            return self
        K = frame.K.copy()
        K[:2] /= every

        def thinned(pixels: NDArray[Any]) -> NDArray[Any]:
            return np.ascontiguousarray(pixels[::every, ::every])

        ids = None if frame.ids is None else thinned(frame.ids)
        cloud = None
        if self.cloud is not None:
            cloud = thinned(self.cloud.reshape(*frame.depth.shape, 3)).reshape(-1, 3)
        smaller = replace(frame, rgb=thinned(frame.rgb), depth=thinned(frame.depth), ids=ids, K=K)
        return MockFrame(smaller, self.scene_seed, cloud)

    def point_cloud(self) -> NDArray[np.float32]:
        """The cloud (H*W, 3) [m], recorded or back-projected."""
        return backproject(self.frame.depth, self.frame.K) if self.cloud is None else self.cloud


@dataclass(frozen=True)
class MockDataset:
    """A folder of recorded frames; see the module for its form.

    Attributes:
        folder: Where it is.
        name: Name of the data set.
        seed: Seed it was recorded with.
        n: Number of frames.
        made: How it was made.
    """

    folder: Path
    name: str
    seed: int
    n: int
    made: str

    def frame(self, index: int) -> MockFrame:
        """Read and check one frame.

        Raises:
            ToolError: INVALID_ARGUMENT for an index out of range or a file that is missing or wrong, naming it.
        """
        if not 0 <= index < self.n:
            raise invalid(f"{self.folder.name} has the frames 0 to {self.n - 1}, not {index}.")
        return _read_frame(self.folder / f"{index:03d}")


def read_dataset(folder: str | Path = SHIPPED) -> MockDataset:
    """Open a data set; its frames are read one by one when they are asked for.

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that names the file which is missing or wrong.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise invalid(f"There is no folder {str(folder)[:200]!r}: a mock data set is a folder with dataset.yaml.")
    path = folder / "dataset.yaml"
    about = _mapping(path, ("name", "seed", "n", "made"))
    n = _whole(path, about, "n", 1, MAX_FRAMES)
    missing = [folder / f"{k:03d}" for k in range(n) if not (folder / f"{k:03d}").is_dir()]
    if missing:
        raise invalid(f"{_shown(missing[0])} is missing: dataset.yaml promises {n} frames.")
    return MockDataset(
        folder, _text(path, about, "name"), _whole(path, about, "seed", 0, MAX_SEED), n, _text(path, about, "made")
    )


def write_dataset(folder: str | Path, frames: Iterable[MockFrame], n: int, seed: int, made: str) -> None:
    """Write a data set that appears complete or not at all.

    Args:
        folder: Where; it may not exist yet, or must be empty.
        frames: Written one by one, as they come.
        n: How many there are.
        seed: Seed that the frames were recorded with.
        made: How they were made.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder that holds something, UNAVAILABLE where it cannot be written.
    """
    folder = Path(folder).resolve()
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise invalid(f"{folder} exists and is not an empty folder; a data set never replaces anything.")
        part.mkdir(parents=True)
        for index, frame in enumerate(frames):
            _write_frame(part / f"{index:03d}", frame)
        _write_yaml(part / "dataset.yaml", {"name": folder.name, "seed": seed, "n": n, "made": made})
        if folder.exists():
            folder.rmdir()
        part.replace(folder)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise unavailable(f"Cannot write {folder}: {reason}.", "Check the folder and its free space.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_frame(folder: Path, recorded: MockFrame) -> None:
    folder.mkdir()
    frame = recorded.frame
    millimetres = np.rint(np.nan_to_num(frame.depth * _MM, nan=0.0))
    millimetres[millimetres > _MAX_MM] = 0
    _write_png(folder / "image.png", frame.rgb)
    _write_png(folder / "depth.png", millimetres.astype(np.uint16))
    if frame.ids is not None:
        ids = frame.ids + 1
        _write_png(folder / "ids.png", ids.astype(np.uint8 if ids.max() < 256 else np.uint16))
    if recorded.cloud is not None:
        np.save(folder / "point_cloud.npy", recorded.cloud, allow_pickle=False)
    about = {
        "stamp": float(frame.stamp),
        "size": list(frame.size),
        "focal_length_px": recorded.focal_length_px,
        "K": frame.K.tolist(),
        "T_base_camera": frame.T_base_camera.tolist(),
        "scene_seed": recorded.scene_seed,
        "labels": list(frame.labels or ()),
    }
    _write_yaml(folder / "frame.yaml", about)


def _write_png(path: Path, pixels: NDArray[Any]) -> None:
    Image.fromarray(pixels).save(path, "png", optimize=True)


def _write_yaml(path: Path, document: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=120), encoding="utf-8")


def _read_frame(folder: Path) -> MockFrame:
    path = folder / "frame.yaml"
    keys = ("stamp", "size", "focal_length_px", "K", "T_base_camera", "scene_seed", "labels")
    about = _mapping(path, keys)
    width, height = (int(v) for v in _numbers(path, about, "size", (2,)))
    if not (SIZES[0] <= width <= SIZES[1] and SIZES[0] <= height <= SIZES[1]):
        raise _wrong(path, f"size must be two numbers of pixels from {SIZES[0]} to {SIZES[1]}, not {about['size']}")
    size = width, height
    K, T = _numbers(path, about, "K", (3, 3)), _numbers(path, about, "T_base_camera", (4, 4))
    if not (K[0, 0] > 0 and K[1, 1] > 0 and np.array_equal(K * _NOT_FREE, _PINHOLE)):
        raise _wrong(path, "K must be [[fx, 0, cx], [0, fy, cy], [0, 0, 1]] with positive fx and fy")
    R = T[:3, :3]
    if not (np.array_equal(T[3], (0, 0, 0, 1)) and np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0):
        raise _wrong(path, "T_base_camera must be a rigid 4x4 transform (rotation, translation, last row 0 0 0 1)")
    focal = float(_numbers(path, about, "focal_length_px", ()))
    if not math.isclose(focal, K[0, 0], rel_tol=1e-9):
        raise _wrong(path, f"focal_length_px must be K's fx, {K[0, 0]:g}, not {focal:g}")
    stamp = float(_numbers(path, about, "stamp", ()))
    if stamp < 0.0:
        raise _wrong(path, f"stamp must be 0 or more, not {stamp:g}")
    scene_seed = None if about["scene_seed"] is None else _whole(path, about, "scene_seed", 0, MAX_SEED)
    labels = about["labels"]
    if not isinstance(labels, list) or len(labels) > _MAX_LABELS or not all(_is_label(label) for label in labels):
        raise _wrong(path, f"labels must be a list of names of 1 to {_MAX_LABEL} characters")
    rgb = _read_png(folder / "image.png", ("RGB",), size, "8-bit RGB")
    millimetres = _read_png(folder / "depth.png", ("I;16",), size, "16-bit grey")
    depth = np.where(millimetres == 0, np.float32(np.nan), millimetres.astype(np.float32) / np.float32(_MM))
    ids = None
    if (folder / "ids.png").exists():
        ids = _read_png(folder / "ids.png", ("L", "I;16"), size, "8 or 16-bit grey").astype(np.int32) - 1
        if ids.max() >= len(labels):
            raise _wrong(
                folder / "ids.png", f"it shows object {ids.max() + 1}, but frame.yaml has {len(labels)} labels"
            )
    elif labels:
        raise _wrong(path, "labels name the objects of ids.png, which is missing")
    frame = Frame(rgb, depth, K, T, stamp, ids=ids, labels=None if ids is None else tuple(labels))
    return MockFrame(frame, scene_seed, _read_cloud(folder / "point_cloud.npy", width * height))


_PINHOLE = np.diag([0.0, 0.0, 1.0])
"""The entries of a pinhole's K that are fixed, where _NOT_FREE is 1."""
_NOT_FREE = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
"""1 where a pinhole's K has a fixed entry."""


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= _MAX_LABEL


def _read_png(path: Path, modes: tuple[str, ...], size: tuple[int, int], what: str) -> NDArray[Any]:
    if not path.is_file():
        raise invalid(f"{_shown(path)} is missing.")
    try:
        with opened(path, ("PNG",), SIZES[1]) as picture:
            if picture.mode not in modes:
                raise _wrong(path, f"the picture must be {what}, not of mode {picture.mode}")
            if picture.size != size:
                w, h = picture.size
                raise _wrong(path, f"the picture is {w}x{h}, but frame.yaml says {size[0]}x{size[1]}")
            return np.array(picture)
    except PictureFileError as error:
        raise _wrong(path, f"it is no complete PNG picture ({error})") from error


def _read_cloud(path: Path, points: int) -> NDArray[np.float32] | None:
    if not path.exists():
        return None
    try:
        require_regular(path)
        # Mapped, not read: a header that promises more than the file holds is refused before memory is taken.
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileRefused as error:
        raise _wrong(path, str(error)) from error
    except (OSError, ValueError, EOFError) as error:
        raise _wrong(path, "it is no complete array of numbers") from error
    if not isinstance(stored, np.ndarray) or stored.shape != (points, 3) or stored.dtype.kind != "f":
        raise _wrong(path, f"it must be a float array of shape ({points}, 3)")
    cloud = np.array(stored, dtype=np.float32)
    if np.isinf(cloud).any():
        raise _wrong(path, "its points must be finite, or NaN where unknown")
    return cloud


def _mapping(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    """A YAML mapping with exactly these keys."""
    try:
        document = load(read_file(path, _LIMITS.size), _LIMITS)
    except FileNotFoundError as error:
        raise invalid(f"{_shown(path)} is missing.") from error
    except PlainYamlError as error:
        raise _wrong(path, f"it is no readable YAML file ({error})") from error
    except OSError as error:
        raise _wrong(path, f"it cannot be read ({error.strerror})") from error
    if not isinstance(document, dict) or set(document) != set(keys):
        raise _wrong(path, f"it must be a mapping with exactly the keys {', '.join(keys)}")
    return document


def _numbers(path: Path, about: dict[str, Any], key: str, shape: tuple[int, ...]) -> FloatArray:
    if not _is_grid(about[key], shape):
        form = f"{'x'.join(map(str, shape))} finite numbers" if shape else "a finite number"
        raise _wrong(path, f"{key} must be {form}")
    return np.array(about[key], dtype=float)


def _is_grid(value: Any, shape: tuple[int, ...]) -> bool:
    """True for nested lists of exactly this shape."""
    if not shape:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MAX_NUMBER
    return isinstance(value, list) and len(value) == shape[0] and all(_is_grid(v, shape[1:]) for v in value)


def _whole(path: Path, about: dict[str, Any], key: str, low: int, high: int) -> int:
    value = about[key]
    if type(value) is not int or not low <= value <= high:
        raise _wrong(path, f"{key} must be a whole number from {low} to {high}, not {reprlib.repr(value)}")
    return value


def _text(path: Path, about: dict[str, Any], key: str) -> str:
    if not isinstance(about[key], str):
        raise _wrong(path, f"{key} must be text, not {reprlib.repr(about[key])}")
    return about[key]


def _shown(path: Path) -> str:
    """Data set, frame and file: enough to find it, whatever folder the data set is in."""
    return "/".join(path.parts[-3:])


def _wrong(path: Path, problem: str) -> ToolError:
    return invalid(f"{_shown(path)}: {problem}.")
