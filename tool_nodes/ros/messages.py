"""Conversions between the tools' data and ROS 2 messages.

Depth and clouds are float32 on both sides and cross unchanged, stamps to the nanosecond. A message that cannot be read
raises `BadMessage`, whose text is one sentence.
"""

from __future__ import annotations

import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image, PointCloud2, PointField
from std_msgs.msg import Header
from vision_msgs.msg import BoundingBox2D

from toolhand.tool_nodes.camera_checks import BadMessage as BadMessage
from toolhand.tool_nodes.camera_checks import NotRegistered, known_depth, require_metres
from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES
from toolhand.tool_nodes.geometry import carried_rotation, pose, quat_wxyz_from_matrix
from toolhand.tool_nodes.ros.calibration import Rectified, read_calibration
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

BASE_FRAME = "base_link"
_CAMERAS = {frame_id: camera for camera, frame_id in OPTICAL_FRAMES.items()}
_NANO = 1_000_000_000
"""Nanoseconds of a second."""

_COLOUR_CHANNELS = {"rgb8": (0, 1, 2), "bgr8": (2, 1, 0), "rgba8": (0, 1, 2), "bgra8": (2, 1, 0)}
"""Places of red, green and blue in each encoding of sensor_msgs/Image."""

_MILLIMETRES = ("16UC1", "mono16")
"""Encodings of depth in whole millimetres: that of REP 118, and what zed_wrapper sends with openni_depth_mode."""

_CLOUD_TYPES = {PointField.FLOAT32: "<f4", PointField.FLOAT64: "<f8"}


@dataclass(frozen=True)
class RosFrame(Frame):
    """A frame that came in messages.

    Attributes:
        stamp_ns: The exact stamp [ns]; `stamp` is the nearest float.
        frame_id: Name of the camera's optical frame.
    """

    stamp_ns: int = 0
    frame_id: str = ""


# -- time and headers ------------------------------------------------------------------------------


