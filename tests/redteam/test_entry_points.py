"""Backends of somebody else's package that raise, want to end the process, lie or hang: one sentence, and no motion."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session

RAISING = {
    "an error": "raise RuntimeError('two\\nlines')",
    "no syntax": "def (",
    "the end of the process": "raise SystemExit(0)",
    "a long error": "raise ValueError('x' * 100_000)",
    "colours of a terminal": "raise ValueError('\\x1b[31mred\\x07')",
    "a missing module": "import no_such_module",
    "no such name": "",
    "endless recursion": "def f(): f()\nf()",
    "no memory": "raise MemoryError()",
    "something that is no class": "Backend = 7",
    "a class that wants more": "class Backend:\n    def __init__(self, password): pass",
    "a class that raises": "class Backend:\n    def __init__(self): raise KeyError('x')",
    "a class that ends the process": "class Backend:\n    def __init__(self): raise SystemExit(3)",
}
"""Bodies of the module."""

LYING = {
    "nothing": "None",
    "an empty answer": "Answer([], 'liar')",
    "no answer": "[(0.5, 0.5)]",
    "a point of NaN": "Answer([(float('nan'), 0.5)], 'liar')",
    "a point at infinity": "Answer([(float('inf'), 0.5)], 'liar')",
    "a point outside": "Answer([(7.0, -3.0)], 'liar')",
    "a point of words": "Answer([('a', 'b')], 'liar')",
    "a point of three": "Answer([(0.1, 0.2, 0.3)], 'liar')",
    "numbers without end": "Answer([(10**400, 0.5)], 'liar')",
    "a million points": "Answer([(0.5, 0.5)] * 10**6, 'liar')",
    "an exception": "1 / 0",
    "the end of the process": "exit(0)",
    "an error of ours": "(_ for _ in ()).throw(ToolError(ErrorCode.STOPPED, 'I stop.'))",
}
"""What a pointer answers."""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    info = tmp_path / "liar-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: liar\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[toolhand.pointer]\nliar = liar:Backend\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    registry._entries.cache_clear()
    yield tmp_path / "liar.py"
    sys.modules.pop("liar", None)
    monkeypatch.undo()
    registry._entries.cache_clear()


@pytest.mark.parametrize("kind", RAISING)
def test_a_package_that_cannot_be_used_is_told_in_one_sentence(kind: str, package: Path) -> None:
    package.write_text(RAISING[kind] + "\n")
    with refused(ErrorCode.UNAVAILABLE, "The pointer 'liar' cannot be loaded", within=500) as caught:
        registry.make("pointer", "liar")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("kind", LYING)
def test_what_a_pointer_makes_up_moves_nothing_and_ends_nothing(kind: str, package: Path) -> None:
    package.write_text(
        "from toolhand.tool_nodes.ports import Answer\nfrom toolhand.tool_nodes.results import ErrorCode, ToolError\n"
        f"class Backend:\n    backend = 'liar'\n    def point(self, image, text):\n        return {LYING[kind]}\n"
    )
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(ports=PortNames(pointer="liar")))
    before = station.world.data.qpos.copy()
    session = Session(images=[SessionImage(np.full((120, 160, 3), 90, np.uint8))])
    result = station.toolbox.call("roborefer.detect_one", {"image_index": 0, "obj_name": "red box"}, session).result
    assert result.error is not None
    assert result.error.code is (ErrorCode.STOPPED if kind == "an error of ours" else ErrorCode.INTERNAL)
    assert len(result.text) < 500
    assert (station.world.data.qpos == before).all()
