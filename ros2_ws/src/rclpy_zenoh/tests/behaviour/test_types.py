"""Messages of many types arrive as they were sent, here and from another process."""

from __future__ import annotations

import array
import math

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PointStamped, Polygon, Pose, PoseStamped, PoseWithCovariance, Quaternion
from geometry_msgs.msg import Point32 as P32
from rcl_interfaces.msg import ParameterValue
from sensor_msgs.msg import CameraInfo, Image, JointState, LaserScan, PointCloud2, PointField
from std_msgs.msg import (
    Bool,
    Byte,
    Char,
    ColorRGBA,
    Empty,
    Float32,
    Float64,
    Float64MultiArray,
    Header,
    Int8,
    Int16,
    Int32MultiArray,
    Int64,
    MultiArrayDimension,
    MultiArrayLayout,
    String,
    UInt8,
    UInt8MultiArray,
    UInt16,
    UInt32,
    UInt64,
)

HEADER = Header(stamp=Time(sec=12, nanosec=345_678_901), frame_id="map")
SIZES = MultiArrayLayout(
    dim=[MultiArrayDimension(label="rows", size=2, stride=6), MultiArrayDimension(label="cols", size=3, stride=3)],
    data_offset=0,
)
MESSAGES = [
    Bool(data=True),
    Byte(data=bytes([200])),
    Char(data=65),
    Int8(data=-128),
    UInt8(data=255),
    Int16(data=-(2**15)),
    UInt16(data=2**16 - 1),
    UInt32(data=2**32 - 1),
    Int64(data=-(2**63)),
    UInt64(data=2**64 - 1),
    Float32(data=0.5),
    Float64(data=math.pi),
    Float64(data=-math.inf),
    String(data=""),
    String(data="plain"),
    String(data="grüße, 世界, 🤖, \t\n"),
    String(data="x" * 100_000),
    Empty(),
    ColorRGBA(r=0.25, g=0.5, b=0.75, a=1.0),
    Header(),
    HEADER,
    Int32MultiArray(layout=SIZES, data=[1, -2, 3, -4, 5, -6]),
    Float64MultiArray(data=[0.1, math.inf, -0.0]),
    UInt8MultiArray(data=[]),
    PoseStamped(header=HEADER, pose=Pose(position=Point(x=1.0, y=2.0, z=3.0), orientation=Quaternion(w=1.0))),
    PointStamped(),
    Polygon(points=[P32(x=float(i), y=0.0, z=-1.0) for i in range(7)]),
    PoseWithCovariance(covariance=[float(i) for i in range(36)]),
    JointState(header=HEADER, name=["a", "", "ü"], position=[1.0, 2.0, 3.0], velocity=[], effort=[0.5]),
    LaserScan(ranges=[0.5] * 720, intensities=[]),
    CameraInfo(distortion_model="plumb_bob", d=[0.0] * 5, k=[float(i) for i in range(9)]),
    PointCloud2(fields=[PointField(name="x", datatype=PointField.FLOAT32, count=1)], data=[1, 2, 3, 255], point_step=4),
    ParameterValue(
        type=9,
        byte_array_value=[b"\x00", b"\xff"],
        bool_array_value=[True, False],
        integer_array_value=[-(2**63), 2**63 - 1],
        double_array_value=[1e-300],
        string_array_value=["one", "", "drei"],
    ),
]


@pytest.mark.parametrize("message", MESSAGES, ids=[type(message).__name__ for message in MESSAGES])
def test_a_message_arrives_as_it_was_sent(ros, message):
    node = ros.node()
    heard: list[object] = []
    node.create_subscription(type(message), "topic", heard.append, 1)
    publisher = node.create_publisher(type(message), "topic", 1)
    ros.match(publisher)
    publisher.publish(message)
    ros.spin_until(lambda: heard, "the message")
    assert type(heard[0]) is type(message)
    assert heard[0] == message


def test_a_number_that_is_none(ros):
    node = ros.node()
    heard: list[float] = []
    node.create_subscription(Float64, "topic", lambda message: heard.append(message.data), 1)
    publisher = node.create_publisher(Float64, "topic", 1)
    ros.match(publisher)
    publisher.publish(Float64(data=math.nan))
    ros.spin_until(lambda: heard, "the message")
    assert math.isnan(heard[0])


def picture() -> Image:
    height, width = 1080, 1920
    data = array.array("B", bytes(range(256)) * (height * width * 3 // 256))
    return Image(header=HEADER, height=height, width=width, encoding="rgb8", step=3 * width, data=data)


def test_a_picture_of_six_megabytes(ros):
    node = ros.node()
    heard: list[Image] = []
    node.create_subscription(Image, "image", heard.append, 2)
    publisher = node.create_publisher(Image, "image", 2)
    ros.match(publisher)
    sent = picture()
    publisher.publish(sent)
    ros.spin_until(lambda: heard, "the picture")
    assert (heard[0].height, heard[0].width, heard[0].step) == (1080, 1920, 5760)
    assert len(heard[0].data) == 6_220_800
    assert bytes(heard[0].data) == bytes(sent.data)


def test_a_received_message_can_be_changed_and_sent_on(ros):
    node = ros.node()
    heard: list[JointState] = []
    node.create_subscription(JointState, "topic", heard.append, 5)
    publisher = node.create_publisher(JointState, "topic", 5)
    ros.match(publisher)
    publisher.publish(JointState(name=["a"], position=[1.0]))
    ros.spin_until(lambda: heard, "the message")
    message = heard[0]
    message.name.append("b")
    message.position = [*message.position, 2.0]
    message.header.frame_id = "changed"
    publisher.publish(message)
    ros.spin_until(lambda: len(heard) == 2, "the changed message")
    assert heard[1].name == ["a", "b"]
    assert list(heard[1].position) == [1.0, 2.0]
    assert heard[1].header.frame_id == "changed"


def test_pictures_from_another_process(ros, peer):
    peer("pictures.py", "3")
    heard: list[Image] = []
    ros.node().create_subscription(Image, "image", heard.append, 10)
    ros.spin_until(lambda: len(heard) >= 3, "3 pictures")
    for image in heard:
        assert len(image.data) == 640 * 480 * 3
        assert set(bytes(image.data[:100])) == {int(image.header.frame_id)}
        assert image.data[-1] == int(image.header.frame_id)
