"""Written by `python -m training.grasps.fit`: do not edit."""

INTERCEPT = 4.0
WEIGHTS = (
    -1.0,
    -6.0,
    -1.2,
    -1.0,
    -0.6,
    -0.3,
    -1.0,
    0.5,
    -2.0,
    0.5,
    -1.0,
    0.3,
    -1.0,
    -1.0,
    -0.5,
    -2.5,
    -1.5,
    -1.0,
    -1.5,
    0.0,
    0.0,
)
