"""`toolhand objects`: what a folder of meshes holds, before a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhand.sim.objects import folders
from toolhand.sim.objects.folders import OBJECTS_PATH

trimesh = pytest.importorskip("trimesh")

Cli = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(OBJECTS_PATH, "")
    folders._sets.cache_clear()
    made = tmp_path / "Größe (v2)"
    made.mkdir()
    trimesh.creation.box((0.04, 0.06, 0.10)).export(made / "кружка.stl")
    trimesh.creation.box((0.12, 0.10, 0.03)).export(made / "tray.stl")
    trimesh.creation.box((12, 10, 3)).export(made / "house.stl")
    (made / "objects.yaml").write_text("objects: {tray: {name: big tray, scale: 1.0}}", "utf-8")
    return made


def test_a_folder_is_shown_with_sizes_units_what_fits_and_what_is_refused(cli: Cli, folder: Path) -> None:
    shown = cli("objects", str(folder), "--json")
    assert shown.status == 0, shown.err
    (entry,) = shown.document["sets"]
    assert (entry["set"], shown.document["gripper_mm"]) == ("größe-v2", 78.0)
    assert entry["counts"] == {
        "objects": 3,
        "usable": 2,
        "refused": 1,
        "fit": 1,
        "too_wide": 1,
        "containers": 0,
    }
    rows = {row["object"]: row for row in entry["objects"]}
    assert "say `scale`" in rows["house"]["refused"]
    assert (rows["tray"]["name"], rows["tray"]["unit"], rows["tray"]["fits"]) == (
        "big tray",
        "1 m, as YAML says",
        False,
    )
    assert (rows["tray"]["narrowest_mm"], rows["tray"]["size_mm"]) == (100.0, [120.0, 100.0, 30.0])
    assert (rows["кружка"]["unit"], rows["кружка"]["file"]) == ("m, by its size", "кружка.stl")
    printed = cli("objects", str(folder))
    assert printed.status == 0
    lines = printed.out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["house", "tray", "кружка"]
    assert lines[4].startswith("2 of 3 objects can be used, 1 refused. As they stand 1 fit the gripper (78 mm)")


@pytest.mark.parametrize(
    ("name", "said"),
    [("nowhere", "There is no object set"), ("generated", "Name a folder of meshes"), ("", "Name a folder")],
)
def test_what_is_no_folder_of_meshes_is_one_sentence(cli: Cli, folder: Path, name: str, said: str) -> None:
    ended = cli("objects", name)
    assert ended.status == 2
    assert said in " ".join(ended.err.split())


def test_a_folder_of_which_nothing_can_be_used_has_its_own_exit_status(cli: Cli, folder: Path) -> None:
    for name in ("кружка", "tray"):
        (folder / f"{name}.stl").unlink()
    (folder / "objects.yaml").unlink()
    ended = cli("objects", str(folder))
    assert ended.status == 2
    assert "0 of 1 objects can be used, 1 refused" in ended.out
