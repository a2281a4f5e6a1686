"""The Gen3: a copy of its folder, and its model."""

import shutil
from pathlib import Path

import mujoco
import pytest

from tests.gen3 import GEN3, load_robot_spec


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder, under another name."""
    return Path(shutil.copytree(GEN3.folder, tmp_path / "my_robot"))


@pytest.fixture(scope="session")
def model() -> mujoco.MjModel:
    return load_robot_spec().compile()