def time_message(stamp_ns: int) -> Time:
    """A builtin Time of nanoseconds."""
    return Time(sec=stamp_ns // _NANO, nanosec=stamp_ns % _NANO)


def nanoseconds(time: Time) -> int:
    """Nanoseconds of a builtin Time."""
    return int(time.sec) * _NANO + int(time.nanosec)


def header_of(frame: Frame) -> Header:
    """Stamp and optical frame of a frame; of one that came in messages, exactly those."""
    if isinstance(frame, RosFrame):
        return Header(stamp=time_message(frame.stamp_ns), frame_id=frame.frame_id)
    return Header(stamp=time_message(round(frame.stamp * _NANO)), frame_id=OPTICAL_FRAMES[frame.camera])


# -- images --------------------------------------------------------------------------------------


def rgb_to_image(rgb: NDArray[np.uint8], header: Header) -> Image:
    """An rgb8 image of an image (H, W, 3)."""
    return _image(rgb, "rgb8", 3, header)


def image_to_rgb(image: Image) -> NDArray[np.uint8]:
    """The image (H, W, 3) of an rgb8, bgr8, rgba8 or bgra8 image. Raises BadMessage."""
    if image.encoding not in _COLOUR_CHANNELS:
        raise BadMessage(f"The image has encoding {image.encoding!r}, but must have {_either(_COLOUR_CHANNELS)}.")
    channels = 3 + image.encoding.endswith("a8")
    pixels = _rows(image, channels, "image").reshape(image.height, image.width, channels)
    return pixels if image.encoding == "rgb8" else np.ascontiguousarray(pixels[..., _COLOUR_CHANNELS[image.encoding]])


def mask_to_image(mask: BoolArray, header: Header) -> Image:
    """A mono8 image, 255 where the mask (H, W) is true."""
    return _image(mask.astype(np.uint8) * np.uint8(255), "mono8", 1, header)


def image_to_mask(image: Image) -> BoolArray:
    """The mask (H, W) of a mono8 image, true where it is not 0. Raises BadMessage."""
    if image.encoding not in ("mono8", "8UC1"):
        raise BadMessage(f"The mask has encoding {image.encoding!r}, but must have mono8.")
    return _rows(image, 1, "mask").reshape(image.height, image.width) != 0


def depth_to_image(depth: NDArray[np.float32], header: Header) -> Image:
    """A 32FC1 image of depth (H, W) [m], NaN where unknown."""
    return _image(depth.astype("<f4", copy=False), "32FC1", 4, header)


def image_to_depth(image: Image) -> NDArray[np.float32]:
    """Depth (H, W) [m] of a 32FC1 [m], 16UC1 or mono16 [mm] image; NaN where it is no distance. Raises BadMessage."""
    if image.encoding not in ("32FC1", *_MILLIMETRES):
        raise BadMessage(f"The depth image has encoding {image.encoding!r}, but must have 32FC1 or 16UC1.")
    in_metres = image.encoding == "32FC1"
    size = 4 if in_metres else 2
    if image.is_bigendian:
        raise BadMessage("The depth image is big-endian, but must be little-endian.")
    rows = np.ascontiguousarray(_rows(image, size, "depth image"))
    raw = rows.view("<f4" if in_metres else "<u2").reshape(image.height, image.width)
    units = 1.0 if in_metres else 1000.0
    return known_depth(raw, units, "depth image", "send 32FC1 in metres, or millimetres as 16UC1")


def box_to_message(left: float, top: float, right: float, bottom: float) -> BoundingBox2D:
    """An axis-aligned box [px], right and bottom exclusive; its middle is a place between the pixels' centres."""
    message = BoundingBox2D(size_x=float(right - left), size_y=float(bottom - top))
    message.center.position.x = (left + right - 1) / 2.0
    message.center.position.y = (top + bottom - 1) / 2.0
    return message


def message_to_box(message: BoundingBox2D) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) [px] of an axis-aligned box, right and bottom exclusive."""
    left = message.center.position.x - (message.size_x - 1) / 2.0
    top = message.center.position.y - (message.size_y - 1) / 2.0
    return left, top, left + message.size_x, top + message.size_y


def _image(pixels: NDArray[Any], encoding: str, pixel_bytes: int, header: Header) -> Image:
    height, width = pixels.shape[:2]
    return Image(
        header=header,
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=width * pixel_bytes,
        data=_octets(pixels),
    )


def _octets(values: NDArray[Any]) -> array.array[int]:
    """The bytes of an array in the type that rosidl's generated classes take without looking at each value."""
    octets = array.array("B")
    octets.frombytes(np.ascontiguousarray(values).data.cast("B") if values.size else b"")
    return octets


def _rows(image: Image, pixel_bytes: int, what: str) -> NDArray[np.uint8]:
    """The bytes (H, width * pixel_bytes) of an image without the padding at the end of its rows."""
    if not image.width or not image.height:
        raise BadMessage(f"The {what} is empty ({image.width}x{image.height}).")
    row = image.width * pixel_bytes
    if image.step < row:
        raise BadMessage(f"The {what} has a step of {image.step} bytes, but a row of {image.encoding} needs {row}.")
    if len(image.data) != image.step * image.height:
        raise BadMessage(
            f"The {what} has {len(image.data)} bytes of data, but {image.height} rows of {image.step} bytes "
            f"are {image.step * image.height}."
        )
    return np.frombuffer(image.data, np.uint8).reshape(image.height, image.step)[:, :row]


