"""Workers on a cluster end as processes do. The cluster is a few lines that do at once what they are told."""

import functools
import types
from pathlib import Path
from typing import Any

import pytest

import toolhand.training.pool.ray_workers
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.pool.ray_workers import RayWorkers
from toolhand.training.rollouts.engine import collect
from toolhand.training.rollouts.options import WorkerOptions
from toolhand.training.rollouts.plan import RolloutPlan, tasks_of

DIES = "__import__('builtins').exit(3)"
DISTRUSTS = (
    "(_ for _ in ()).throw(__import__('toolhand.training.pool.workers').training.pool.workers.WorkerUnusable("
    "__import__('toolhand.tool_nodes.results').tool_nodes.results.ToolError('TIMEOUT', 'Late.')))"
)


class _Gone(Exception):
    pass


class _TaskError(_Gone):
    pass


class _Cluster:
    """What RayWorkers uses of Ray."""

    exceptions = types.SimpleNamespace(RayTaskError=_TaskError, RayError=_Gone)

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.begun = 0

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, made: Any) -> Any:
        return types.SimpleNamespace(
            options=lambda **options: types.SimpleNamespace(remote=lambda *arguments: _Handle(self, made(*arguments)))
        )

    def wait(self, asked: list[Any], num_returns: int = 1, timeout: float | None = None) -> tuple[list[Any], list[Any]]:
        return asked[:1], asked[1:]

    def get(self, asked: Any) -> Any:
        return asked()

    def kill(self, handle: Any) -> None:
        self.alive.discard(id(handle))


class _Handle:
    def __init__(self, cluster: _Cluster, actor: Any) -> None:
        self._actor = actor
        cluster.alive.add(id(self))
        cluster.begun += 1

    def __getattr__(self, method: str) -> Any:
        def answer(*arguments: Any) -> Any:
            try:
                return getattr(self._actor, method)(*arguments)
            except SystemExit as error:
                raise _Gone from error

        return types.SimpleNamespace(remote=lambda *arguments: functools.partial(answer, *arguments))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> _Cluster:
    made = _Cluster()
    monkeypatch.setattr(toolhand.training.pool.ray_workers, "connect", lambda: None)
    monkeypatch.setattr(toolhand.training.pool.ray_workers.importlib, "import_module", lambda name: made)
    return made


def test_actors_that_die_or_are_not_trusted_are_replaced_and_cost_their_own_job_alone(cluster: _Cluster) -> None:
    with RayWorkers[str, Any](functools.partial(eval, "eval"), 2) as workers:
        found = {end.job: end for end in workers.run(["1+1", DIES, DISTRUSTS, "1/0", "2+2"])}
    assert {job: end.result for job, end in found.items() if end.problem is None} == {"1+1": 2, "2+2": 4}
    problems = {job: str(end.problem) for job, end in found.items() if end.problem}
    assert problems == {
        DIES: "Its process died (its exit status is not known).",
        DISTRUSTS: "Late.",
        "1/0": "ZeroDivisionError: division by zero",
    }
    assert [len(found[job].again) for job in (DIES, DISTRUSTS, "1/0")] == [1, 1, 0]
    assert not cluster.alive
    assert cluster.begun >= 5


def test_what_cannot_begin_is_told(cluster: _Cluster) -> None:
    with RayWorkers[str, Any](functools.partial(eval, "1/0"), 1) as workers, pytest.raises(ToolError, match="ZeroDivi"):
        list(workers.run(["1"]))
    with pytest.raises(ToolError, match="3 workers need 3 processors of the cluster, and 2 are free"):
        RayWorkers[str, Any](functools.partial(eval, "eval"), 3)


def test_workers_are_one_of_two_objects(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="Workers are processes or actors on ray, got 'clouds'") as caught:
        collect(RolloutPlan(tasks_of(["pick"], 1), group_size=2), tmp_path / "out", WorkerOptions(on="clouds"))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
