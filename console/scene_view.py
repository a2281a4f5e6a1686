"""The robot in three dimensions: where it is, what the camera sees, what the motion tools avoid, and what waits.

viser serves it on a port of this machine that answers only who knows a secret, which is this process: browsers reach it
through the pages' own address and gate (`toolhand.console.scene_routes`). Nothing is computed, and nothing subscribed
to, while nobody looks.
"""

from __future__ import annotations

import contextlib
import hmac
import importlib
import io
import secrets
import socket
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np

from toolhand.console.approving import Approvals, MotionTimeline
from toolhand.console.layers import COLOURS, obstacle_edges
from toolhand.console.robot import Close, JointPositions, MotionMark, Robot, WaitingMotion
from toolhand.console.seats import SeatRole, Seats
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.geometry import backproject, invert, quat_wxyz_from_matrix, transform
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.types import FloatArray, Frame

SECRET_HEADER = "x-scene-secret"
"""Header without which viser's own port refuses every request."""

LOOK_S = 0.1
"""How often the scene follows the robot while somebody looks [s]."""

ANSWER_S = 2.0
"""viser has ended where its port does not take a connection for so long [s]; the system takes them, busy or not."""

POINTS = 20_000
"""Points of the cloud at most [-]: 300 kB, and enough to see what stands on the table."""

POINT_M = 0.003
"""Edge of a point [m]: the distance of two of them on the table."""

PATH_POINTS = 60
"""Points of the drawn path of a leg [-]: it looks smooth."""

LONGEST_URDF = 4_000_000
"""Longest description that is read [characters]: a hundred times that of an arm."""

BASE_LINK = "base_link"
"""Link whose frame is the base frame of the tools, where a description has it."""

_GHOST = (64, 156, 255, 0.45)
"""Colour and opacity of the arm on its way; the arm itself has its own colours."""
_TARGET = (40, 220, 110)
"""Colour of the object that the motion is about, sRGB."""
_SAME_POSE = 1e-3
"""Entries of two poses of the hand differ by no more where they are the same [m, -]: far more than rounding."""
_MOVED = 1e-3
"""Joints that have turned by less are not drawn anew [rad]: less than a pixel."""


def safe_urdf(text: str) -> str:
    """A description that is safe to read: no entities, and no files, whose meshes are left out.

    Raises:
        ToolError: UNAVAILABLE for one that is no URDF, or too long.
    """
    if len(text) > LONGEST_URDF or "<!" in text.replace("<!--", ""):
        raise unavailable("The robot's description is too long or declares a document type, and is not shown.")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise unavailable(f"The robot's description cannot be read: {error}.") from error
    for link in root.iter("link"):
        for part in [*link.findall("visual"), *link.findall("collision")]:
            if part.find("geometry/mesh") is not None:
                link.remove(part)
    for material in root.iter("material"):
        for texture in material.findall("texture"):
            material.remove(texture)
    return ET.tostring(root, encoding="unicode")


@contextlib.contextmanager
def _asked_for(secret: str) -> Iterator[None]:
    """Within it a server of viser that is started refuses whoever does not know a secret.

    viser 1.1 has neither a list of origins nor a hook for requests, so that its call of `serve` gets one here.
    """
    module: Any = importlib.import_module("websockets.asyncio.server")
    serve = module.serve

    def guarded(*args: Any, process_request: Any = None, **options: Any) -> Any:
        def first(connection: Any, request: Any) -> Any:
            known = request.headers.get_all(SECRET_HEADER)
            if len(known) != 1 or not hmac.compare_digest(known[0].encode(), secret.encode()):
                return connection.respond(403, "This port belongs to the console.\n")
            return None if process_request is None else process_request(connection, request)

        return serve(*args, process_request=first, **options)

    module.serve = guarded
    try:
        yield
    finally:
        module.serve = serve


