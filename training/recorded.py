"""What a station's joints did, for the recording of a run."""

from __future__ import annotations

import numpy as np

from agent_node.runs.mcap.recorder import MotionLog
from sim.tasks.judge import JudgedStation


def motion_log(station: JudgedStation) -> MotionLog:
    """The logged joint positions of arm and gripper and their rates of change; empty where nothing has moved."""
    model, log, robot = station.world.model, station.world.log, station.world.robot
    address = [int(model.joint(name).qposadr[0]) for name in robot.joints]
    times = np.array([time for time, _ in log])
    positions = np.array([qpos[address] for _, qpos in log]).reshape(-1, len(robot.joints))
    velocities = np.gradient(positions, times, axis=0) if len(times) > 1 else np.zeros_like(positions)
    return MotionLog(times, robot.joints, positions, velocities, robot)
