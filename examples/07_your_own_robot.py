"""Your own robot: a folder with a URDF, robot.yaml for planning and grasping, and simulation.yaml for MuJoCo.

No Python knows a joint's name, so this one is made from the files of the Gen3 by halving the speeds of its joints.

    python examples/07_your_own_robot.py

You will see:

    gen3_robotiq_2f_85: 7 joints, Park to Home in ... s
    slow_gen3: 7 joints, Park to Home in ... s
    the slow one takes longer: True
    INVALID_ARGUMENT: ...robot.yaml: tip_frame names no link of gen3_robotiq_2f_85.urdf: 'hand'...
"""

import re
import shutil
import tempfile
from pathlib import Path

from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.robot_model import find_robot, load_robot
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import CollisionScene, JointGoal

folder = Path(tempfile.mkdtemp()) / "slow_gen3"
shutil.copytree(find_robot("gen3"), folder)
page = folder / "robot.yaml"
text = page.read_text()
page.write_text(re.sub(r"velocity: ([\d.]+)", lambda found: f"velocity: {float(found[1]) / 2}", text))

durations_s = []
for name in ("gen3", str(folder)):  # wherever a robot is named: one that comes along, or a folder
    robot = load_robot(name)
    goal = JointGoal(robot.named_states["Home"])
    trajectory = EmbeddedPlanner(seed=0, robot=robot).plan(robot.park, goal, CollisionScene())
    durations_s.append(trajectory.duration)
    print(f"{robot.folder.name}: {robot.dof} joints, Park to Home in {trajectory.duration:.2f} s")
print("the slow one takes longer:", durations_s[1] > durations_s[0])

# A mistake is one sentence that names the file and the key.
broken = folder.with_name("broken")
shutil.copytree(folder, broken)
(broken / "robot.yaml").write_text(text.replace("tip_frame: end_effector_link", "tip_frame: hand"))
try:
    load_robot(str(broken))
except ToolError as error:
    print(f"{error.code}: {error}")
