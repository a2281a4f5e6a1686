"""RRT-Connect in joint space, and shortcutting of its paths."""

from __future__ import annotations

import numpy as np

from tool_nodes.motion.collision import RESOLUTION, Checker
from tool_nodes.types import FloatArray

STEP = 0.4
"""Length of one extension in the weighted metric [rad]."""

_SAMPLING_MARGIN = 2.0
"""How far outside the box of start and goals samples are drawn [rad]."""


class _Tree:
    """Nodes in insertion order, each with the index of its parent (-1 for roots)."""

    def __init__(self, roots: FloatArray, capacity: int, weights: FloatArray) -> None:
        self._weights = weights
        self._nodes = np.empty((capacity + len(roots), len(weights)))
        self._nodes[: len(roots)] = roots
        self._parents = [-1] * len(roots)

    def nearest(self, q: FloatArray) -> int:
        difference = (self._nodes[: len(self._parents)] - q) * self._weights
        return int(np.argmin(np.einsum("ij,ij->i", difference, difference)))

    def add(self, q: FloatArray, parent: int) -> int:
        self._nodes[len(self._parents)] = q
        self._parents.append(parent)
        return len(self._parents) - 1

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
    length = float(np.linalg.norm(delta * checker.robot.weights))
    reached = length <= STEP
    new = q if reached else start + delta * (STEP / length)
    if not checker.segment_free(start, new, resolution):
        return -1, False
    return tree.add(new, near), reached


def rrt_connect(
    start: FloatArray,
    goals: FloatArray,
    checker: Checker,
    rng: np.random.Generator,
    iterations: int = 1500,
    resolution: float = RESOLUTION,
) -> FloatArray | None:
    """A collision-free joint path from `start` to any goal.

    Args:
        start: (n,) [rad].
        goals: (M, n), each free.
        checker: Decides what is free.
        rng: Source of the samples.
        iterations: Budget of samples.
        resolution: Spacing of the checks [rad].

    Returns:
        (K, n) waypoints from start to goal, or None when the budget is spent.
    """
    ends = np.vstack([start, goals])
    robot = checker.robot
    low = np.maximum(ends.min(axis=0) - _SAMPLING_MARGIN, robot.lower)
    high = np.minimum(ends.max(axis=0) + _SAMPLING_MARGIN, robot.upper)
    capacity = 40 * iterations
    tree, other = _Tree(start[None], capacity, robot.weights), _Tree(goals, capacity, robot.weights)
    forward = True
    for _ in range(iterations):
        sample = rng.uniform(low, high)
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
    return None


def shortcut(
    path: FloatArray, checker: Checker, rng: np.random.Generator, attempts: int = 60, resolution: float = RESOLUTION
) -> FloatArray:
    """The path (K, n) with detours replaced by straight segments where those are free."""
    path = _pruned(path, checker, resolution)
    for _ in range(attempts):
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
