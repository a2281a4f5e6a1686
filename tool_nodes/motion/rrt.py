"""RRT-Connect in joint space, and shortcutting of its paths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from toolhand.tool_nodes.motion.collision import RESOLUTION, Checker
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import FloatArray

STEP = 0.4
"""Length of one extension in the weighted metric [rad]."""

ITERATIONS = 20_000
"""Samples of a search, at most. On shelves of four compartments 1,500 find 57 of 100 paths, 20,000 all of them;
easier scenes never need 1,500 (docs/results/settled.md)."""

SHORTCUTS = 60
"""Random pairs of points of a path between which a shortcut is tried. More leave more corners, where the arm stops: in
clutter 0, 20, 60 and 200 give motions of 4.7, 4.2, 4.4 and 5.0 s (p50, n = 40) and 7.3, 7.0, 6.8 and 7.0 s (p95)."""

_SAMPLING_MARGIN = 2.0
"""How far outside the box of start and goals samples are drawn [rad]."""

_BATCH = 4096
"""Nodes that are compared one by one before they go into a k-d tree; below it the tree takes longer than numpy."""


class _Tree:
    """Nodes in insertion order, each with the index of its parent (-1 for roots)."""

    def __init__(self, roots: FloatArray, weights: FloatArray) -> None:
        self._weights = weights
        self._parents: list[int] = []
        self._nodes = np.empty((_BATCH, len(weights)))
        self._scaled = np.empty_like(self._nodes)
        self._squares = np.empty(_BATCH)
        self._index: cKDTree | None = None
        self._indexed = 0
        for root in roots:
            self.add(root, -1)

    def nearest(self, q: FloatArray) -> int:
        """The node at the least weighted distance from q (n,)."""
        at = q * self._weights
        rest = slice(self._indexed, len(self._parents))
        # |node - at|^2 without |at|^2, which is the same for all of them.
        squares = self._squares[rest] - 2.0 * (self._scaled[rest] @ at)
        if self._index is None:
            return int(squares.argmin())
        distance, indexed = self._index.query(at)
        if len(squares):
            last = int(squares.argmin())
            if squares[last] + at @ at < distance * distance:
                return self._indexed + last
        return int(indexed)

    def add(self, q: FloatArray, parent: int) -> int:
        """A new node q (n,); its index."""
        k = len(self._parents)
        if k == len(self._nodes):
            self._nodes, self._scaled = (np.concatenate([a, np.empty_like(a)]) for a in (self._nodes, self._scaled))
            self._squares = np.concatenate([self._squares, np.empty_like(self._squares)])
        scaled = q * self._weights
        self._nodes[k], self._scaled[k], self._squares[k] = q, scaled, scaled @ scaled
        self._parents.append(parent)
        if k + 1 - self._indexed == _BATCH:
            self._indexed = k + 1
            self._index = cKDTree(self._scaled[: k + 1], balanced_tree=False, compact_nodes=False)
        return k

    def node(self, index: int) -> FloatArray:
        return self._nodes[index]

    def branch(self, index: int) -> list[FloatArray]:
        """Configurations from a node to its root."""
        nodes = []
        while index >= 0:
            nodes.append(self._nodes[index].copy())
            index = self._parents[index]
        return nodes


def _extend(tree: _Tree, q: FloatArray, near: int, checker: Checker, resolution: float) -> tuple[int, bool]:
    """One step from node `near` towards q: (new node or -1 if blocked, whether q was reached)."""
    start = tree.node(near)
    delta = q - start
    scaled = delta * checker.robot.weights
    length = float(np.sqrt(scaled @ scaled))
    reached = length <= STEP
    new = q if reached else start + delta * (STEP / length)
    if not checker.segment_free(start, new, resolution):
        return -1, False
    return tree.add(new, near), reached


def sampled_box(start: FloatArray, goals: FloatArray, robot: RobotModel) -> tuple[FloatArray, FloatArray]:
    """Least and greatest joint positions (n,) that are searched for a path from start (n,) to goals (M, n) [rad]."""
    ends = np.vstack([start, goals])
    low = np.maximum(ends.min(axis=0) - _SAMPLING_MARGIN, robot.lower)
    high = np.minimum(ends.max(axis=0) + _SAMPLING_MARGIN, robot.upper)
    return low, high


def rrt_connect(
    start: FloatArray,
    goals: FloatArray,
    checker: Checker,
    rng: np.random.Generator,
    iterations: int = ITERATIONS,
    resolution: float = RESOLUTION,
    expired: Callable[[], bool] = lambda: False,
) -> FloatArray | int:
    """A collision-free joint path from `start` to any goal.

    Args:
        start: (n,) [rad].
        goals: (M, n), each free.
        checker: Decides what is free.
        rng: Source of the samples.
        iterations: Budget of samples.
        resolution: Spacing of the checks [rad].
        expired: Asked before each sample; the search ends where it says so.

    Returns:
        (K, n) waypoints from start to goal; or how many samples were drawn in vain.
    """
    robot = checker.robot
    low, high = sampled_box(start, goals, robot)
    span = high - low
    tree, other = _Tree(start[None], robot.weights), _Tree(goals, robot.weights)
    forward = True
    for drawn in range(iterations):
        if expired():
            return drawn
        sample = low + span * rng.random(len(span))
        new, _reached = _extend(tree, sample, tree.nearest(sample), checker, resolution)
        if new >= 0:
            target = tree.node(new)
            near, reached = other.nearest(target), False
            while near >= 0 and not reached:
                meeting = near
                near, reached = _extend(other, target, near, checker, resolution)
                meeting = near if near >= 0 else meeting
            if reached:
                ours, theirs = tree.branch(new)[::-1], other.branch(meeting)[1:]
                path = np.array(ours + theirs)
                return path if forward else path[::-1]
        tree, other, forward = other, tree, not forward
    return iterations


def shortcut(
    path: FloatArray,
    checker: Checker,
    rng: np.random.Generator,
    resolution: float = RESOLUTION,
) -> FloatArray:
    """The path (K, n) with detours replaced by straight segments where those are free."""
    path = _pruned(path, checker, resolution)
    for _ in range(SHORTCUTS):
        if len(path) < 3:
            break
        steps = np.linalg.norm(np.diff(path, axis=0) * checker.robot.weights, axis=1)
        lengths = np.concatenate([[0.0], np.cumsum(steps)])
        a, b = np.sort(rng.uniform(0.0, lengths[-1], 2))
        i, j = np.searchsorted(lengths, (a, b), side="right") - 1
        if i == j:
            continue
        first = _along(path, lengths, a)
        last = _along(path, lengths, b)
        if checker.segment_free(first, last, resolution):
            path = np.vstack([path[: i + 1], first, last, path[j + 1 :]])
    return _pruned(path, checker, resolution)


def _along(path: FloatArray, lengths: FloatArray, at: float) -> FloatArray:
    return np.array([np.interp(at, lengths, column) for column in path.T])


def _pruned(path: FloatArray, checker: Checker, resolution: float) -> FloatArray:
    """Skips waypoints whose neighbours can be joined directly."""
    kept, k = [path[0]], 0
    while k < len(path) - 1:
        following = k + 1
        if k + 2 < len(path) and checker.segment_free(path[k], path[k + 2], resolution):
            following = k + 2
        kept.append(path[following])
        k = following
    return np.array(kept)
