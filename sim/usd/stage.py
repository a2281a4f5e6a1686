"""A scene and the robot as USD (extra `usd`).

The stage is UsdPhysics as Isaac Sim and Newton read it: links and objects are rigid bodies side by side, with joints
between them; what UsdPhysics has no word for (coupled joints, armature, links without weight) stands in the attributes
of PhysX and Newton. Angles are degrees there, and gains of revolute joints are per degree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np

from toolhand.sim.camera.ray import CameraModel, jittered, scene_camera, wrist_camera
from toolhand.sim.model import build_model
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.usd import mechanics, prims, solids
from toolhand.sim.usd.library import openusd
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz, pose, quat_wxyz_from_matrix
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.types import FloatArray

_CM_PER_APERTURE = 2.0955
"""Width of the camera's film [tenths of a scene unit]: OpenUSD's default; only its ratio to the focal length counts."""
_CLIP_M = (0.01, 100.0)
"""Nearest and furthest that cameras see [m]; round figures around a table."""
_LAMP_NITS = 30000.0
"""Brightness of the lamp, a ball of 10 cm [nits]; chosen to look at."""
_SKY_NITS = 300.0
"""Brightness of the sky [nits]; chosen to look at."""
_SEEN_GROUPS = 3
"""MuJoCo's groups of geoms below this are seen by cameras."""
_OPTICAL = np.diag([1.0, -1.0, -1.0])
"""Rotation from the axes of a USD camera (y up, looking along -z) to those of OpenCV."""


def usd_text(scene: Scene, robot: RobotModel | None = None) -> str:
    """A scene with the parked robot as the text of a .usda file; the same bytes for the same scene.

    Args:
        scene: Scene on the table, with objects of any object set.
        robot: Which robot; the default one where None.

    Raises:
        ToolError: UNAVAILABLE without the extra `usd`; INVALID_ARGUMENT for a robot with a constraint that UsdPhysics
            does not have.
    """
    return _Exporter(scene, robot or load_robot()).text()


