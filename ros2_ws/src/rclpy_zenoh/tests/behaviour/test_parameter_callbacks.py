"""Callbacks before, at and after the setting of parameters, and /parameter_events."""

from __future__ import annotations

import pytest
from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent, SetParametersResult
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_parameter_events


@pytest.fixture
def node(ros):
    one = ros.node(namespace="/ns")
    one.declare_parameters("", [("a", 1), ("b", 2)])
    return one


def values(node):
    return [parameter.value for parameter in node.get_parameters(["a", "b"])]


def test_on_set_sees_the_new_values_before_they_are_set(node):
    seen: list[object] = []

    def on_set(parameters):
        seen.append(([(parameter.name, parameter.value) for parameter in parameters], values(node)))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(on_set)
    assert node.set_parameters_atomically([Parameter("a", value=10), Parameter("b", value=20)]).successful
    assert seen == [([("a", 10), ("b", 20)], [1, 2])]
    assert values(node) == [10, 20]


def test_on_set_can_reject(node):
    node.add_on_set_parameters_callback(
        lambda parameters: SetParametersResult(successful=parameters[0].value < 5, reason="too much")
    )
    result = node.set_parameters([Parameter("a", value=9)])[0]
    assert (result.successful, result.reason) == (False, "too much")
    assert values(node) == [1, 2]
    assert node.set_parameters([Parameter("a", value=4)])[0].successful


def test_one_of_several_on_set_callbacks_can_reject(node):
    answers = {"first": True, "second": False}

    def callback(name):
        return lambda parameters: SetParametersResult(successful=answers[name], reason=name)

    for name in answers:
        node.add_on_set_parameters_callback(callback(name))
    assert node.set_parameters([Parameter("a", value=9)])[0].reason == "second"
    assert values(node) == [1, 2]
    answers["second"] = True
    assert node.set_parameters([Parameter("a", value=9)])[0].successful


def test_removed_callbacks_are_not_called(node):
    calls: list[object] = []

    def on_set(parameters):
        calls.append(parameters)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(on_set)
    node.remove_on_set_parameters_callback(on_set)
    node.set_parameters([Parameter("a", value=9)])
    assert calls == []
    with pytest.raises(ValueError):  # noqa: PT011 - the text is list.remove's
        node.remove_on_set_parameters_callback(on_set)


def test_pre_set_may_change_what_is_set(node):
    def pre_set(parameters):
        return [*parameters, Parameter("b", value=100)]

    node.add_pre_set_parameters_callback(pre_set)
    assert node.set_parameters([Parameter("a", value=10)])[0].successful
    assert values(node) == [10, 100]
    node.remove_pre_set_parameters_callback(pre_set)
    node.set_parameters([Parameter("b", value=3)])
    assert values(node) == [10, 3]


def test_pre_set_may_leave_nothing(node):
    node.add_pre_set_parameters_callback(lambda parameters: [])
    result = node.set_parameters([Parameter("a", value=10)])[0]
    assert not result.successful
    assert "empty" in result.reason
    assert values(node) == [1, 2]


def test_post_set_sees_the_values_that_were_set(node):
    seen: list[object] = []

    def post_set(parameters):
        seen.append(([parameter.name for parameter in parameters], values(node)))

    node.add_post_set_parameters_callback(post_set)
    node.set_parameters([Parameter("a", value=10)])
    assert seen == [(["a"], [10, 2])]
    node.set_parameters([Parameter("a", value="wrong type")])
    assert len(seen) == 1
    node.remove_post_set_parameters_callback(post_set)
    node.set_parameters([Parameter("a", value=11)])
    assert len(seen) == 1


def test_set_parameters_calls_back_once_for_each_and_atomically_once_for_all(node):
    calls: list[int] = []

    def on_set(parameters):
        calls.append(len(parameters))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(on_set)
    both = [Parameter("a", value=3), Parameter("b", value=4)]
    node.set_parameters(both)
    node.set_parameters_atomically(both)
    assert calls == [1, 1, 2]


@pytest.fixture
def events(ros, node):
    """The events of `node`, in order."""
    heard: list[ParameterEvent] = []
    listener = ros.node("listener")
    listener.create_subscription(
        ParameterEvent,
        "/parameter_events",
        lambda event: heard.append(event) if event.node == node.get_fully_qualified_name() else None,
        qos_profile_parameter_events,
    )
    ros.spin_until(lambda: listener.count_publishers("/parameter_events") >= 2, "the nodes' publishers")
    ros.match(*[one for one in node.publishers if one.topic_name == "/parameter_events"])
    return heard


def names(parameters):
    return [parameter.name for parameter in parameters]


def test_events_tell_what_is_new_changed_and_deleted(ros, node, events):
    node.declare_parameter("fresh", "x", ParameterDescriptor(dynamic_typing=True))
    node.set_parameters([Parameter("a", value=10)])
    node.set_parameters([Parameter("fresh")])
    ros.spin_until(lambda: len(events) >= 3, "3 events")
    new, changed, deleted = events[:3]
    assert (names(new.new_parameters), new.new_parameters[0].value.string_value) == (["fresh"], "x")
    assert (names(changed.changed_parameters), changed.changed_parameters[0].value.integer_value) == (["a"], 10)
    assert names(deleted.deleted_parameters) == ["fresh"]
    assert not (new.changed_parameters)
    assert not (changed.new_parameters)
    assert not (deleted.new_parameters)
    assert new.stamp.sec > 0


def test_an_atomic_change_is_one_event(ros, node, events):
    node.set_parameters_atomically([Parameter("a", value=10), Parameter("b", value=20)])
    ros.spin_until(lambda: events, "the event")
    ros.spin_for(0.1)
    assert [sorted(names(event.changed_parameters)) for event in events] == [["a", "b"]]


def test_a_rejected_change_is_no_event(ros, node, events):
    assert not node.set_parameters([Parameter("a", value="wrong type")])[0].successful
    node.set_parameters([Parameter("b", value=3)])
    ros.spin_until(lambda: events, "an event")
    assert names(events[0].changed_parameters) == ["b"]
