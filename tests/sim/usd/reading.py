"""An exported stage read back with OpenUSD alone, by its own rules: nothing here is shared with the exporter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolhand.tool_nodes.extras import package
from toolhand.tool_nodes.types import FloatArray


def _of(module: str) -> Any:
    return package(f"pxr.{module}", "usd", "USD")


def validation_issues(text: str) -> list[str]:
    """What all of OpenUSD's validators find wrong with the text of a .usda file, a line each."""
    validation = _of("UsdValidation")
    validators = validation.ValidationRegistry().GetOrLoadAllValidators()
    errors = validation.ValidationContext(validators).Validate(_opened(text))
    return [f"{error.GetName()}: {error.GetMessage()}" for error in errors]


def _opened(text: str) -> Any:
    layer = _of("Sdf").Layer.CreateAnonymous(".usda")
    layer.ImportFromString(text)
    return _of("Usd").Stage.Open(layer)


@dataclass(frozen=True)
class ReadJoint:
    """A joint of a stage.

    Attributes:
        parent, child: Paths of the bodies; the parent is "" for the world.
        T_parent_joint, T_child_joint: (4, 4) where the joint is in both.
        free: True for a joint that turns about x.
        limits: (lower, upper) [rad].
        drive: (stiffness [N m/rad], damping [N m s/rad], greatest force [N m]); None without a drive.
        follows: Path of the joint that it mimics, its gear and its offset [rad], as PhysX reads them; None where none.
        follows_newton: The same as Newton reads them.
    """

    parent: str
    child: str
    T_parent_joint: FloatArray
    T_child_joint: FloatArray
    free: bool
    limits: tuple[float, float]
    drive: tuple[float, float, float] | None
    follows: tuple[str, float, float] | None
    follows_newton: tuple[str, float, float] | None


