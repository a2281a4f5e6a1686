"""What a stereo or time-of-flight camera makes of an ideal depth image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.special import ndtr

from toolhand.sim.camera.ray_casting import MAX_DEPTH
from toolhand.sim.camera.sensor import View
from toolhand.sim.camera.sensors.noise import NoiseTerms
from toolhand.sim.camera.shading import FloatImage
from toolhand.tool_nodes.types import BoolArray, FloatArray

_JUMP_M, _JUMP_SHARE = 0.01, 0.01
"""Neighbours whose depths differ by more than the sum of 1 cm and 1 % are two surfaces [m], [-]: less is a slope of
80 degrees at 1 m and 660 px."""
_DARK, _BRIGHT = 45.0, 240.0
"""Grey levels below which a surface reflects too little of a projector's light (2 % of white's), and above which the
image is near saturation [-]."""
_GRAZING = 0.35
"""Cosine of the angle of incidence, 70 degrees, from which on holes begin [-]."""
_MULTIPATH_STEP, _MULTIPATH_M, _MULTIPATH_PX = 4, 0.02, 60.0
"""Multipath is computed in every fourth pixel [px], is at most 2 cm [m], and comes from surfaces within 60 px [px]."""


def measured_depth(
    sensor: NoiseTerms,
    rgb: NDArray[np.uint8],
    depth: FloatImage,
    view: View,
    bias: float,
    pattern: FloatImage | None,
    rng: np.random.Generator,
) -> FloatImage:
    """The depth (H, W) [m] that a sensor measures, NaN where none.

    Args:
        rgb: (H, W, 3) ideal colours.
        depth: (H, W) ideal depth [m], infinite where nothing is.
        view: The image's intrinsics, and what is transparent in it.
        bias: The device's share of the greatest systematic error, in [-1, 1].
        pattern: (H, W) normal numbers of the device; None where it has no error that stays the same.
        rng: Random numbers of the image.
    """
    far = np.float32(min(sensor.far_m or MAX_DEPTH, MAX_DEPTH))
    scale = float(view.K[0, 0]) / sensor.focal_px
    window = window_of(sensor, view)
    true = np.minimum(depth, np.float32(MAX_DEPTH))
    missing = ~(depth < far)
    if sensor.shadow:
        missing |= _shadow(true, float(view.K[0, 0]) * sensor.baseline_m)
    measured = true
    if sensor.fattening_px:
        measured = _fattened(measured, sensor.fattening_px * scale, window, rng)
    if sensor.flying or sensor.edges:
        measured, lost = _edges(measured, sensor.flying, sensor.edges, rng)
        missing |= lost
    if sensor.multipath:
        measured = measured + _multipath(true, sensor.multipath, scale)
    measured = _noisy(sensor, measured, window, bias, pattern, rng)
    if sensor.dark or sensor.glossy or sensor.clear or sensor.grazing or sensor.speckle:
        missing |= _holes(sensor, rgb, true, view, window, rng)
    if sensor.near_m:
        missing |= measured < np.float32(sensor.near_m)
    if sensor.unit_m:
        unit = np.float32(sensor.unit_m)
        measured = np.rint(measured / unit) * unit
    return np.where(missing, np.float32(np.nan), measured)


def window_of(sensor: NoiseTerms, view: View) -> int:
    """Side of the matching window in the image [px], 1 or more."""
    return max(round(sensor.window_px * float(view.K[0, 0]) / sensor.focal_px), 1)


def _noisy(
    sensor: NoiseTerms,
    depth: FloatImage,
    window: int,
    bias: float,
    pattern: FloatImage | None,
    rng: np.random.Generator,
) -> FloatImage:
    """The depth with its random and systematic error, and in steps of the disparity."""
    if sensor.bias_m or sensor.bias_share:
        depth = depth + np.float32(bias) * (np.float32(sensor.bias_m) + np.float32(sensor.bias_share) * depth)
    if sensor.depth_m:
        depth = depth + np.float32(sensor.depth_m) * depth**2 * smooth_noise(depth.shape, window, rng)
    if not (sensor.disparity_px or sensor.pattern_px or sensor.subpixel_px):
        return depth
    product = np.float32(sensor.focal_px * sensor.baseline_m)
    disparity = product / depth
    if sensor.disparity_px:
        disparity += np.float32(sensor.disparity_px) * smooth_noise(depth.shape, window, rng)
    if pattern is not None:
        disparity += np.float32(sensor.pattern_px) * pattern
    if sensor.subpixel_px:
        step = np.float32(sensor.subpixel_px)
        disparity = np.rint(disparity / step) * step
    return product / np.maximum(disparity, np.float32(1e-3))


def smooth_noise(shape: tuple[int, ...], window: int, rng: np.random.Generator) -> FloatImage:
    """Normal numbers (H, W) of variance 1, averaged over squares of `window` pixels as a matching window does."""
    step = _step(window)
    side = window // step
    white = rng.standard_normal([-(-length // step) for length in shape], dtype=np.float32)
    # At the borders the same numbers count twice, and the variance is a little greater there.
    smooth = white if side == 1 else ndimage.uniform_filter(white, side) * np.float32(side)
    return _enlarged(smooth, step, shape)


def _step(window: int) -> int:
    """Every so many pixels are drawn [px]: what is as wide as the window needs no more than four numbers across."""
    return max(window // 4, 1)


def _enlarged(coarse: NDArray[Any], step: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """The values (H, W) of every `step`-th pixel, for all of them."""
    if step == 1:
        return coarse
    return np.repeat(np.repeat(coarse, step, axis=0), step, axis=1)[: shape[0], : shape[1]]


def _shadow(depth: FloatImage, product: float) -> BoolArray:
    """True where a second imager to the right sees something else: what lies nearer covers it on its line.

    Args:
        depth: (H, W) [m].
        product: Focal length in the image times the baseline [px m].
    """
    columns = np.arange(depth.shape[1], dtype=np.float32)
    seen_at = columns - np.float32(product) / depth
    covered_from = np.minimum.accumulate(seen_at[:, ::-1], axis=1)[:, ::-1]
    hidden = np.zeros(depth.shape, dtype=bool)
    hidden[:, :-1] = covered_from[:, 1:] <= seen_at[:, :-1]
    return hidden


def _extreme(depth: FloatImage, radius: int, pick: np.ufunc) -> FloatImage:
    """The least or greatest depth (H, W) within a square of 2 * radius + 1 pixels about each."""
    found = depth.copy()
    for _ in range(radius):
        for here, there in ((found[1:], found[:-1]), (found[:, 1:], found[:, :-1])):
            before = here.copy()
            pick(here, there, out=here)
            pick(there, before, out=there)
    return found


def _fattened(depth: FloatImage, width: float, window: int, rng: np.random.Generator) -> FloatImage:
    """What is near spreads over its outline by up to `width` pixels, in patches as large as the matching window."""
    radius = max(int(np.ceil(width)), 1)
    nearest = _extreme(depth, radius, np.minimum)
    over = np.flatnonzero(depth - nearest > _JUMP_M + _JUMP_SHARE * nearest)
    field = ndtr(smooth_noise(depth.shape, window, rng).ravel()[over])
    fat = depth.ravel().copy()
    taken = over[field < width / radius]
    fat[taken] = nearest.ravel()[taken]
    return fat.reshape(depth.shape)


def _edges(depth: FloatImage, flying: float, lost: float, rng: np.random.Generator) -> tuple[FloatImage, BoolArray]:
    """Depth in which pixels beside a jump show something in between, and where (H, W) they show nothing."""
    least, greatest = (_extreme(depth, 1, pick).ravel() for pick in (np.minimum, np.maximum))
    beside = np.flatnonzero(greatest - least > _JUMP_M + _JUMP_SHARE * least)
    kind, mix = rng.random((2, len(beside)), dtype=np.float32)
    missing = np.zeros(depth.size, dtype=bool)
    missing[beside[kind < lost]] = True
    between = (kind >= lost) & (kind < lost + flying)
    at, mixed = beside[between], depth.ravel().copy()
    mixed[at] = least[at] + mix[between] * (greatest[at] - least[at])
    return mixed.reshape(depth.shape), missing.reshape(depth.shape)


def _multipath(depth: FloatImage, share: float, scale: float) -> FloatImage:
    """By how much (H, W) [m] concave places seem farther away: light arrives there over their surroundings, too."""
    coarse = depth[::_MULTIPATH_STEP, ::_MULTIPATH_STEP]
    about = ndimage.uniform_filter(coarse, max(round(_MULTIPATH_PX * scale / _MULTIPATH_STEP), 3))
    deeper = np.clip(np.float32(share) * (coarse - about), 0.0, np.float32(_MULTIPATH_M))
    return _enlarged(deeper, _MULTIPATH_STEP, depth.shape)


def _holes(
    sensor: NoiseTerms,
    rgb: NDArray[np.uint8],
    depth: FloatImage,
    view: View,
    window: int,
    rng: np.random.Generator,
) -> BoolArray:
    """Where (H, W) nothing is matched: patches as large as the window, on surfaces that are difficult."""
    step = _step(window)
    every = np.s_[::step, ::step]
    clear = None if view.clear is None else view.clear[every]
    share = _dropout(sensor, rgb[every], depth[every], View(view.K / np.float64(step), clear))
    field = smooth_noise(share.shape, max(window // step, 1), rng)
    holes: BoolArray = _enlarged(ndtr(field) < share, step, depth.shape)
    return holes


def _dropout(sensor: NoiseTerms, rgb: NDArray[np.uint8], depth: FloatImage, view: View) -> FloatImage:
    """The share (H, W) of images in which a pixel has no depth."""
    share = np.full(depth.shape, np.float32(sensor.speckle))
    red, green, blue = (rgb[:, :, channel] for channel in range(3))  # faster by far than a reduction over axis 2
    if sensor.dark:
        brightest = np.maximum(np.maximum(red, green), blue)
        share += np.float32(sensor.dark) * _ramp(_DARK - np.minimum(brightest, np.uint8(_DARK)), _DARK)
    if sensor.glossy:
        darkest = np.maximum(np.minimum(np.minimum(red, green), blue), np.uint8(_BRIGHT))
        share += np.float32(sensor.glossy) * _ramp(darkest - np.float32(_BRIGHT), 255.0 - _BRIGHT)
    if sensor.grazing:
        cosine = np.minimum(_incidence(depth, view.K), np.float32(_GRAZING))
        share += np.float32(sensor.grazing) * _ramp(np.float32(_GRAZING) - cosine, _GRAZING)
    if sensor.clear and view.clear is not None:
        share += np.float32(sensor.clear) * view.clear
    return share


def _ramp(over: NDArray[Any], whole: float) -> FloatImage:
    return over.astype(np.float32) * np.float32(1.0 / whole)


def _incidence(depth: FloatImage, K: FloatArray) -> FloatImage:
    """Cosine (H, W) of the angle between the line of sight and the surface's normal."""
    along_u, along_v = _slope(depth, 1), _slope(depth, 0)
    height, width = depth.shape
    u = np.arange(width, dtype=np.float32) - np.float32(K[0, 2])
    v = np.arange(height, dtype=np.float32)[:, None] - np.float32(K[1, 2])
    fx, fy = np.float32(K[0, 0]), np.float32(K[1, 1])
    towards = depth + u * along_u + v * along_v
    ray = 1.0 + (u / fx) ** 2 + (v / fy) ** 2
    return depth / np.sqrt(ray * ((fx * along_u) ** 2 + (fy * along_v) ** 2 + towards**2))


def _slope(depth: FloatImage, axis: int) -> FloatImage:
    """Change of depth (H, W) from pixel to pixel; the smaller one of both sides, so that a jump is no slope."""
    step = np.diff(depth, axis=axis)
    slope = np.empty_like(depth)
    if axis == 0:
        inner, before, after = slope[1:-1], step[:-1], step[1:]
        slope[0], slope[-1] = step[0], step[-1]
    else:
        inner, before, after = slope[:, 1:-1], step[:, :-1], step[:, 1:]
        slope[:, 0], slope[:, -1] = step[:, 0], step[:, -1]
    np.copyto(inner, after)
    np.copyto(inner, before, where=np.abs(before) < np.abs(after))
    return slope
