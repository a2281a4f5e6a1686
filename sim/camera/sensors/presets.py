"""Named sensors: instances of the one noise model, each number with its source.

Where no figure is published the docstring says so, and why the value suits. `docs/reference/sensors.md` has the table.
After a colon a name may say which `TERMS` are on: "realsense_d435:shadow,dropout" has no others.
"""

from __future__ import annotations

from dataclasses import replace
from math import radians

from toolhand.sim.camera.sensors.unit import RgbdSensor

_COLOUR = RgbdSensor(
    exposure=0.08, white_balance=0.03, electrons=4000.0, read=5.0, blur_px=0.55, focal_share=0.002, centre_px=1.0
)
"""A colour camera with small pixels, as all of these have.

4000 electrons: full well of a pixel of 1.4 um in catalogues of CMOS sensors (3000 to 6000), at 5 electrons of read
noise. Blur: half a pixel and the interpolation of the colour filter (Bayer pattern). Exposure 8 % and colour balance
3 % are what automatic control leaves; 0.2 % and 1 px are what a calibration with a chessboard leaves. Of these last
four no device publishes figures.
"""

_CALIBRATED = RgbdSensor(hand_eye_m=0.002, hand_eye_rad=radians(0.25))
"""Careful hand-eye calibration: 0.93 mm and 0.265 degrees are reported in arXiv:2311.01335; here up to 2 mm and 0.25
degrees."""

_ENCODERS = RgbdSensor(
    joint_rad=radians(0.005), joint_step_rad=radians(0.01), jaw_m=0.0001, jaw_step_m=0.085 / 227, jaw_bias_m=0.0004
)
"""Readings of the arm and of a Robotiq 2F-85.

Jaws: one byte, of which 3 to 230 are used over 85 mm (blog.robotiq.com, "encoder bytes of the adaptive gripper"):
0.37 mm a step, a constant error of up to one step as the end positions are found anew at each start, and a quarter of
a step of noise. Joints: steps of 0.01 degrees and half of it as noise, a round figure, since Kinova publishes none:
it moves the hand by 0.1 mm.
"""


def _with(*parts: RgbdSensor, **own: float) -> RgbdSensor:
    """A sensor that has what the parts have on, and its own figures."""
    off = RgbdSensor()
    on = {name: value for part in parts for name, value in vars(part).items() if value != getattr(off, name)}
    return replace(off, **{**on, **own})


CLEAN = RgbdSensor()
"""No noise, and no range but that of the renderer."""

REALSENSE_D435 = _with(
    _COLOUR,
    _CALIBRATED,
    _ENCODERS,
    baseline_m=0.050,
    focal_px=447.0,
    window_px=7.0,
    subpixel_px=1.0 / 32.0,
    unit_m=0.001,
    disparity_px=0.04,
    pattern_px=0.069,
    fattening_px=1.75,
    flying=0.25,
    shadow=1.0,
    dark=0.4,
    glossy=0.7,
    clear=0.5,
    grazing=0.7,
    speckle=0.005,
    near_m=0.195,
    far_m=10.0,
    latency_s=0.05,
)
"""Intel RealSense D435 at 848x480.

Baseline 50 mm, depth field of view 87 degrees (447 px at 848), nearest 19.5 cm at 848x480, depth unit 1 mm, spatial
noise (RMS about a plane) <= 2 %, temporal noise <= 1 % and fill rate >= 99 % at 2 m: D400 series datasheet 337029. By
that ratio half of the noise is new in each image (0.04 px), and the rest stays (0.069 px). Subpixel RMS 0.08 px and
RMS = z^2 * subpixel / (focal * baseline): Intel, "Tuning depth cameras for best performance". Steps of 1/32 px:
Intel, "Subpixel linearity improvement". Window 7x7: Keselman et al. 2017, arXiv:1705.05548 (census cost, box of 7x7,
in the D400 series followed by semi-global matching that keeps edges: fattening is therefore half of half a window).
Holes on dark, glossy, clear and grazing surfaces, and mixed edges: no published share; the values leave such a
surface visible in parts, as images of the device show it. Latency: one and a half images at 30 Hz, no published
figure.
"""

KINOVA_WRIST = replace(
    REALSENSE_D435, baseline_m=0.055, focal_px=330.0, subpixel_px=1.0 / 32.0, near_m=0.18, jpeg=90.0, latency_s=0.1
)
"""Depth module in the wrist of a Kinova Gen3, a RealSense D410 at 480x270.

Baseline 55 mm and spatial noise <= 2 % at 2 m: D400 series datasheet 337029. 480x270 and 72 degrees (330 px at 480):
Kinova Gen3 user guide, vision module. The colours come as a compressed stream (RTSP), here as JPEG of quality 90 with a
latency of three images at 30 Hz; no published figure. All else as `REALSENSE_D435`, of the same processor.
"""

