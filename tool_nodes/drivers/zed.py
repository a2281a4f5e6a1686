"""A ZED through Stereolabs' SDK (pyzed.sl, written for 5.4), without its ROS wrapper: `zed` of `toolhand.camera`."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.drivers.library_calls import DeviceThread
from toolhand.tool_nodes.results import ToolError, invalid, unavailable, words_of
from toolhand.tool_nodes.types import FloatArray, Frame

DEPTH_MODES = ("neural_light", "neural", "neural_plus", "performance", "quality", "ultra")
"""How depth is computed, by the SDK's names: by a network, or by matching without one. Neural is its own default."""

RESOLUTIONS = ("auto", "hd4k", "hd2k", "hd1200", "hd1080", "hd720", "svga", "vga")
"""What the sensor sends; auto is HD1200 for a ZED X and HD720 for the others."""

TRANSPORT_FRAMES = 3
"""An image may have been on its way for so many frames when it is stamped (pyzed, `Camera.get_timestamp`: "2 or 3
frame-time"): what is stamped sooner after a request may have been exposed before it."""

SILENT_DEADLINES = 3
"""Requests in a row that the SDK did not answer before the device is taken for lost, as with topics."""

_OPENING = 0.5
"""Share of a request's deadline that opening may take: the SDK's error then comes before the deadline."""

_CLOSING_S = 2.0
"""Wait for the device to be closed when the process ends [s]."""

_PAUSE_S = 0.005
"""Wait before the next try after an image that cannot be used [s]; a frame at 100 Hz takes twice as long."""

_NARROWEST_PX, _WIDEST_PX = 160, 3840
"""Widths that images may be asked for [px]: below the first nothing is recognised, and HD4K has the second."""

_WITHOUT_IMAGE = {
    "CORRUPTED_FRAME": "the picture is corrupted",
    "CAMERA_REBOOTING": "the camera is starting again",
}
"""Codes below SUCCESS, which the SDK calls warnings, that come without an image to work with."""

_HELP = {
    "CAMERA_NOT_DETECTED": "Look at its cable and its power; the next request opens it again.",
    "CANNOT_START_CAMERA_STREAM": "Another process may have it, such as zed_wrapper or ZED Explorer: end that one.",
    "LOW_USB_BANDWIDTH": "Put it into a USB 3 port of its own.",
    "NO_GPU_DETECTED": "The SDK needs an NVIDIA GPU; zed_wrapper on another computer needs none here.",
    "NOT_ENOUGH_GPU_MEMORY": "Take another depth mode, e.g. scene_camera:=zed:?depth=neural_light.",
    "CALIBRATION_FILE_NOT_AVAILABLE": "Download the factory calibration with ZED Explorer or ZED Calibration.",
    "INVALID_CALIBRATION_FILE": "Calibrate the camera again with ZED Calibration.",
}
"""What to do after an error, by the code's name."""

INSTALL = (
    "Install the ZED SDK from Stereolabs and run its get_python_api.py; `pyzed` on the package index is another "
    "project's."
)
"""Where the right package comes from."""


@dataclass(frozen=True)
class ZedOptions:
    """What is typed behind `zed:`, as in `zed:31415?depth=neural&resolution=hd720&width=640`.

    Attributes:
        serial: Serial number of the camera; 0 means the first one that is found.
        depth: One of `DEPTH_MODES`.
        resolution: One of `RESOLUTIONS`.
        width: Width of the images [px], their height as the sensor's shape has it; 0 means the sensor's own size.
    """

    serial: int = 0
    depth: str = "neural"
    resolution: str = "auto"
    width: int = 0

    @classmethod
    def read(cls, text: str) -> ZedOptions:
        """The options that a text says. Raises ToolError INVALID_ARGUMENT."""
        serial, _, query = text.partition("?")
        if serial and not (serial.isascii() and serial.isdecimal() and 0 < int(serial) < 2**32):
            raise invalid(f"A ZED's serial number must be a whole number, as in zed:31415, not {serial[:40]!r}.")
        given = {"depth": cls.depth, "resolution": cls.resolution, "width": str(cls.width)}
        for part in query.split("&") if query else ():
            key, equals, value = part.partition("=")
            if not equals or key not in given:
                raise invalid(f"The ZED has no option {part[:40]!r}: it takes {', '.join(given)}.")
            given[key] = value
        for key, allowed in (("depth", DEPTH_MODES), ("resolution", RESOLUTIONS)):
            if given[key] not in allowed:
                raise invalid(f"The ZED's {key} must be {', '.join(allowed)}, not {given[key][:40]!r}.")
        width = given["width"]
        if width != "0" and not (width.isascii() and width.isdecimal() and _NARROWEST_PX <= int(width) <= _WIDEST_PX):
            raise invalid(f"The ZED's width must be from {_NARROWEST_PX} to {_WIDEST_PX} px, not {width[:40]!r}.")
        return cls(int(serial or 0), given["depth"], given["resolution"], int(width))


