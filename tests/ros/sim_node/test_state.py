"""What the drivers publish: joints, clock, frames, description."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from simulation_interfaces.srv import StepSimulation
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from tests.gen3 import ARM_JOINTS, GEN3, GRIPPER_JOINT, URDF_PATH
from tests.ros.sim_node.graph import Graph
from tests.ros.sim_node.motions import ARM, PARK, arm_goal, swing
from toolhand.sim.arm import SimArm
from toolhand.sim.camera.ray import camera_pose, jittered, scene_camera, wrist_camera
from toolhand.sim.camera.sensor import calibrated, device, readings_of
from toolhand.tool_nodes.camera_names import ZED
from toolhand.tool_nodes.ros.messages import nanoseconds, rigid

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def matrix(message: TransformStamped) -> np.ndarray:
    p, q = message.transform.translation, message.transform.rotation
    return rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z))


def pose_in_world(frames: dict[str, TransformStamped], name: str) -> np.ndarray:
    pose = np.eye(4)
    while name != "world":
        pose = matrix(frames[name]) @ pose
        name = frames[name].header.frame_id
    return pose


def test_joint_states_are_those_of_the_world(lockstep: Graph) -> None:
    heard = lockstep.hear(JointState, "/joint_states")
    lockstep.send(*ARM, arm_goal(swing(PARK, np.full(7, 0.2))))
    lockstep.call(StepSimulation, "/step_simulation", steps=150)
    world = lockstep.sim.physics.world
    now = round(world.time * 1e9)
    state = lockstep.wait(lambda: next((s for s in heard if nanoseconds(s.header.stamp) == now), None))
    assert list(state.name) == [*ARM_JOINTS, GRIPPER_JOINT]
    assert list(state.position) == [*world.arm_position, world.knuckle]
    assert list(state.velocity) == [*world.arm_velocity, world.knuckle_velocity]


def test_joint_states_may_be_those_of_ros2_kortex(start: Callable[..., Graph]) -> None:
    graph = start(driver="kortex")
    heard = graph.hear(JointState, "/joint_states")
    state = graph.wait(lambda: heard and heard[-1])
    wrapped = PARK - 2.0 * np.pi * np.eye(7)[2]
    assert np.abs(np.array(state.position[:7]) - wrapped).max() < 1e-3
    assert state.velocity[7] == 0.0


def test_the_clock_shows_simulated_time_also_while_it_stands_still(lockstep: Graph) -> None:
    clocks = lockstep.hear(Clock, "/clock")
    now = round(lockstep.sim.physics.world.time * 1e9)
    lockstep.wait(lambda: len(clocks) > 2)
    assert {nanoseconds(clock.clock) for clock in clocks} == {now}
    lockstep.call(StepSimulation, "/step_simulation", steps=7)
    lockstep.wait(lambda: nanoseconds(clocks[-1].clock) == now + 14_000_000)


def test_free_running_the_clock_goes_forward(playing: Graph) -> None:
    clocks = playing.hear(Clock, "/clock")
    playing.wait(lambda: len(clocks) > 30)
    times = [nanoseconds(clock.clock) for clock in clocks]
    assert times == sorted(times)
    assert times[-1] - times[0] > 300_000_000


def test_every_frame_is_where_the_physics_has_it(lockstep: Graph) -> None:
    lockstep.send(*ARM, arm_goal(swing(PARK, np.linspace(-0.3, 0.4, 7))))
    lockstep.call(StepSimulation, "/step_simulation", steps=400)
    moving, fixed = lockstep.hear(TFMessage, "/tf", 100), lockstep.hear(TFMessage, "/tf_static", LATCHED)
    lockstep.wait(lambda: moving and fixed)
    frames = {t.child_frame_id: t for m in (*moving, *fixed) for t in m.transforms}
    world = lockstep.sim.physics.world
    data = mujoco.MjData(world.model)
    data.qpos[:] = world.data.qpos
    mujoco.mj_kinematics(world.model, data)
    for name in ("base_link", "end_effector_link", "camera_color_frame", "robotiq_85_right_finger_tip_link"):
        body = data.body(name)
        expected = np.vstack([np.column_stack([body.xmat.reshape(3, 3), body.xpos]), [0, 0, 0, 1]])
        assert np.allclose(pose_in_world(frames, name), expected, atol=1e-9), name
    camera = camera_pose(world.model, data, wrist_camera(GEN3))
    assert np.allclose(pose_in_world(frames, "camera_color_frame"), camera, atol=1e-9)
    assert not [t for t in frames if t.startswith(("coconut", "black_bin"))]
    assert nanoseconds(frames["shoulder_link"].header.stamp) == round(world.time * 1e9)


def test_the_scene_camera_stands_where_the_scene_has_it(start: Callable[..., Graph]) -> None:
    graph = start(lockstep=True, scene="5")
    fixed = graph.hear(TFMessage, "/tf_static", LATCHED)
    graph.wait(lambda: fixed)
    frames = {t.child_frame_id: t for t in fixed[-1].transforms}
    expected = jittered(scene_camera(), graph.sim.physics.world.scene).T_base_camera
    assert np.allclose(matrix(frames["zed_left_camera_frame_optical"]), expected, atol=1e-12)


def test_who_comes_late_gets_description_and_fixed_frames(lockstep: Graph) -> None:
    heard: dict[str, list[Any]] = {
        topic: lockstep.hear(kind, topic, LATCHED)
        for kind, topic in ((String, "/robot_description"), (TFMessage, "/tf_static"))
    }
    lockstep.wait(lambda: all(heard.values()))
    assert heard["/robot_description"][0].data == URDF_PATH.read_text(encoding="utf-8")


def test_joint_states_and_camera_poses_are_those_that_the_sensor_of_a_station_reports(
    start: Callable[..., Graph],
) -> None:
    graph = start(lockstep=True, sensor="hard", seed=3)
    heard, static = graph.hear(JointState, "/joint_states"), graph.hear(TFMessage, "/tf_static", LATCHED)
    graph.call(StepSimulation, "/step_simulation", steps=5)
    world = graph.sim.physics.world
    now = round(world.time * 1e9)
    state = graph.wait(lambda: next((s for s in heard if nanoseconds(s.header.stamp) == now), None))
    arm = SimArm(world)
    arm.readings = readings_of(device("hard", "arm", 3))
    assert list(state.position[:7]) == list(arm.state().q) != list(world.arm_position)
    assert abs(GEN3.gripper.opening(state.position[7]) - arm.state().opening_m) < 1e-9
    frames = graph.wait(lambda: {t.child_frame_id: t for m in static for t in m.transforms})
    scene = jittered(scene_camera(), world.scene)
    _, reported = calibrated(device("hard", "scene", 3), scene.K, scene.T_base_camera)
    assert np.allclose(matrix(frames[ZED["new"].optical_frame]), reported, atol=1e-9)
    assert not np.allclose(reported, scene.T_base_camera, atol=1e-4)
    moving = graph.hear(TFMessage, "/tf")
    graph.call(StepSimulation, "/step_simulation", steps=30)
    frames = frames | graph.wait(lambda: {t.child_frame_id: t for m in moving for t in m.transforms})
    wrist = wrist_camera(GEN3)
    true = camera_pose(world.model, world.data, wrist)
    _, reported = calibrated(device("hard", "wrist", 3), wrist.K, true)
    assert np.allclose(pose_in_world(frames, GEN3.wrist_camera_frame), reported, atol=1e-6)