def _either(names: Mapping[str, object]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"


# -- calibration and poses -------------------------------------------------------------------------


def intrinsics_to_info(K: FloatArray, size: tuple[int, int], header: Header) -> CameraInfo:
    """The calibration of a pinhole camera without distortion, K (3, 3) [px], for images of (width, height)."""
    k = [float(value) for value in np.asarray(K, float).reshape(9)]
    p = [*k[:3], 0.0, *k[3:6], 0.0, *k[6:], 0.0]
    return CameraInfo(
        header=header,
        width=size[0],
        height=size[1],
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=k,
        r=[float(value) for value in np.eye(3).reshape(9)],
        p=p,
    )


def info_to_intrinsics(info: CameraInfo, size: tuple[int, int]) -> FloatArray:
    """K (3, 3) [px] of a calibration without distortion for images of (width, height). Raises BadMessage."""
    return read_calibration(info, size, Rectified())[0]


def matrix_to_pose(T: FloatArray) -> Pose:
    """A Pose of a rigid transform (4, 4). Raises BadMessage where it is not finite."""
    T = np.asarray(T, float)
    if not np.isfinite(T).all():
        raise BadMessage("A pose must not hold NaN or infinite numbers.")
    message = Pose()
    p, q = message.position, message.orientation
    p.x, p.y, p.z = (float(value) for value in T[:3, 3])
    q.w, q.x, q.y, q.z = (float(value) for value in quat_wxyz_from_matrix(T[:3, :3]))
    return message


def pose_to_matrix(message: Pose) -> FloatArray:
    """The transform (4, 4) of a Pose, whose quaternion need not be normalised: one of `carried` comes back to the last
    bit. Raises BadMessage."""
    p, q = message.position, message.orientation
    return rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z))


def rigid(position: tuple[float, ...], quat_wxyz: tuple[float, ...]) -> FloatArray:
    """The transform (4, 4) of a position [m] and a quaternion. Raises BadMessage for NaN or a zero quaternion."""
    if not (np.isfinite(position).all() and np.isfinite(quat_wxyz).all()):
        raise BadMessage("A pose must not hold NaN or infinite numbers.")
    norm = float(np.linalg.norm(quat_wxyz))
    if not 1e-6 < norm < 1e6:
        raise BadMessage("A pose's quaternion must not be zero.")
    return pose(carried_rotation(quat_wxyz), position)


# -- clouds ----------------------------------------------------------------------------------------


def cloud_to_message(cloud: NDArray[np.float32], size: tuple[int, int], header: Header) -> PointCloud2:
    """An organised cloud of points (H*W, 3) [m] for images of (width, height); any other cloud becomes one row."""
    width, height = size if size[0] * size[1] == len(cloud) else (len(cloud), 1)
    return PointCloud2(
        header=header,
        height=height,
        width=width,
        fields=[
            PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
            for index, name in enumerate("xyz")
        ],
        is_bigendian=False,
        point_step=12,
        row_step=12 * width,
        data=_octets(np.asarray(cloud).astype("<f4", copy=False)),
        is_dense=bool(np.isfinite(cloud).all()),
    )


def message_to_cloud(message: PointCloud2) -> NDArray[np.float32]:
    """The points (H*W, 3) [m] of a cloud with float fields x, y, z, wherever they lie in a point. Raises BadMessage."""
    if message.is_bigendian:
        raise BadMessage("The point cloud is big-endian, but must be little-endian.")
    fields = {field.name: field for field in message.fields}
    missing = [name for name in "xyz" if name not in fields]
    if missing:
        raise BadMessage(f"The point cloud has no field {missing[0]}; it needs x, y and z.")
    formats = []
    for name in "xyz":
        field = fields[name]
        if field.datatype not in _CLOUD_TYPES or field.count != 1:
            raise BadMessage(f"The point cloud's field {name} must be one FLOAT32 or FLOAT64 number.")
        formats.append(_CLOUD_TYPES[field.datatype])
        end = field.offset + np.dtype(formats[-1]).itemsize
        if end > message.point_step:
            raise BadMessage(
                f"The point cloud's points have {message.point_step} bytes, but field {name} ends at {end}."
            )
    row = message.width * message.point_step
    if message.row_step < row:
        raise BadMessage(f"The point cloud has a row_step of {message.row_step} bytes, but a row needs {row}.")
    if len(message.data) != message.row_step * message.height:
        raise BadMessage(
            f"The point cloud has {len(message.data)} bytes of data, but {message.height} rows of {message.row_step} "
            f"bytes are {message.row_step * message.height}."
        )
    count = message.width * message.height
    if not count:
        return np.empty((0, 3), np.float32)
    rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.row_step)[:, :row]
    points = np.ascontiguousarray(rows).reshape(count, message.point_step)
    layout = np.dtype(
        {
            "names": ["x", "y", "z"],
            "formats": formats,
            "offsets": [fields[name].offset for name in "xyz"],
            "itemsize": message.point_step,
        }
    )
    values = points.view(layout)[:, 0]
    cloud = np.stack([values[name].astype(np.float32) for name in "xyz"], axis=1)
    distances = np.abs(cloud).max(axis=1)
    require_metres(distances[np.isfinite(distances)], "point cloud", "send it in metres")
    return cloud


