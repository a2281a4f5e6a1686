"""Workers: whatever one job does to its process, the others are done and nothing is left running."""

import functools
import multiprocessing
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import alive
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.pool.workers import Workers

EVALUATES: Callable[[], Callable[[Any], Any]] = functools.partial(eval, "eval")
"""Makes a work that evaluates its jobs."""
DIES = "__import__('os')._exit(3)"
HANGS = "__import__('time').sleep(600)"
DISTRUSTS = (
    "(_ for _ in ()).throw(__import__('toolhand.training.pool.workers').training.pool.workers.WorkerUnusable("
    "__import__('toolhand.tool_nodes.results').tool_nodes.results.ToolError('TIMEOUT', 'Late.')))"
)


def ends(jobs: list[str], **options: Any) -> dict[str, Any]:
    with Workers(EVALUATES, 2, **options) as workers:
        found = {end.job: end for end in workers.run(jobs)}
        assert len(multiprocessing.active_children()) <= 2
    assert not multiprocessing.active_children()
    return found


def test_processes_that_die_hang_or_are_not_trusted_are_replaced_and_cost_their_own_job_alone(tmp_path: Path) -> None:
    once = f"open({str(tmp_path / 'tried')!r}, 'a').write('x') and {DIES}"
    found = ends(["1+1", DIES, HANGS, DISTRUSTS, once, "1/0", "2+2", "lambda: 0"], deadline_s=1.5)
    assert {job: end.result for job, end in found.items() if end.problem is None} == {"1+1": 2, "2+2": 4}
    problems = {job: (str(end.problem.code), str(end.problem)) for job, end in found.items() if end.problem}
    assert problems[DIES] == ("INTERNAL", "Its process died (exit status 3).")
    assert problems[HANGS] == ("TIMEOUT", "It did not end within 1.5 s.")
    assert problems[DISTRUSTS] == ("TIMEOUT", "Late.")
    assert problems["1/0"] == ("INTERNAL", "ZeroDivisionError: division by zero")
    assert "pickle" in problems["lambda: 0"][1].lower()
    assert [len(found[job].again) for job in (DIES, HANGS, DISTRUSTS, "1/0")] == [1, 1, 1, 0]
    assert (tmp_path / "tried").read_text() == "xx"


def test_a_job_that_fails_once_is_done_by_another_process(tmp_path: Path) -> None:
    mark = str(tmp_path / "mark")
    job = f"'done' if __import__('os').path.exists({mark!r}) else (open({mark!r}, 'w'), {DIES})"
    (end,) = ends([job]).values()
    assert (end.result, [str(error) for error in end.again]) == ("done", ["Its process died (exit status 3)."])


def test_what_cannot_begin_is_told_once_and_does_not_go_on_for_ever() -> None:
    cannot = functools.partial(eval, "1/0")
    with Workers(cannot, 2) as workers, pytest.raises(ToolError, match="ZeroDivisionError") as error:
        list(workers.run(["1"]))
    assert error.value.code is ErrorCode.INTERNAL
    with Workers(functools.partial(eval, DIES), 1) as workers, pytest.raises(ToolError, match="No process can begin"):
        list(workers.run(["1"]))
    assert not multiprocessing.active_children()


def test_jobs_of_one_kind_are_done_by_one_process_while_there_are_others() -> None:
    jobs = [f"(__import__('time').sleep(0.2), {kind!r}, __import__('os').getpid())" for kind in "aaabbb"]
    with Workers(EVALUATES, 2) as workers:
        list(workers.run(jobs[:1] * 2))  # both have begun
        done = [end.result for end in workers.run(jobs, kind=lambda job: job.split(",")[1])]
    processes = {kind: {pid for _, found, pid in done if found == kind} for kind in "ab"}
    assert len(processes["a"]) == len(processes["b"]) == 1
    assert processes["a"] != processes["b"]


def test_a_stop_ends_the_iteration_and_the_block_ends_what_hangs() -> None:
    began = time.monotonic()
    with Workers(EVALUATES, 2) as workers:
        found = []
        for end in workers.run([HANGS, "1"], lambda: bool(found)):
            found.append(end.job)
        assert found == ["1"]
        assert sorted(end.result for end in workers.run(["2", "3", "4"])) == [2, 3, 4], "what hung is forgotten"
    assert not multiprocessing.active_children()
    assert time.monotonic() - began < 300.0, "it waited for what hangs"


def test_processes_end_with_the_one_that_was_killed() -> None:
    program = (
        "import functools; from toolhand.training.pool.workers import Workers\n"
        "with Workers(functools.partial(eval, 'eval'), 1) as workers:\n"
        "    for end in workers.run(['__import__(\"os\").getpid()', '__import__(\"time\").sleep(600)']):\n"
        "        print(end.result, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    for _ in range(500):
        if not alive(child):
            return
        time.sleep(0.02)
    pytest.fail("the process outlived the one that started it")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"count": 0}, "workers must be 1 or more, got 0"),
        ({"tries": 0}, "tries must be 1 or more, got 0"),
        ({"deadline_s": 0.0}, "The deadline must be above 0 s, got 0.0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        Workers(EVALUATES, **{"count": 1} | wrong)


FIRST_PROCESS = """
import signal
from toolhand.training.pool.workers import Workers

def make():
    return lambda job: signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())

if __name__ == "__main__":
    with Workers(make, 1) as workers:
        print([end.result for end in workers.run([0])])
"""


def test_the_very_first_process_of_a_program_does_not_hear_ctrl_c_either(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FIRST_PROCESS)
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "[True]\n"
