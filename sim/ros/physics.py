"""The physics thread, sole owner of the World: it runs motions, lets time pass and serves other threads' requests.

MuJoCo is never entered by two threads at once. A thread that needs the world hands a function to `Physics.call`;
functions run in the order in which they came, between two batches of time steps, which take a few milliseconds.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from enum import StrEnum
from typing import Any, Generic, TypeVar

import numpy as np

from toolhand.sim.arm import Motion, StopCheck, brake
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

Result = TypeVar("Result")
Outcome = TypeVar("Outcome")
MotionFactory = Callable[[World, StopCheck], Motion[Outcome]]
Observer = Callable[[World, bool], None]

TICK_S = 0.02
"""Free-running time advances once per tick of the wall clock [s]."""

BATCH = 10
"""Time steps between two looks at what else there is to do."""

HEARTBEAT_S = 0.1
"""Wall-clock period in which the state is shown again while time stands still [s]."""

MAX_LAG_S = 0.25
"""Free-running time that fell back further than this behind the wall clock is not made up for [s]."""

REST_DRIFT = 1e-3
"""A position that changes by less has not moved [m or rad]; a round figure."""
REST_AFTER_S = 1.0
"""Free-running physics rests once nothing moved by more than REST_DRIFT [m or rad] for this long [s]; time goes on."""

MAX_LOG = 25 * 600
"""States kept for judges; ten minutes [-]."""


class MovingPart(StrEnum):
    """What a motion moves; each part has one motion at a time."""

    ARM = "arm"
    GRIPPER = "gripper"


class PreemptedError(Exception):
    """Another motion of the same part took over."""


class Run(Generic[Outcome]):
    """A motion on its way.

    Attributes:
        ended: How it ended: its outcome, ToolError, or PreemptedError.
        stop_asked: Polled in every step; True has it brake and end.
    """

    def __init__(self, factory: MotionFactory[Outcome]) -> None:
        self.ended: Future[Outcome] = Future()
        self.stop_asked: StopCheck = lambda: False
        self._factory = factory
        self._motion: Motion[Outcome] | None = None

    def resume(self, world: World) -> bool:
        """Command what the next time step needs; False where it has ended."""
        try:
            if self._motion is None:
                self._motion = self._factory(world, lambda: self.stop_asked())
            next(self._motion)
        except StopIteration as end:
            self.ended.set_result(end.value)
            return False
        except ToolError as error:
            self.ended.set_exception(error)
            return False
        except Exception as error:  # the waiting thread must hear of it
            self.ended.set_exception(ToolError(ErrorCode.INTERNAL, f"The motion failed: {error!r}."))
            return False
        return True

    def abandon(self, why: Exception) -> None:
        """End it here; the caller sees to the servos."""
        if self._motion is not None:
            self._motion.close()
        self.ended.set_exception(why)


class StepRequest:
    """A request to let time pass while it stands still otherwise.

    Attributes:
        total: Time steps asked for.
        made: Time steps made so far.
        idle: True if no motion was on its way at the end.
        ended: The number of steps made; less than `total` where it was stopped.
        stop_asked: Polled after each batch; True ends it.
        progress: Called in the physics thread after each batch.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.made = 0
        self.idle = False
        self.ended: Future[int] = Future()
        self.stop_asked: StopCheck = lambda: False
        self.progress: Callable[[], None] = lambda: None

    @property
    def left(self) -> int:
        """Steps still to make."""
        return 0 if self.stop_asked() else self.total - self.made


