"""Jobs over processes: in order, and nothing that one job does ends the others."""

import gc
import weakref

import pytest

from toolhand.training.pool.parallel import run_jobs

DIES = "__import__('os')._exit(3)"
"""As a job of `eval`, ends its process at once."""


def told(job: str, why: str) -> str:
    return f"{job}: {why}"


@pytest.mark.parametrize("processes", [1, 2])
def test_results_keep_the_order_of_the_jobs(processes: int) -> None:
    assert run_jobs(abs, [-3, 2, -1, 0, 5], processes, lambda job, why: -1) == [3, 2, 1, 0, 5]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_job_that_raises_becomes_one_result_and_the_others_go_on(processes: int) -> None:
    results = run_jobs(eval, ["1+1", "1/0", "'end'"], processes, told)
    assert results == [2, "1/0: ZeroDivisionError: division by zero", "end"]


def test_an_error_that_cannot_be_pickled_is_told_all_the_same() -> None:
    job = "__import__('toolhand.tool_nodes.motion.robot_model', fromlist='x').load_robot().gripper.joint_position(1.0)"
    (result,) = run_jobs(eval, [job], 2, told)
    assert result == f"{job}: ToolError: The jaw opening must be between 0 and 0.085 m, got 1.0."


def test_a_process_that_dies_costs_one_job() -> None:
    results = run_jobs(eval, ["1", "2", DIES, "4", "5"], 2, told)
    assert results == [1, 2, f"{DIES}: Its process died (exit status 3).", 4, 5]


def test_no_jobs_give_no_results() -> None:
    assert run_jobs(abs, [], 2, lambda job, why: 0) == []


def test_progress_is_told_on_stderr_and_never_on_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # 45 times over all that the tests before have left
    run_jobs(abs, list(range(45)), 1, lambda job, why: 0, lambda results: f"sum {sum(results)}")
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert [line.split("] ")[1].split()[0] for line in lines] == ["20/45", "40/45", "45/45"]
    assert lines[-1].endswith("sum 990")


def test_a_result_that_is_empty_or_zero_is_still_a_result() -> None:
    results = run_jobs(eval, ["0", "''", "[]"], 1, told)
    assert results == [0, "", []]


def test_what_a_job_leaves_in_circles_is_gone_before_the_next() -> None:
    class Circle:
        def __init__(self) -> None:
            self.itself = self

    left: list[weakref.ref[Circle]] = []

    def work(job: int) -> bool:
        gone = all(ref() is None for ref in left)
        left.append(weakref.ref(Circle()))
        return gone

    assert run_jobs(work, [0, 1, 2], 1, told_false) == [True, True, True]


def told_false(job: int, why: str) -> bool:
    return False
