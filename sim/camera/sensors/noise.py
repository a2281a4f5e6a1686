"""The noise model of a simulated RGB-D sensor: its terms as numbers, each of which is off at zero."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

from toolhand.tool_nodes.names import did_you_mean
from toolhand.tool_nodes.results import invalid


@dataclass(frozen=True)
class NoiseTerms:
    """A stereo or time-of-flight camera with its station: images, calibration, joint and jaw readings.

    Every term is off at zero, and so is each with the defaults. Lengths in pixels are those of the depth module, and
    are converted by the ratio of the image's focal length to the module's, so that a smaller image shows the same
    world.

    Attributes:
        baseline_m: Distance of the two imagers of a stereo camera [m].
        focal_px: Focal length of the depth module [px].
        window_px: Side of the square over which matching or filtering averages; noise and holes have that size [px].
        subpixel_px: Step of the measured disparity [px].
        unit_m: Step of the depth that is sent [m].
        disparity_px: Standard deviation of the disparity from image to image [px].
        pattern_px: Standard deviation of an error of the disparity that is the same in every image of a camera, as
            the same surfaces are matched with the same texture [px].
        depth_m: Standard deviation of the depth at 1 m, which grows with the square of the distance [m].
        bias_m: Greatest systematic error of the depth, drawn once for each camera in [-1, 1] times this [m].
        bias_share: The same over the distance [-].
        multipath: Share of the depth of a concave corner by which it seems farther away [-].
        fattening_px: Width by which what is near covers what is behind it, over the window [px].
        flying: Share of the pixels beside a depth jump that show a depth in between [-].
        shadow: 1 where what only one of the two imagers sees has no depth, else 0.
        edges: Share of the pixels beside a depth jump without depth [-].
        dark: Greatest share of black surfaces without depth [-].
        glossy: Greatest share of mirrored light without depth [-].
        clear: Share of the depth behind transparent surfaces that is missing [-].
        grazing: Greatest share of surfaces seen at a grazing angle without depth [-].
        speckle: Share of all surfaces without depth [-].
        near_m, far_m: Range; nearer and farther objects have no depth, see `toolhand.sim.camera.ray_casting.MAX_DEPTH`
            [m].
        exposure: Standard deviation of the logarithm of the brightness, drawn once for each camera [-].
        white_balance: The same of red and of blue against green [-].
        electrons: Photoelectrons of full light, whose square root is the shot noise [-]; 0 is without shot noise.
        read: Read noise [electrons]; counts where there is shot noise.
        blur_px: Standard deviation of the blur of the colours, of the image at 640 px width [px].
        motion_px: Greatest length of the motion blur; direction and length are drawn for each image [px].
        jpeg: Quality 1 to 95 of the JPEG that the colours go through [-].
        focal_share: Greatest relative error of the reported focal length, drawn once for each camera [-].
        centre_px: Greatest error of the reported principal point, of the image at 640 px width [px].
        hand_eye_m: Greatest error of the reported camera position, drawn once for each camera [m].
        hand_eye_rad: Greatest error of the reported camera rotation, drawn once for each camera [rad].
        latency_s: By how much the image is older than its stamp [s].
        joint_rad: Standard deviation of a reading of a joint [rad].
        joint_step_rad: Step of such a reading [rad].
        jaw_m: Standard deviation of a reading of the jaws [m].
        jaw_step_m: Step of such a reading [m].
        jaw_bias_m: Greatest constant error of the jaws' readings, drawn once for each station [m].
    """

    baseline_m: float = 0.05
    focal_px: float = 660.0
    window_px: float = 1.0
    subpixel_px: float = 0.0
    unit_m: float = 0.0
    disparity_px: float = 0.0
    pattern_px: float = 0.0
    depth_m: float = 0.0
    bias_m: float = 0.0
    bias_share: float = 0.0
    multipath: float = 0.0
    fattening_px: float = 0.0
    flying: float = 0.0
    shadow: float = 0.0
    edges: float = 0.0
    dark: float = 0.0
    glossy: float = 0.0
    clear: float = 0.0
    grazing: float = 0.0
    speckle: float = 0.0
    near_m: float = 0.0
    far_m: float = 0.0
    exposure: float = 0.0
    white_balance: float = 0.0
    electrons: float = 0.0
    read: float = 0.0
    blur_px: float = 0.0
    motion_px: float = 0.0
    jpeg: float = 0.0
    focal_share: float = 0.0
    centre_px: float = 0.0
    hand_eye_m: float = 0.0
    hand_eye_rad: float = 0.0
    latency_s: float = 0.0
    joint_rad: float = 0.0
    joint_step_rad: float = 0.0
    jaw_m: float = 0.0
    jaw_step_m: float = 0.0
    jaw_bias_m: float = 0.0

    def only(self, *terms: str) -> Self:
        """The same with some of the `TERMS` on, and all others off.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no term.
        """
        for term in terms:
            if term not in TERMS:
                allowed = ", ".join(TERMS)
                meant = did_you_mean(term, TERMS)
                raise invalid(f"There is no noise term {term[:60]!r}: it must be one of {allowed}.{meant}")
        kept = {*_GEOMETRY, *(name for term in terms for name in TERMS[term])}
        return replace(self, **{entry.name: 0.0 for entry in fields(self) if entry.name not in kept})

    def terms(self) -> tuple[str, ...]:
        """The `TERMS` of which something is on."""
        return tuple(term for term, names in TERMS.items() if any(getattr(self, name) for name in names))


TERMS: dict[str, tuple[str, ...]] = {
    "quantisation": ("subpixel_px", "unit_m"),
    "noise": ("disparity_px", "depth_m"),
    "pattern": ("pattern_px",),
    "bias": ("bias_m", "bias_share"),
    "multipath": ("multipath",),
    "fattening": ("fattening_px",),
    "flying": ("flying",),
    "shadow": ("shadow",),
    "edges": ("edges",),
    "dropout": ("dark", "glossy", "clear", "grazing", "speckle"),
    "range": ("near_m", "far_m"),
    "exposure": ("exposure", "white_balance"),
    "colour_noise": ("electrons", "read"),
    "blur": ("blur_px", "motion_px"),
    "jpeg": ("jpeg",),
    "intrinsics": ("focal_share", "centre_px"),
    "hand_eye": ("hand_eye_m", "hand_eye_rad"),
    "latency": ("latency_s",),
    "joints": ("joint_rad", "joint_step_rad"),
    "jaws": ("jaw_m", "jaw_step_m", "jaw_bias_m"),
}
"""The attributes of a sensor that make up each term of its noise."""

_GEOMETRY = ("baseline_m", "focal_px", "window_px")
"""What describes the sensor and disturbs nothing by itself."""
