"""Where the jaws meet the object: the pads put as deep as palm and table allow, and what the contact there is like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.grasp.candidates import Candidates
from toolhand.tool_nodes.grasp.hand import TIP_GAP, Hand
from toolhand.tool_nodes.types import BoolArray, FloatArray

JAW_GAP = 0.0025
"""Least gap on either side between the open jaws and what passes between them [m]; a round figure."""

_PALM_GAP = 0.005
"""Least gap between the palm and the object [m]; a round figure."""
LEAST_CONTACT = 0.002
"""Least height of the contact on the pads, and on either of them [m]: cards of 5 mm are held by 3 to 4 of them."""
_LEAST_WIDTH = 0.002
"""Narrowest contact as it is seen [m]: jaws that close further are taken to be empty."""
_TO_FACE = 0.004
"""A seed's own face may lie this far on the outer side of it [m]: about one voxel."""
_SETTLED = 0.001
"""The middle between the two faces may be off by this [m]; a third of a voxel."""
_SKIN = 0.004
"""Points within this of the outermost one between the pads touch them [m]: about one voxel."""
_STEEPEST = 1.2
"""Faces that lean more slip out of the pads, whatever they are made of [-]: rubber on wood has a friction of 1.2."""
_UNKNOWN_SLOPE = 0.3
"""Slope of a face of which too little is known [-]."""


@dataclass(frozen=True)
class Grasps:
    """Candidates with the jaws placed. Lengths [m].

    Attributes:
        T_base_gripper: (N, 4, 4).
        width: (N,) jaw opening at contact.
        free_width: (N,) extent of what the open fingers must pass.
        overlap: (N,) height of the contact on the pads.
        patch: (N,) length of the contact along the pads' width, of the side where it is shorter.
        face: (N,) height of the contact, of the side where it is less high.
        slope: (N,) how much the steeper of the two faces leans [-]; 0 is parallel to the pads.
        seen: (N,) share of the contact that was seen, of the side where it is less [-].
        lever: (N,) level distance of the object's middle from the closing line, across it.
        above: (N,) height of the pads above the object's middle.
        usable: (N,) True if the jaws can close on the object.
    """

    T_base_gripper: FloatArray
    width: FloatArray
    free_width: FloatArray
    overlap: FloatArray
    patch: FloatArray
    face: FloatArray
    slope: FloatArray
    seen: FloatArray
    lever: FloatArray
    above: FloatArray
    usable: BoolArray

    def of(self, rows: NDArray[np.intp]) -> Grasps:
        """Some of them."""
        return Grasps(**{name: value[rows] for name, value in vars(self).items()})


