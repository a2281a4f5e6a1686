"""Records of grasps that were made up."""

from toolhand.bench.grasp.records import GraspRecord

HELD = GraspRecord(
    "main",
    "packed",
    0,
    object="s/a",
    family="mug",
    objects=3,
    mask_iou=0.9,
    mask_score=0.85,
    grasp_score=0.75,
    executed=True,
    up="the target",
    reported=True,
    success=True,
    computed=1,
    compute_s=0.05,
    robot_s=6.0,
    removed=1,
)
"""An object that was asked for, segmented well, grasped and held, as the tools said."""
