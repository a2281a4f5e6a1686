"""Folders of RGB-D images of real cameras, as frames for the mock robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.mock.data import MAX_FRAMES, SIZES, MockFrame
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.camera_checks import BadMessage, NotRegistered, known_depth, require_pinhole, require_usable
from toolhand.tool_nodes.clouds.checking import rigid_transform
from toolhand.tool_nodes.files import FileRefused, read_file, require_regular
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened
from toolhand.tool_nodes.types import FloatArray, Frame

CALIBRATION = "intrinsics.json"
"""What a folder's calibration is called."""
_MAX_JSON = 100_000
"""Longest calibration [bytes]."""
_KEYS = ("K", "T_base_camera", "depth_scale")
_ENDINGS = {"rgb": (".png", ".jpg", ".jpeg"), "depth": (".png", ".npy")}
_SCALE = f"depth_scale of {CALIBRATION} is how many units a metre has, such as 1000 for millimetres"


def folder_frames(folder: Path) -> Iterator[MockFrame]:
    """The images of a folder, in the order of their names, one second apart.

    rgb/NAME.png or .jpg, and depth/NAME.png (16-bit grey) or .npy (H, W), registered to the colours; and
    intrinsics.json: K (3x3) [px], T_base_camera (4x4, OpenCV axes) [m], and depth_scale, the units of a metre in the
    depth images (1000 where it is left out; 1 for arrays in metres).

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that names the file which is missing or wrong.
    """
    K, T_base_camera, scale = _calibration(folder / CALIBRATION)
    files = {kind: _named(folder / kind, endings) for kind, endings in _ENDINGS.items()}
    if not 1 <= len(files["rgb"]) <= MAX_FRAMES:
        raise invalid(f"{folder / 'rgb'} must hold 1 to {MAX_FRAMES} PNG or JPEG pictures, not {len(files['rgb'])}.")
    for k, (name, file) in enumerate(sorted(files["rgb"].items())):
        if name not in files["depth"]:
            raise invalid(f"{folder / 'depth'} has no {' or '.join(name + ending for ending in _ENDINGS['depth'])}.")
        rgb, path = _colours(file), files["depth"][name]
        try:
            depth = known_depth(_units(path), scale, "depth", _SCALE)
            if rgb.shape[:2] != depth.shape:
                raise NotRegistered("depth must be registered to the colours, pixel by pixel, but the sizes differ.")
            require_pinhole("K of intrinsics.json", K, (rgb.shape[1], rgb.shape[0]))
            frame = Frame(rgb, depth, K, T_base_camera, float(k))
            require_usable(frame, "The picture", path.name)
        except (BadMessage, ToolError) as error:
            raise invalid(f"{path.parent.name}/{path.name}: {error}") from error
        yield MockFrame(frame)


def _named(folder: Path, endings: tuple[str, ...]) -> Mapping[str, Path]:
    """The files with these endings, in small letters or capitals, by their name without it; hidden ones left out."""
    found = {path for path in folder.glob("*") if path.suffix.lower() in endings and not path.name.startswith(".")}
    return {path.stem: path for path in sorted(found, reverse=True)}


def _calibration(path: Path) -> tuple[FloatArray, FloatArray, float]:
    try:
        document = plain_json.load(read_file(path, _MAX_JSON).decode("utf-8"))
    except FileNotFoundError as error:
        raise invalid(
            f"{path} is missing: it holds {', '.join(_KEYS[:2])} and, unless it is 1000, {_KEYS[2]}."
        ) from error
    except (ValueError, OSError) as error:
        raise invalid(f"{path} is no readable JSON file.") from error
    if not isinstance(document, dict) or not {"K", "T_base_camera"} <= document.keys() <= set(_KEYS):
        raise invalid(
            f"{path} must be an object with the keys K and T_base_camera, and depth_scale where it is not 1000."
        )
    K, T = _numbers(path, document, "K", (3, 3)), _numbers(path, document, "T_base_camera", (4, 4))
    scale = float(_numbers(path, {"depth_scale": document.get("depth_scale", 1000.0)}, "depth_scale", ()))
    if not scale > 0.0:
        raise invalid(f"{path}: depth_scale must be greater than 0, got {scale:g}.")
    return K, rigid_transform(T, f"{path}: T_base_camera"), scale


def _numbers(path: Path, document: dict[str, Any], key: str, shape: tuple[int, ...]) -> FloatArray:
    try:
        numbers = np.array(document[key], dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise invalid(f"{path}: {key} must be {'x'.join(map(str, shape)) or 'a'} finite number{'s' * bool(shape)}.")
    return numbers


def _colours(path: Path) -> NDArray[np.uint8]:
    try:
        with opened(path, ("PNG", "JPEG"), SIZES[1]) as image:
            return np.array(image.convert("RGB"))
    except ImageFileError as error:
        raise _wrong(path, str(error)) from error


def _units(path: Path) -> NDArray[Any]:
    """Depth (H, W) in the units of the folder."""
    if path.suffix.lower() == ".npy":
        return _array(path)
    try:
        with opened(path, ("PNG",), SIZES[1]) as image:
            if image.mode != "I;16":
                raise _wrong(path, f"depth must be 16-bit grey, not of mode {image.mode}")
            return np.array(image)
    except ImageFileError as error:
        raise _wrong(path, str(error)) from error


def _array(path: Path) -> NDArray[Any]:
    try:
        require_regular(path)
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileRefused as error:
        raise _wrong(path, str(error)) from error
    except (OSError, ValueError, EOFError) as error:
        raise _wrong(path, "it is no complete array of numbers") from error
    if (
        not isinstance(stored, np.ndarray)
        or stored.ndim != 2
        or stored.dtype.kind not in "fu"
        or max(stored.shape) > SIZES[1]
    ):
        raise _wrong(path, f"it must be an array (H, W) of numbers, each side at most {SIZES[1]}")
    return np.array(stored)


def _wrong(path: Path, why: str) -> ToolError:
    return invalid(f"{path.parent.name}/{path.name}: {why}.")
