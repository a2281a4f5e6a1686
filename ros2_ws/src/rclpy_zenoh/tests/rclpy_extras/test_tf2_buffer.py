"""The buffer of transforms, without a node."""

import math
import random

import numpy as np
import pytest
import tf2_py
from builtin_interfaces.msg import Time as TimeMsg
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_py import (
    BufferCore,
    ConnectivityException,
    ExtrapolationException,
    InvalidArgumentException,
    LookupException,
)
from tf2_py._rigid import Rigid, normalize


def transform(parent, child, seconds=0.0, x=0.0, yaw=0.0):
    stamp = Time(nanoseconds=round(seconds * 1e9)).to_msg()
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp = parent, stamp
    message.transform.translation.x = x
    message.transform.rotation.z, message.transform.rotation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


def at(seconds):
    return Time(nanoseconds=round(seconds * 1e9))


def buffer_of(*transforms, static=()):
    buffer = BufferCore()
    for each in transforms:
        buffer.set_transform(each, "test")
    for each in static:
        buffer.set_transform_static(each, "test")
    return buffer


def x_of(buffer, target, source, seconds=0.0):
    return buffer.lookup_transform_core(target, source, at(seconds)).transform.translation.x


def test_a_direct_transform_comes_back_as_it_was():
    sent = transform("map", "base", 3.25, x=1.5, yaw=0.7)
    assert buffer_of(sent).lookup_transform_core("map", "base", Time()) == sent


def test_time_may_be_a_message():
    buffer = buffer_of(transform("map", "base", 1, x=1.0), transform("map", "base", 2, x=2.0))
    assert buffer.lookup_transform_core("map", "base", TimeMsg(sec=2)).transform.translation.x == 2
    with pytest.raises(TypeError, match="sec and nanosec"):
        buffer.lookup_transform_core("map", "base", 2.0)


def test_between_two_samples_is_interpolated():
    buffer = buffer_of(transform("map", "base", 1, x=0.0), transform("map", "base", 3, x=4.0, yaw=1.0))
    found = buffer.lookup_transform_core("map", "base", at(1.5))
    assert found.transform.translation.x == 1
    assert math.isclose(2 * math.asin(found.transform.rotation.z), 0.25)
    assert found.header.stamp == at(1.5).to_msg()


def test_samples_may_come_in_any_order():
    order = list(range(1, 9))
    random.Random(1).shuffle(order)
    buffer = buffer_of(*(transform("map", "base", second, x=float(second)) for second in order))
    assert [x_of(buffer, "map", "base", t) for t in (1, 4.5, 8, 0)] == [1, 4.5, 8, 8]


def test_only_times_within_the_samples_are_answered():
    buffer = buffer_of(transform("map", "base", 1), transform("map", "base", 2))
    with pytest.raises(ExtrapolationException, match="into the future"):
        x_of(buffer, "map", "base", 2.5)
    with pytest.raises(ExtrapolationException, match="into the past"):
        x_of(buffer, "base", "map", 0.5)
    with pytest.raises(ExtrapolationException, match=r"only time 1\.000000000 is in the buffer"):
        x_of(buffer_of(transform("map", "base", 1)), "map", "base", 2)


def test_samples_are_kept_for_ten_seconds():
    buffer = buffer_of(*(transform("map", "base", second, x=float(second)) for second in range(1, 31)))
    assert x_of(buffer, "map", "base", 20) == 20
    with pytest.raises(ExtrapolationException, match="into the past"):
        x_of(buffer, "map", "base", 15)
    buffer.set_transform(transform("map", "base", 5, x=-1.0), "late")  # too old: ignored
    assert x_of(buffer, "map", "base") == 30
    short = BufferCore(Duration(seconds=2))
    for second in range(1, 11):
        short.set_transform(transform("map", "base", second), "test")
    assert not short.can_transform_core("map", "base", at(7.9))[0]
    assert short.can_transform_core("map", "base", at(8))[0]


def test_the_latest_common_time_is_that_of_the_slowest_frame():
    buffer = buffer_of(
        *(transform("map", "odom", second) for second in (1, 2)),
        *(transform("odom", "base", second) for second in (1, 2, 3)),
        static=[transform("base", "camera")],
    )
    assert buffer.lookup_transform_core("map", "camera", Time()).header.stamp.sec == 2
    assert buffer.get_latest_common_time("camera", "map") == at(2)
    assert buffer.get_latest_common_time("base", "camera") == at(0)


def test_static_transforms_hold_at_all_times_and_survive_clear():
    buffer = buffer_of(transform("map", "base", 1), static=[transform("base", "camera", 100, x=2.0)])
    assert [x_of(buffer, "base", "camera", t) for t in (0, 1, 1e6)] == [2, 2, 2]
    buffer.clear()
    assert buffer.can_transform_core("base", "camera", at(5))[0]
    assert not buffer.can_transform_core("map", "base", at(1))[0]
    with pytest.raises(ConnectivityException):
        x_of(buffer, "map", "base")
    with pytest.raises(ExtrapolationException):
        x_of(buffer, "map", "base", 1)


def test_a_frame_may_change_its_parent():
    buffer = buffer_of(
        transform("map", "hand", 1, x=1.0),
        transform("map", "cup", 1, x=5.0),
        transform("hand", "cup", 2, x=0.5),
        transform("map", "hand", 3, x=2.0),
        transform("hand", "cup", 3, x=0.5),
    )
    assert x_of(buffer, "map", "cup", 1.5) == 5  # not interpolated between parents
    assert x_of(buffer, "map", "cup", 3) == 2.5


