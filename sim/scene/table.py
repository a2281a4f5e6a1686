"""The table of every scene."""

from __future__ import annotations

import mujoco

from toolhand.tool_nodes import workspace

TABLE_THICKNESS = 0.04
"""Thickness of the table top [m]."""


def add_table(spec: mujoco.MjSpec, rgb: tuple[float, float, float]) -> None:
    """Add the table to a specification, in a colour (0..1)."""
    x0, x1 = -0.30, workspace.TABLE_X[1]
    y0, y1 = workspace.TABLE_Y
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[(x1 - x0) / 2, (y1 - y0) / 2, TABLE_THICKNESS / 2],
        pos=[(x0 + x1) / 2, (y0 + y1) / 2, workspace.TABLE_Z - TABLE_THICKNESS / 2],
        rgba=[*rgb, 1.0],
        friction=[0.8, 0.005, 0.0001],
    )
