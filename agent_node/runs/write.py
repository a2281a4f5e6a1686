"""Writes the run folder: `result.json`, `trajectory.jsonl`, images, `run.mcap`, `report.html`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhand.agent_node.episode import Episode, summarize
from toolhand.agent_node.runs.folder import Unwritten, write_json, write_trajectory
from toolhand.agent_node.runs.mcap.recorder import MotionLog, Recorder
from toolhand.agent_node.runs.mcap.scene_markers import TruthLog
from toolhand.agent_node.runs.places import asked_places
from toolhand.agent_node.runs.report import write_report
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.toolbox.toolbox import Toolbox


def write_run(
    run_dir: Path,
    episode: Episode,
    toolbox: Toolbox,
    more: Mapping[str, Any],
    recorder: Recorder | None = None,
    motion: MotionLog | None = None,
    truth: TruthLog | None = None,
    film: Callable[[], tuple[Sequence[RGB], Sequence[float]]] | None = None,
) -> Unwritten:
    """Write everything about a finished command into its folder, what says how it ended first.

    Args:
        run_dir: The folder, made before.
        toolbox: The tools that were offered.
        more: Further entries of `result.json`.
        recorder: Has heard the command; None leaves no `run.mcap`.
        motion: Positions and velocities of the joints meanwhile.
        truth: Where objects were, by the simulator.
        film: Makes images of the motion, with their times [s].

    Returns:
        Which files could not be written.
    """
    result, missing = summarize(episode) | dict(more) | {"run_dir": str(run_dir)}, Unwritten()
    if places := asked_places(episode):
        result["places"] = [place.document() for place in places]
    with missing.noted():
        write_json(run_dir / "result.json", result)
    with missing.noted():
        write_trajectory(run_dir, episode, toolbox.schemas())
    frames, times = film() if film else ((), ())
    with missing.noted():
        write_report(run_dir / "report.html", episode, result, frames, times)
    if recorder is not None:
        with missing.noted():
            recorder.write(run_dir, motion, result, truth=truth)
    return missing
