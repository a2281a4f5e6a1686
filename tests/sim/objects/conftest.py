"""What the tests of folders of meshes share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolhand.sim.objects import folders


@pytest.fixture
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, empty at first."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "toolhand" / "objects"


@pytest.fixture
def no_folders() -> Iterator[None]:
    """No folder is in use, before and after."""
    before = os.environ.pop(folders.OBJECTS_PATH, None)
    folders._sets.cache_clear()
    yield
    os.environ.pop(folders.OBJECTS_PATH, None)
    if before is not None:
        os.environ[folders.OBJECTS_PATH] = before
    folders._sets.cache_clear()
