"""init, shutdown and contexts."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest
import rclpy
from harness import DEADLINE, wait_until
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Int32


@pytest.mark.usefixtures("domain")
def test_ok_says_whether_the_default_context_runs():
    assert not rclpy.ok()
    rclpy.init(args=[])
    assert rclpy.ok()
    rclpy.shutdown()
    assert not rclpy.ok()


@pytest.mark.usefixtures("domain")
def test_init_again_after_shutdown():
    for _ in range(3):
        rclpy.init(args=[])
        rclpy.create_node("again").destroy_node()
        rclpy.shutdown()


@pytest.mark.usefixtures("domain")
def test_init_twice_is_refused():
    rclpy.init(args=[])
    with pytest.raises(RuntimeError):
        rclpy.init(args=[])
    assert rclpy.ok()


@pytest.mark.usefixtures("domain")
def test_shutdown_before_init_is_refused_and_try_shutdown_is_not():
    with pytest.raises(RuntimeError):
        rclpy.shutdown()
    rclpy.try_shutdown()
    rclpy.init(args=[])
    rclpy.try_shutdown()
    rclpy.try_shutdown()
    assert not rclpy.ok()


@pytest.mark.usefixtures("domain")
def test_a_context_is_shut_down_once_and_not_used_again():
    context = Context()
    rclpy.init(args=[], context=context)
    rclpy.shutdown(context=context)
    assert not context.ok()
    with pytest.raises(RuntimeError):
        rclpy.shutdown(context=context)
    with pytest.raises(RuntimeError):
        rclpy.init(args=[], context=context)


@pytest.mark.usefixtures("domain")
def test_a_node_needs_an_initialised_context():
    with pytest.raises(NotInitializedException):
        Node("early")
    with pytest.raises(NotInitializedException):
        Node("early", context=Context())


@pytest.mark.usefixtures("domain")
def test_the_domain_id_is_the_environment_s_or_the_argument(domain):
    rclpy.init(args=[])
    assert rclpy.get_default_context().get_domain_id() == domain
    other = Context()
    rclpy.init(args=[], context=other, domain_id=domain + 1)
    assert other.get_domain_id() == domain + 1
    rclpy.shutdown(context=other)


@pytest.mark.usefixtures("domain")
def test_a_negative_domain_id_is_refused():
    with pytest.raises(RuntimeError):
        rclpy.init(args=[], domain_id=-1)


@pytest.mark.usefixtures("domain")
def test_unknown_ros_arguments_are_refused():
    with pytest.raises(RuntimeError):
        rclpy.init(args=["program", "--ros-args", "nonsense"])


@pytest.mark.usefixtures("domain")
def test_other_arguments_are_left_alone():
    args = ["program", "--mine", "1", "--ros-args", "-r", "a:=b", "--", "--also-mine"]
    rclpy.init(args=args)
    assert rclpy.utilities.remove_ros_args(args) == ["program", "--mine", "1", "--also-mine"]


@pytest.mark.usefixtures("domain")
def test_contexts_are_independent():
    rclpy.init(args=[])
    other = Context()
    rclpy.init(args=[], context=other)
    node = Node("survivor", context=other)
    rclpy.shutdown()
    assert other.ok()
    assert not rclpy.ok()
    node.create_publisher(Int32, "still_works", 1).publish(Int32(data=1))
    node.destroy_node()
    rclpy.shutdown(context=other)


@pytest.mark.usefixtures("domain")
def test_contexts_of_two_domains_do_not_hear_each_other(domain):
    near, far = Context(), Context()
    rclpy.init(args=[], context=near)
    rclpy.init(args=[], context=far, domain_id=domain + 1)
    heard: list[int] = []
    with SingleThreadedExecutor(context=near) as executor:
        listener = Node("listener", context=near)
        listener.create_subscription(Int32, "number", lambda message: heard.append(message.data), 10)
        executor.add_node(listener)
        talkers = [Node("talker", context=context) for context in (near, far)]
        publishers = [talker.create_publisher(Int32, "number", 10) for talker in talkers]
        wait_until(publishers[0].get_subscription_count, "the subscription of the same domain")
        publishers[1].publish(Int32(data=2))
        publishers[0].publish(Int32(data=1))
        for _ in range(int(DEADLINE / 0.1)):
            executor.spin_once(timeout_sec=0.1)
            if heard:
                break
        executor.spin_once(timeout_sec=0.3)
        assert heard == [1]
        assert publishers[1].get_subscription_count() == 0
        for node in (listener, *talkers):
            node.destroy_node()
    for context in (near, far):
        rclpy.shutdown(context=context)


@pytest.mark.usefixtures("domain")
def test_a_context_is_a_context_manager():
    with Context() as context:
        assert context.ok()
        Node("inside", context=context).destroy_node()
    assert not context.ok()


@pytest.mark.usefixtures("domain")
def test_on_shutdown_callbacks_run_once_in_order():
    context = Context()
    rclpy.init(args=[], context=context)
    order: list[str] = []
    context.on_shutdown(lambda: order.append("first"))
    context.on_shutdown(lambda: order.append("second"))
    assert order == []
    rclpy.shutdown(context=context)
    context.try_shutdown()
    assert order == ["first", "second"]


@pytest.mark.usefixtures("domain")
def test_on_shutdown_takes_only_something_to_call():
    rclpy.init(args=[])
    with pytest.raises(TypeError):
        rclpy.get_default_context().on_shutdown("not callable")


@pytest.mark.parametrize("spin", ["executor", "rclpy"])
@pytest.mark.usefixtures("domain")
def test_shutdown_from_another_thread_ends_spin(spin):
    rclpy.init(args=[])
    node = Node("spinner")
    ended = threading.Event()
    ticked = threading.Event()
    node.create_timer(0.01, ticked.set)

    def run() -> None:
        executor = SingleThreadedExecutor()
        try:
            if spin == "rclpy":
                rclpy.spin(node, executor)
            else:
                executor.add_node(node)
                executor.spin()
        except ExternalShutdownException:
            pass  # the usual end where it waits at that moment
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ticked.wait(DEADLINE), "spin executed no timer"
    rclpy.shutdown()
    assert ended.wait(DEADLINE), "spin did not end at shutdown"
    thread.join(DEADLINE)


@pytest.mark.usefixtures("domain")
def test_shutdown_inside_a_callback_ends_spin():
    rclpy.init(args=[])
    node = Node("suicidal")
    node.create_timer(0.01, rclpy.shutdown)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    with suppress(ExternalShutdownException):
        executor.spin()
    assert not rclpy.ok()


def test_two_executors_on_two_contexts_in_two_threads(ros):
    other = Context()
    rclpy.init(args=[], context=other)
    counts = {"here": 0, "there": 0}
    here, there = ros.node("here"), Node("there", context=other)
    here.create_timer(0.01, lambda: counts.update(here=counts["here"] + 1))
    there.create_timer(0.01, lambda: counts.update(there=counts["there"] + 1))
    with ros.spinning(there, executor=SingleThreadedExecutor(context=other)):
        ros.spin_until(lambda: min(counts.values()) >= 5, "ticks in both contexts")
    there.destroy_node()
    rclpy.shutdown(context=other)
