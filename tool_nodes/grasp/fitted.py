"""Written by `python -m toolhand.training.grasps.fit`, from 388 trials: do not edit."""

INTERCEPT = 2.8535
"""Log odds of a grasp whose features are all 0 [-]."""

WEIGHTS = (
    -0.3273,  # slope
    -1.9636,  # steep
    -0.3927,  # lever
    -0.3273,  # torque
    -1.3293,  # above
    -0.0982,  # under
    -0.3273,  # width
    0.8859,  # overlap
    -0.6545,  # little overlap
    0.1636,  # patch
    -0.3273,  # little patch
    0.1636,  # face
    -0.5926,  # little face
    -0.6545,  # corner
    0.0982,  # seen
    -0.3273,  # tight
    -2.7036,  # tilt
    -0.1636,  # level
    -1.7838,  # into
    -1.2304,  # touching
    -3.4557,  # crowded
    -0.4909,  # hidden
    0.0000,  # between
    0.0000,  # beneath
    0.5163,  # volume
    -0.7319,  # height
)
"""Change of the log odds with each feature, in the order of `toolhand.tool_nodes.grasp.chances` [-]."""