def place_jaws(shape: NDArray[np.float32], n_seen: int, centre: FloatArray, tried: Candidates, hand: Hand) -> Grasps:
    """Puts the pads of every candidate about its anchor, as deep as palm and table allow.

    Args:
        shape: (P, 3) points of the object, base frame [m]; the first `n_seen` were seen, the others guessed.
        n_seen: How many of them were seen.
        centre: (3,) middle of the object [m].
        tried: The candidates.
        hand: The gripper.
    """
    gripper = hand.gripper
    R = tried.R
    half_open = hand.max_opening / 2.0
    x, along, z = _local(shape, tried)
    y = np.abs(along)
    finger_band = y < gripper.finger_half_width + 0.001

    # A face's opposite one is the farthest that the jaws could reach around; the anchor moves between the two.
    near = np.where(tried.on_face, -(gripper.max_width - _TO_FACE), -half_open)[:, None].astype(np.float32)
    far = np.where(tried.on_face, _TO_FACE, half_open)[:, None].astype(np.float32)
    reached = (x > near) & (x < far)
    half_width, half_height = gripper.pad_half_size
    between = reached & (y < half_width + 0.0005) & (np.abs(z) < half_height)
    left, right = _extent(x, between & tried.on_face[:, None])
    shift = ((left + right) / 2.0).astype(np.float32)
    x -= shift[:, None]
    reached = np.abs(x) < half_open
    anchor = tried.anchor + shift[:, None] * R[:, :, 0]

    left, right = _extent(x, finger_band & reached)
    width = np.clip(right - left, 0.0, hand.max_opening)
    under_palm = (y < gripper.palm.half_size[1]) & (np.abs(x) < gripper.palm.half_size[0])
    top = np.where(under_palm, z, np.inf).min(axis=1)
    by_palm = top + hand.pad_depth(width) - gripper.palm.depth - _PALM_GAP
    # Inside a bowl or beside a knob the open fingers end above what lies there.
    under_finger = (y < gripper.finger_half_width + 0.001) & (np.abs(x) > half_open - JAW_GAP)
    under_finger &= np.abs(x) < half_open + gripper.finger_thickness + JAW_GAP
    floor = np.where(under_finger, z, np.inf).min(axis=1)
    by_floor = floor + hand.pad_depth(width) - hand.pad_depth(np.full(len(R), hand.max_opening))
    by_floor -= hand.tip_beyond_pad + TIP_GAP
    grip_z = np.minimum(0.0, np.minimum(np.minimum(by_palm, by_floor), hand.table_limit(R, anchor, width)))
    grip_z = grip_z - tried.lift

    z -= grip_z.astype(np.float32)[:, None]
    at_pads = (y < half_width + 0.0005) & (np.abs(z) < half_height)
    left, right = _extent(x, at_pads & reached)
    middle = (left + right) / 2.0
    x -= middle.astype(np.float32)[:, None]
    # About the new middle the jaws reach elsewhere: what is there now must not move it again.
    in_pads = at_pads & (np.abs(x) < half_open)
    left, right = _extent(x, in_pads)
    width, settled = right - left, np.abs(left + right) < 2.0 * _SETTLED
    z_low, z_high = _extent(z, in_pads)
    overlap = z_high - z_low

    passing = finger_band & (z < np.float32(hand.tip_beyond_pad))
    within = passing & (np.abs(x) < half_open + gripper.finger_thickness)
    outer_left, outer_right = _extent(x, within)
    free_width = 2.0 * np.maximum(outer_right, -outer_left)

    origin = np.column_stack([middle, np.zeros(len(R)), grip_z - hand.pad_depth(width)])
    T = np.tile(np.eye(4), (len(R), 1, 1))
    T[:, :3, :3] = R
    T[:, :3, 3] = anchor + np.einsum("nij,nj->ni", R, origin)

    narrow = (width > 0.0) & (width <= gripper.max_width) & (free_width <= hand.max_opening - 2.0 * JAW_GAP)
    usable = narrow & settled & (overlap > LEAST_CONTACT) & (width > _LEAST_WIDTH)
    usable &= hand.lowest_tip(T, width) > workspace.TABLE_Z + 0.9 * TIP_GAP
    pads = anchor + np.einsum("nij,nj->ni", R, np.column_stack([middle, np.zeros(len(R)), grip_z]))
    # The rest is asked only of what can be used.
    rows = np.flatnonzero(usable)
    usable[rows] = _passes(x[rows], y[rows], z[rows] + hand.pad_depth(width[rows])[:, None].astype(np.float32), hand)
    rows = np.flatnonzero(usable)
    patch, face, seen = np.zeros((3, len(R)))
    slope = np.full(len(R), _UNKNOWN_SLOPE)
    patch[rows], face[rows], seen[rows], slope[rows] = _contact(
        x[rows], along[rows], z[rows], in_pads[rows], width[rows], n_seen
    )
    usable &= (np.minimum(patch, face) > LEAST_CONTACT) & (slope < _STEEPEST)
    away = centre - pads
    across = np.column_stack([-R[:, 1, 0], R[:, 0, 0]])
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-9)
    return Grasps(
        T_base_gripper=T,
        width=width,
        free_width=free_width,
        overlap=overlap,
        patch=patch,
        face=face,
        slope=slope,
        seen=seen,
        lever=np.abs(np.einsum("ni,ni->n", away[:, :2], across)),
        above=-away[:, 2],
        usable=usable,
    )


