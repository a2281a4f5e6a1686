"""Backends on a cluster: deployments of Ray Serve, plain Ray actors, and the metrics actor that knows what is served.

Queues, routing, scaling, health checks and replacement are Ray's. The only module beside `cluster` and `calling` that
knows Ray; it is imported when something is served.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import ray
from ray import serve
from ray.serve.config import AutoscalingConfig
from ray.serve.schema import ApplicationStatus, LoggingConfig

from toolhand.tool_nodes.results import Cause, ToolError, unavailable
from toolhand.tool_nodes.serve.config import ABREAST, ACTOR, SERVE, ServedEntry
from toolhand.tool_nodes.serve.metrics_actor import MetricsActor
from toolhand.tool_nodes.serve.requests import PortRequest
from toolhand.tool_nodes.serve.runner import Reply, Runner, make_backend

NAMESPACE = "toolhand"
"""Namespace of the actors; applications of Ray Serve have no namespace, so `application` names them likewise."""

METRICS = "metrics"
"""The actor that is asked what is served."""

HEALTH_PERIOD_S, HEALTH_TIMEOUT_S = 2.0, 10.0
"""How often Serve asks a replica whether it is well, and how long it waits for the answer [s]: a
replica whose process has died is noticed by its callers at once."""

UPSCALE_S, DOWNSCALE_S, LOOK_BACK_S = 1.0, 10.0, 2.0
"""How long the load must call for more or fewer replicas, and over what time it is averaged [s]: a
replica that is kept for nothing costs less than one that has to load its model anew."""

CONSTRUCTOR_TRIES = 2
"""So often a model is loaded before it is given up."""

ASKED_S, POLL_S = 2.0, 0.2
"""How long one question whether a backend is ready waits, and the pause before the next [s]."""

ONGOING = 1000
"""Messages that a replica may have at once [-]: more than there ever are, since Serve's handles ask full replicas again
and again whether they are still full, which keeps everybody from working."""


def application(name: str) -> str:
    """The application of Ray Serve that serves an entry."""
    return f"toolhand-{name}"


class _Worker:
    """A backend, asked for answers in order."""

    def __init__(self, entry: ServedEntry) -> None:
        try:
            self._runner = Runner(entry, make_backend(entry), ray.get)
        except Exception as error:
            sentence = str(error) if isinstance(error, ToolError) else f"{type(error).__name__}: {error}."
            ray.get(ray.get_actor(METRICS, namespace=NAMESPACE).failed.remote(entry.name, sentence))
            raise


class Actor(_Worker):
    """A light backend; Ray calls one method after the other."""

    def answer(self, requests: list[PortRequest]) -> list[Reply]:
        """The answers to what came together."""
        return self._runner.work(requests)

    def describe(self) -> Mapping[str, Any]:
        """See `Runner.describe`."""
        return self._runner.describe()


class Replica(_Worker):
    """A model: one of several processes, which answers in batches, and is asked meanwhile whether it is well."""

    def __init__(self, entry: ServedEntry) -> None:
        _listen_at_the_nodes_address()
        super().__init__(entry)
        self._thread = ThreadPoolExecutor(1, "backend")
        self._batch.set_max_batch_size(entry.batch)
        self._batch.set_batch_wait_timeout_s(entry.batch_wait_ms / 1e3)

    @serve.batch(max_batch_size=1, batch_wait_timeout_s=0.0, batch_size_fn=lambda parcels: sum(map(len, parcels)))
    async def _batch(self, parcels: list[list[PortRequest]]) -> list[list[Reply]]:
        requests = [request for parcel in parcels for request in parcel]
        replies = iter(await asyncio.get_running_loop().run_in_executor(self._thread, self._runner.work, requests))
        return [list(islice(replies, len(parcel))) for parcel in parcels]

    async def answer(self, requests: list[PortRequest]) -> list[Reply]:
        """The answers to what came together, which may wait for others."""
        return await self._batch(requests)

    async def describe(self) -> Mapping[str, Any]:
        """See `Runner.describe`."""
        return self._runner.describe()

    async def check_health(self) -> None:
        """Raises where this replica takes no more requests; Serve then replaces it."""
        if self._runner.ending is not None:
            raise self._runner.ending


def _listen_at_the_nodes_address() -> None:
    """Serve has each replica listen at every address of its machine; callers come to the node's own alone."""
    from ray.serve._private import replica

    listen = replica.add_port_to_grpc_server

    def at_the_nodes(server: Any, address: str) -> int:
        return listen(server, f"{ray.util.get_node_ip_address()}:{address.rpartition(':')[2]}")

    replica.add_port_to_grpc_server = at_the_nodes


def begin() -> None:
    """Ray Serve without its HTTP server: only who is on the cluster can call."""
    serve.start(proxy_location="Disabled", logging_config=LoggingConfig(enable_access_log=False))


