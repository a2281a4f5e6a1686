"""Written by `python -m training.grasps.fit`, from 208 trials: do not edit."""

INTERCEPT = 3.7418
"""Log odds of a grasp whose features are all 0 [-]."""

WEIGHTS = (
    -0.6000,  # slope
    -3.6000,  # steep
    -0.7200,  # lever
    -0.6000,  # torque
    -1.3346,  # above
    2.0576,  # under
    -0.6000,  # width
    1.6529,  # overlap
    -1.2000,  # little overlap
    0.3000,  # patch
    -0.6000,  # little patch
    0.5161,  # face
    -0.6000,  # little face
    -1.2000,  # corner
    0.1800,  # seen
    -0.6000,  # tight
    -2.8530,  # tilt
    -0.3000,  # level
    -5.1245,  # into
    -1.6291,  # touching
    -3.7632,  # crowded
    -0.9000,  # hidden
    1.6709,  # volume
    -2.0026,  # height
)
"""Change of the log odds with each feature, in the order of `tool_nodes.grasp.chances` [-]."""