def _local(shape: NDArray[np.float32], tried: Candidates) -> tuple[NDArray[np.float32], ...]:
    """x, y, z (N, P) of the points (P, 3) in the gripper's directions, from each anchor [m]."""
    axes = tried.R.astype(np.float32)
    offset = np.einsum("ni,nij->nj", tried.anchor, tried.R).astype(np.float32)
    px, py, pz = (np.ascontiguousarray(column) for column in shape.T)
    found = []
    for k in range(3):  # sums along three axes: a product of matrices starts threads, which costs more
        along = axes[:, 0, k, None] * px
        along += axes[:, 1, k, None] * py
        along += axes[:, 2, k, None] * pz
        along -= offset[:, k, None]
        found.append(along)
    return tuple(found)


def _passes(x: NDArray[np.float32], y: NDArray[np.float32], z: NDArray[np.float32], hand: Hand) -> BoolArray:
    """True (N,) where no finger meets the object on the way in, jaws open.

    Args:
        x, z: (N, P) points in the gripper's frame [m].
        y: (N, P) their distance from the plane that the fingers close in [m].
        hand: The gripper.
    """
    x = np.abs(x)
    free = np.ones(len(x), dtype=bool)
    for box in hand.gripper.volume.boxes:
        if box.mirrored:
            met = (x > box.x[0] - JAW_GAP) & (x < box.x[1] + JAW_GAP) & (y < box.y[1] + 0.001) & (z < box.z[1])
            free &= ~met.any(axis=1)
    return free


def _contact(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    z: NDArray[np.float32],
    in_pads: BoolArray,
    width: FloatArray,
    n_seen: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Patch and height [m], seen share and slope (N,) of the two faces, see `Grasps`; x is from the pads' middle."""
    half = (width / 2.0).astype(np.float32)[:, None]
    patches, heights, shares = [], [], []
    for side in (-1.0, 1.0):
        touching = in_pads & (np.float32(side) * x > half - np.float32(_SKIN))
        low, high = _extent(y, touching)
        patches.append(high - low)
        low, high = _extent(z, touching)
        heights.append(high - low)
        shares.append(touching[:, :n_seen].sum(axis=1) / np.maximum(touching.sum(axis=1), 1))
    slope = np.hypot(_slope(x, y, in_pads), _slope(x, z, in_pads))
    return np.minimum(*patches), np.minimum(*heights), np.minimum(*shares), slope


def _extent(values: NDArray[np.float32], where: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value (N,) of each row where asked; (0, 0) for a row with none."""
    places = where.ravel().nonzero()[0]  # mostly few: a row's are one piece of what is picked
    edges = np.searchsorted(places, np.arange(len(values) + 1) * values.shape[1])
    starts, some = edges[:-1], edges[1:] > edges[:-1]
    low, high = np.zeros((2, len(values)))
    if len(places):
        picked = values.ravel()[places]
        low[some] = np.minimum.reduceat(picked, starts[some])
        high[some] = np.maximum.reduceat(picked, starts[some])
    return low, high


def _slope(x: NDArray[np.float32], along: NDArray[np.float32], in_pads: BoolArray) -> FloatArray:
    """How much (N,) the steeper of the two gripped faces leans along a direction of the pads; 0 is parallel."""
    lower, upper = in_pads & (along < 0.0), in_pads & (along >= 0.0)
    (left_a, right_a), (left_b, right_b) = _extent(x, lower), _extent(x, upper)
    known = lower.any(axis=1) & upper.any(axis=1)
    change = np.maximum(np.abs(left_a - left_b), np.abs(right_a - right_b))
    # Faces of an object thinner than the pads are judged over what there is of them.
    low, high = _extent(along, in_pads)
    run = np.maximum(0.5 * (high - low), 0.004)
    return np.where(known, change / run, _UNKNOWN_SLOPE)
