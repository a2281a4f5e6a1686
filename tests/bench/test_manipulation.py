"""`bench manipulation`: records, rows, and a document that counts infrastructure errors without scoring them."""

import json
from dataclasses import replace
from typing import Any, get_args

import pytest

import toolhand.bench.manipulation
from tests.refusals import refused
from toolhand.agent_node.console.options import BackendOptions
from toolhand.agent_node.policies.options import ModelSettings
from toolhand.bench.commands.manipulation import DriverName, EpisodeOptions, Options
from toolhand.bench.manipulation import BENCH, ClutterJob, EpisodeJob, EpisodeRecord, rows_of, run_one, run_scene
from toolhand.sim.ros.driver import DRIVERS
from toolhand.sim.tasks.sentences import PAPER_SENTENCES
from toolhand.sim.world import World
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode, ToolError

DONE = EpisodeRecord(
    sentence=0,
    seed=0,
    category="pick",
    text="Pick it up",
    scored=True,
    success=True,
    score=1,
    time_to_first_motion_s=0.5,
    wall_s=1.0,
)
FAILED = replace(DONE, success=False, score=0, error_code="NO_GRASP", answer="No grasp.", reasons=("not held",))
PLACED = replace(DONE, category="pick_and_place", score=2, plan_s=(0.01, 0.03))
HALF = replace(PLACED, success=False, score=1, false_success=True, reasons=("it lies elsewhere",))
BROKEN = replace(DONE, scored=False, success=False, score=0, error_code="INTERNAL", wall_s=99.0, plan_s=(9.0,))


def rows(*records: EpisodeRecord) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows_of(records)}


def without_times(record: EpisodeRecord) -> EpisodeRecord:
    return replace(record, time_to_first_motion_s=None, wall_s=None, plan_s=(0.0,) * len(record.plan_s))


def test_the_documented_rows_are_there_in_their_order() -> None:
    assert list(rows())[:7] == [
        "pick",
        "relational_pick",
        "pick_and_place",
        "all",
        "false_success",
        "done, said to have failed",
        "time_to_first_motion",
    ]


def test_rates_count_the_simulators_truth_by_category() -> None:
    found = rows(DONE, DONE, FAILED, PLACED, HALF)
    assert (found["pick"]["success"], found["pick"]["n"]) == (2, 3)
    assert (found["relational_pick"]["success"], found["relational_pick"]["n"]) == (0, 0)
    assert (found["pick_and_place"]["success"], found["pick_and_place"]["n"]) == (1, 2)
    assert (found["pick_and_place"]["points"], found["pick_and_place"]["max_points"]) == (3, 4)
    assert (found["all"]["success"], found["all"]["n"]) == (3, 5)
    assert (found["false_success"]["success"], found["false_success"]["n"]) == (1, 5)
    denied = rows(DONE, replace(DONE, denied=True), FAILED)["done, said to have failed"]
    assert (denied["success"], denied["n"]) == (1, 3)


def test_infrastructure_errors_are_in_no_row_but_the_one_that_counts_them_as_wrong() -> None:
    found = rows(DONE, BROKEN, PLACED)
    counted = found.pop("all, unscored as wrong")
    assert found == rows(DONE, PLACED)
    assert (counted["success"], counted["n"]) == (2, 3)


def test_timings_are_in_milliseconds_over_what_was_measured() -> None:
    found = rows(DONE, replace(DONE, time_to_first_motion_s=None), PLACED)
    assert (found["time_to_first_motion"]["n"], found["time_to_first_motion"]["p50_ms"]) == (2, 500.0)
    assert (found["planning"]["n"], found["planning"]["p50_ms"]) == (2, 20.0)
    assert found["episode_wall pick"]["p50_ms"] == 1000.0
    assert found["episode_wall relational_pick"]["p50_ms"] is None


def test_an_episode_becomes_a_record() -> None:
    record = run_one(EpisodeJob(4, 0))
    assert record.text == PAPER_SENTENCES[4]
    assert record.category == "pick"
    assert record.scored
    assert record.success
    assert record.score == 1
    assert record.plan_s
    assert record.sim_time_s is not None
    assert record.sim_time_s > 1.0


def test_one_process_and_two_give_the_same_records() -> None:
    work = [EpisodeJob(sentence, 1, EpisodeOptions(fast=True)) for sentence in (4, 7)]
    one, two = (BENCH.over_processes(work, processes) for processes in (1, 2))
    assert [without_times(r) for r in one] == [without_times(r) for r in two]
    assert all(r.scored for r in one)


def test_physics_that_breaks_is_counted_and_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(world: World, count: int = 1) -> None:
        if world.time > 1.0:
            raise ToolError(ErrorCode.INTERNAL, "The physics reported BADQPOS.")
        step(world, count)

    step = World.step
    monkeypatch.setattr(World, "step", broken)
    record = run_one(EpisodeJob(4, 0))
    assert not record.scored
    assert not record.success
    assert record.error_code == ErrorCode.INTERNAL


def test_an_episode_that_crashes_is_one_record_without_a_score() -> None:
    (record,) = BENCH.crashed(EpisodeJob(3, 8), "KeyError: 'x'")
    assert (record.sentence, record.seed, record.text) == (3, 8, PAPER_SENTENCES[3])
    assert not record.scored
    assert record.error_code == ErrorCode.INTERNAL
    assert rows(DONE, record)["all"] == rows(DONE)["all"]


