"""The robot of a ROS 2 graph, as the pages know it. It is there before the graph is, and when the graph is gone."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from sensor_msgs.msg import CompressedImage
from toolhand_interfaces.srv import AnswerQuestion

from toolhand.agent_node.events import Ask, nobody
from toolhand.agent_node.ros.approve import REMEMBERED, Requests, Waiting, send_answer
from toolhand.agent_node.ros.operator import ACTION, Operator
from toolhand.agent_node.ros.pointing import PointWatch
from toolhand.console.robot import (
    CameraImage,
    Close,
    GraphState,
    Heard,
    JointPositions,
    MotionMark,
    ShownImage,
    SpokenOutcome,
    SpokenWords,
    WaitingMotion,
)
from toolhand.console.ros_watch import Watching
from toolhand.tool_nodes.motion.approval import Decision
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.ros.client import router
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.proofs import Proofs
from toolhand.tool_nodes.types import Frame

LOOK_S = 1.0
"""How often the graph is looked for [s]."""
LARGEST_IMAGE = 4 << 20
"""Largest image of a tool that is shown [bytes]; one of 1280x720 has 0.3 MB."""
_IMAGES_KEPT = 8


@dataclass(frozen=True, eq=False)
class _Graph:
    """A graph that was entered, and what is done in it."""

    link: RosLink
    agent: Any
    points: PointWatch
    watching: Watching
    motions: MotionDesk


@dataclass(eq=False)
class _Wanted:
    """What is to be listened to whenever there is a graph."""

    make: Callable[[_Graph], Close]
    close: Close | None = None
    ended: bool = field(default=False)


class GraphRobot:
    """Speaks to the agent of a graph, and listens to it while something is shown. See `toolhand.console.robot.Robot`.

    Args:
        token: The operator's token of approvals; empty where there is none.
        notify: Gets sentences for the operator, about requests for approval that are not shown.
        pip_client: The client is the one that needs no ROS 2, and that a router has to be there for.
    """

    def __init__(
        self, token: str = "", notify: Callable[[str], None] = lambda sentence: None, pip_client: bool = True
    ) -> None:
        self._token, self._notify, self._pip_client = token, notify, pip_client
        self._lock = threading.RLock()
        self._graph: _Graph | None = None
        self._state = GraphState(False, "The graph is looked for.")
        self._wanted: list[_Wanted] = []
        self._operator: Operator | None = None
        self._closed = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True, name="console-graph")
        self._looking.start()

    def state(self) -> GraphState:
        """See `Robot`."""
        return self._state

    def say(self, said: SpokenWords, hear: Callable[[Heard], None], ask: Ask = nobody) -> SpokenOutcome:
        """See `Robot`."""
        with self._lock:
            try:
                graph = self._linked()
            except ToolError as error:
                return SpokenOutcome(str(error), False, error.code)
            operator = self._operator = Operator(graph.link, hear, ask, said.session)
        images = _tool_images(graph.link, hear)
        try:
            episode = operator.carry_out(said.text, graph.points.unchanged(said.pointed, ask))
        except ToolError as error:
            return SpokenOutcome(str(error), False, error.code)
        finally:
            with self._lock:
                self._operator = None
            images()
            operator.close()
        folders = tuple(str(folder) for folder in operator.run_dirs)
        return SpokenOutcome(episode.answer or "", episode.success, episode.error_code, folders)

    def cancel(self) -> None:
        """See `Robot`."""
        with self._lock:
            if self._operator is not None:
                self._operator.cancel()

    def attend(self, present: bool) -> None:
        """See `Robot`."""
        if not present:
            self.cancel()

    def images(self, camera: str, hear: Callable[[CameraImage], None]) -> Close:
        """See `Robot`."""
        return self._while_linked(lambda graph: graph.watching.images(camera, hear))

    def joints(self, hear: Callable[[JointPositions], None]) -> Close:
        """See `Robot`."""
        return self._while_linked(lambda graph: graph.watching.joints(hear))

    def marks(self, hear: Callable[[tuple[MotionMark, ...]], None]) -> Close:
        """See `Robot`."""
        return self._while_linked(lambda graph: graph.watching.marks(hear))

    def frame(self, camera: str) -> Frame:
        """See `Robot`."""
        return self._linked().watching.frame(camera)

    def description(self) -> str:
        """See `Robot`."""
        graph = self._graph
        return "" if graph is None else graph.watching.description()

    def motions(self, hear: Callable[[WaitingMotion | None], None]) -> Close:
        """See `Robot`."""
        return self._while_linked(lambda graph: graph.motions.motions(hear))

    def decide(self, decision: Decision) -> str:
        """See `Robot`."""
        return self._linked().motions.decide(decision)

    def note_point(self, point: tuple[float, float], jpeg: bytes) -> None:
        """See `Robot`."""
        graph = self._graph
        if graph is not None:
            graph.points.note(point, jpeg)

    def close(self) -> None:
        """See `Robot`."""
        self._closed.set()
        self.cancel()
        self._looking.join(2.0 * LOOK_S)
        with self._lock:
            self._leave()

    def _while_linked(self, make: Callable[[_Graph], Close]) -> Close:
        """Have something listened to whenever there is a graph, until it is closed.

        Args:
            make: Begins to listen in a graph; what it returns ends it.
        """
        wanted = _Wanted(make)
        with self._lock:
            self._wanted.append(wanted)
            self._listen(wanted)

        def close() -> None:
            with self._lock:
                if not wanted.ended:
                    wanted.ended = True
                    self._wanted.remove(wanted)
                    if wanted.close is not None:
                        wanted.close()

        return close

    # -- the graph ------------------------------------------------------------------------------

    def _look(self) -> None:
        while not self._closed.is_set():
            try:
                self._state = self._found()
            except ToolError as error:
                self._state = GraphState(False, str(error))
            except Exception as error:  # a graph in pieces may raise anything; the page says so, and it is tried again
                self._state = GraphState(False, f"The graph cannot be reached: {type(error).__name__}: {error}")
            self._closed.wait(LOOK_S)

    def _found(self) -> GraphState:
        """The state of the graph now; enters it where it has come."""
        if router(self._pip_client) is None:
            raise unavailable("No ROS 2 graph is found on this domain.", "Start it: toolhand up.")
        with self._lock:
            if self._graph is None:
                self._graph = self._entered()
                for wanted in self._wanted:
                    self._listen(wanted)
        if not self._graph.agent.service_is_ready():
            return GraphState(False, "No agent is found on this ROS domain. Start it: toolhand up.")
        return GraphState(True, unapproved=self._graph.motions.refusal)

    def _entered(self) -> _Graph:
        link = RosLink({})
        link.__enter__()
        group = ReentrantCallbackGroup()
        agent = link.node.create_client(AnswerQuestion, f"{ACTION}/answer", callback_group=group)
        return _Graph(link, agent, PointWatch(link), Watching(link), MotionDesk(link, self._token, self._notify))

    def _linked(self) -> _Graph:
        """The graph. Raises ToolError UNAVAILABLE where there is none."""
        if self._graph is None:
            raise unavailable(self._state.sentence)
        return self._graph

    def _listen(self, wanted: _Wanted) -> None:
        if self._graph is not None and wanted.close is None:
            wanted.close = wanted.make(self._graph)

    def _leave(self) -> None:
        for wanted in self._wanted:
            wanted.close = None
        if self._graph is not None:
            with contextlib.suppress(Exception):  # the graph is gone, and so is what would have to be told
                self._graph.link.__exit__(None, None, None)
            self._graph = None


def _tool_images(link: RosLink, hear: Callable[[Heard], None]) -> Close:
    """Hear what the tools show until it is closed."""

    def on_image(message: Any) -> None:
        if message.format == "jpeg" and len(message.data) <= LARGEST_IMAGE:
            hear(ShownImage(message.header.frame_id[:200], bytes(message.data)))

    subscription = link.node.create_subscription(
        CompressedImage, f"{ACTION}/pictures", on_image, _IMAGES_KEPT, callback_group=ReentrantCallbackGroup()
    )

    def close() -> None:
        link.node.destroy_subscription(subscription)

    return close


OTHER_TOKEN = (
    "This robot asks for approval before it moves, and this console has not its token: no motion can be shown or "
    "approved here. The terminal of the robot's graph has named the token's file when it started, as approval token. "
    "End this console and type: toolhand console --token-file FILE"
)
"""What pages say where the newest message of the motion node bears the proof of another token."""


class MotionDesk:
    """Listens to motions that wait while somebody wants to hear of them, and sends answers.

    Args:
        link: Takes part in the graph.
        token: The operator's; empty where there is none, so that no motion is believed.
        notify: Gets sentences for the operator.
    """

    def __init__(self, link: RosLink, token: str, notify: Callable[[str], None]) -> None:
        self._link = link
        self._proofs = Proofs(token or secrets.token_hex())
        self._notify = notify
        self._lock = threading.Lock()
        self._gone = deque[str](maxlen=REMEMBERED)
        self._requests: Requests | None = None
        self._hear: list[Callable[[WaitingMotion | None], None]] = []
        self._waiting: WaitingMotion | None = None

    def motions(self, hear: Callable[[WaitingMotion | None], None]) -> Close:
        """See `toolhand.console.robot.Robot`; the first who listens subscribes, and the last who closes ends it."""
        with self._lock:
            self._hear.append(hear)
            if self._requests is None:
                self._requests = Requests(self._link, self._proofs, self._notify, self._changed, self._gone)
        if self._waiting is not None:
            hear(self._waiting)

        def close() -> None:
            with self._lock:
                if hear in self._hear:
                    self._hear.remove(hear)
                if self._hear or self._requests is None:
                    return
                requests, self._requests, self._waiting = self._requests, None, None
            requests.close()

        return close

    @property
    def refusal(self) -> str:
        """Why motions of this graph cannot be approved here; empty where they can, or nothing is known of it."""
        requests = self._requests
        return "" if requests is None or requests.believed else OTHER_TOKEN

    def decide(self, decision: Decision) -> str:
        """See `toolhand.console.robot.Robot`. Raises ToolError UNAVAILABLE or TIMEOUT."""
        refusal = send_answer(self._link, self._proofs, decision)
        if not refusal:
            self._gone.append(decision.hash)
        return refusal

    def _changed(self, waiting: Waiting | None) -> None:
        motion = None if waiting is None else WaitingMotion(waiting.request, time.monotonic() + waiting.deadline_s)
        with self._lock:
            self._waiting, hear = motion, tuple(self._hear)
        for each in hear:
            each(motion)
