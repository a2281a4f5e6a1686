"""Profiles: how they are written on the wire, whether two fit, and overrides by parameters."""

from types import SimpleNamespace

import pytest
from rclpy.duration import Duration, Infinite
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    InvalidQoSProfileException,
    LivelinessPolicy,
    QoSCompatibility,
    QoSPolicyKind,
    QoSPresetProfiles,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.qos_overriding_options import InvalidQosOverridesError, QoSOverridingOptions
from std_msgs.msg import Int32

from rclpy_zenoh.wire import encode_qos


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        (QoSProfile(depth=10), "::,10:,:,:,,"),
        (QoSPresetProfiles.SYSTEM_DEFAULT.value, "::,:,:,:,,"),
        (QoSPresetProfiles.SENSOR_DATA.value, "2::,5:,:,:,,"),
        (QoSPresetProfiles.ACTION_STATUS_DEFAULT.value, ":1:,1:,:,:,,"),
        (QoSPresetProfiles.BEST_AVAILABLE.value, "4:4:,10:,854775806:,:5,,854775806"),
        (QoSProfile(history=HistoryPolicy.KEEP_ALL, depth=1, deadline=Duration(seconds=1.5)), "::2,1:1,500000000:,:,,"),
        (QoSProfile(depth=1, lifespan=Infinite), "::,1:,:,:,,"),
    ],
)
def test_text_on_the_wire(profile, text):
    assert encode_qos(profile._to_wire()) == text


@pytest.mark.parametrize(
    "wrong",
    [{}, {"history": HistoryPolicy.KEEP_LAST}],
)
def test_incomplete_profiles(wrong):
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"deph": 1}, {"depth": "1"}, {"depth": 1, "reliability": "x"}, {"depth": 1, "deadline": 3}]
)
def test_wrong_values(wrong):
    with pytest.raises((AssertionError, InvalidQoSProfileException)):
        QoSProfile(**wrong)


@pytest.mark.parametrize("wrong", [{"depth": -1}, {"depth": 1, "reliability": 3}, {"depth": 1, "durability": 3}])
def test_what_the_wire_refuses(make_node, wrong):
    with pytest.raises(ValueError, match="QoS"):
        make_node().create_publisher(Int32, "topic", QoSProfile(**wrong))


BASE = {"depth": 1}
STRONG = {"depth": 1, "reliability": ReliabilityPolicy.RELIABLE, "durability": DurabilityPolicy.TRANSIENT_LOCAL}


@pytest.mark.parametrize(
    ("offered", "requested", "verdict", "reason"),
    [
        (BASE, BASE, QoSCompatibility.WARNING, "liveliness"),
        (BASE | {"liveliness": 1}, BASE | {"liveliness": 1}, QoSCompatibility.OK, ""),
        (STRONG | {"liveliness": 3}, BASE | {"liveliness": 1}, QoSCompatibility.OK, ""),
        (BASE | {"reliability": ReliabilityPolicy.BEST_EFFORT}, BASE, QoSCompatibility.ERROR, "Best effort publisher"),
        (BASE, STRONG, QoSCompatibility.ERROR, "Volatile publisher and transient local subscription"),
        (BASE, BASE | {"deadline": Duration(seconds=1)}, QoSCompatibility.ERROR, "Subscription has a deadline"),
        (
            BASE | {"deadline": Duration(seconds=2)},
            BASE | {"deadline": Duration(seconds=1)},
            QoSCompatibility.ERROR,
            "less than publisher deadline",
        ),
        (
            BASE | {"liveliness": LivelinessPolicy.AUTOMATIC},
            BASE | {"liveliness": LivelinessPolicy.MANUAL_BY_TOPIC},
            QoSCompatibility.ERROR,
            "Automatic publisher and manual by topic subscription",
        ),
        (BASE | {"liveliness": 1, "reliability": 0}, BASE | {"liveliness": 1}, QoSCompatibility.WARNING, "reliability"),
    ],
)
def test_compatibility(offered, requested, verdict, reason):
    found, text = qos_check_compatible(QoSProfile(**offered), QoSProfile(**requested))
    assert found == verdict
    assert reason in text
    assert text.startswith(verdict.name) or not text


def test_overrides_by_parameters(make_node):
    arguments = ["-p", "qos_overrides./topic.publisher.depth:=7"]
    arguments += ["-p", "qos_overrides./topic.publisher.reliability:=best_effort"]
    node = make_node(cli_args=arguments)
    options = QoSOverridingOptions.with_default_policies()
    publisher = node.create_publisher(Int32, "topic", 1, qos_overriding_options=options)
    assert publisher.qos_profile == QoSProfile(depth=7, reliability=ReliabilityPolicy.BEST_EFFORT)
    assert node.get_publishers_info_by_topic("topic")[0].qos_profile.depth == 7
    assert node.describe_parameter("qos_overrides./topic.publisher.history").read_only


@pytest.mark.parametrize("value", ["sometimes", "1"])
def test_wrong_overrides(make_node, value):
    node = make_node(cli_args=["-p", f"qos_overrides./topic.subscription_left.durability:='{value}'"])
    options = QoSOverridingOptions([QoSPolicyKind.DURABILITY], entity_id="left")
    with pytest.raises(InvalidQosOverridesError, match="none of system_default"):
        node.create_subscription(Int32, "topic", print, 1, qos_overriding_options=options)


def test_overrides_that_the_callback_refuses(make_node):
    def refuse(profile):
        return SimpleNamespace(successful=False, reason="too deep")

    options = QoSOverridingOptions([QoSPolicyKind.DEPTH], callback=refuse)
    with pytest.raises(InvalidQosOverridesError, match="too deep"):
        make_node().create_publisher(Int32, "topic", 1, qos_overriding_options=options)