def test_trees_without_connection_unknown_frames_and_bad_names_are_told_apart():
    buffer = buffer_of(transform("a", "b", 1), transform("c", "d", 1))
    with pytest.raises(ConnectivityException, match="'a' and 'd'"):
        x_of(buffer, "a", "d")
    with pytest.raises(ConnectivityException):
        x_of(buffer, "a", "d", 1)
    with pytest.raises(LookupException, match="does not exist"):
        x_of(buffer, "a", "nowhere")
    with pytest.raises(InvalidArgumentException, match="cannot be empty"):
        x_of(buffer, "", "a")
    with pytest.raises(InvalidArgumentException, match="cannot start with a '/'"):
        x_of(buffer, "a", "/b")
    with pytest.raises(LookupException, match="does not exist"):
        buffer.get_latest_common_time("a", "nowhere")
    assert issubclass(ConnectivityException, tf2_py.TransformException)
    ok, why = buffer.can_transform_core("a", "d", Time())
    assert not ok
    assert "not part of the same tree" in why


def test_a_loop_is_an_error_and_not_an_endless_walk():
    buffer = buffer_of(transform("a", "b", 1), transform("b", "c", 1), transform("c", "a", 1), transform("x", "y", 1))
    for seconds in (0, 1):
        with pytest.raises(LookupException, match="contains a loop"):
            x_of(buffer, "x", "a", seconds)


@pytest.mark.parametrize(
    "bad",
    [
        transform("", "b"),
        transform("a", ""),
        transform("b", "b"),
        transform("a", "b", x=math.nan),
        TransformStamped(child_frame_id="b"),
    ],
)
def test_a_transform_that_is_not_valid_is_ignored(bad):
    buffer = buffer_of(transform("a", "b", 1, x=1.0))
    buffer.set_transform(bad, "test")
    buffer.set_transform_static(bad, "test")
    assert x_of(buffer, "a", "b", 1) == 1


@pytest.mark.parametrize(("w", "accepted"), [(1.0, True), (1.004, True), (1.1, False), (0.0, False), (math.inf, False)])
def test_a_rotation_must_be_almost_a_unit_quaternion(w, accepted):
    message = transform("a", "b", 1)
    message.transform.rotation.w = w
    buffer = buffer_of(message)
    assert buffer.can_transform_core("a", "b", Time())[0] is accepted
    if accepted:
        assert buffer.lookup_transform_core("a", "b", Time()).transform.rotation.w == 1


def test_a_slash_in_front_of_a_published_name_is_dropped():
    assert x_of(buffer_of(transform("/a", "/b", 1, x=3.0)), "a", "b") == 3


def test_a_frame_to_itself_is_the_identity_even_if_nobody_knows_it():
    found = BufferCore().lookup_transform_core("ghost", "ghost", at(5))
    assert found.transform.rotation.w == 1
    assert found.header.stamp.sec == 5


def test_the_full_lookup_goes_through_the_fixed_frame():
    buffer = buffer_of(*(transform("map", "base", second, x=float(second)) for second in (1, 2, 3)))
    found = buffer.lookup_transform_full_core("base", at(3), "base", at(1), "map")
    assert found.transform.translation.x == -2  # where the robot was two seconds ago
    assert buffer.can_transform_full_core("base", at(9), "base", at(1), "map")[0] is False
    with pytest.raises(LookupException):
        buffer.lookup_transform_full_core("base", at(1), "base", at(1), "ghost")


def test_random_trees_agree_with_products_of_matrices():
    rng = random.Random(7)

    def random_rigid():
        return Rigid(normalize(tuple(rng.gauss(0, 1) for _ in range(4))), tuple(rng.uniform(-2, 2) for _ in range(3)))

    def matrix(rigid):
        columns = [rigid.apply(axis) for axis in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
        result = np.eye(4)
        result[:3, 3] = columns[0]
        result[:3, :3] = (np.array(columns[1:]) - columns[0]).T
        return result

    buffer, to_root = BufferCore(), {"f0": np.eye(4)}
    for i in range(1, 30):
        parent, rigid = f"f{rng.randrange(i)}", random_rigid()
        to_root[f"f{i}"] = to_root[parent] @ matrix(rigid)
        message = transform(parent, f"f{i}", 1)
        q, t = message.transform.rotation, message.transform.translation
        (q.x, q.y, q.z, q.w), (t.x, t.y, t.z) = rigid
        (buffer.set_transform_static if rng.random() < 0.5 else buffer.set_transform)(message, "test")
    for _ in range(200):
        target, source = rng.sample(sorted(to_root), 2)
        found = buffer.lookup_transform_core(target, source, Time())
        q, t = found.transform.rotation, found.transform.translation
        expected = np.linalg.inv(to_root[target]) @ to_root[source]
        assert np.allclose(matrix(Rigid((q.x, q.y, q.z, q.w), (t.x, t.y, t.z))), expected)


def test_the_frames_are_listed_as_text_and_yaml():
    import yaml

    buffer = buffer_of(transform("map", "base", 1), transform("map", "base", 2))
    assert buffer.all_frames_as_string() == "Frame base exists with parent map.\n"
    entry = yaml.safe_load(buffer.all_frames_as_yaml())["base"]
    assert (entry["parent"], entry["broadcaster"], entry["rate"]) == ("map", "test", 2.0)
    assert (entry["most_recent_transform"], entry["buffer_length"]) == (2.0, 1.0)
    assert yaml.safe_load(BufferCore().all_frames_as_yaml()) == []
