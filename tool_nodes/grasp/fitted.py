"""Written by `python -m training.grasps.fit`, from 249 trials: do not edit."""

INTERCEPT = -4.3100
"""Log odds of a grasp whose features are all 0 [-]."""

WEIGHTS = (
    -0.3000,  # slope
    -1.8000,  # steep
    -0.3600,  # lever
    -0.3000,  # torque
    -1.8902,  # above
    3.7720,  # under
    -0.3000,  # width
    6.7037,  # overlap
    -5.1262,  # little overlap
    0.1500,  # patch
    -0.3000,  # little patch
    0.0900,  # seen
    -0.3000,  # tight
    -0.3000,  # tilt
    -5.8609,  # level
    -3.5726,  # into
    -1.5540,  # touching
    -0.3000,  # crowded
    -0.4500,  # hidden
    5.3758,  # volume
    -0.7639,  # height
)
"""Change of the log odds with each feature, in the order of `tool_nodes.grasp.chances` [-]."""
