"""The stop server's place in the graph: a client of /stop and /reset_stop that is kept warm.

It is there before the graph is, and after it came back: a client waits for its servers, and the state of the stop is a
latched topic. A thread of its own looks at the answers that have not come yet; a stop waits for nothing but its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toolhand.console.stopping import StopAnswer, StopOutcome, StopStatus
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.client import use_client

if TYPE_CHECKING:
    from rclpy.client import Client
    from rclpy.task import Future

logger = logging.getLogger("toolhand.console.stop")

STOP, RESET, STATE = "stop", "reset_stop", "stop_state"

ANSWER_S = 30.0
"""Longest wait for an answer, as `toolhand stop` waits: the motion node answers within its own deadline [s]."""

SERVER_S = 1.0
"""How long a stop waits for somebody who serves it: a node that is started anew may be announced any moment [s]."""

GONE_S = 1.0
"""Who serves it has gone away once it was not there for so long [s]."""

_LOOK_S = 0.02
"""How often what waits is looked at [s]."""

_IDLE_S = 0.1
"""The same where nothing waits: a call is sent by whoever makes it, and looked at from then on [s]."""

_AGAIN_S = 2.0
"""Time between two tries to take part in the graph at all [s]."""

MOST_CALLS = 8
"""Calls that wait for an answer at a time: a service keeps 10 requests, and drops the oldest of more. The answer of the
newest is then also the answer of further ones [-]."""


@dataclass
class _Waiting:
    """A call that has no answer yet.

    Attributes:
        future: The client's, None until somebody serves the name.
        done: Who wants to know.
        began_s: When it was made [s].
        there_s: When a server was there last [s].
    """

    future: Future | None
    done: list[Callable[[StopAnswer], None]]
    began_s: float
    there_s: float


class RosStopper:
    """Stops the arm of the graph on this domain, see `toolhand.console.stopping.Stopper`.

    Args:
        answer_s: Longest wait for an answer [s].
    """

    def __init__(self, answer_s: float = ANSWER_S) -> None:
        self._answer_s = answer_s
        self._lock = threading.RLock()
        self._waiting: dict[str, list[_Waiting]] = {STOP: [], RESET: []}
        self._clients: dict[str, Client] = {}
        self._request: Any = None
        self._why = "This process is still joining the graph."
        self._known: Any = None
        self._ended = threading.Event()
        self._close: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._live, name="stop client", daemon=True)

    def start(self) -> None:
        """Take part in the graph, as soon as that is possible."""
        self._thread.start()

    def close(self) -> None:
        """Leave the graph."""
        self._ended.set()
        self._thread.join(2.0)

    # -- what the server asks ----------------------------------------------------------------------

    def stop(self, done: Callable[[StopAnswer], None]) -> None:
        """See `Stopper`."""
        self._call(STOP, done)

    def reset(self, done: Callable[[StopAnswer], None]) -> None:
        """See `Stopper`."""
        self._call(RESET, done)

    def state(self) -> StopStatus:
        """See `Stopper`."""
        client = self._clients.get(STOP)
        if client is None:
            return StopStatus(False, self._why)
        if not client.service_is_ready():
            return StopStatus(
                False, f"The robot cannot be reached: nobody serves /{STOP} on ROS domain {self._domain}."
            )
        known = self._known
        if known is None:
            return StopStatus(True, "")
        return StopStatus(True, "", bool(known.latched), bool(known.confirmed), int(known.stops))

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, name: str, done: Callable[[StopAnswer], None]) -> None:
        now = time.monotonic()
        with self._lock:
            waiting = self._waiting[name]
            if len(waiting) >= MOST_CALLS:
                waiting[-1].done.append(done)
                return
            call = _Waiting(None, [done], now, now)
            waiting.append(call)
            self._send(name, call)

    def _send(self, name: str, call: _Waiting) -> bool:
        """Send a call if somebody serves it."""
        with self._lock:
            client = self._clients.get(name)
            if call.future is not None or client is None or not client.service_is_ready():
                return call.future is not None
            call.there_s = time.monotonic()
            call.future = future = client.call_async(self._request)
        future.add_done_callback(lambda answered: self._end(name, call, _answer(name, answered.result())))
        return True

    def _end(self, name: str, call: _Waiting, answer: StopAnswer) -> None:
        with self._lock:
            if call not in self._waiting[name]:
                return
            self._waiting[name].remove(call)
        answer = replace(answer, stops=self.state().stops)
        for done in call.done:
            done(answer)

    def _look(self) -> None:
        """Send what waits for a server, and end what has waited for too long."""
        now = time.monotonic()
        with self._lock:
            waiting = [(name, call) for name, calls in self._waiting.items() for call in calls]
        for name, call in waiting:
            client = self._clients.get(name)
            ready = client is not None and client.service_is_ready()
            if ready:
                call.there_s = now
            if call.future is None:
                if (ready and self._send(name, call)) or now - call.began_s < SERVER_S:
                    continue
                outcome = StopOutcome.UNREACHABLE
                why = f"It was not delivered: {self.state().message or f'nobody serves /{name}.'}"
            elif now - call.there_s > GONE_S:
                outcome, why = StopOutcome.UNCONFIRMED, "It was sent, and the motion node has gone without an answer."
            elif now - call.began_s > self._answer_s:
                outcome = StopOutcome.UNCONFIRMED
                why = f"It was sent, and the motion node has not answered within {self._answer_s:g} s."
            else:
                continue
            if name == RESET:
                outcome = StopOutcome.REFUSED if outcome is StopOutcome.UNREACHABLE else outcome
            if call.future is not None and client is not None:
                client.remove_pending_request(call.future)
            self._end(name, call, StopAnswer(outcome, why))

    # -- the graph ---------------------------------------------------------------------------------

    def _live(self) -> None:
        while not self._ended.is_set() and not self._clients:
            try:
                self._join()
            except (ToolError, OSError, RuntimeError) as error:  # no client, or a wrong environment
                self._why = f"The robot cannot be reached: {error}"
                logger.warning("%s", self._why)
                until_s = time.monotonic() + _AGAIN_S
                while time.monotonic() < until_s and not self._ended.wait(_LOOK_S):
                    self._look()
        while not self._ended.wait(_LOOK_S if any(self._waiting.values()) else _IDLE_S):
            self._look()
        self._close()

    def _join(self) -> None:
        use_client()
        from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
        from std_srvs.srv import Trigger
        from toolhand_interfaces.msg import StopState

        from toolhand.tool_nodes.ros.link import RosLink
        from toolhand.tool_nodes.ros.stop_state import QOS

        link = RosLink({}, name="toolhand_console_stop").__enter__()
        group = ReentrantCallbackGroup()
        clients = {name: link.node.create_client(Trigger, name, callback_group=group) for name in (STOP, RESET)}
        one_by_one = MutuallyExclusiveCallbackGroup()
        link.node.create_subscription(StopState, STATE, self._on_state, QOS, callback_group=one_by_one)
        self._close, self._request = lambda: link.__exit__(None, None, None), Trigger.Request()
        self._domain = link.node.context.get_domain_id()
        with self._lock:
            self._clients = clients

    def _on_state(self, state: Any) -> None:
        self._known = state


def _answer(name: str, response: Any) -> StopAnswer:
    """What a response of the motion node means."""
    done, message = bool(response.success), str(response.message)
    if name == STOP:
        return StopAnswer(StopOutcome.STOPPED if done else StopOutcome.UNCONFIRMED, message)
    return StopAnswer(StopOutcome.RESET if done else StopOutcome.REFUSED, message)
