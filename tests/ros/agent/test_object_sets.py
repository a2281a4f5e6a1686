"""An object of a folder of one's own, picked up by the nodes of a graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.toolhand.blocks import SCENE, write_blocks
from toolhand.cli import main as cli
from toolhand.sim.objects.folders import OBJECTS_PATH


def test_a_graph_is_started_with_the_folder_and_its_perception_knows_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(OBJECTS_PATH, "")  # which is put back as it was
    monkeypatch.chdir(tmp_path)
    write_blocks(tmp_path / "My_Things")
    (tmp_path / "scene.yaml").write_text(SCENE, encoding="utf-8")
    options = ("--scene", "scene.yaml", "--objects", "My_Things", "--transport", "ros", "--own-graph", "--no-animation")
    assert cli._run_command(["run", "pick up the brick", *options, "--json"], True) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["truth"]["picked"]
    assert document["objects"] == "My_Things"
