"""Spins a timer until it is asked to end; prints how it ended. Argument: "spin", "multi" or "idle"."""

import sys
import time

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor


def main() -> None:
    mode = sys.argv[1]
    rclpy.init()
    node = rclpy.create_node("spinner")
    announced = False

    def tick() -> None:
        nonlocal announced
        if not announced:
            announced = True
            print("ready", flush=True)

    node.create_timer(0.01, tick)
    ending = "returned"
    try:
        if mode == "multi":
            executor = MultiThreadedExecutor(num_threads=2)
            executor.add_node(node)
            executor.spin()
        elif mode == "idle":
            rclpy.spin_once(node)
            for timer in list(node.timers):
                node.destroy_timer(timer)
            print("waiting", flush=True)
            rclpy.spin(node)
        else:
            rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException) as error:
        ending = type(error).__name__
    except Exception as error:
        if rclpy.ok():
            raise
        ending = type(error).__name__
    for _ in range(200):  # a signal shuts the context down in its own time
        if not rclpy.ok():
            break
        time.sleep(0.05)
    print(f"ended {ending} ok={rclpy.ok()}", flush=True)
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main()