@dataclass(frozen=True)
class ZedImage:
    """What the SDK gave for one moment, in memory of our own.

    Attributes:
        rgb: uint8 (H, W, 3), the rectified left image.
        depth: float32 (H, W) along the optical axis of the left camera [m], NaN where unknown.
        K: (3, 3) intrinsics of images of this size [px].
        stamp_ns: Time of the image by the SDK's clock [ns].
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    K: FloatArray
    stamp_ns: int


def load_sdk() -> Any:
    """The module pyzed.sl. Raises ToolError UNAVAILABLE, with where it comes from."""
    try:
        import pyzed.sl as sl
    except ImportError as error:
        why = words_of(error)
        raise unavailable(f"The camera 'zed' needs pyzed.sl, which cannot be imported: {why}.", INSTALL) from error
    return sl


def _member(enum: Any, option: str) -> Any:
    """The member of an enum of the SDK. Raises ToolError UNAVAILABLE where this version has none of that name."""
    name = option.upper()
    if not hasattr(enum, name):
        has = ", ".join(member.name for member in enum if member.name != "LAST")
        raise unavailable(f"The installed ZED SDK has no {enum.__name__} {name}: it has {has}.")
    return getattr(enum, name)


class ZedDevice:
    """The calls of the SDK. All of them block, `open` with Python's lock held, and none is for two threads at once.

    Args:
        sl: The module pyzed.sl.
        options: The camera to open, and how.
        opening_s: Longest wait for the camera to open [s].
        warn: Is given a sentence where the SDK warns.
    """

    def __init__(self, sl: Any, options: ZedOptions, opening_s: float, warn: Callable[[str], None]) -> None:
        self._sl, self._options, self._opening_s, self._warn = sl, options, opening_s, warn
        self._runtime = sl.RuntimeParameters(enable_depth=True, enable_fill_mode=False)  # filled depth is invented
        self._image, self._depth = sl.Mat(), sl.Mat()
        self._camera: Any = None
        self._warned: set[str] = set()
        self._last_ns = 0

    def open(self) -> None:
        """Open the camera where it is not open. Raises ToolError UNAVAILABLE."""
        if self._camera is not None:
            return
        sl = self._sl
        parameters = sl.InitParameters(
            camera_resolution=_member(sl.RESOLUTION, self._options.resolution),
            depth_mode=_member(sl.DEPTH_MODE, self._options.depth),
            coordinate_units=sl.UNIT.METER,
            coordinate_system=sl.COORDINATE_SYSTEM.IMAGE,
            camera_image_flip=sl.FLIP_MODE.OFF,  # an automatic one would turn images but not their calibration
            depth_stabilization=0,  # what it averages over is minutes old where images are asked for now and then
            enable_image_validity_check=True,  # else no frame is ever reported as corrupted
            sdk_verbose=0,
            open_timeout_sec=float(self._opening_s),
        )
        if self._options.serial:
            parameters.set_from_serial_number(self._options.serial)
        camera = sl.Camera()
        code = camera.open(parameters)
        try:
            self._require(code, "The ZED cannot be opened")
            if not camera.is_opened():
                raise unavailable(f"The ZED cannot be opened: {code.name}.", _HELP.get(code.name, ""))
            self._require_conventions(camera.get_init_parameters())
            self._size, self._K = self._calibration(camera)
            rate = float(camera.get_camera_information().camera_configuration.fps)
        except ToolError:
            camera.close()
            raise
        self._transport_ns = round(TRANSPORT_FRAMES / max(rate, 1.0) * 1e9)
        self._last_ns = 0
        self._camera = camera

    def close(self) -> None:
        """Close the camera; the next image opens it again."""
        camera, self._camera = self._camera, None
        if camera is not None:
            camera.close()

    def image(self, end: float) -> ZedImage:
        """An image that was exposed after this call.

        Args:
            end: When to give up, on the monotonic clock [s].

        Raises:
            ToolError: UNAVAILABLE where there is none; the sentence says why.
        """
        self.open()
        asked_ns = self._camera.get_timestamp(self._sl.TIME_REFERENCE.CURRENT).get_nanoseconds()
        why = "it sends nothing"
        while time.monotonic() < end:
            code = self._camera.grab(self._runtime)
            self._require(code, "The ZED gives no picture")
            if code.name in _WITHOUT_IMAGE:
                why = _WITHOUT_IMAGE[code.name]
            else:
                stamp_ns = self._stamp()
                too_old_ns = asked_ns + self._transport_ns - stamp_ns
                if too_old_ns <= 0:
                    return self._retrieved(stamp_ns)
                why = f"its newest picture is {too_old_ns / 1e9:.2f} s too old for the request"
            time.sleep(_PAUSE_S)
        raise unavailable(
            f"The ZED gave no picture that can be used in time: {why}.", "Look at its cable and its lens."
        )

    def _stamp(self) -> int:
        """Time of the image that was grabbed [ns]."""
        stamp_ns = int(self._camera.get_timestamp(self._sl.TIME_REFERENCE.IMAGE).get_nanoseconds())
        if stamp_ns <= 0:
            raise unavailable("The ZED's picture has no time stamp.", "Take another picture.")
        before_ns, self._last_ns = self._last_ns, stamp_ns
        if stamp_ns < before_ns:
            raise unavailable(
                f"The time of the ZED's pictures went back by {(before_ns - stamp_ns) / 1e9:.3f} s.",
                "Look at the clock of this computer (NTP, PTP), and take another picture.",
            )
        return stamp_ns

    def _retrieved(self, stamp_ns: int) -> ZedImage:
        sl, (width, height) = self._sl, self._size
        size = sl.Resolution(width, height)
        self._require(
            self._camera.retrieve_image(self._image, sl.VIEW.LEFT, sl.MEM.CPU, size), "The ZED's picture is lost"
        )
        self._require(
            self._camera.retrieve_measure(self._depth, sl.MEASURE.DEPTH, sl.MEM.CPU, size), "The ZED's depth is lost"
        )
        # Views into the SDK's memory, which the next grab overwrites. Its deep_copy takes padded rows for packed ones.
        bgra, depth = self._image.get_data(sl.MEM.CPU), self._depth.get_data(sl.MEM.CPU)
        if bgra.shape != (height, width, 4) or bgra.dtype != np.uint8:
            raise unavailable(
                f"The ZED's picture must be {width}x{height} BGRA of uint8, but it is {bgra.dtype} {bgra.shape}."
            )
        if depth.shape != (height, width) or depth.dtype != np.float32:
            raise unavailable(
                f"The ZED's depth must be {width}x{height} of float32, but it is {depth.dtype} {depth.shape}."
            )
        # NaN where a surface is hidden from one eye, -inf where it is too near, +inf where too far: all unknown here.
        metres = np.where(np.isfinite(depth) & (depth > 0.0), depth, np.float32(np.nan))
        return ZedImage(np.ascontiguousarray(bgra[..., 2::-1]), metres, self._K.copy(), stamp_ns)

    def _require(self, code: Any, what: str) -> None:
        """Raise ToolError UNAVAILABLE for an error, after which the camera is opened anew; warn of a warning."""
        success = self._sl.ERROR_CODE.SUCCESS
        if code.value > success.value:
            with suppress(Exception):  # what cannot be closed has been pulled out
                self.close()
            raise unavailable(f"{what}: {code.name}.", _HELP.get(code.name, "ZED_Diagnostic tests camera and SDK."))
        if code.value < success.value and code.name not in self._warned:
            self._warned.add(code.name)
            self._warn(f"The ZED's SDK warns: {code.name}.")

    def _require_conventions(self, used: Any) -> None:
        """Raise ToolError UNAVAILABLE unless the SDK measures as this project does."""
        sl = self._sl
        for name, wanted in (("coordinate_units", sl.UNIT.METER), ("coordinate_system", sl.COORDINATE_SYSTEM.IMAGE)):
            if (got := getattr(used, name)) != wanted:
                raise unavailable(f"The ZED's {name} must be {wanted.name}, but the SDK has {got.name}.")

    def _calibration(self, camera: Any) -> tuple[tuple[int, int], FloatArray]:
        """Size (width, height) [px] that images are asked for, and K (3, 3) [px] of images of that size."""
        native = camera.get_camera_information().camera_configuration.resolution
        width, height = int(native.width), int(native.height)
        if self._options.width > width:
            raise unavailable(
                f"The ZED's pictures are {width} px wide and are not enlarged to {self._options.width} px.",
                "Take a smaller width or another resolution.",
            )
        if self._options.width:
            width, height = self._options.width, round(self._options.width * height / width)
        information = camera.get_camera_information(self._sl.Resolution(width, height))
        left = information.camera_configuration.calibration_parameters.left_cam
        size = int(left.image_size.width), int(left.image_size.height)
        if size != (width, height):
            raise unavailable(
                f"The ZED's calibration is for pictures of {size[0]}x{size[1]} pixels, but they have {width}x{height}."
            )
        if np.any(np.asarray(left.disto)):
            raise unavailable("The ZED's calibration has distortion, so that its pictures are not rectified.")
        K = np.array([[left.fx, 0.0, left.cx], [0.0, left.fy, left.cy], [0.0, 0.0, 1.0]], float)
        return (width, height), K


class ZedCamera:
    """The Camera port over a ZED that this process opens. The pose of its left optical frame comes from /tf.

    Args:
        node: The rclpy Node that logs warnings.
        transforms: A `tf2_ros.Buffer` that a TransformListener fills.
        deadline_s: Wall-clock seconds within which an image must be complete; greater than 0.
        base_frame: Frame of the robot's base.
        camera: "scene" or "wrist".
        lost: Called after `SILENT_DEADLINES` requests in a row that the SDK did not answer.
        model: See `ZedOptions`.

    Raises:
        ToolError: INVALID_ARGUMENT for options; UNAVAILABLE where the SDK is not installed.
    """

    def __init__(
        self,
        node: Any,
        transforms: Any,
        deadline_s: float,
        base_frame: str,
        camera: str = "scene",
        lost: Callable[[], None] = lambda: None,
        model: str = "",
    ) -> None:
        from toolhand.tool_nodes.ros.device_frames import DeviceFrames

        options = ZedOptions.read(model)
        self._device = ZedDevice(load_sdk(), options, _OPENING * deadline_s, node.get_logger().warning)
        self._frames = DeviceFrames(transforms, base_frame, camera, "ZED")
        self._deadline_s, self._lost, self._unanswered = deadline_s, lost, 0
        self._one_at_a_time = threading.Lock()
        self._thread = DeviceThread("zed")
        self._thread.begin(self._device.open)  # seconds; what goes wrong is said when an image is asked for
        atexit.register(self.close)

    def capture(self) -> Frame:
        """An image that is not older than this call.

        Raises:
            ToolError: UNAVAILABLE where no usable image comes in time, or its pose is unknown; NO_DEPTH.
        """
        with self._one_at_a_time:
            end = time.monotonic() + self._deadline_s
            try:
                image = self._thread.run(lambda: self._device.image(end - _PAUSE_S), end)
            except TimeoutError:
                self._unanswered += 1
                if self._unanswered >= SILENT_DEADLINES:
                    self._lost()
                raise unavailable(
                    f"The ZED's SDK has not answered within {self._deadline_s:g} s.",
                    "It may be opening the camera still; else look at its cable, and start the camera node again.",
                ) from None
            except (AttributeError, RuntimeError, TypeError, ValueError) as error:  # of pyzed, or of another version
                raise unavailable(f"The ZED's SDK failed: {type(error).__name__}: {error}.") from error
            self._unanswered = 0
            return self._frames.frame(image.rgb, image.depth, image.K, image.stamp_ns, end)

    def close(self) -> None:
        """Give the camera back to other processes."""
        atexit.unregister(self.close)
        with suppress(TimeoutError):
            self._thread.run(self._device.close, time.monotonic() + _CLOSING_S)