class RobotScene:
    """The scene, which follows the robot and the motion that waits while somebody looks. May be used from any thread.

    Args:
        robot: Says where the joints are, and takes frames.
        approvals: Has the motion that waits.
        seats: Says whose slider moves the blue arm: the operator's, whose approval it is.

    Attributes:
        secret: Value that `SECRET_HEADER` has to have.
    """

    def __init__(self, robot: Robot, approvals: Approvals, seats: Seats) -> None:
        self.secret = secrets.token_urlsafe(24)
        self._robot = robot
        self._approvals = approvals
        self._seats = seats
        self._lock = threading.Lock()
        self._server: Any = None
        self._joints: JointPositions | None = None
        self._marks: tuple[MotionMark, ...] = ()
        self._preview = "", 0.0

    @property
    def port(self) -> int:
        """Port of viser on this machine, which is started by the first call, and anew where it has ended since.

        Raises:
            ToolError: UNAVAILABLE where viser is not installed.
        """
        with self._lock:
            if self._server is not None and not _answers(int(self._server.get_port())):
                self._server = None
            if self._server is None:
                self._start()
            return int(self._server.get_port())

    def preview(self, page: str, time_s: float) -> None:
        """Show the motion that waits at a time from its beginning [s], for as long as this page operates."""
        if self._seats.role(page) is SeatRole.OPERATOR:
            self._preview = page, time_s

    @property
    def preview_s(self) -> float:
        """Time of the operator's slider [s]; 0 where another page operates since it was moved."""
        page, time_s = self._preview
        return time_s if self._seats.role(page) is SeatRole.OPERATOR else 0.0

    def close(self) -> None:
        """End viser."""
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            server.stop()

    def _start(self) -> None:
        try:
            import viser
        except ImportError as error:
            hint = f"Install it with: {install_extra('console')}"
            raise unavailable("The 3D view needs viser and yourdfpy.", hint) from error
        with _asked_for(self.secret):
            server = viser.ViserServer("127.0.0.1", 0, verbose=False)
        # Nobody shares, uploads or clicks: `toolhand.console.socket_rules` lets nothing of it through, and nothing
        # answers it.
        server._websock_server._incoming_handlers.clear()
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        server.gui.main_panel.minimize()
        server.scene.set_up_direction("+z")
        server.scene.configure_default_lights(cast_shadow=False)  # shadows take half the time where there is no GPU
        server.initial_camera.position = (1.3, 0.9, 0.9)
        server.initial_camera.look_at = (0.35, 0.0, 0.2)
        server.scene.add_grid("/table", width=2.0, height=2.0, cell_size=0.1)
        self._server = server
        threading.Thread(target=self._follow, args=(server,), daemon=True, name="console-scene").start()

    def _follow(self, server: Any) -> None:
        """Draw what has changed, while somebody looks, until viser ends."""
        drawn = _Drawn(server)
        heard: tuple[Close, ...] = ()
        while self._server is server:
            time.sleep(LOOK_S)
            looked_at = bool(server.get_clients())
            if looked_at and not heard:
                heard = self._robot.joints(self._hear), self._robot.marks(self._hear_marks)
                drawn.stale = True
            elif not looked_at and heard:
                heard = _closed(heard)
            if looked_at:
                self._draw(drawn)
        _closed(heard)

    def _hear(self, joints: JointPositions) -> None:
        self._joints = joints

    def _hear_marks(self, marks: tuple[MotionMark, ...]) -> None:
        self._marks = marks

    def _draw(self, drawn: _Drawn) -> None:
        try:
            drawn.robot(self._robot.description(), self._joints)
            motion = self._approvals.card.motion
            if drawn.motion_changes(motion):
                self._preview = "", 0.0
                drawn.stale = True
            drawn.ghost(self.preview_s)
            if drawn.marks(self._marks):
                drawn.stale = True
            if drawn.stale:
                drawn.stale = False
                drawn.frame(self._robot.frame("scene"), self._marks)
        except ToolError as error:
            drawn.note(error.message)


