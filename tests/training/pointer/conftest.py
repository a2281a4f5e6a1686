"""Pictures of a tiny training, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.pointer.data import make_pictures

COUNTS = {"train": 16, "validation": 2, "test": 2}
"""Scenes of each part."""


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pictures of seed 0."""
    folder = tmp_path_factory.mktemp("pictures")
    for split, count in COUNTS.items():
        make_pictures(folder, split, 0, count)
    return folder
