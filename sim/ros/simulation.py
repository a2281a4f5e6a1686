"""The simulation itself through `simulation_interfaces`: its state, its time, its world."""

from __future__ import annotations

import threading
import time
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.msg import Resource, Result, SimulationState, SimulatorFeatures, WorldResource
from simulation_interfaces.srv import (
    GetCurrentWorld,
    GetSimulationState,
    GetSimulatorFeatures,
    LoadWorld,
    ResetSimulation,
    SetSimulationState,
    StepSimulation,
)

from toolhand.sim.ros.awaiting import awaited
from toolhand.sim.ros.physics import StepRequest
from toolhand.sim.ros.services import RefusedError, Services, resource_of
from toolhand.sim.scene.files import named_scene, parse_scene, scene_yaml
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ToolError

FEATURES = (
    SimulatorFeatures.SPAWNING,
    SimulatorFeatures.DELETING,
    SimulatorFeatures.ENTITY_STATE_GETTING,
    SimulatorFeatures.ENTITY_STATE_SETTING,
    SimulatorFeatures.ENTITY_INFO_GETTING,
    SimulatorFeatures.SPAWNABLES,
    SimulatorFeatures.SIMULATION_RESET,
    SimulatorFeatures.SIMULATION_RESET_TIME,
    SimulatorFeatures.SIMULATION_RESET_STATE,
    SimulatorFeatures.SIMULATION_RESET_SPAWNED,
    SimulatorFeatures.SIMULATION_STATE_GETTING,
    SimulatorFeatures.SIMULATION_STATE_SETTING,
    SimulatorFeatures.SIMULATION_STATE_PAUSE,
    SimulatorFeatures.STEP_SIMULATION_SINGLE,
    SimulatorFeatures.STEP_SIMULATION_MULTIPLE,
    SimulatorFeatures.STEP_SIMULATION_ACTION,
    SimulatorFeatures.WORLD_LOADING,
    SimulatorFeatures.WORLD_RESOURCE_STRING,
    SimulatorFeatures.WORLD_INFO_GETTING,
)

MAX_STEPS = 500_000
"""Most time steps of one request; a thousand seconds."""

NO_GOAL_ACTIVE = "no goal is active"
"""In `error_message` of a successful step_simulation after which no controller moves anything.

A goal's result and the answer to the step in which it ended travel side by side. Who steps until a result comes, and
must not make one step too many, waits for the result when it reads this.
"""

LATE_RESET_S = 0.5
"""How long after its answer a reset begins where the simulator answers early, wall clock [s]: a frame or several of
Isaac Sim, whose timeline stops and plays between two of them; a round figure."""

FEEDBACK_PERIOD_S = 0.1
"""Time between two messages of feedback, wall clock [s]; a round figure."""


