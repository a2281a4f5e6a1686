"""A reader of URDF that shares no code with the project: link poses, and collision shapes as points and distances."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _numbers(text: str | None, default: str) -> Floats:
    return np.array([float(part) for part in (text or default).split()])


def _origin(element: ET.Element) -> Floats:
    origin = element.find("origin")
    xyz = _numbers(None if origin is None else origin.get("xyz"), "0 0 0")
    roll, pitch, yaw = _numbers(None if origin is None else origin.get("rpy"), "0 0 0")
    T = np.eye(4)
    T[:3, :3] = _turn((0, 0, 1), yaw) @ _turn((0, 1, 0), pitch) @ _turn((1, 0, 0), roll)
    T[:3, 3] = xyz
    return T


def _turn(axis: tuple[float, ...] | Floats, angle: float) -> Floats:
    """Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


@dataclass
class Shape:
    link: str
    T: Floats
    kind: str
    size: Floats

    def surface(self, spacing: float = 0.002) -> Floats:
        """Points of the surface (N, 3), link frame."""
        if self.kind == "box":
            half = self.size / 2
            faces = []
            for axis in range(3):
                u, v = (k for k in range(3) if k != axis)
                grid = np.meshgrid(*(np.linspace(-half[k], half[k], int(2 * half[k] / spacing) + 2) for k in (u, v)))
                for sign in (-1, 1):
                    face = np.zeros((grid[0].size, 3))
                    face[:, u], face[:, v], face[:, axis] = grid[0].ravel(), grid[1].ravel(), sign * half[axis]
                    faces.append(face)
            points = np.vstack(faces)
        elif self.kind == "cylinder":
            radius, half = self.size[0], self.size[1] / 2
            turns = np.linspace(0, 2 * np.pi, int(2 * np.pi * radius / spacing) + 3, endpoint=False)
            heights = np.linspace(-half, half, int(2 * half / spacing) + 2)
            rings = np.linspace(0, radius, int(radius / spacing) + 2)
            side = [(radius * np.cos(a), radius * np.sin(a), z) for a in turns for z in heights]
            caps = [(r * np.cos(a), r * np.sin(a), z) for a in turns for r in rings for z in (-half, half)]
            points = np.array(side + caps)
        else:
            points = self.size[0] * directions(2000)
        return points @ self.T[:3, :3].T + self.T[:3, 3]

    def distance(self, points: Floats) -> Floats:
        """How far (N,) points (N, 3) of the link's frame are outside the shape; negative where they are inside."""
        p = (points - self.T[:3, 3]) @ self.T[:3, :3]
        if self.kind == "sphere":
            return np.linalg.norm(p, axis=1) - self.size[0]
        if self.kind == "box":
            out = np.abs(p) - self.size / 2
        else:
            out = np.stack([np.hypot(p[:, 0], p[:, 1]) - self.size[0], np.abs(p[:, 2]) - self.size[1] / 2], axis=1)
        return np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0)


def directions(count: int) -> Floats:
    """Unit vectors (count, 3), spread evenly."""
    k = np.arange(count) + 0.5
    z = 1 - 2 * k / count
    turn = np.pi * (1 + 5**0.5) * k
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)


class Reader:
    def __init__(self, path: Path) -> None:
        self.root = ET.parse(path).getroot()
        self.joints = {joint.attrib["name"]: joint for joint in self.root.findall("joint")}
        self.links = {link.attrib["name"] for link in self.root.findall("link")}

    def end(self, joint: str, end: str) -> str:
        element = self.joints[joint].find(end)
        assert element is not None
        return element.attrib["link"]

    def poses(self, values: dict[str, float]) -> dict[str, Floats]:
        """Pose (4, 4) of every link in the frame of the root; joints that are not named are at 0."""
        children = {self.end(joint, "child") for joint in self.joints}
        (root,) = self.links - children
        poses = {root: np.eye(4)}
        left = dict(self.joints)
        while left:
            for name, joint in list(left.items()):
                parent = self.end(name, "parent")
                if parent in poses:
                    poses[self.end(name, "child")] = poses[parent] @ _origin(joint) @ self._moved(name, values)
                    del left[name]
        return poses

    def _moved(self, name: str, values: dict[str, float]) -> Floats:
        joint, T = self.joints[name], np.eye(4)
        if joint.attrib["type"] in ("revolute", "continuous"):
            mimic, axis = joint.find("mimic"), joint.find("axis")
            value = values.get(name, 0.0)
            if mimic is not None:
                leader = values.get(mimic.attrib["joint"], 0.0)
                value = float(mimic.get("multiplier", 1)) * leader + float(mimic.get("offset", 0))
            T[:3, :3] = _turn(_numbers(None if axis is None else axis.get("xyz"), "1 0 0"), value)
        return T

    def shapes(self) -> list[Shape]:
        found = []
        for link in self.root.findall("link"):
            for collision in link.findall("collision"):
                geometry = collision.find("geometry")
                assert geometry is not None
                shape = geometry[0]
                keys = {"box": ("size",), "cylinder": ("radius", "length"), "sphere": ("radius",)}[shape.tag]
                size = np.concatenate([_numbers(shape.get(key), "") for key in keys])
                found.append(Shape(link.attrib["name"], _origin(collision), shape.tag, size))
        return found


def uncovered(points: Floats, centers: Floats, radii: Floats) -> float:
    """How far the points (N, 3) are from the nearest of the balls at most; not positive where all are covered."""
    return float((np.linalg.norm(points[:, None] - centers, axis=2) - radii).min(axis=1).max())
