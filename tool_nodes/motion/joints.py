"""Names of the joints, as in the URDF and in the drivers' joint states."""

ARM_JOINTS = ("joint_1", "joint_2", "joint_3", "joint_4", "joint_5", "joint_6", "joint_7")
GRIPPER_JOINT = "robotiq_85_left_knuckle_joint"
