"""What a CameraInfo says: whether any camera can be so, and what has to be done with its images."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from sensor_msgs.msg import CameraInfo

from toolhand.tool_nodes.camera_checks import SKEWED, BadMessage, numbers_in, require_pinhole
from toolhand.tool_nodes.ros.lenses import COEFFICIENTS, Lens, make_lens
from toolhand.tool_nodes.types import FloatArray

STRAIGHT = ("", "none", "plumb_bob", "rational_polynomial")
"""Distortion models whose images are a pinhole camera's where d is zero or empty."""

DIFFERENT_PX = 0.5
"""K and P of a lens without distortion are the same matrix to within this [px]: printed digits."""


@dataclass(frozen=True)
class Rectified:
    """Whether a camera's images are without distortion already; None where that is not known."""

    image: bool | None = None
    depth: bool | None = None


def rectified_by_name(image_topic: str, depth_topic: str, said: bool | None = None) -> Rectified:
    """What the topics' names say, as image_pipeline names them (image_raw, image_rect, rgb/color/rect/image).

    Args:
        image_topic: Topic of the colour image.
        depth_topic: Topic of the depth that is registered to it; taken to be as the image where its name says nothing.
        said: True or False where an operator says it of the image.
    """
    image = _named(image_topic) if said is None else said
    depth = _named(depth_topic)
    return Rectified(image, image if depth is None else depth)


def _named(topic: str) -> bool | None:
    words = re.split(r"[/_]+", topic.lower())
    return True if {"rect", "rectified"} & {*words} else False if "raw" in words else None


def read_calibration(info: CameraInfo, size: tuple[int, int], rectified: Rectified) -> tuple[FloatArray, Lens | None]:
    """K (3, 3) [px] of the images once they are rectified, and the lens that rectifies those that are raw.

    Args:
        info: Calibration of the camera.
        size: Size of its images (width, height) [px].
        rectified: Which images are.

    Returns:
        K, and None in place of a lens where no image has distortion.

    Raises:
        BadMessage: No camera can be so, its images cannot be rectified here, or it is not known whether they are.
    """
    K = np.array(info.k, float).reshape(3, 3)
    if not (np.isfinite(K).all() and K[0, 0] > 0.0 and K[1, 1] > 0.0):
        raise BadMessage(
            f"The camera_info holds no calibration: its focal lengths are {K[0, 0]:g} and {K[1, 1]:g} px; calibrate "
            "the camera and give its driver the file."
        )
    if (info.width, info.height) != size:
        raise BadMessage(
            f"The camera_info is for pictures of {info.width}x{info.height} pixels, but the image has "
            f"{size[0]}x{size[1]}."
        )
    _require_whole(info)
    require_pinhole("K of the camera_info", K, size)
    P = np.array(info.p, float).reshape(3, 4)[:, :3].copy()
    if P.any():
        require_pinhole("P of the camera_info", P, size)
    d = tuple(float(value) for value in info.d)
    if not np.isfinite(d).all():
        raise BadMessage(f"The distortion d of the camera_info must be finite numbers, not {numbers_in(d)}.")
    turned = not _is_identity(info.r)
    straight = not any(d) and info.distortion_model in STRAIGHT
    if straight and not turned:
        if P.any() and np.abs(P - K).max() > DIFFERENT_PX:
            raise BadMessage(
                f"K and P of the camera_info disagree ({_four(K)} and {_four(P)}) although d is zero: K is of the raw "
                "picture and P of the rectified one, and without distortion both must be the same."
            )
        return K, None
    if rectified.image is None or rectified.depth is None:
        bent = f"distortion ({info.distortion_model or 'no model'}, d = {numbers_in(d)})"
        raise BadMessage(
            f"The camera_info has {'a rectifying rotation R' if straight else bent}, and it is not known whether "
            "the picture is rectified: give a rectified one with its P as K and zeros as d, or a topic whose name (or "
            "the parameter image_is of its camera) says raw or rect."
        )
    if (rectified.image or rectified.depth) and not P.any():
        raise BadMessage(
            "The camera_info of a rectified picture must have P, the matrix of that picture, but P is zero."
        )
    if rectified.image and rectified.depth:
        return P, None
    if turned:
        raise BadMessage(
            "The camera_info is of one camera of a stereo pair (R is not the identity), whose raw pictures are not "
            "rectified here: take the rectified topics of the driver or of image_proc."
        )
    return _unbent(info.distortion_model, d, K, P if P.any() else K, size)


def _unbent(
    model: str, d: tuple[float, ...], K: FloatArray, P: FloatArray, size: tuple[int, int]
) -> tuple[FloatArray, Lens]:
    allowed = COEFFICIENTS.get(model)
    if allowed is None:
        raise BadMessage(
            f"The camera_info has the distortion model {model!r}, which is not known here; it must be "
            f"{', '.join(COEFFICIENTS)}, or take image_rect of image_proc."
        )
    most = max(allowed)
    if any(d[most:]) or len(d) < min(allowed):
        counts = " or ".join(map(str, allowed))
        raise BadMessage(f"The distortion d of the model {model} must have {counts} numbers, not {numbers_in(d)}.")
    lens = make_lens(model, (*d, *[0.0] * (most - len(d)))[:most], _numbers(K), _numbers(P), size)
    if not lens.makes_sense:
        raise BadMessage(
            f"The distortion d = {numbers_in(d)} of the camera_info bends the picture back before its edge, which no "
            "lens does; calibrate the camera again."
        )
    return P, lens


def _require_whole(info: CameraInfo) -> None:
    if max(info.binning_x, info.binning_y) > 1:
        raise BadMessage(
            f"The camera_info has binning {info.binning_x}x{info.binning_y}, so that its K is of another size than the "
            "picture; have the driver calibrated for the size that it sends, with binning 0."
        )
    roi = info.roi
    part = (roi.x_offset, roi.y_offset, roi.width or info.width, roi.height or info.height)
    if part != (0, 0, info.width, info.height):
        raise BadMessage(
            f"The camera_info has a region of interest of {part[2]}x{part[3]} pixels at ({part[0]}, {part[1]}); send "
            "whole pictures, with roi all zero."
        )


def _is_identity(r: FloatArray) -> bool:
    """True for a rectifying rotation (9,) that turns nothing; also where it was left zero."""
    R = np.array(r, float).reshape(3, 3)
    return not R.any() or bool(np.abs(R - np.eye(3)).max() < SKEWED)


def _numbers(M: FloatArray) -> tuple[float, float, float, float]:
    return float(M[0, 0]), float(M[1, 1]), float(M[0, 2]), float(M[1, 2])


def _four(M: FloatArray) -> str:
    return "fx {:g}, fy {:g}, cx {:g}, cy {:g}".format(*_numbers(M))
