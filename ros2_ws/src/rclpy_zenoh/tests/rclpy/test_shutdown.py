"""Init, shutdown, signals and the end of the interpreter."""

import signal
import threading

import pytest
import rclpy
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException, ROSInterruptException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions, get_current_signal_handlers_options, uninstall_signal_handlers
from std_msgs.msg import String
from std_srvs.srv import Trigger


def test_contexts_are_independent(domain, wait_until):
    first, second = Context(), Context()
    first.init(args=[], domain_id=domain)
    second.init(args=[], domain_id=domain + 20)
    node, other = Node("here", context=first), Node("there", context=second)
    assert (first.get_domain_id(), second.get_domain_id()) == (domain, domain + 20)
    assert node.get_node_names() == ["here"]
    first.shutdown()
    assert not first.ok()
    assert second.ok()
    assert other.get_node_names() == ["there"]
    second.shutdown()


def test_second_init_and_second_shutdown(domain):
    context = Context()
    with pytest.raises(RuntimeError):
        context.shutdown()
    context.init(args=[])
    with pytest.raises(RuntimeError, match="only be called once"):
        context.init(args=[])
    context.shutdown()
    with pytest.raises(RuntimeError, match="already called"):
        context.shutdown()
    context.try_shutdown()


@pytest.mark.parametrize("wrong", ["x", "233", "-1", "0x1"])
def test_wrong_domain_in_the_environment(domain, monkeypatch, wrong):
    monkeypatch.setenv("ROS_DOMAIN_ID", wrong)
    with pytest.raises(RuntimeError, match="between 0 and 232"):
        rclpy.init(args=[], context=Context())


def test_with_init_shuts_down(domain):
    with rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO) as init:
        assert rclpy.ok()
        assert init.context.ok()
    assert not rclpy.ok()


def test_try_shutdown_leaves_the_signal_handlers_as_in_jazzy(domain):
    rclpy.init(args=[])
    try:
        rclpy.try_shutdown()
        assert get_current_signal_handlers_options() == SignalHandlerOptions.ALL
    finally:
        uninstall_signal_handlers()


def test_node_needs_a_context(domain):
    with pytest.raises(NotInitializedException):
        Node("early", context=Context())


def test_use_after_the_shutdown(make_node, context):
    node = make_node()
    publisher = node.create_publisher(String, "topic", 1)
    client = node.create_client(Trigger, "work")
    context.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        publisher.publish(String())
    with pytest.raises(RuntimeError, match="shut down"):
        client.call_async(Trigger.Request())
    node.destroy_node()


@pytest.mark.parametrize("kind", [SingleThreadedExecutor, MultiThreadedExecutor])
def test_shutdown_of_the_context_ends_spin(context, spinning, wait_until, kind):
    executor = kind(context=context)
    with spinning(executor) as spinner:
        context.shutdown()
        wait_until(lambda: not executor._spins, "spin returns")
    expected = ExternalShutdownException if kind is SingleThreadedExecutor else type(None)
    assert isinstance(spinner.error, expected)


def test_shutdown_callbacks(context):
    called = []

    class Owner:
        def method(self):
            called.append("method")

    kept, dropped = Owner(), Owner()
    context.on_shutdown(kept.method)
    context.on_shutdown(dropped.method)
    context.on_shutdown(lambda: called.append("function"))
    del dropped
    context.shutdown()
    assert called == ["method", "function"]
    context.on_shutdown(lambda: called.append("late"))
    assert called[-1] == "late"


@pytest.mark.parametrize("what", ["call", "sleep", "rate", "wait_for_service"])
def test_shutdown_wakes_those_that_wait(make_node, context, wait_until, what):
    node = make_node()
    client = node.create_client(Trigger, "nobody")
    rate = node.create_rate(0.001)
    duration = rclpy.duration.Duration(seconds=1000)
    waits = {
        "call": lambda: client.call(Trigger.Request()),
        "sleep": lambda: node.get_clock().sleep_for(duration, context=context),
        "rate": rate.sleep,
        "wait_for_service": client.wait_for_service,
    }
    outcome = []

    def wait():
        try:
            outcome.append(waits[what]())
        except ROSInterruptException as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: len(context._wakers) > 1 or what == "rate", "the thread waits")
    context.shutdown()
    thread.join(20)
    assert not thread.is_alive()
    assert outcome[0] is False or isinstance(outcome[0], ROSInterruptException)