# -- frames ----------------------------------------------------------------------------------------


def put_frame(message: Any, frame: Frame) -> None:
    """Fill the fields `image`, `depth`, `camera_info` and `camera_pose` that requests and answers share."""
    put_image(message, frame)
    message.depth = depth_to_image(frame.depth, header_of(frame))


def put_image(message: Any, frame: Frame) -> None:
    """As `put_frame`, without depth."""
    header = header_of(frame)
    message.image = rgb_to_image(frame.rgb, header)
    message.camera_info = intrinsics_to_info(frame.K, frame.size, header)
    message.camera_pose = PoseStamped(
        header=Header(stamp=header.stamp, frame_id=BASE_FRAME), pose=matrix_to_pose(frame.T_base_camera)
    )


def take_frame(message: Any, camera: str | None = None) -> RosFrame:
    """The frame that `put_frame` put into a message; its depth is unknown where the field is empty (0 x 0).

    Args:
        message: Has the fields.
        camera: See `make_frame`.

    Raises:
        BadMessage: The first object that is wrong or does not fit together.
    """
    if not message.camera_pose.header.frame_id:
        raise BadMessage("The camera_pose is missing: its frame_id is empty.")
    T_base_camera = pose_to_matrix(message.camera_pose.pose)
    return make_frame(message.image, message.depth, message.camera_info, T_base_camera, camera=camera)


def make_frame(
    image: Image,
    depth: Image,
    camera_info: CameraInfo,
    T_base_camera: FloatArray,
    tolerance_ns: int = 0,
    rectified: Rectified = Rectified(),  # noqa: B008  # frozen
    camera: str | None = None,
) -> RosFrame:
    """A frame of one capture, with the image's stamp; what is raw is rectified.

    Args:
        image: In colour.
        depth: Depth of the same size; 0 x 0 where it is not known.
        camera_info: Calibration for images of that size.
        T_base_camera: Pose (4, 4) of the optical frame.
        tolerance_ns: How far the stamps of image and depth may be apart [ns].
        rectified: Which of the two are rectified. While that is not known, a calibration with distortion is refused:
            points in a request are pixels of the image that was sent.
        camera: "scene" or "wrist"; where None, what the name of the optical frame means, if anything, else "scene".

    Raises:
        BadMessage: The first object that is wrong or does not fit together.
    """
    rgb = image_to_rgb(image)
    size = image.width, image.height
    if depth.width or depth.height:
        if abs(nanoseconds(depth.header.stamp) - nanoseconds(image.header.stamp)) > tolerance_ns:
            raise BadMessage("The image and the depth image have different stamps; both must be of one capture.")
        if (depth.width, depth.height) != size:
            raise NotRegistered(
                f"The depth image has {depth.width}x{depth.height} pixels, but the image has {size[0]}x{size[1]}."
            )
        metres = image_to_depth(depth)
    else:
        metres = np.full(rgb.shape[:2], np.nan, np.float32)
    K, lens = read_calibration(camera_info, size, rectified)
    if lens is not None:
        rgb = rgb if rectified.image else lens.colours(rgb)
        metres = metres if rectified.depth else lens.nearest(metres)
    stamp_ns, frame_id = nanoseconds(image.header.stamp), image.header.frame_id
    return RosFrame(
        rgb=rgb,
        depth=metres,
        K=K,
        T_base_camera=T_base_camera,
        stamp=stamp_ns / _NANO,
        camera=camera or _CAMERAS.get(frame_id, "scene"),
        stamp_ns=stamp_ns,
        frame_id=frame_id,
    )
