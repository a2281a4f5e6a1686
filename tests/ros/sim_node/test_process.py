"""The simulator as a process: it ends when told, and says in one sentence why it cannot start."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0
DOMAIN = 101

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start_process(router: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)  # of the observer in this process, too
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'ros2_ws/src/rclpy_zenoh'}",
            "ROS_DOMAIN_ID": str(DOMAIN),
        }
        command = [sys.executable, "-m", "rclpy_zenoh.run", "toolhand.sim.sim_node", "--ros-args", *arguments]
        started.append(
            subprocess.Popen(
                command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("parameter", "sentence"),
    [
        ("scene:=no_such_scene", "There is no scene 'no_such_scene'"),
        ("scene_yaml:='objects: 3'", "objects must be a list"),
        ("real_time_factor:=-1.0", "Parameter real_time_factor must be a finite number from 0 to 1000"),
        ("lockstep:=3", "Parameter lockstep must be true or false"),
        ("gripper_action:=Fist", "Parameter gripper_action must be GripperCommand or ParallelGripperCommand"),
        ("camera_rate:=0", "Parameter camera_rate must be a finite number from 0.1 to 60"),
        ("driver:=mine", "Parameter driver must be ideal or kortex"),
        ("fault:=internal_fault", "The driver ideal has no fault internal_fault: start with driver:=kortex."),
        ("renderer:=film", "Parameter renderer must be gl or ray or auto"),
        ("sensor:=eye", "There is no sensor 'eye': it must be azure_kinect or clean or hard or ideal"),
        ("fault:=fire", "Parameter fault must be empty or gripper_jam"),
    ],
)
def test_a_bad_parameter_ends_the_process_with_one_sentence(
    start_process: Start, parameter: str, sentence: str
) -> None:
    process = start_process("-p", parameter)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert sentence in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in out + err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly(start_process: Start, router: str, number: signal.Signals) -> None:
    process = start_process("-p", "real_time_factor:=0.0")
    context = Context()
    rclpy.init(args=[], context=context, domain_id=DOMAIN, signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("observer", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    heard: list[JointState] = []
    node.create_subscription(JointState, "/joint_states", heard.append, 10)
    while not heard:
        executor.spin_once(timeout_sec=1.0)
        assert process.poll() is None
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in out + err, err
    assert not err.strip()
