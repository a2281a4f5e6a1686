"""A ZED without a ZED: pyzed.sl of the table, whose camera shows frames of ours and can be made to misbehave."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from tests.tool_nodes.drivers.signatures import TABLE, Double, Recorder, enums, module
from toolhand.tool_nodes.types import Frame

PADDING = 16
"""Bytes at the end of each row of a Mat, as the SDK aligns them."""


@dataclass
class ZedState:
    """What the camera does.

    Attributes:
        frame: What it shows.
        opens, grabs: Names of ERROR_CODE that the next calls give, then SUCCESS. A callable is called for its name.
        clock_ns: The SDK's clock [ns].
        lag_ns: Age of an image when it is stamped [ns].
        unit, system: What the SDK measures in, whatever was asked for; None: as asked.
        distortion: Each coefficient of the calibration.
        calibrated: Size that the calibration is for (width, height) [px]; None: as asked.
        used: Methods and properties that were used, e.g. "Camera.grab".
        opened: Parameters of each opening.
        closed: How often an open camera was closed.
        change: Makes of an image (H, W, 4) and depth (H, W) what the SDK gives.
    """

    frame: Frame
    opens: list[str] = field(default_factory=list)
    grabs: list[Any] = field(default_factory=list)
    clock_ns: Callable[[], int] = time.time_ns
    lag_ns: int = 0
    unit: str | None = None
    system: str | None = None
    distortion: float = 0.0
    calibrated: tuple[int, int] | None = None
    used: set[str] = field(default_factory=set)
    opened: list[Any] = field(default_factory=list)
    closed: int = 0
    change: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] = lambda bgra, depth: (bgra, depth)


def make_sl(state: ZedState) -> ModuleType:
    """The module pyzed.sl, with all names of the table and no others."""
    names = enums()
    code, recorder = names["ERROR_CODE"], Recorder()
    recorder.used = state.used

    class Base(Double):
        ENUMS = names

    Base.recorder = recorder

    class Timestamp(Base):
        NAME = "Timestamp"
        _ns = 0

        def _get_nanoseconds(self, given: Any) -> int:
            return self._ns

    class Resolution(Base):
        NAME = "Resolution"

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            self._width, self._height = self.given.width, self.given.height

    class Mat(Base):
        NAME = "Mat"
        _buffer = np.zeros(0, np.uint8)
        _view = np.zeros((0, 0))

        def _put(self, values: np.ndarray) -> None:
            """Write over the same memory, row by row with padding."""
            height, row = values.shape[0], values[0].nbytes + PADDING
            if self._buffer.size != height * row:
                self._buffer = np.zeros(height * row, np.uint8)
            rows = self._buffer.reshape(height, row)[:, : row - PADDING]
            rows[:] = np.ascontiguousarray(values).view(np.uint8).reshape(height, -1)
            channels = values.shape[2:]
            item = values.itemsize
            strides = (row, item * int(np.prod(channels, dtype=int)), *((item,) if channels else ()))
            self._view = np.ndarray(values.shape, values.dtype, self._buffer.data, strides=strides)

        def _get_data(self, given: Any) -> np.ndarray:
            assert given.memory_type is names["MEM"].CPU
            return self._view.copy() if given.deep_copy else self._view

    class InitParameters(Base):
        NAME = "InitParameters"
        _serial = 0

        def _set_from_serial_number(self, given: Any) -> None:
            self._serial = given.serial_number

    class RuntimeParameters(Base):
        NAME = "RuntimeParameters"

    class Camera(Base):
        NAME = "Camera"
        _parameters: Any = None
        _stamp_ns = 0

        def _open(self, given: Any) -> Any:
            state.opened.append(given.py_init)
            name = state.opens.pop(0) if state.opens else "SUCCESS"
            self._parameters = given.py_init if code[name].value <= 0 else None
            return code[name]

        def _is_opened(self, given: Any) -> bool:
            return self._parameters is not None

        def _close(self, given: Any) -> None:
            state.closed += self._parameters is not None
            self._parameters = None

        def _grab(self, given: Any) -> Any:
            assert self._parameters is not None
            assert given.py_runtime is not None
            time.sleep(0.002)
            name = state.grabs.pop(0) if state.grabs else "SUCCESS"
            if callable(name):
                name = name()
            if code[name].value <= 0 and name != "CAMERA_REBOOTING":
                self._stamp_ns = state.clock_ns() - state.lag_ns
            return code[name]

        def _size(self, resolution: Any) -> tuple[int, int]:
            return state.frame.size if resolution is None else (resolution._width, resolution._height)

        def _retrieve_image(self, given: Any) -> Any:
            assert given.view is names["VIEW"].LEFT
            bgra, _ = self._shown(given.resolution)
            given.py_mat._put(bgra)
            return code.SUCCESS

        def _retrieve_measure(self, given: Any) -> Any:
            assert given.measure is names["MEASURE"].DEPTH
            _, depth = self._shown(given.resolution)
            given.py_mat._put(depth)
            return code.SUCCESS

        def _shown(self, resolution: Any) -> tuple[np.ndarray, np.ndarray]:
            width, height = self._size(resolution)
            frame = state.frame
            rows = (np.arange(height) * frame.size[1]) // height
            columns = (np.arange(width) * frame.size[0]) // width
            rgb, depth = frame.rgb[rows][:, columns], frame.depth[rows][:, columns]
            bgra = np.dstack([rgb[..., ::-1], np.full(rgb.shape[:2], 255, np.uint8)])
            unit = state.unit or self._parameters.given.coordinate_units.name
            scale = {"METER": 1.0, "MILLIMETER": 1000.0, "INCH": 39.37}[unit]
            return state.change(bgra, (depth * scale).astype(np.float32))

        def _get_timestamp(self, given: Any) -> Any:
            stamp = Timestamp()
            current = given.time_reference is names["TIME_REFERENCE"].CURRENT
            stamp._ns = state.clock_ns() if current else self._stamp_ns
            return stamp

        def _get_init_parameters(self, given: Any) -> Any:
            used = InitParameters()
            used._coordinate_units = names["UNIT"][state.unit or self._parameters.given.coordinate_units.name]
            used._coordinate_system = names["COORDINATE_SYSTEM"][
                state.system or self._parameters.given.coordinate_system.name
            ]
            return used

        def _get_camera_information(self, given: Any) -> Any:
            width, height = self._size(given.resizer)
            scale = width / state.frame.size[0]
            size = state.calibrated or (width, height)
            K = state.frame.K
            left = _filled(
                "CameraParameters",
                fx=K[0, 0] * scale,
                fy=K[1, 1] * scale,
                cx=K[0, 2] * scale,
                cy=K[1, 2] * scale,
                image_size=Resolution(*size),
                disto=np.full(12, state.distortion),
            )
            calibration = _filled("CalibrationParameters", left_cam=left)
            configuration = _filled(
                "CameraConfiguration",
                resolution=Resolution(width, height),
                fps=300.0,
                calibration_parameters=calibration,
            )
            return _filled("CameraInformation", camera_configuration=configuration)

    def _filled(name: str, **values: Any) -> Any:
        made = type(name, (Base,), {"NAME": name, "__init__": lambda self: None})()
        for key, value in values.items():
            setattr(made, f"_{key}", value)
        return made

    classes = (Timestamp, Resolution, Mat, InitParameters, RuntimeParameters, Camera)
    names |= {one.NAME: one for one in classes}
    return module(TABLE["package"], names)


@contextmanager
def installed(state: ZedState) -> Iterator[ModuleType]:
    """`import pyzed.sl` finds the double."""
    sl = make_sl(state)
    package = module("pyzed", {"sl": sl, "__path__": []})
    before = {name: sys.modules.get(name) for name in ("pyzed", "pyzed.sl")}
    sys.modules.update({"pyzed": package, "pyzed.sl": sl})
    try:
        yield sl
    finally:
        for name, one in before.items():
            if one is None:
                del sys.modules[name]
            else:
                sys.modules[name] = one