def object_text(placed: PlacedObject) -> str:
    """One object as the text of a .usda file, for a simulator that spawns it: `/SegmentedObject`, its body frame at the
    origin.

    What it is stands in the prim's custom data, too: `item`, `grip` and `weight` as a scene file has them.

    Raises:
        ToolError: UNAVAILABLE without the extra `usd`.
    """
    alone = Scene(0, (placed,), (0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3, (0.5,) * 3, placed.id)
    return _Exporter(alone, load_robot()).object_text(placed)


class _Exporter:
    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self._pxr = openusd()
        self._scene, self._robot = scene, robot
        self._model = build_model(scene, robot)
        self._data = mujoco.MjData(self._model)
        self._mimics = mechanics.mimics(self._model)
        self._data.qpos[:] = mechanics.start_positions(self._model, robot, self._mimics)
        mujoco.mj_kinematics(self._model, self._data)
        self._bodies = range(1, self._model.nbody)
        self._objects = {self._model.body(placed.id).id: placed.id for placed in scene.objects}
        self._links = [body for body in self._bodies if body not in self._objects]
        self._paths: dict[int, str] = {}
        self._materials: dict[tuple[float, str], Any] = {}
        self._materials_at = prims.MATERIALS
        self._stage: Any = None

    def text(self) -> str:
        """The whole stage."""
        self._begin()
        self._stage.SetDefaultPrim(self._pxr.UsdGeom.Xform.Define(self._stage, prims.WORLD).GetPrim())
        self._add_physics()
        self._add_surroundings()
        self._add_robot()
        self._add_objects()
        self._add_filters()
        self._add_cameras()
        self._add_lights()
        text: str = self._stage.GetRootLayer().ExportToString()
        return text

    def object_text(self, placed: PlacedObject) -> str:
        """A stage with one object of the scene alone."""
        self._begin()
        body = self._model.body(placed.id).id
        self._materials_at = f"{prims.OBJECT}/PhysicsMaterials"
        prim = self._add_rigid_body(prims.OBJECT, body, np.eye(4))
        self._stage.SetDefaultPrim(prim)
        for name in ("item", "grip", "weight"):
            prim.SetCustomDataByKey(name, getattr(placed, name))
        self._pxr.UsdGeom.Scope.Define(self._stage, self._materials_at)
        self._add_geoms(prims.OBJECT, body)
        text: str = self._stage.GetRootLayer().ExportToString()
        return text

    def _begin(self) -> None:
        self._stage = self._pxr.Usd.Stage.CreateInMemory()
        self._pxr.UsdGeom.SetStageUpAxis(self._stage, self._pxr.UsdGeom.Tokens.z)
        self._pxr.UsdGeom.SetStageMetersPerUnit(self._stage, 1.0)
        self._pxr.UsdPhysics.SetStageKilogramsPerUnit(self._stage, 1.0)

    # -- parts of the world ------------------------------------------------------------------------

    def _add_physics(self) -> None:
        scene = self._pxr.UsdPhysics.Scene.Define(self._stage, f"{prims.WORLD}/PhysicsScene")
        gravity = np.array(self._model.opt.gravity)
        scene.CreateGravityDirectionAttr(self._pxr.Gf.Vec3f(*(gravity / np.linalg.norm(gravity)).tolist()))
        scene.CreateGravityMagnitudeAttr(float(np.linalg.norm(gravity)))
        steps = round(1.0 / self._model.opt.timestep)
        self._extra(scene.GetPrim(), "PhysxSceneAPI", "physxScene:timeStepsPerSecond", "UInt", steps)
        self._extra(scene.GetPrim(), "NewtonSceneAPI", "newton:timeStepsPerSecond", "Int", steps)
        self._pxr.UsdGeom.Scope.Define(self._stage, prims.MATERIALS)

    def _add_surroundings(self) -> None:
        for geom, name in self._geoms(0).items():
            self._add_geom(f"{prims.WORLD}/{name}", geom)

    def _add_robot(self) -> None:
        root = self._pxr.UsdGeom.Xform.Define(self._stage, prims.ROBOT).GetPrim()
        self._pxr.UsdPhysics.ArticulationRootAPI.Apply(root)
        # Pairs that construction lets touch are filtered one by one.
        self._extra(root, "PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions", "Bool", True)
        self._extra(root, "NewtonArticulationRootAPI", "newton:selfCollisionEnabled", "Bool", True)
        self._pxr.UsdGeom.Scope.Define(self._stage, prims.JOINTS)
        names = prims.prim_names(self._model.body(body).name for body in self._links)
        for body in self._links:
            self._add_link(body, names[self._model.body(body).name])
        joints = [joint for joint in range(self._model.njnt) if int(self._model.jnt_bodyid[joint]) in self._links]
        joint_names = prims.prim_names(self._model.joint(joint).name for joint in joints)
        paths = {joint: f"{prims.JOINTS}/{joint_names[self._model.joint(joint).name]}" for joint in joints}
        servos = mechanics.drives(self._model, self._mimics)
        for joint, path in paths.items():
            self._add_joint(path, joint, paths, servos.get(joint))

    def _add_link(self, body: int, name: str) -> None:
        """A link with mass is a rigid body; a frame without mass stands in the one that carries it."""
        model, above = self._model, int(self._model.body_parentid[body])
        if model.body_mass[body] == 0.0:
            path = f"{self._paths.get(above, prims.ROBOT)}/{name}"
            self._xform(path, self._relative(above, body) if above in self._paths else self._pose(body))
        else:
            path = f"{prims.ROBOT}/{name}"
            self._add_rigid_body(path, body, self._pose(body))
            self._extra(self._prim(path), "PhysxRigidBodyAPI", "physxRigidBody:disableGravity", "Bool", True)
            self._extra(self._prim(path), "MjcBodyAPI", "mjc:gravcomp", "Double", float(model.body_gravcomp[body]))
            if model.body_jntnum[body] == 0:
                self._add_fixed_joint(path, body)
        self._paths[body] = path
        self._add_geoms(path, body)

    def _add_objects(self) -> None:
        self._pxr.UsdGeom.Scope.Define(self._stage, prims.OBJECTS)
        paths = prims.object_paths(self._objects.values())
        for body, name in self._objects.items():
            self._add_rigid_body(paths[name], body, self._pose(body))
            self._paths[body] = paths[name]
            self._add_geoms(paths[name], body)

    def _add_filters(self) -> None:
        """Pairs of bodies that never touch in our physics do not in another one, those that a joint connects apart."""
        colliding = [
            body for body in self._links if any(mechanics.is_collider(self._model, geom) for geom in self._geoms(body))
        ]
        surroundings = [f"{prims.WORLD}/{name}" for name in self._geoms(0).values()]
        for index, body in enumerate(colliding):
            others = [self._paths[other] for other in colliding[index + 1 :] if self._never_touch(body, other)]
            if mechanics.apart(self._model, 0, body):
                others += surroundings
            if others:
                api = self._pxr.UsdPhysics.FilteredPairsAPI.Apply(self._prim(self._paths[body]))
                api.CreateFilteredPairsRel().SetTargets(others)

    def _never_touch(self, body: int, other: int) -> bool:
        jointed = self._carrier(body) == other or self._carrier(other) == body
        return not jointed and mechanics.apart(self._model, body, other)

    def _add_cameras(self) -> None:
        self._add_camera(f"{prims.WORLD}/scene_camera", jittered(scene_camera(), self._scene))
        wrist = wrist_camera(self._robot)
        body = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_BODY, wrist.body)
        if body in self._paths:
            self._add_camera(f"{self._paths[body]}/wrist_camera", wrist)

    def _add_camera(self, path: str, camera: CameraModel) -> None:
        (fx, _, cx), (_, fy, cy) = camera.K[0], camera.K[1]
        width, height = camera.size
        wide, high = _CM_PER_APERTURE, _CM_PER_APERTURE * height / width * fx / fy
        prim = self._pxr.UsdGeom.Camera.Define(self._stage, path)
        self._place(prim, pose(camera.T_base_camera[:3, :3] @ _OPTICAL, camera.T_base_camera[:3, 3]))
        prim.CreateFocalLengthAttr(float(fx * wide / width))
        prim.CreateHorizontalApertureAttr(wide)
        prim.CreateVerticalApertureAttr(float(high))
        # Pixel (u, v) is the pixel's centre here, and half a pixel from the edge of the film there.
        prim.CreateHorizontalApertureOffsetAttr(float((width / 2 - 0.5 - cx) * wide / width))
        prim.CreateVerticalApertureOffsetAttr(float((cy + 0.5 - height / 2) * high / height))
        prim.CreateClippingRangeAttr(self._pxr.Gf.Vec2f(*_CLIP_M))
        self._attribute(prim.GetPrim(), "toolhand:imageSize", "Int2", self._pxr.Gf.Vec2i(width, height))

    def _add_lights(self) -> None:
        lamp = self._pxr.UsdLux.SphereLight.Define(self._stage, f"{prims.WORLD}/Lamp")
        lamp.CreateRadiusAttr(0.1)
        lamp.CreateIntensityAttr(_LAMP_NITS)
        lamp.AddTranslateOp().Set(self._pxr.Gf.Vec3d(*self._scene.light_position_m))
        self._pxr.UsdLux.DomeLight.Define(self._stage, f"{prims.WORLD}/Sky").CreateIntensityAttr(_SKY_NITS)

    # -- bodies and shapes -------------------------------------------------------------------------

    def _add_rigid_body(self, path: str, body: int, T: FloatArray) -> Any:
        model = self._model
        prim = self._xform(path, T).GetPrim()
        prim.SetCustomDataByKey("name", model.body(body).name)
        self._pxr.UsdPhysics.RigidBodyAPI.Apply(prim)
        mass = self._pxr.UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(float(model.body_mass[body]))
        mass.CreateCenterOfMassAttr(self._pxr.Gf.Vec3f(*model.body_ipos[body].tolist()))
        mass.CreateDiagonalInertiaAttr(self._pxr.Gf.Vec3f(*model.body_inertia[body].tolist()))
        mass.CreatePrincipalAxesAttr(self._quatf(model.body_iquat[body]))
        return prim

    def _geoms(self, body: int) -> dict[int, str]:
        """Names of a body's geoms as prims, by their index."""
        start, count = int(self._model.body_geomadr[body]), int(self._model.body_geomnum[body])
        geoms = range(start, start + count)
        kinds = {geom: "collision" if mechanics.is_collider(self._model, geom) else "visual" for geom in geoms}
        own = {geom: self._model.geom(geom).name or f"{kinds[geom]}_{geom - start}" for geom in geoms}
        names = prims.prim_names(own.values())
        return {geom: names[own[geom]] for geom in geoms}

    def _add_geoms(self, path: str, body: int) -> None:
        for geom, name in self._geoms(body).items():
            self._add_geom(f"{path}/{name}", geom)

    def _add_geom(self, path: str, geom: int) -> None:
        model = self._model
        prim, scale = solids.define(self._stage, path, model, geom)
        self._place(prim, pose(_matrix(model.geom_quat[geom]), model.geom_pos[geom]), scale)
        rgba = model.geom_rgba[geom]
        prim.CreateDisplayColorAttr([self._pxr.Gf.Vec3f(*rgba[:3].tolist())])
        if rgba[3] < 1.0:
            prim.CreateDisplayOpacityAttr([float(rgba[3])])
        if int(model.geom_group[geom]) >= _SEEN_GROUPS:
            prim.CreatePurposeAttr(self._pxr.UsdGeom.Tokens.guide)
        if not mechanics.is_collider(model, geom):
            return
        self._pxr.UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
        if prim.GetPrim().IsA(self._pxr.UsdGeom.Mesh):
            self._pxr.UsdPhysics.MeshCollisionAPI.Apply(prim.GetPrim()).CreateApproximationAttr("convexHull")
        binding = self._pxr.UsdShade.MaterialBindingAPI.Apply(prim.GetPrim())
        material = self._material(*mechanics.friction(model, geom))
        binding.Bind(material, self._pxr.UsdShade.Tokens.fallbackStrength, "physics")

    def _material(self, friction: float, combine: str) -> Any:
        key = friction, combine
        if key not in self._materials:
            path = f"{self._materials_at}/material_{len(self._materials)}"
            material = self._pxr.UsdShade.Material.Define(self._stage, path)
            api = self._pxr.UsdPhysics.MaterialAPI.Apply(material.GetPrim())
            api.CreateStaticFrictionAttr(friction)
            api.CreateDynamicFrictionAttr(friction)
            api.CreateRestitutionAttr(0.0)
            mode = "physxMaterial:frictionCombineMode"
            self._extra(material.GetPrim(), "PhysxMaterialAPI", mode, "Token", combine)
            self._materials[key] = material
        return self._materials[key]

    # -- joints ------------------------------------------------------------------------------------

    def _carrier(self, body: int) -> int:
        """The nearest body above one that is a rigid body; 0 where that is the world."""
        above = int(self._model.body_parentid[body])
        while above and self._model.body_mass[above] == 0.0:
            above = int(self._model.body_parentid[above])
        return above

    def _connect(self, joint: Any, body: int, T_carrier_joint: FloatArray, T_body_joint: FloatArray) -> None:
        """Fill in what a joint connects, and where it is in both."""
        if above := self._carrier(body):
            joint.CreateBody0Rel().SetTargets([self._paths[above]])
        joint.CreateBody1Rel().SetTargets([self._paths.get(body) or f"{prims.ROBOT}/{self._link_name(body)}"])
        joint.CreateLocalPos0Attr(self._pxr.Gf.Vec3f(*T_carrier_joint[:3, 3].tolist()))
        joint.CreateLocalRot0Attr(self._quatf(quat_wxyz_from_matrix(T_carrier_joint[:3, :3])))
        joint.CreateLocalPos1Attr(self._pxr.Gf.Vec3f(*T_body_joint[:3, 3].tolist()))
        joint.CreateLocalRot1Attr(self._quatf(quat_wxyz_from_matrix(T_body_joint[:3, :3])))

    def _link_name(self, body: int) -> str:
        names = prims.prim_names(self._model.body(link).name for link in self._links)
        return names[self._model.body(body).name]

    def _add_fixed_joint(self, path: str, body: int) -> None:
        joint = self._pxr.UsdPhysics.FixedJoint.Define(self._stage, f"{prims.JOINTS}/{path.rsplit('/', 1)[1]}_fixed")
        self._connect(joint, body, self._below(body), np.eye(4))

    def _add_joint(self, path: str, joint: int, paths: dict[int, str], servo: mechanics.Drive | None) -> None:
        model, body = self._model, int(self._model.jnt_bodyid[joint])
        turns = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)
        kind = self._pxr.UsdPhysics.RevoluteJoint if turns else self._pxr.UsdPhysics.PrismaticJoint
        prim = kind.Define(self._stage, path)
        prim.GetPrim().SetCustomDataByKey("name", model.joint(joint).name)
        prim.CreateAxisAttr("X")
        T_body_joint = pose(_onto_x(model.jnt_axis[joint]), model.jnt_pos[joint])
        # MuJoCo's pose of a body in its parent is that at qpos0, which is 0 for a URDF's joints.
        self._connect(prim, body, self._below(body) @ T_body_joint @ _moved(-_qpos0(model, joint), turns), T_body_joint)
        degrees = 180.0 / np.pi if turns else 1.0
        if ends := mechanics.joint_range(model, joint, self._mimics):
            prim.CreateLowerLimitAttr(ends[0] * degrees)
            prim.CreateUpperLimitAttr(ends[1] * degrees)
        position = float(self._data.qpos[model.jnt_qposadr[joint]]) * degrees
        token = "angular" if turns else "linear"
        if servo is not None:
            drive = self._pxr.UsdPhysics.DriveAPI.Apply(prim.GetPrim(), token)
            drive.CreateTypeAttr("force")
            drive.CreateStiffnessAttr(servo.stiffness / degrees)
            drive.CreateDampingAttr(servo.damping / degrees)
            drive.CreateTargetPositionAttr(position)
            if np.isfinite(servo.max_force):
                drive.CreateMaxForceAttr(servo.max_force)
        self._add_joint_extras(prim.GetPrim(), joint, position, token, degrees)
        if joint in self._mimics:
            self._add_mimic(prim.GetPrim(), self._mimics[joint], paths, degrees)

    def _add_joint_extras(self, prim: Any, joint: int, position: float, token: str, degrees: float) -> None:
        model, dof = self._model, int(self._model.jnt_dofadr[joint])
        self._extra(prim, f"PhysicsJointStateAPI:{token}", f"state:{token}:physics:position", "Float", position)
        armature, damping = float(model.dof_armature[dof]), float(model.dof_damping[dof])
        self._extra(prim, "PhysxJointAPI", "physxJoint:armature", "Float", armature)
        self._extra(prim, "NewtonJointAPI", "newton:armature", "Float", armature)
        self._attribute(prim, "newton:damping", "Float", damping / degrees)
        speed = self._robot.urdf.limit(model.joint(joint).name, "velocity")
        if speed:
            self._attribute(prim, "physxJoint:maxJointVelocity", "Float", speed * degrees)
            self._attribute(prim, "newton:velocityLimit", "Float", speed * degrees)

    def _add_mimic(self, prim: Any, mimic: mechanics.Mimic, paths: dict[int, str], degrees: float) -> None:
        """PhysX: position + gearing * reference + offset = 0; Newton: position = coef0 + coef1 * reference."""
        offset = mimic.offset * degrees
        name = "physxMimicJoint:rotX"
        self._extra(prim, "PhysxMimicJointAPI:rotX", f"{name}:gearing", "Float", -mimic.gear)
        self._attribute(prim, f"{name}:offset", "Float", -offset)
        self._attribute(prim, f"{name}:naturalFrequency", "Float", 0.0)  # not a spring: it follows exactly
        self._attribute(prim, f"{name}:dampingRatio", "Float", 0.0)
        self._attribute(prim, f"{name}:referenceJointAxis", "Token", "rotX")
        self._extra(prim, "NewtonMimicAPI", "newton:mimicCoef0", "Float", offset)
        self._attribute(prim, "newton:mimicCoef1", "Float", mimic.gear)
        for relation in (f"{name}:referenceJoint", "newton:mimicJoint"):
            prim.CreateRelationship(relation, False).SetTargets([paths[mimic.reference]])

    # -- small objects ------------------------------------------------------------------------------

    def _pose(self, body: int) -> FloatArray:
        return pose(self._data.xmat[body].reshape(3, 3), self._data.xpos[body])

    def _relative(self, above: int, body: int) -> FloatArray:
        """(4, 4) pose of a body in another one, now."""
        T: FloatArray = np.linalg.inv(self._pose(above)) @ self._pose(body)
        return T

    def _below(self, body: int) -> FloatArray:
        """(4, 4) pose of a body in the rigid body that carries it, with its own joint at qpos0."""
        T, top = np.eye(4), self._carrier(body)
        while body != top:
            T = pose(_matrix(self._model.body_quat[body]), self._model.body_pos[body]) @ T
            body = int(self._model.body_parentid[body])
        return T

    def _xform(self, path: str, T: FloatArray) -> Any:
        xform = self._pxr.UsdGeom.Xform.Define(self._stage, path)
        self._place(xform, T)
        return xform

    def _place(self, xformable: Any, T: FloatArray, scale: Iterable[float] | None = None) -> None:
        double = self._pxr.UsdGeom.XformOp.PrecisionDouble
        xformable.AddTranslateOp().Set(self._pxr.Gf.Vec3d(*T[:3, 3].tolist()))
        w, *xyz = quat_wxyz_from_matrix(T[:3, :3]).tolist()
        xformable.AddOrientOp(double).Set(self._pxr.Gf.Quatd(w, self._pxr.Gf.Vec3d(*xyz)))
        if scale is not None:
            xformable.AddScaleOp(double).Set(self._pxr.Gf.Vec3d(*scale))

    def _quatf(self, wxyz: FloatArray) -> Any:
        w, *xyz = np.asarray(wxyz, dtype=float).tolist()
        return self._pxr.Gf.Quatf(w, self._pxr.Gf.Vec3f(*xyz))

    def _prim(self, path: str) -> Any:
        return self._stage.GetPrimAtPath(path)

    def _extra(self, prim: Any, schema: str, name: str, kind: str, value: object) -> None:
        """An attribute of a schema that usd-core does not have; its readers look for the schema's name, too."""
        prim.AddAppliedSchema(schema)
        self._attribute(prim, name, kind, value)

    def _attribute(self, prim: Any, name: str, kind: str, value: object) -> None:
        prim.CreateAttribute(name, getattr(self._pxr.Sdf.ValueTypeNames, kind), False).Set(value)


def _matrix(quat_wxyz: FloatArray) -> FloatArray:
    return matrix_from_quat_wxyz(np.asarray(quat_wxyz, dtype=float))


def _onto_x(axis: FloatArray) -> FloatArray:
    """(3, 3) rotation that takes x to an axis (3,)."""
    x = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    y = np.cross(np.eye(3)[int(np.argmin(np.abs(x)))], x)
    y /= np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _qpos0(model: mujoco.MjModel, joint: int) -> float:
    return float(model.qpos0[model.jnt_qposadr[joint]])


def _moved(by: float, turns: bool) -> FloatArray:
    """(4, 4) turned about x by an angle [rad], or moved along it [m]."""
    if not turns:
        return pose(np.eye(3), np.array([by, 0.0, 0.0]))
    c, s = np.cos(by), np.sin(by)
    return pose(np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]), np.zeros(3))