class Physics:
    """Runs a world in a thread of its own; see the module.

    Attributes:
        world: The world; only the thread touches it, but for its `time` and `scene`.
        time_offset: Added to simulated time wherever it is shown [s]; not 0 only after a clock jumped.
        first_motion_at: Wall clock (monotonic) of the arm's first motion since it was set to None [s].
        generation: Grows with every new world and every reset of this one.
        broken: Why the physics failed, or None; a new world heals it.

    Args:
        observer: Called in the thread with the world after each batch, and with True where the state must be shown
            even if nothing is due: after a request for steps, at the heartbeat, in a new world.
        report: Called when the physics fails.
        real_time_factor: Simulated seconds per second of the wall clock; 0 is as fast as possible.
        playing: False to let time stand still until a client asks for steps.
    """

    def __init__(
        self,
        world: World,
        observer: Observer,
        report: Callable[[str], object],
        *,
        real_time_factor: float = 1.0,
        playing: bool = True,
    ) -> None:
        self.world = world
        self.generation = 0
        self.time_offset = 0.0
        self.first_motion_at: float | None = None
        self.broken: ToolError | None = None
        self._observer = observer
        self._report = report
        self._factor = real_time_factor
        self._playing = playing
        self._frozen = False
        self._jammed_at: float | None = None
        self._resting_place: FloatArray | None = None
        self._resting_since = 0.0
        self._reference_change: FloatArray = np.zeros(world.robot.dof)
        self._runs: dict[MovingPart, Run[Any]] = {}
        self._requests: deque[StepRequest] = deque()
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._next_tick = self._next_heartbeat = 0.0
        self._thread = threading.Thread(target=self._run, name="physics", daemon=True)

    # -- from any thread -------------------------------------------------------------------------

    def start(self) -> None:
        """Begin."""
        self._anchor()
        self._thread.start()

    def close(self) -> None:
        """End the thread; what is unfinished is cancelled."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def call(self, work: Callable[[World], Result]) -> Future[Result]:
        """Run a short function in the physics thread; its result or exception comes with the future."""
        future: Future[Result] = Future()

        def job() -> None:
            try:
                future.set_result(work(self.world))
            except Exception as error:
                future.set_exception(error)

        self._submit(job)
        return future

    def begin(self, part: MovingPart, factory: MotionFactory[Outcome]) -> Run[Outcome]:
        """Start a motion; the part's motion before it ends with PreemptedError."""
        run = Run(factory)
        self._submit(lambda: self._begin(part, run))
        return run

    def step(self, count: int) -> StepRequest:
        """Let `count` time steps pass, after those that were asked for before."""
        steps = StepRequest(count)
        self._submit(lambda: self._requests.append(steps))
        return steps

    # -- from the physics thread: inside `call` and motions --------------------------------------

    @property
    def playing(self) -> bool:
        """True while time passes by itself."""
        return self._playing

    def play(self, playing: bool) -> None:
        """Let time pass by itself, or only step by step."""
        self._playing = playing
        self._anchor()

    def set_factor(self, real_time_factor: float) -> None:
        """Change how fast time passes by itself."""
        self._factor = real_time_factor
        self._anchor()

    def freeze(self, frozen: bool) -> None:
        """Let time stand still although it should pass: a fault, not a state."""
        self._frozen = frozen
        self._anchor()

    def jam_gripper(self, jammed: bool) -> None:
        """Hold the jaws where they are, whatever is commanded."""
        self._jammed_at = self.world.knuckle if jammed else None
        self._resting_place = None

    def replace(self, world: World) -> None:
        """Go on with another world; motions and requests end with an error."""
        self._end_all(ToolError(ErrorCode.CANCELLED, "The simulation was reset."))
        self.world, self.broken = world, None
        self.generation += 1
        self.first_motion_at, self.time_offset = None, 0.0
        if self._jammed_at is not None:
            self.jam_gripper(True)
        self._anchor()
        self.show()

    def show(self) -> None:
        """Show the state now: time stands still, or something other than the physics changed it."""
        self._resting_place = None
        self._next_heartbeat = time.monotonic() + HEARTBEAT_S
        self._observer(self.world, True)

    @property
    def moving(self) -> bool:
        """True while a motion is on its way."""
        return bool(self._runs)

    # -- the thread ------------------------------------------------------------------------------

    def _submit(self, job: Callable[[], None]) -> None:
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._jobs and not self._closing:
                    self._changed.wait(self._patience())
                if self._closing:
                    break
                jobs, self._jobs = self._jobs, deque()
            try:
                for job in jobs:
                    job()
                self._advance()
            except ToolError as error:
                self._break(error)
            except Exception as error:  # a thread that dies silently would leave everybody waiting
                place = traceback.extract_tb(error.__traceback__)[-1]
                failure = f"The simulator failed in {place.name}, line {place.lineno}: {error!r}."
                self._break(ToolError(ErrorCode.INTERNAL, failure))
        self._end_all(ToolError(ErrorCode.CANCELLED, "The simulator is shutting down."))

    def _patience(self) -> float:
        """How long there is nothing to do without a request [s]."""
        if not self._frozen and (self._requests or (self._playing and self._factor == 0.0)):
            return 0.0
        return max(0.0, (self._next_tick if self._passing else self._next_heartbeat) - time.monotonic())

    @property
    def _passing(self) -> bool:
        return self._playing and not self._frozen

    def _anchor(self) -> None:
        """Simulated time keeps its distance to the wall clock from here on."""
        self._anchor_wall = self._next_tick = time.monotonic()
        self._anchor_sim = self.world.time

    def _advance(self) -> None:
        if self._requests and not self._frozen:
            self._serve_request()
        elif self._passing:
            self._pass_time()
        elif time.monotonic() >= self._next_heartbeat:
            self.show()
        if len(self.world.log) > MAX_LOG:
            self.world.clear_log(keep=MAX_LOG // 2)

    def _serve_request(self) -> None:
        request = self._requests[0]
        if self.broken is not None:
            self._requests.popleft()
            request.ended.set_exception(self.broken)
            return
        count = min(request.left, BATCH)
        self._step(count)
        request.made += count
        request.progress()
        if request.left:
            self._observer(self.world, False)
            return
        request.idle = not self.moving
        self.show()
        self._requests.popleft()
        request.ended.set_result(request.made)

    def _pass_time(self) -> None:
        now, dt = time.monotonic(), self.world.timestep
        if self._factor == 0.0:
            self._step(BATCH)
            self._observer(self.world, False)
            return
        if now < self._next_tick:
            return
        self._next_tick = max(self._next_tick + TICK_S, now)
        lag = self._anchor_sim + (now - self._anchor_wall) * self._factor - self.world.time
        if lag > MAX_LAG_S * max(1.0, self._factor):
            self._anchor()
            lag = TICK_S * self._factor
        due = max(0, round(lag / dt))
        while due > 0 and not self._jobs:
            count = min(due, BATCH)
            self._step_unless_at_rest(count)
            self._observer(self.world, False)
            due -= count

    def _step_unless_at_rest(self, count: int) -> None:
        """Most of the time there is no request: a few per cent of a core are saved then."""
        world, place = self.world, self._resting_place
        if place is not None and world.time - self._resting_since >= REST_AFTER_S:
            world.pass_time(count)
            return
        self._step(count)
        if place is None or self._runs or np.abs(world.data.qpos - place).max() > REST_DRIFT:
            self._resting_place, self._resting_since = world.data.qpos.copy(), world.time

    def _step(self, count: int) -> None:
        world = self.world
        if self._jammed_at is not None:
            world.command_knuckle(self._jammed_at)
        while count and self._runs:
            if MovingPart.ARM in self._runs and self.first_motion_at is None:
                self.first_motion_at = time.monotonic()
            world.step()
            self._resume_runs()
            count -= 1
        if count:
            world.step(count)

    def _resume_runs(self) -> None:
        """Command the next time step: what a motion says after the last one, as where it alone drives the world."""
        world = self.world
        for part, run in list(self._runs.items()):
            before = world.arm_reference
            if not run.resume(world):
                del self._runs[part]
            if part is MovingPart.ARM:
                self._reference_change = world.arm_reference - before
        if self._jammed_at is not None:
            world.command_knuckle(self._jammed_at)

    def _begin(self, part: MovingPart, run: Run[Any]) -> None:
        if self.broken is not None:
            run.ended.set_exception(self.broken)
            return
        self._resting_place = None
        previous = self._runs.pop(part, None)
        if previous is not None:
            previous.abandon(PreemptedError("Another goal took over."))
        if run.resume(self.world):
            self._runs[part] = run
        elif previous is not None and part is MovingPart.ARM:
            # Nothing moves the arm any more: what the motion before left behind is brought to rest.
            velocity = self._reference_change / self.world.timestep
            self._begin(part, Run(lambda world, stopped: brake(world, velocity)))

    def _break(self, error: ToolError) -> None:
        """The physics failed: nothing moves until there is a new world."""
        if self.broken is None:
            self._report(f"{error} Nothing moves until a world is loaded or reset.")
        self.broken = error
        self._playing = False
        self._end_all(error)

    def _end_all(self, why: ToolError) -> None:
        for run in self._runs.values():
            run.abandon(why)
        self._runs.clear()
        for request in self._requests:
            request.ended.set_exception(why)
        self._requests.clear()
