"""`toolhand bench driver`: faults of the arm's driver at every leg, and trajectories through half a turn of a joint.

One simulated graph with `driver:=kortex`, in lockstep; see `bench.ros.driver_faults` and `bench.ros.crossing`.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_node.console.options import require_at_least
from agent_node.console.terminal import AsJson, say
from bench.stats import format_report, machine, publish
from sim.ros.graph import started_graph
from tool_nodes.ros.client import use_client

if TYPE_CHECKING:
    from tool_nodes.ros.link import RosLink

AVAILABILITY_S = 3.0
"""How long the motion node waits for joint states here, by the wall clock [s]: many runs are without any."""


SMALL = {"image_width: 640": "image_width: 320", "image_height: 480": "image_height: 240"}
"""Pictures are small here: what is measured does not depend on them, and they are half of the time."""


@contextlib.contextmanager
def kortex_graph(arguments: Mapping[str, str]) -> Iterator[RosLink]:
    """A link to a graph of its own with `driver:=kortex`, in lockstep.

    Args:
        arguments: More arguments of launch/sim.launch.yaml.

    Raises:
        ToolError: UNAVAILABLE where it does not start.
    """
    use_client()
    from rclpy_zenoh.launch.packages import share_folder
    from tool_nodes.ros.link import RosLink

    usual = share_folder("toolhand_bringup") / "launch" / "params" / "sim.yaml"
    with tempfile.TemporaryDirectory() as folder:
        params = Path(folder) / "sim.yaml"
        text = usual.read_text(encoding="utf-8")
        for before, after in SMALL.items():
            text = text.replace(before, after)
        motion = f"motion:\n  ros__parameters:\n    availability_deadline_s: {AVAILABILITY_S}\n"
        params.write_text(text + motion, encoding="utf-8")
        given = {"driver": "kortex", "lockstep": "true", "params": str(params), "runs_dir": folder, **arguments}
        with started_graph(given) as graph, RosLink(graph.environment) as link:
            yield link


def bench_driver(n: int = 30, crossings: int = 200, seed: int = 0, as_json: AsJson = False) -> int:
    """Let the arm's driver fail at every leg of grasp, place and look, and cross the ends of its wrapped joints.

    Ctrl-C ends the faults early; what was measured until then is shown.

    Args:
        n: Faults at each of the 15 legs.
        crossings: Trajectories through half a turn of each continuous joint.
        seed: Seeds the moments of the faults and the trajectories.
    """
    require_at_least(0, n=n, crossings=crossings, seed=seed)
    began = time.monotonic()
    use_client()
    from bench.ros.crossing import crossing_rows
    from bench.ros.driver_faults import LEGS, FaultRun, fault_rows, measure_faults

    runs: list[FaultRun] = []
    total = n * sum(map(len, LEGS.values()))

    def progress(run: FaultRun) -> None:
        runs.append(run)
        mark = "" if run.right and run.still and run.works else f" NOT AS IT SHOULD: {run}"
        say(f"fault {len(runs)} of {total}: {run.fault.kind} in {run.fault.leg_name}: {run.code}{mark}")

    rows: list[dict[str, Any]] = []
    with kortex_graph({"seed": str(seed)}) as link:
        with contextlib.suppress(KeyboardInterrupt):  # a run that is broken off shows what it has
            measure_faults(link.node, n, seed, progress)
        rows += fault_rows(runs) if runs else []
        if crossings:
            rows += crossing_rows(link, crossings, seed, say)
    document = {
        "bench": "driver",
        "machine": machine(),
        "seeds": [seed],
        "rows": rows,
        "unscored": 0,
        "next_commands": dict(Counter(run.next_code or "done" for run in runs)),
        "failures": [asdict(run) for run in runs if not (run.right and run.still and run.works)],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, lambda document: format_report(document, "next_commands", _failure_line), as_json)
    return 0


def _failure_line(failure: Mapping[str, Any]) -> str:
    fault = failure["fault"]
    where = f"{fault['share']:.2f} of goal {fault['leg']} of the {fault['command']}"
    return f"{fault['kind']} at {where}: {failure['code']}: {failure['message']}"