class _Drawn:
    """What stands in a scene.

    Attributes:
        stale: The cloud has to be taken anew.
    """

    def __init__(self, server: Any) -> None:
        self.stale = True
        self._scene = server.scene
        self._text = ""
        self._arm: _Arm | None = None
        self._ghost: _Arm | None = None
        self._motion: WaitingMotion | None = None
        self._marks: tuple[MotionMark, ...] = ()
        self._timeline: MotionTimeline | None = None
        self._noted = ""

    def note(self, sentence: str) -> None:
        """Show a sentence above the table, once."""
        if sentence != self._noted:
            self._noted = sentence
            self._scene.add_label("/note", sentence, position=(0.4, 0.0, 0.9), visible=bool(sentence))

    def robot(self, description: str, joints: JointPositions | None) -> None:
        """The arm where it is."""
        if description != self._text:
            self._text = description
            urdf = safe_urdf(description)
            self._arm = _Arm(self._scene, urdf, "/robot")
            self._ghost = _Arm(self._scene, urdf, "/ghost", _GHOST)
            self._ghost.show(False)
        if self._arm is not None and joints is not None:
            self._arm.turn(dict(zip(joints.names, joints.positions.tolist(), strict=True)))

    def motion_changes(self, motion: WaitingMotion | None) -> bool:
        """Draw the path of another motion that waits; True where it is another one."""
        old = None if self._motion is None else self._motion.request.hash
        new = None if motion is None else motion.request.hash
        if old == new or self._ghost is None:
            return False
        self._motion = motion
        self._scene.remove_by_name("/path")
        self._scene.remove_by_name("/goal")
        self._ghost.show(motion is not None)
        self._timeline = None if motion is None else MotionTimeline(motion.request)
        if motion is not None and self._timeline is not None:
            request = motion.request
            points = self._ghost.path(self._timeline, request.T_end)
            if len(points) > 1:
                self._scene.add_line_segments(
                    "/path", np.stack([points[:-1], points[1:]], axis=1), np.array(COLOURS["path"]), thickness=0.006
                )
            self._scene.add_frame(
                "/goal",
                axes_length=0.08,
                axes_radius=0.004,
                position=request.T_end[:3, 3],
                wxyz=quat_wxyz_from_matrix(request.T_end[:3, :3]),
            )
        return True

    def ghost(self, time_s: float) -> None:
        """The arm on its way, at a time of the motion that waits [s]."""
        if self._ghost is not None and self._timeline is not None:
            self._ghost.turn(self._timeline.at(time_s).positions)

    def marks(self, marks: tuple[MotionMark, ...]) -> bool:
        """Draw what another motion that is planned is about; True where it is another one."""
        if marks is self._marks:
            return False
        self._marks = marks
        self._scene.remove_by_name("/marks")
        for k, mark in enumerate(marks):
            if mark.name == "target" and len(mark.points):
                points = mark.points.astype(np.float32)
                self._scene.add_point_cloud(f"/marks/{k}", points, np.array(_TARGET, np.uint8), point_size=2 * POINT_M)
            elif mark.name in ("gripper", "place", "path") and len(mark.segments):
                self._scene.add_line_segments(
                    f"/marks/{k}", mark.segments, np.array(COLOURS[mark.name]), thickness=0.006
                )
        return True

    def frame(self, frame: Frame, marks: tuple[MotionMark, ...] = ()) -> None:
        """Cloud of a frame, and the obstacles of the motion that is planned, else those that are seen."""
        self.note("")
        points = transform(frame.T_base_camera, backproject(frame.depth, frame.K)).reshape(-1, 3)
        known = np.flatnonzero(np.isfinite(points).all(axis=1))
        known = known[:: max(1, len(known) // POINTS)]
        colours = frame.rgb.reshape(-1, 3)[known]
        self._scene.add_point_cloud("/cloud", points[known].astype(np.float32), colours, point_size=POINT_M)
        self._scene.remove_by_name("/obstacles")
        edges = obstacle_edges(frame, marks)
        if len(edges):
            self._scene.add_line_segments("/obstacles", edges, np.array(COLOURS["obstacles"]), thickness=0.003)


class _Arm:
    """One arm of a scene, made of the shapes of its description."""

    def __init__(self, scene: Any, urdf: str, name: str, colour: tuple[int, int, int, float] | None = None) -> None:
        import yourdfpy

        try:
            model = yourdfpy.URDF.load(io.StringIO(urdf), build_scene_graph=True, load_meshes=True, mesh_dir="")
        except Exception as error:  # of a stranger's description: yourdfpy raises whatever its parts raise
            raise unavailable(f"The robot's description cannot be shown: {error}.") from error
        self._model = model
        self._names = list(model.actuated_joint_names)
        self._q: FloatArray | None = None
        scene.remove_by_name(name)
        self._root = scene.add_frame(name, show_axes=False)
        self._T_base_root = np.eye(4)
        if BASE_LINK in model.link_map:
            self._T_base_root = invert(model.get_transform(BASE_LINK))
        self._frames: dict[str, Any] = {}
        graph = model.scene.graph
        for node in graph.nodes_geometry:
            link = graph.transforms.parents[node]
            if link not in self._frames:
                self._frames[link] = scene.add_frame(f"{name}/{link}", show_axes=False)
            T, geometry = graph.get(node, frame_from=link)
            mesh = model.scene.geometry[geometry]
            red, green, blue, opacity = colour or _colour_of(mesh)
            scene.add_mesh_simple(
                f"{name}/{link}/{node}",
                np.asarray(mesh.vertices, np.float32),
                np.asarray(mesh.faces, np.uint32),
                color=(red, green, blue),
                opacity=None if opacity >= 1.0 else opacity,
                position=T[:3, 3],
                wxyz=quat_wxyz_from_matrix(T[:3, :3]),
                cast_shadow=False,
                receive_shadow=False,
            )
        self._place()

    def show(self, visible: bool) -> None:
        """Show or hide it."""
        self._root.visible = visible

    def turn(self, positions: dict[str, float]) -> None:
        """Set joints by their names [rad]; others stay."""
        old = np.zeros(len(self._names)) if self._q is None else self._q
        q = np.array([positions.get(name, value) for name, value in zip(self._names, old, strict=True)])
        if self._q is not None and np.abs(q - self._q).max(initial=0.0) < _MOVED:
            return
        self._q = q
        self._model.update_cfg(q)
        self._place()

    def _place(self) -> None:
        for link, handle in self._frames.items():
            T = self._where(link)
            handle.position, handle.wxyz = T[:3, 3], quat_wxyz_from_matrix(T[:3, :3])

    def _where(self, link: str) -> FloatArray:
        """T_base_link (4, 4)."""
        T: FloatArray = self._T_base_root @ self._model.scene.graph.get(link)[0]
        return T

    def path(self, timeline: MotionTimeline, T_end: FloatArray) -> FloatArray:
        """(N, 3) where the hand is on its way [m]: the link that ends at `T_end`, base frame; none without one."""
        times = np.linspace(0.0, timeline.duration_s, PATH_POINTS)
        self.turn(timeline.at(timeline.duration_s).positions)
        found = [
            link for link in self._model.link_map if np.abs(self._model.get_transform(link) - T_end).max() < _SAME_POSE
        ]
        if not found:
            return np.zeros((0, 3))
        points = []
        for time_s in times:
            self.turn(timeline.at(float(time_s)).positions)
            points.append(self._where(found[0])[:3, 3])
        return np.array(points)


def _answers(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), ANSWER_S).close()
    except OSError:
        return False
    return True


def _colour_of(mesh: Any) -> tuple[int, int, int, float]:
    """Colour (0..255) and opacity of a shape."""
    with contextlib.suppress(AttributeError, TypeError, ValueError, IndexError):
        r, g, b, a = (int(value) for value in mesh.visual.main_color)
        return r, g, b, a / 255.0
    return 160, 160, 160, 1.0


def _closed(heard: tuple[Close, ...]) -> tuple[Close, ...]:
    """End subscriptions; nothing is left of them."""
    for close in heard:
        close()
    return ()
