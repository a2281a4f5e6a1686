"""Words of any speech recogniser for the robot: what it publishes as std_msgs/String is said to the graph's agent.

Only `SpokenWords` is needed beside a graph that runs (`toolhand up sim`), in a node of yours: a question is answered by
the next words. Here the agent runs in this program, and a publisher stands for the recogniser.

    python examples/16_spoken_words.py

You will see:

    heard: hello
    answer: Hello...
"""

import os
import tempfile
import threading

from rclpy_zenoh import overlay
from rclpy_zenoh.wire import start_router

overlay.install()

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import String
from toolhand_interfaces.action import RunCommand

from toolhand.agent_node.command_node import CommandNode


class SpokenWords(Node):
    """Says every String of the topic `spoken` to the agent, in a dialogue named after this node."""

    def __init__(self) -> None:
        super().__init__("spoken_words")
        self.answered = threading.Event()
        self._agent = ActionClient(self, RunCommand, "run_command")
        self.create_subscription(String, "spoken", self.say, 10)

    def say(self, heard: String) -> None:
        """Send the words; the answer comes when the robot is done."""
        print("heard:", heard.data)
        goal = RunCommand.Goal(text=heard.data, session=self.get_name())
        self._agent.wait_for_server()
        self._agent.send_goal_async(goal).add_done_callback(
            lambda sent: sent.result().get_result_async().add_done_callback(self.tell)
        )

    def tell(self, done: Future) -> None:
        """Give the answer to whoever spoke; a program for it would speak it."""
        print("answer:", done.result().result.answer)
        self.answered.set()


if __name__ == "__main__":
    router = start_router()  # any free port of this machine; it ends with this program
    os.environ["RCLPY_ZENOH_ROUTER"] = router.endpoint
    with rclpy.init(), tempfile.TemporaryDirectory() as folder:
        agent = CommandNode(parameter_overrides=[Parameter("runs_dir", value=folder)])
        words, recogniser = SpokenWords(), rclpy.create_node("recogniser")
        spoken = recogniser.create_publisher(String, "spoken", 10)
        executor = MultiThreadedExecutor(num_threads=4)
        for node in (agent, words, recogniser):
            executor.add_node(node)
        threading.Thread(target=executor.spin, daemon=True).start()
        while spoken.get_subscription_count() == 0:
            words.answered.wait(0.05)
        spoken.publish(String(data="hello"))
        if not words.answered.wait(20.0):
            raise SystemExit("the agent did not answer within 20 s")
        executor.shutdown()
        for node in (agent, words, recogniser):
            node.destroy_node()
    router.close()
