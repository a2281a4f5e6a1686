"""Which scenes a grasp benchmark works at: sets, folders, kinds, and what is asked for in each."""

import shutil
from pathlib import Path

import pytest

from tests.refusals import refused
from toolhand.agent_node.console.options import COLOUR_AND_DEPTH
from toolhand.bench.grasp.scenes import (
    USUAL,
    GraspJob,
    contents_of,
    is_asked_for,
    jobs_of,
    kinds_of,
    make_scene,
    sets_of,
)
from toolhand.bench.grasp.sides import sides_of
from toolhand.bench.grasp.trial import run_one
from toolhand.sim.scene.clutter import CLUTTER
from toolhand.tool_nodes.results import ErrorCode, ToolError

SIDES = sides_of(COLOUR_AND_DEPTH, "gen3", "", control=True, ideal=False)


def test_all_sets_have_all_kinds_of_clutter_and_the_catalogue_two_of_its_own() -> None:
    assert kinds_of("", ("catalogue",)) == ["alone", "clutter"]
    assert kinds_of("", ("generated",)) == kinds_of("", ("catalogue", "generated")) == list(USUAL)
    assert kinds_of(",".join(CLUTTER), ("generated",)) == list(CLUTTER)
    assert kinds_of("pile,alone", ("catalogue",)) == ["pile", "alone"]
    with refused(ErrorCode.INVALID_ARGUMENT, "alone and clutter need --objects catalogue alone"):
        kinds_of("alone", ("catalogue", "generated"))


@pytest.mark.parametrize("text", ["nope", "generated+nope", "generated+generated", "", "no/such/folder", "+"])
def test_sets_that_are_none_are_refused(text: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        sets_of(text)


def test_every_side_has_the_same_scenes_next_to_each_other() -> None:
    jobs = jobs_of(SIDES, ["packed", "pile"], ("generated",), 2, 5)
    assert [(job.kind, job.seed, job.side.role) for job in jobs] == [
        (kind, seed, role) for kind in ("packed", "pile") for seed in (5, 6) for role in ("main", "control")
    ]
    assert len({job.key for job in jobs}) == len(jobs)


def test_what_objects_lie_in_is_never_asked_for() -> None:
    scene = make_scene("bin", 0, ("generated",), "")
    left = [placed.item for placed in scene.objects if not is_asked_for(placed)]
    assert left == ["fixtures/bin"]


def test_a_generated_object_is_grasped_where_it_lies_at_rest() -> None:
    (record,) = run_one(GraspJob(SIDES[0], "single", 2, ("generated",)))
    assert (record.object_set, record.objects) == ("generated", 1)
    assert record.object.startswith("generated/")
    assert record.family
    assert record.mask_iou is not None
    assert record.robot_s > 0.0 or record.code


CUBE = """v 0 0 0\nv 0.04 0 0\nv 0.04 0.04 0\nv 0 0.04 0\nv 0 0 0.05\nv 0.04 0 0.05\nv 0.04 0.04 0.05\nv 0 0.04 0.05
f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8
"""


def test_a_folder_of_meshes_is_a_set_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLHAND_OBJECTS_PATH", "")
    pytest.importorskip("trimesh")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "cube.obj").write_text(CUBE)
    assert sets_of(f"generated+{folder}") == ("generated", "mine")
    (record,) = run_one(GraspJob(SIDES[0], "single", 0, ("mine",)))
    assert (record.object_set, record.object) == ("mine", "mine/cube")
    assert record.success


def test_a_folder_is_known_by_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLHAND_OBJECTS_PATH", "")
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "cube.obj").write_text(CUBE)
    sets = sets_of(f"{folder}+generated")
    assert sets == ("mine", "generated")
    first = contents_of(sets)
    assert list(first) == ["mine"]
    assert len(first["mine"]) == 12
    assert contents_of(sets) == first
    (folder / "objects.yaml").write_text("defaults: {scale: 0.5}")
    noted = contents_of(sets)["mine"]
    (folder / "cube.obj").write_text(CUBE.replace("0.05", "0.06"))
    assert len({first["mine"], noted, contents_of(sets)["mine"]}) == 3
    copy = tmp_path / "elsewhere" / "mine"
    shutil.copytree(folder, copy)
    assert contents_of(sets_of(str(copy))) == contents_of(sets_of(str(folder)))


def test_a_mesh_that_cannot_be_read_is_left_out_with_a_warning_unless_it_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOOLHAND_OBJECTS_PATH", "")
    pytest.importorskip("trimesh")
    folder = tmp_path / "half"
    folder.mkdir()
    (folder / "cube.obj").write_text(CUBE)
    (folder / "torn.obj").write_text("v 0 0 0\nf 1 2 9\n")
    scenes = [make_scene("packed", seed, sets_of(str(folder)), "") for seed in range(2)]
    assert {placed.item for scene in scenes for placed in scene.objects} == {"half/cube"}
    assert "half/torn is left out: " in caplog.text
    broken = tmp_path / "torn"
    broken.mkdir()
    shutil.copy(folder / "torn.obj", broken)
    with pytest.raises(ToolError, match="torn"):
        make_scene("packed", 0, sets_of(str(broken)), "")
