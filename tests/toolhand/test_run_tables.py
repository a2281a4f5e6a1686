"""docs/site/run_tables.py: pages of results are filled from what benchmarks have written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docs.site import run_tables
from tests import grasp_records as held
from toolhand.agent_node.console.options import BackendOptions
from toolhand.bench.commands.grasp import AS_MEASURED
from toolhand.bench.grasp.comparison import figures
from toolhand.bench.grasp.sides import GraspSide, sides_of
from toolhand.cli.main import _parse
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ToolError

HELD = replace(
    held.HELD,
    kind="pile",
    seed=500,
    object="a",
    family="",
    objects=4,
    visible=0.9,
    under=False,
    mask_score=0.9,
    grasp_score=0.8,
)


def grasp_document(sides: list[GraspSide], protocol: Any = "attempt") -> dict[str, Any]:
    failed = replace(HELD, seed=501, under=True, visible=0.3, code="NO_GRASP", success=False, reported=False)
    records = [replace(record, side=side.role) for side in sides for record in (HELD, failed)]
    return {
        "bench": "grasp",
        "objects": "generated+some/where/things",
        "contents": {"things": "0123456789ab"},
        "scene": ["pile"],
        "first_seed": 500,
        "n": 2,
        "protocol": protocol,
        "seeds": [500, 501],
        "sides": [side.document() for side in sides],
        **figures(records, sides, protocol),
    }


def test_a_section_has_its_command_the_rates_of_every_side_and_what_scores_are_worth() -> None:
    sides = sides_of(AS_MEASURED, "gen3", "", control=True, ideal=False)
    text = run_tables.grasp_section(grasp_document(sides), "grasps_a.png")
    assert text.startswith("## `generated+things`, pile, attempt\n")
    assert "    toolhand bench grasp --objects generated+things --scene pile --n 2 --first-seed 500\n" in text
    assert "Seeds 500 to 501; the folder `things` held 0123456789ab. Unscored: 0." in text
    assert "|  | analytic | top_down |" in text
    assert "| first attempt | 50.0 % (1/2; 9.4..90.5) | 50.0 % (1/2; 9.4..90.5) |" in text
    assert "| held, said to have failed | 50.0 % (1/2; 9.4..90.5) | 50.0 % (1/2; 9.4..90.5) |" in text
    assert "| first attempt, target under another | 0.0 % (0/1; 0.0..79.3) |" in text
    assert "`analytic` alone succeeded in 0, `top_down` in 0: p = 1 (sign test)." in text
    assert "Failures of `analytic`: 1 NO_GRASP." in text
    assert "Mask scores, n 2: calibration error" in text
    assert "(grasps_a.png)" in text
    cleared = run_tables.grasp_section(grasp_document(sides, "clear"), "")
    assert "--protocol clear" in cleared
    assert "| picks per simulated hour | 600 | 600 |" in cleared
    assert "first attempt, the robot chooses" in cleared


@pytest.mark.parametrize(
    ("backends", "vs", "control", "ideal", "words"),
    [
        (AS_MEASURED, "", True, False, ""),
        (AS_MEASURED, "top_down", False, True, " --vs grasps:top_down --ideal --no-control"),
        (BackendOptions("sim", PortNames(sensor="clean")), "", True, False, " --perception sim"),
        (replace(AS_MEASURED, ports=PortNames(sensor="hard", grasps="top_down")), "", True, True, " --grasps top_down"),
    ],
)
def test_the_command_of_a_section_asks_for_the_same_sides(
    backends: BackendOptions, vs: str, control: bool, ideal: bool, words: str
) -> None:
    sides = sides_of(backends, "gen3", vs, control, ideal)
    command = run_tables.command_of(grasp_document(sides))
    assert words in command
    bound: Any = _parse(command.split()[1:])
    options = vars(bound.args[-1])  # of the benchmark, whose result is kept
    again = sides_of(options["backends"], "gen3", options["vs"], options["control"], options["ideal"])
    assert [side.document() for side in again] == [side.document() for side in sides]


def test_runs_fill_the_pages_between_their_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_tables, "RESULTS", tmp_path)
    for page in ("grasps.md", "perception.md"):
        (tmp_path / page).write_text("# Head\n<!-- runs:begin -->\nearlier\n<!-- runs:end -->\nfoot\n")
    sides = sides_of(AS_MEASURED, "gen3", "", control=False, ideal=False)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(json.dumps(grasp_document(sides)))
    (tmp_path / "first" / "reliability.png").write_bytes(b"picture")
    (tmp_path / "grasps_gone.png").write_bytes(b"of an earlier run")
    assert run_tables.main([str(tmp_path / name) for name in ("first", "second")]) == 0
    page = (tmp_path / "grasps.md").read_text()
    assert page.startswith("# Head\n<!-- runs:begin -->\n## `generated+things`, pile, attempt")
    assert page.endswith("<!-- runs:end -->\nfoot\n")
    assert "earlier" not in page
    assert page.count("## ") == 2
    assert (tmp_path / "grasps_first.png").read_bytes() == b"picture"
    assert not (tmp_path / "grasps_gone.png").exists()
    assert "earlier" in (tmp_path / "perception.md").read_text(), "nothing was named for it"


def test_what_is_no_run_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"bench": "tools"}')
    for name in ("nowhere", "other.json"):
        with pytest.raises(ToolError, match=name):
            run_tables.main([str(tmp_path / name)])
    with pytest.raises(ToolError, match="has the blocks none; it needs runs"):
        run_tables.filled("no markers here", {"runs": "text"})