def start(entry: ServedEntry) -> None:
    """Begin to serve an entry, or serve it anew as it is described now."""
    options = _options(entry)
    if entry.run == ACTOR:
        stop(entry)
        ray.remote(Actor).options(
            name=entry.name,
            namespace=NAMESPACE,
            lifetime="detached",
            max_restarts=-1,
            **options,
        ).remote(entry)
        return
    scaled = entry.replicas_min != entry.replicas_max
    deployment = serve.deployment(
        Replica,
        name="backend",
        num_replicas=None if scaled else entry.replicas_max,
        autoscaling_config=_autoscaling(entry) if scaled else None,
        max_ongoing_requests=ONGOING,
        health_check_period_s=HEALTH_PERIOD_S,
        health_check_timeout_s=HEALTH_TIMEOUT_S,
        max_constructor_retry_count=CONSTRUCTOR_TRIES,
        graceful_shutdown_timeout_s=1.0,
        graceful_shutdown_wait_loop_s=0.2,
        ray_actor_options=options,
        logging_config=LoggingConfig(enable_access_log=False),
    )
    target = serve.RunTarget(deployment.bind(entry), name=application(entry.name), route_prefix=None)
    serve.run_many([target], wait_for_applications_running=False)


def wait_ready(entry: ServedEntry, patience_s: float) -> None:
    """Until an entry answers. Raises ToolError UNAVAILABLE with why it cannot, or where it takes too long."""
    until = time.monotonic() + patience_s
    metrics = ray.get_actor(METRICS, namespace=NAMESPACE)
    while time.monotonic() < until:
        sentence = ray.get(metrics.failure.remote(entry.name))
        status = serve.status().applications.get(application(entry.name)) if entry.run == SERVE else None
        if status is not None and status.status == ApplicationStatus.DEPLOY_FAILED:
            sentence = sentence or " ".join(status.message.split())[:300]
            raise _not_started(entry, sentence)
        if entry.run == ACTOR and sentence:
            raise _not_started(entry, sentence)
        if entry.run == ACTOR or (status is not None and status.status == ApplicationStatus.RUNNING):
            if entry.run == SERVE and not entry.replicas_min:
                return
            try:
                asked = handle_of(entry).describe.remote()
                asked.result(timeout_s=ASKED_S) if entry.run == SERVE else ray.get(asked, timeout=ASKED_S)
                return
            except (TimeoutError, ray.exceptions.RayError):
                pass  # it still loads, or has failed, which the metrics actor says
        time.sleep(POLL_S)
    raise _not_started(entry, f"it was not ready within {patience_s:.0f} s.")


def _not_started(entry: ServedEntry, why: str) -> ToolError:
    return unavailable(f"The {entry.port} {entry.name!r} cannot be started: {why}", cause=Cause.NOT_SERVED)


def start_metrics_actor(entries: Mapping[str, ServedEntry]) -> None:
    """Begin to publish to clients what is served."""
    stop_actor(METRICS)
    ray.remote(MetricsActor).options(
        name=METRICS, namespace=NAMESPACE, lifetime="detached", max_restarts=-1, num_cpus=0, max_concurrency=1
    ).remote(dict(entries))


def handle_of(entry: ServedEntry) -> Any:
    """What `answer` and `describe` are called on: an actor, or a handle of Serve. Raises where there is none."""
    if entry.run == SERVE:
        return serve.get_app_handle(application(entry.name))
    return ray.get_actor(entry.name, namespace=NAMESPACE)


def states(entry: ServedEntry) -> dict[str, int]:
    """How many processes it has, by Ray's names of their states."""
    if entry.run == ACTOR:
        known = ray.util.list_named_actors(all_namespaces=True)
        return {"RUNNING": 1} if {"name": entry.name, "namespace": NAMESPACE} in known else {}
    status = serve.status().applications.get(application(entry.name))
    if status is None:
        return {}
    return {str(state): n for each in status.deployments.values() for state, n in each.replica_states.items()}


def stop(entry: ServedEntry) -> None:
    """Serve it no longer; nothing where it is not served."""
    if entry.run == SERVE:
        serve.delete(application(entry.name))
    else:
        stop_actor(entry.name)


def stop_actor(name: str) -> None:
    """End an actor by its name; nothing where there is none."""
    try:
        ray.kill(ray.get_actor(name, namespace=NAMESPACE))
    except ValueError:
        return


def _options(entry: ServedEntry) -> dict[str, Any]:
    options: dict[str, Any] = {"num_cpus": entry.cpus, "num_gpus": entry.gpus}
    if entry.memory_gb:
        options["memory"] = int(entry.memory_gb * 1e9)
    if entry.env:
        options["runtime_env"] = {"pip": {"packages": list(entry.env), "pip_check": False}}
    return options


def _autoscaling(entry: ServedEntry) -> AutoscalingConfig:
    return AutoscalingConfig(
        min_replicas=entry.replicas_min,
        max_replicas=entry.replicas_max,
        target_ongoing_requests=ABREAST,
        upscale_delay_s=UPSCALE_S,
        downscale_delay_s=DOWNSCALE_S,
        look_back_period_s=LOOK_BACK_S,
        metrics_interval_s=0.5,
    )
