"""What is not an error, and yet must be said."""

import gc

import rclpy
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.task import Future
from std_srvs.srv import Trigger


def test_second_node_of_a_name(make_node, capsys, wait_until):
    make_node("twin")
    assert "several nodes" not in capsys.readouterr().err
    make_node("twin")
    err = capsys.readouterr().err
    assert err.count("several nodes named '/twin'") == 2  # each of the two says it
    make_node("twin", namespace="/elsewhere")
    make_node("other")
    assert "several nodes" not in capsys.readouterr().err


def test_second_node_of_a_name_in_another_process(make_node, program, capsys, wait_until):
    make_node("twin")
    other = program("""
        import time
        import rclpy
        from rclpy.node import Node
        rclpy.init()
        node = Node("twin")
        print("made", flush=True)
        time.sleep(60)
    """)
    assert other.read_line() == "made"
    seen = []
    wait_until(lambda: seen.append(capsys.readouterr().err) or "several nodes" in "".join(seen), "the warning comes")
    # The other one says it in its own time, or its standard error ends with it.
    assert any("several nodes named '/twin'" in line for line in other.process.stderr)
    other.process.kill()


def test_server_that_is_not_there(make_node, context, capsys):
    node = make_node()
    client = node.create_client(Trigger, "gone")
    executor = SingleThreadedExecutor(context=context)
    for _ in range(3):
        future = client.call_async(Trigger.Request())
        rclpy.spin_until_future_complete(node, future, executor, timeout_sec=0.3)
        assert not future.done()
        client.remove_pending_request(future)
    err = capsys.readouterr().err
    assert err.count("/gone") == 1
    assert "no reply" in err


def test_exception_that_nobody_retrieves(capsys):
    future = Future()
    future.set_exception(ValueError("lost"))
    del future
    gc.collect()
    assert "never retrieved: ValueError('lost')" in capsys.readouterr().err
    future = Future()
    future.set_exception(ValueError("found"))
    assert isinstance(future.exception(), ValueError)
    del future
    gc.collect()
    assert capsys.readouterr().err == ""


def test_exception_of_a_thread_after_the_last_spin(context, capsys, wait_until):
    executor = MultiThreadedExecutor(2, context=context)

    def fail():
        raise ValueError("late")

    task = executor.create_task(fail)
    executor.spin_once(timeout_sec=5)
    wait_until(task.done, "the task ends")
    executor.shutdown()
    assert "ValueError('late')" in capsys.readouterr().err