def test_signal_handlers_are_put_back(domain):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    rclpy.init(args=[])
    assert get_current_signal_handlers_options() == SignalHandlerOptions.ALL
    assert signal.getsignal(signal.SIGINT) is not before[0]
    rclpy.shutdown()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert get_current_signal_handlers_options() == SignalHandlerOptions.NO


@pytest.mark.parametrize("waiting", ["rclpy.spin(node)", "node.create_rate(0.001).sleep()"])
def test_a_signal_that_wakes_no_wait_is_handled_all_the_same(program, waiting):
    """As where it comes just before the wait begins; here another thread takes it, which wakes the main one no more."""
    started = program(f"""
        import signal
        import threading
        import rclpy
        rclpy.init()
        node = rclpy.create_node("n")
        other = threading.Timer(0.5, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
        other.start()
        try:
            {waiting}
        except KeyboardInterrupt:
            print("interrupted")
    """)
    assert started.wait() == (0, "interrupted\n", "")


def test_sigint_as_nodes_handle_it(program):
    """KeyboardInterrupt in the main thread, the context is down, a clean end."""
    started = program("""
        import rclpy
        from rclpy.executors import ExternalShutdownException
        from rclpy.node import Node
        rclpy.init()
        node = Node("n")
        rclpy.get_default_context().on_shutdown(lambda: print("callback"))
        ready = node.create_timer(0.0, lambda: (ready.cancel(), print("ready", flush=True)))
        try:
            rclpy.spin(node)
        except (KeyboardInterrupt, ExternalShutdownException) as error:
            print(type(error).__name__, rclpy.ok())
        finally:
            node.destroy_node()
            rclpy.try_shutdown()
            print("end")
    """)
    assert started.read_line() == "ready"
    started.interrupt()
    assert started.wait() == (0, "KeyboardInterrupt False\ncallback\nend\n", "")


def test_sigint_reaches_executors_in_other_threads(program):
    started = program("""
        import threading
        import rclpy
        from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
        from rclpy.node import Node
        rclpy.init()
        executors = [SingleThreadedExecutor(), MultiThreadedExecutor(3)]
        def spin(executor):
            try:
                executor.spin()
            except ExternalShutdownException:
                pass
        threads = [threading.Thread(target=spin, args=(executor,)) for executor in executors]
        for number, executor in enumerate(executors):
            executor.add_node(Node(f"n{number}"))
            threads[number].start()
        try:
            print("ready", flush=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            for thread in threads:
                thread.join()
            print("all threads ended")
    """)
    assert started.read_line() == "ready"
    started.interrupt()
    assert started.wait() == (0, "all threads ended\n", "")


def test_end_of_the_interpreter_without_a_shutdown(program):
    """Nothing hangs and nothing is printed, whatever the program has left."""
    started = program("""
        import threading
        import rclpy
        from rclpy.executors import MultiThreadedExecutor
        from rclpy.node import Node
        from std_msgs.msg import String
        rclpy.init()
        node = Node("left")
        publisher = node.create_publisher(String, "t", 10)
        node.create_subscription(String, "t", lambda message: None, 10)
        node.create_timer(0.001, lambda: publisher.publish(String(data="x")))
        executor = MultiThreadedExecutor(2)
        executor.add_node(node)
        for _ in range(20):
            executor.spin_once(timeout_sec=1)
        threading.Thread(target=executor.spin, daemon=True).start()
        print("end")
    """)
    assert started.wait() == (0, "end\n", "")


def test_threads_end_with_the_executor_and_the_context(domain):
    before = threading.active_count()
    context = Context()
    context.init(args=[])
    node = Node("n", context=context)
    executor = MultiThreadedExecutor(3, context=context)
    executor.add_node(node)
    node.create_timer(0.0, lambda: None)
    for _ in range(10):
        executor.spin_once(timeout_sec=1)
    executor.shutdown()
    node.destroy_node()
    context.shutdown()
    assert threading.active_count() == before