class ReadStage:
    """Bodies, joints and shapes of a stage.

    Args:
        text: Text of a .usda file.

    Attributes:
        joints: Joints by the last part of their paths.
        masses: Mass of each rigid body by its path [kg].
        inertias: (3, 3) inertia of each about its centre of mass, in its frame [kg m^2].
        shapes: (path of the body or "", pose in it (4, 4), half sizes of the box around it (3,), whether it touches,
            friction) of each shape by the last part of its path.
    """

    def __init__(self, text: str) -> None:
        self._stage = _opened(text)
        physics, geometry = _of("UsdPhysics"), _of("UsdGeom")
        self._cache = geometry.XformCache()
        prims = list(self._stage.Traverse())
        self._bodies = {str(prim.GetPath()): prim for prim in prims if prim.HasAPI(physics.RigidBodyAPI)}
        self.masses: dict[str, float] = {}
        self.inertias: dict[str, FloatArray] = {}
        for path, prim in self._bodies.items():
            mass = physics.MassAPI(prim)
            self.masses[path] = mass.GetMassAttr().Get()
            R = _rotation(mass.GetPrincipalAxesAttr().Get())
            self.inertias[path] = R @ np.diag(np.array(mass.GetDiagonalInertiaAttr().Get(), dtype=float)) @ R.T
        self.joints = {prim.GetName(): self._joint(prim) for prim in prims if prim.IsA(physics.Joint)}
        self.shapes = {str(prim.GetPath()): self._shape(prim) for prim in prims if prim.IsA(geometry.Gprim)}
        self._frames = [str(prim.GetPath()) for prim in prims if prim.GetTypeName() == "Xform"]

    def _joint(self, prim: Any) -> ReadJoint:
        physics = _of("UsdPhysics")
        joint = physics.Joint(prim)
        ends = [[str(path) for path in rel.GetTargets()] for rel in (joint.GetBody0Rel(), joint.GetBody1Rel())]
        frames = [
            _pose(_rotation(turn.Get()), np.array(place.Get(), dtype=float))
            for turn, place in (
                (joint.GetLocalRot0Attr(), joint.GetLocalPos0Attr()),
                (joint.GetLocalRot1Attr(), joint.GetLocalPos1Attr()),
            )
        ]
        turning = prim.IsA(physics.RevoluteJoint)
        limits, drive = (-np.inf, np.inf), None
        if turning:
            revolute = physics.RevoluteJoint(prim)
            low, high = (np.radians(at.Get()) for at in (revolute.GetLowerLimitAttr(), revolute.GetUpperLimitAttr()))
            limits = float(low), float(high)
            if prim.HasAPI(physics.DriveAPI, "angular"):
                its = physics.DriveAPI(prim, "angular")
                gains = its.GetStiffnessAttr().Get(), its.GetDampingAttr().Get()
                drive = float(np.degrees(gains[0])), float(np.degrees(gains[1])), its.GetMaxForceAttr().Get()
        return ReadJoint(
            ends[0][0] if ends[0] else "", ends[1][0], frames[0], frames[1], turning, limits, drive,
            _mimic(prim, "physxMimicJoint:rotX", ("gearing", "offset"), "referenceJoint", -1.0),
            _mimic(prim, "newton", ("mimicCoef1", "mimicCoef0"), "mimicJoint", 1.0),
        )  # fmt: skip

    def _shape(self, prim: Any) -> tuple[str, FloatArray, FloatArray, bool, float | None]:
        geometry, physics, shade = _of("UsdGeom"), _of("UsdPhysics"), _of("UsdShade")
        above = prim.GetParent()
        while above and str(above.GetPath()) not in self._bodies:
            above = above.GetParent()
        holder = above if above else self._stage.GetPseudoRoot()
        matrix = _column(self._cache.ComputeRelativeTransform(prim, holder)[0])
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        low, high = (np.array(corner, dtype=float) for corner in geometry.Boundable(prim).GetExtentAttr().Get())
        T = _pose(matrix[:3, :3] / scale, (matrix @ [*((low + high) / 2), 1.0])[:3])
        material = shade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
        friction = physics.MaterialAPI(material).GetStaticFrictionAttr().Get() if material else None
        body = str(above.GetPath()) if above else ""
        return body, T, scale * (high - low) / 2, prim.HasAPI(physics.CollisionAPI), friction

    def positions(self, driven: Mapping[str, float]) -> dict[str, float]:
        """Positions of all joints that turn, where the driven ones stand so [rad]."""
        found = {}
        for name, joint in self.joints.items():
            if joint.follows is not None:
                reference, gear, offset = joint.follows
                found[name] = offset + gear * driven[reference.rsplit("/", 1)[1]]
            elif joint.free:
                found[name] = driven[name]
        return found

    def poses(self, driven: Mapping[str, float]) -> dict[str, FloatArray]:
        """(4, 4) pose of each link and frame of the robot by its name, from the joints alone.

        Args:
            driven: Position of each joint that mimics no other one [rad].
        """
        turned = self.positions(driven)
        found: dict[str, FloatArray] = {"": np.eye(4)}
        left = dict(self.joints)
        while left:
            ready = [name for name, joint in left.items() if joint.parent in found]
            if not ready:
                raise AssertionError(f"These joints hang on nothing: {', '.join(left)}.")
            for name in ready:
                joint = left.pop(name)
                T = found[joint.parent] @ joint.T_parent_joint @ _about_x(turned.get(name, 0.0))
                found[joint.child] = T @ np.linalg.inv(joint.T_child_joint)
        for path in self._frames:
            holder = path.rsplit("/", 1)[0]
            if holder and holder in found and path not in found:
                prims = self._stage.GetPrimAtPath(path), self._stage.GetPrimAtPath(holder)
                found[path] = found[holder] @ _column(self._cache.ComputeRelativeTransform(*prims)[0])
        return {path.rsplit("/", 1)[1]: T for path, T in found.items() if path}

    def placed(self, path: str) -> FloatArray:
        """(4, 4) pose of a prim in the world as the stage has it."""
        return _column(self._cache.GetLocalToWorldTransform(self._stage.GetPrimAtPath(path)))

    def filtered(self) -> set[frozenset[str]]:
        """Pairs of paths that never touch each other."""
        physics, pairs = _of("UsdPhysics"), set()
        for prim in self._stage.Traverse():
            if prim.HasAPI(physics.FilteredPairsAPI):
                targets = physics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()
                pairs |= {frozenset((str(prim.GetPath()), str(target))) for target in targets}
        return pairs


def _mimic(
    prim: Any, prefix: str, names: tuple[str, str], relation: str, sign: float
) -> tuple[str, float, float] | None:
    targets = (
        prim.GetRelationship(f"{prefix}:{relation}").GetTargets()
        if prim.HasRelationship(f"{prefix}:{relation}")
        else []
    )
    if not targets:
        return None
    gear, offset = (sign * prim.GetAttribute(f"{prefix}:{name}").Get() for name in names)
    return str(targets[0]), gear, float(np.radians(offset))


def _pose(R: FloatArray, p: FloatArray) -> FloatArray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _column(matrix: Any) -> FloatArray:
    """OpenUSD's matrices act on rows."""
    return np.array(matrix, dtype=float).reshape(4, 4).T


def _rotation(quaternion: Any) -> FloatArray:
    turn = _of("Gf").Matrix3d(_of("Gf").Rotation(_of("Gf").Quatd(quaternion)))
    return np.array(turn, dtype=float).reshape(3, 3).T


def _about_x(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return _pose(np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]), np.zeros(3))
