"""Folders with tiny models, each made once in a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Folder = Callable[..., Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder of a tiny model, e.g. `folder("sam2")` or `folder("qwen", "qwen3_vl")`; it must not be changed."""
    import torch

    from tests.tool_nodes.models import tiny

    torch.set_num_threads(1)  # more only wait for each other on tensors this small
    made: dict[tuple[Any, ...], Path] = {}

    def make(kind: str, *more: Any) -> Path:
        key = (kind, *more)
        if key not in made:
            made[key] = getattr(tiny, kind)(tmp_path_factory.mktemp(kind), *more)
        return made[key]

    return make