def fake(job: EpisodeJob) -> EpisodeRecord:
    """Sentence 0 works, 1 fails, 2 reports a success that is none, 3 crashes."""
    if job.sentence == 3:
        raise KeyError("x")
    return replace((DONE, FAILED, HALF)[job.sentence], sentence=job.sentence, seed=job.seed)


@pytest.fixture
def four_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolhand.bench.manipulation, "PAPER_SENTENCES", PAPER_SENTENCES[:4])
    monkeypatch.setattr(toolhand.bench.manipulation, "run_one", fake)


@pytest.mark.usefixtures("four_sentences")
def test_the_document_has_every_part_and_is_all_of_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert Options(seeds=2, first_seed=5, as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bench"] == "manipulation"
    assert document["seeds"] == [5, 6]
    assert document["machine"]["cores"] >= 1
    named = {row["name"]: row for row in document["rows"]}
    assert (named["all"]["success"], named["all"]["n"]) == (2, 6)
    assert named["camera 640x480"]["p50_ms"] > 0
    assert document["unscored"] == 2
    assert document["error_codes"] == {"NO_GRASP": 2, "INTERNAL": 2}
    assert [f["error_code"] for f in document["failures"]] == ["NO_GRASP", None, "INTERNAL"] * 2
    assert document["failures"][2]["answer"] == "KeyError: 'x'"


@pytest.mark.usefixtures("four_sentences")
def test_another_policy_is_asked_with_its_settings_and_the_backends_of_single_ports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[EpisodeJob] = []

    def run(job: EpisodeJob) -> EpisodeRecord:
        done.append(job)
        return fake(job)

    monkeypatch.setattr(toolhand.bench.manipulation, "run_one", run)
    model, ports = ModelSettings(temperature=1.0), PortNames(pointer="pixels")
    options = EpisodeOptions(BackendOptions(ports=ports), policy="careful", model=model)
    Options(options, seeds=1, as_json=True)()
    assert {job.options for job in done} == {options}
    document = json.loads(capsys.readouterr().out)
    assert (document["policy"], document["model"]) == ("careful", {"temperature": 1.0})
    assert document["ports"]["pointer"] == "pixels"
    with pytest.raises(ToolError, match="There is no policy 'oracle'"):
        Options(EpisodeOptions(policy="oracle"))()


@pytest.mark.usefixtures("four_sentences")
def test_the_text_for_people_has_a_line_for_each_code_failure_and_timing(capsys: pytest.CaptureFixture[str]) -> None:
    assert Options(seeds=1)() == 0
    captured = capsys.readouterr()
    words = [line.split() for line in captured.out.splitlines()]
    assert ["error", "NO_GRASP", "1"] in words
    assert ["error", "INTERNAL", "1"] in words
    assert "  seed   0  'Pick it up': NO_GRASP: No grasp." in captured.out
    assert "  seed   0  'Pick it up': false success: it lies elsewhere" in captured.out
    assert "infrastructure errors: 1" in captured.out
    for timing in ("time_to_first_motion", "planning", "camera 640x480"):
        assert f"\n{timing} " in captured.out
    assert "4 episodes, seeds 0..0, perception sim" in captured.err


# ---- Objects of any set in clutter ----


def test_a_scene_of_clutter_is_asked_for_what_words_single_out_in_it() -> None:
    options = EpisodeOptions(BackendOptions("sim", PortNames(sensor="clean")), fast=True)
    (record,) = run_scene(ClutterJob("single", 50, "generated", options))
    assert (record.seed, record.category, record.scored) == (50, "pick", True)
    assert record.text.endswith(("object", "object, please"))


def test_the_document_names_sets_clutter_and_sensor_and_counts_scenes_that_crashed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fake_scene(job: ClutterJob) -> list[EpisodeRecord]:
        if job.seed == 1:
            raise KeyError("x")
        return [replace(record, seed=job.seed) for record in (DONE, HALF)]

    monkeypatch.setattr(toolhand.bench.manipulation, "run_scene", fake_scene)
    options = EpisodeOptions(BackendOptions("pixels", PortNames(sensor="realsense_d435")))
    assert Options(options, "pile", "generated+catalogue", seeds=2, as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["scene"], document["objects"]) == ("pile", "generated+catalogue")
    assert document["ports"]["sensor"] == "realsense_d435"
    named = {row["name"]: row for row in document["rows"]}
    assert (named["all"]["success"], named["all"]["n"]) == (1, 2)
    assert (document["unscored"], document["error_codes"]) == (1, {"INTERNAL": 1})


@pytest.mark.parametrize(
    ("scene", "objects", "said"),
    [
        ("heap", "", "--scene must be single or packed or touching"),
        ("", "nowhere", "There is no object set 'nowhere': it must be a folder"),
        ("pile", "nowhere", "There is no object set 'nowhere': it must be a folder"),
    ],
)
def test_clutter_and_sets_that_are_none_are_refused(scene: str, objects: str, said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        Options(scene=scene, objects=objects)()


def test_the_drivers_that_can_be_typed_are_those_of_the_simulator_and_need_a_graph() -> None:
    assert set(get_args(DriverName)) == set(DRIVERS) - {"ros2_control"}, "which needs a controller manager"
    EpisodeOptions(transport="ros", driver="kortex").check()
    with refused(ErrorCode.INVALID_ARGUMENT, "Only the transport ros has the driver kortex"):
        EpisodeOptions(driver="kortex").check()
