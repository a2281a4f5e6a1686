"""A forked child cannot use what its parent has opened, and gets an error that says so."""

FORK = """
    import os, sys
    import rclpy
    from rclpy.node import Node
    from std_msgs.msg import String
    rclpy.init()
    node = Node("parent")
    publisher = node.create_publisher(String, "t", 10)
    child = os.fork()
    if child == 0:
        for use in (lambda: publisher.publish(String()), lambda: Node("child")):
            try:
                use()
            except RuntimeError as error:
                print("spawn" in str(error), rclpy.ok(), flush=True)
        %s
    _, status = os.waitpid(child, 0)
    publisher.publish(String(data="still works"))
    print("parent", os.waitstatus_to_exitcode(status))
    rclpy.shutdown()
"""


def test_use_in_the_child_is_refused(program):
    code, out, err = program(FORK % "os._exit(0)").wait()
    assert (code, out) == (0, "True False\nTrue False\nparent 0\n")
    assert "Traceback" not in err


def test_the_child_may_end_like_any_program(program):
    code, out, err = program(FORK % "sys.exit(3)").wait()
    assert (code, out) == (0, "True False\nTrue False\nparent 3\n")
    assert "Traceback" not in err


def test_the_child_may_initialize_anew_if_the_parent_had_no_node(program):
    code, out, err = program("""
        import os
        import rclpy
        from rclpy.context import Context
        from rclpy.node import Node
        rclpy.init()
        child = os.fork()
        if child == 0:
            node = Node("child")
            print(node.get_node_names(), flush=True)
            rclpy.shutdown()
            os._exit(0)
        os.waitpid(child, 0)
        rclpy.shutdown()
    """).wait()
    assert (code, out, err) == (0, "['child']\n", "")


def test_spawned_processes_have_their_own_nodes(program):
    code, out, err = program("""
        import multiprocessing
        import rclpy
        from rclpy.node import Node
        from std_msgs.msg import String

        def work(queue):
            with rclpy.init():
                node = Node("child")
                node.create_publisher(String, "t", 1)
                queue.put(node.wait_for_node("/parent", 20))

        if __name__ == "__main__":
            rclpy.init()
            node = Node("parent")
            spawn = multiprocessing.get_context("spawn")
            queue = spawn.Queue()
            child = spawn.Process(target=work, args=(queue,))
            child.start()
            print(queue.get(timeout=30))
            child.join()
            rclpy.shutdown()
    """).wait()
    assert (code, out, err) == (0, "True\n", "")
