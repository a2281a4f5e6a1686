"""Recorded RGB-D frames on disk: the data behind the mock robot.

A data set is a folder:

    dataset.yaml            name, seed, n (frames), made (how it was made)
    000/, 001/, ...         one folder a frame:
        image.png           8-bit RGB
        depth.png           16-bit grey, distance along the optical axis in millimetres, 0 where unknown
                            (what ROS's depth images call 16UC1)
        frame.yaml          K (3x3) [px], T_base_camera (4x4) [m], stamp [s], size [width, height] [px],
                            focal_length_px (K's fx), scene_seed, and labels: what the ids are called
        ids.png             8 or 16-bit grey, 0 where there is no object, else 1 + its index in labels; may be missing
        point_cloud.npy     float (H*W, 3), row-major, camera frame [m], NaN where unknown; may be missing: then the
                            depth is back-projected

Everything is checked when it is read, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import yaml
from annotated_types import Interval, Len
from numpy.typing import NDArray
from PIL import Image

from toolhand.tool_nodes.files import FileRefused, require_regular
from toolhand.tool_nodes.geometry import backproject, is_rigid
from toolhand.tool_nodes.plain_yaml import YamlLimits
from toolhand.tool_nodes.records import Rule, read_yaml
from toolhand.tool_nodes.results import ToolError, invalid, unavailable
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened
from toolhand.tool_nodes.types import Frame

SHIPPED = Path(__file__).with_name("frames")
"""Twenty frames of simulated scenes: `toolhand mock record mock_frames --n 20 --seed 0`."""

MAX_FRAMES = 1000
"""Frames of a data set: their folders have names of three digits."""
MAX_SEED = 2**63 - 1
"""Greatest seed: that of a signed 64-bit integer."""
SIZES = (64, 2048)
"""Smallest and largest side of an image [px]."""

_MM = 1000.0
"""Millimetres in a metre: depth is stored in whole millimetres."""
_MAX_MM = 65535
"""Greatest depth that 16 bits hold [mm]."""
_LIMITS = YamlLimits(size=100_000, depth=4, nodes=50_000)
"""YamlLimits of a YAML file."""
_MAX_LABEL = 100
"""Longest label [characters]; a round figure."""
_MAX_LABELS = 65535
"""Labels of a frame: ids are stored in 16 bits."""

_PINHOLE = np.diag([0.0, 0.0, 1.0])
"""The entries of a pinhole's K that are fixed, where _NOT_FREE is 1."""
_NOT_FREE = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 1]])
"""1 where a pinhole's K has a fixed entry."""


def _is_pinhole(K: tuple[tuple[float, ...], ...]) -> bool:
    return K[0][0] > 0 and K[1][1] > 0 and np.array_equal(np.array(K) * _NOT_FREE, _PINHOLE)


_Seed = Annotated[int, Interval(ge=0, le=MAX_SEED)]
_Side = Annotated[int, Interval(ge=SIZES[0], le=SIZES[1])]
_Number = Annotated[float, Interval(ge=-1e12, le=1e12)]
"""Far beyond any length here."""
_Row3 = tuple[_Number, _Number, _Number]
_Row4 = tuple[_Number, _Number, _Number, _Number]
_Label = Annotated[
    str, Rule(f"a name of 1 to {_MAX_LABEL} characters", lambda text: bool(text.strip()) and len(text) <= _MAX_LABEL)
]


@dataclass(frozen=True)
class _DatasetFile:
    """dataset.yaml."""

    name: str
    seed: _Seed
    n: Annotated[int, Interval(ge=1, le=MAX_FRAMES)]
    made: str


@dataclass(frozen=True)
class _FrameFile:
    """frame.yaml."""

    stamp: Annotated[float, Interval(ge=0.0, le=1e12)]
    size: tuple[_Side, _Side]
    focal_length_px: _Number
    K: Annotated[
        tuple[_Row3, _Row3, _Row3],
        Rule("[[fx, 0, cx], [0, fy, cy], [0, 0, 1]] with positive fx and fy", _is_pinhole),
    ]
    T_base_camera: Annotated[
        tuple[_Row4, _Row4, _Row4, _Row4],
        Rule("a rigid 4x4 transform (rotation, translation, last row 0 0 0 1)", is_rigid),
    ]
    scene_seed: _Seed | None
    labels: Annotated[tuple[_Label, ...], Len(0, _MAX_LABELS)]


@dataclass(frozen=True, eq=False)
class MockFrame:
    """One recorded frame.

    Attributes:
        frame: The image; with ids and labels where they were recorded.
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
    about = read_yaml(_DatasetFile, path, _LIMITS, name=_shown(path))
    missing = [folder / f"{k:03d}" for k in range(about.n) if not (folder / f"{k:03d}").is_dir()]
    if missing:
        raise invalid(f"{_shown(missing[0])} is missing: dataset.yaml promises {about.n} frames.")
    return MockDataset(folder, about.name, about.seed, about.n, about.made)


def write_dataset(folder: str | Path, frames: Iterable[MockFrame], n: int, seed: int, made: str) -> None:
    """Write a data set that appears complete or not at all.

    Args:
        folder: Where; it may not exist yet, or must be empty.
        frames: Written one by one, as they come.
        n: Number of frames.
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
    about = read_yaml(_FrameFile, path, _LIMITS, name=_shown(path))
    size, labels = about.size, about.labels
    width, height = size
    K, T = np.array(about.K), np.array(about.T_base_camera)
    if not math.isclose(about.focal_length_px, K[0, 0], rel_tol=1e-9):
        raise _wrong(path, f"focal_length_px must be K's fx, {K[0, 0]:g}, not {about.focal_length_px:g}")
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
    frame = Frame(rgb, depth, K, T, about.stamp, ids=ids, labels=None if ids is None else labels)
    return MockFrame(frame, about.scene_seed, _read_cloud(folder / "point_cloud.npy", width * height))


def _read_png(path: Path, modes: tuple[str, ...], size: tuple[int, int], what: str) -> NDArray[Any]:
    if not path.is_file():
        raise invalid(f"{_shown(path)} is missing.")
    try:
        with opened(path, ("PNG",), SIZES[1]) as image:
            if image.mode not in modes:
                raise _wrong(path, f"the picture must be {what}, not of mode {image.mode}")
            if image.size != size:
                w, h = image.size
                raise _wrong(path, f"the picture is {w}x{h}, but frame.yaml says {size[0]}x{size[1]}")
            return np.array(image)
    except ImageFileError as error:
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


def _shown(path: Path) -> str:
    """Data set, frame and file: enough to find it, whatever folder the data set is in."""
    return "/".join(path.parts[-3:])


def _wrong(path: Path, problem: str) -> ToolError:
    return invalid(f"{_shown(path)}: {problem}.")