class Simulation:
    """Serves state, steps and worlds.

    Args:
        lockstep: True: time passes only step by step.
        uri: Where the first world came from.
    """

    def __init__(self, services: Services, lockstep: bool, uri: str) -> None:
        self._node = services.node
        self._physics = services.physics
        self._services = services
        self._lockstep = lockstep
        self._uri = uri
        self._loaded = services.physics.world.scene
        self._start_time = services.physics.world.time
        self._stopped = False
        self._next_feedback = 0.0
        services.node.create_service(
            GetSimulatorFeatures,
            services.name("get_simulator_features"),
            self._features,
            callback_group=services.group,
        )
        services.node.create_service(
            StepSimulation, services.name("step_simulation"), self._step, callback_group=services.group
        )
        services.add(GetSimulationState, "get_simulation_state", self._get_state)
        services.add(SetSimulationState, "set_simulation_state", self._set_state)
        services.add(ResetSimulation, "reset_simulation", self._reset)
        services.add(LoadWorld, "load_world", self._load)
        services.add(GetCurrentWorld, "get_current_world", self._current_world)
        self._server = ActionServer(
            services.node,
            SimulateSteps,
            services.name("simulate_steps"),
            self._simulate_steps,
            callback_group=services.group,
            goal_callback=self._on_goal,
            cancel_callback=lambda goal_handle: CancelResponse.ACCEPT,
        )

    def _features(self, request: Any, response: Any) -> Any:
        response.features.features = list(FEATURES)
        response.features.spawn_formats = ["catalogue"]
        response.features.custom_info = "MuJoCo; entities are items of the catalogue, worlds are YAML scene files."
        return response

    # -- state -----------------------------------------------------------------------------------

    @property
    def _state(self) -> int:
        if self._physics.playing:
            return SimulationState.STATE_PLAYING
        return SimulationState.STATE_STOPPED if self._stopped else SimulationState.STATE_PAUSED

    def _get_state(self, world: World, request: Any, response: Any) -> None:
        response.state.state = self._state

    def _set_state(self, world: World, request: Any, response: Any) -> None:
        target, codes = request.state.state, SetSimulationState.Response
        if target == self._state:
            raise RefusedError(codes.ALREADY_IN_TARGET_STATE, "The simulation is in that state already.")
        if target == SimulationState.STATE_PLAYING:
            if self._lockstep:
                raise RefusedError(
                    codes.INCORRECT_TRANSITION, "In lockstep time passes only by step_simulation and simulate_steps."
                )
            if self._physics.broken is not None:
                raise RefusedError(codes.STATE_TRANSITION_ERROR, f"{self._physics.broken} Reset the simulation first.")
            self._physics.play(True)
            self._stopped = False
        elif target == SimulationState.STATE_PAUSED:
            self._physics.play(False)
            self._stopped = False
        elif target == SimulationState.STATE_STOPPED:
            self._physics.play(False)
            self._physics.replace(World(self._loaded, world.robot))
            self._stopped = True
        else:
            raise RefusedError(codes.INCORRECT_TRANSITION, "The state can be set to STOPPED, PLAYING or PAUSED.")

    def _reset(self, world: World, request: Any, response: Any) -> None:
        scope = request.scope or ResetSimulation.Request.SCOPE_ALL
        if "reset_simulation" in self._services.simulator.answers_early:
            later = threading.Timer(
                LATE_RESET_S, lambda: self._physics.call(lambda world: self._reset_now(world, scope))
            )
            later.daemon = True
            later.start()
        else:
            self._reset_now(world, scope)

    def _reset_now(self, world: World, scope: int) -> None:
        now = world.time
        if scope & ResetSimulation.Request.SCOPE_STATE or self._physics.broken is not None:
            world = World(self._loaded if scope & ResetSimulation.Request.SCOPE_SPAWNED else world.scene, world.robot)
            if not scope & ResetSimulation.Request.SCOPE_TIME:
                world.set_time(now)
        else:
            if scope & ResetSimulation.Request.SCOPE_SPAWNED:
                world.change_objects(self._loaded)
            if scope & ResetSimulation.Request.SCOPE_TIME:
                world.set_time(self._start_time)
        self._physics.replace(world)

    # -- steps -----------------------------------------------------------------------------------

    async def _step(self, request: Any, response: Any) -> Any:
        refusal = self._refusal(request.steps)
        if refusal is not None:
            response.result = refusal
            return response
        self._stopped = False
        steps = self._physics.step(request.steps)
        if "step_simulation" in self._services.simulator.answers_early:
            response.result = Result(result=Result.RESULT_OK)
            return response
        await self._services.answer(steps.ended, response)
        if steps.idle:
            response.result.error_message = NO_GOAL_ACTIVE
        return response

    def _refusal(self, steps: int) -> Result | None:
        if self._physics.playing:
            return Result(
                result=Result.RESULT_INCORRECT_STATE,
                error_message="Time passes by itself; pause the simulation before stepping it.",
            )
        if steps > MAX_STEPS:
            return Result(
                result=Result.RESULT_OPERATION_FAILED,
                error_message=f"One request makes at most {MAX_STEPS} steps, not {steps}.",
            )
        return None

    def _on_goal(self, goal: Any) -> GoalResponse:
        refusal = self._refusal(goal.steps)
        if refusal is None:
            return GoalResponse.ACCEPT
        self._node.get_logger().warning(f"simulate_steps: goal rejected: {refusal.error_message}")
        return GoalResponse.REJECT

    async def _simulate_steps(self, goal_handle: ServerGoalHandle) -> Any:
        self._stopped = False
        steps = self._physics.step(goal_handle.request.steps)
        steps.stop_asked = lambda: goal_handle.is_cancel_requested
        steps.progress = lambda: self._show_progress(goal_handle, steps)
        result = SimulateSteps.Result(result=Result(result=Result.RESULT_OK))
        try:
            await awaited(self._node, steps.ended)
        except ToolError as error:
            goal_handle.abort()
            result.result = Result(result=Result.RESULT_OPERATION_FAILED, error_message=str(error))
            return result
        if steps.made < steps.total:
            goal_handle.canceled()
        else:
            goal_handle.succeed()
        return result

    def _show_progress(self, goal_handle: ServerGoalHandle, steps: StepRequest) -> None:
        """In the physics thread, after each batch of steps."""
        now = time.monotonic()
        if now >= self._next_feedback or not steps.left:
            self._next_feedback = now + FEEDBACK_PERIOD_S
            goal_handle.publish_feedback(
                SimulateSteps.Feedback(completed_steps=steps.made, remaining_steps=steps.total - steps.made)
            )

    # -- world -----------------------------------------------------------------------------------

    def _load(self, world: World, request: Any, response: Any) -> None:
        uri, text = resource_of(request, "world_resource")
        codes = LoadWorld.Response
        if not self._services.simulator.takes_scenes:
            raise RefusedError(codes.UNSUPPORTED_FORMAT, "This simulator loads no YAML scenes; spawn objects instead.")
        if not uri and not text:
            raise RefusedError(codes.NO_RESOURCE, "Give the text of a scene, its YAML file, a seed, or example.")
        try:
            scene = parse_scene(text, uri[:200] or "resource_string") if text else named_scene(uri)
        except ToolError as error:
            raise RefusedError(codes.RESOURCE_PARSE_ERROR, str(error)) from error
        self._physics.replace(World(scene, world.robot))
        self._loaded, self._uri = scene, uri
        response.world = self._resource()

    def _current_world(self, world: World, request: Any, response: Any) -> None:
        response.world = self._resource()

    def _resource(self) -> WorldResource:
        text = scene_yaml(self._loaded) if self._services.simulator.takes_scenes else ""
        resource = Resource(uri=self._uri, resource_string=text)
        return WorldResource(name=self._loaded.name, world_resource=resource)