ZED2 = _with(
    _COLOUR,
    _CALIBRATED,
    _ENCODERS,
    baseline_m=0.120,
    focal_px=528.0,
    window_px=9.0,
    disparity_px=0.05,
    pattern_px=0.087,
    fattening_px=3.0,
    flying=0.5,
    shadow=1.0,
    dark=0.1,
    glossy=0.4,
    clear=0.2,
    grazing=0.5,
    speckle=0.002,
    near_m=0.30,
    far_m=20.0,
    latency_s=0.07,
)
"""Stereolabs ZED 2 at 1280x720, without a projector.

Baseline 120 mm, range 0.3 to 20 m, error < 1 % up to 3 m: ZED 2 datasheet. 528 px: 2.12 mm lens over pixels of 4 um
(2 um binned in two) of the same. 0.1 px in all, of which half is new in each image as with the D435, gives 0.5 % at
3 m, half of the stated bound; window and mixed edges are wider than the D435's, as its dense depth fills holes and
smooths over edges; no published figures.
"""

AZURE_KINECT = _with(
    _COLOUR,
    _CALIBRATED,
    _ENCODERS,
    focal_px=504.0,
    window_px=2.0,
    unit_m=0.001,
    depth_m=0.017 / 3.5**2,
    bias_m=0.011,
    bias_share=0.001,
    multipath=0.1,
    flying=0.3,
    edges=0.4,
    dark=0.5,
    glossy=0.5,
    clear=0.6,
    grazing=0.5,
    speckle=0.001,
    near_m=0.5,
    far_m=3.86,
    latency_s=0.07,
)
"""Microsoft Azure Kinect DK, narrow field of view, not binned: time of flight.

Range 0.5 to 3.86 m, random error <= 17 mm, systematic error < 11 mm + 0.1 % of the distance, invalid pixels at edges
and by multipath: Microsoft, "Azure Kinect DK hardware specifications" and "depth camera". Random error grows with the
square of the distance, as the light that comes back falls, to those 17 mm at 3.5 m, up to where Tolgyessy et al.
(Sensors 2021) confirm the figures. 504 px: factory calibration of the 640x576 mode. Shares of flying and invalid
pixels and of multipath: both effects are described there, without a share.
"""

HARD = replace(
    REALSENSE_D435,
    disparity_px=0.08,
    pattern_px=0.139,
    fattening_px=3.5,
    flying=0.5,
    dark=0.8,
    glossy=0.9,
    clear=0.8,
    grazing=0.9,
    speckle=0.02,
    exposure=0.25,
    white_balance=0.1,
    electrons=1000.0,
    read=10.0,
    blur_px=1.0,
    motion_px=3.0,
    jpeg=60.0,
    focal_share=0.005,
    centre_px=3.0,
    hand_eye_m=0.005,
    hand_eye_rad=radians(0.5),
    latency_s=0.1,
    joint_rad=radians(0.02),
    jaw_m=0.0004,
    jaw_bias_m=0.001,
)
"""No device: about twice the D435's figures (0.16 px is Intel's bound of 0.1 px and more, a target without texture),
a poor light, and a hurried calibration of up to 5 mm and 0.5 degrees."""


def _chosen(sensor: RgbdSensor, terms: str) -> RgbdSensor:
    return sensor.only(*terms.split(",")) if terms else sensor


def realsense_d435(model: str = "") -> RgbdSensor:
    """See `REALSENSE_D435`; with the names of terms, such as "shadow,dropout", with these alone."""
    return _chosen(REALSENSE_D435, model)


def zed2(model: str = "") -> RgbdSensor:
    """See `ZED2`; with the names of terms, such as "shadow,dropout", with these alone."""
    return _chosen(ZED2, model)


def azure_kinect(model: str = "") -> RgbdSensor:
    """See `AZURE_KINECT`; with the names of terms, such as "shadow,dropout", with these alone."""
    return _chosen(AZURE_KINECT, model)


def kinova_wrist(model: str = "") -> RgbdSensor:
    """See `KINOVA_WRIST`; with the names of terms, such as "shadow,dropout", with these alone."""
    return _chosen(KINOVA_WRIST, model)


def hard(model: str = "") -> RgbdSensor:
    """See `HARD`; with the names of terms, such as "shadow,dropout", with these alone."""
    return _chosen(HARD, model)


def clean() -> RgbdSensor:
    """See `CLEAN`."""
    return CLEAN
