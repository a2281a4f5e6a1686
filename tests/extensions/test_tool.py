"""A tool of another package, as docs/guides/tool.md says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.extensions.package import install_guide, promised


def test_a_tool_suite_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "tool")
    assert promised("tool") == f"{package.files} file, {package.lines} line"
    listed = package.toolhand("tools", "--suite", "spacetools,measuring", "--json")
    assert listed.returncode == 0, listed.stderr
    names = [tool["function"]["name"] for tool in json.loads(listed.stdout)]
    assert "measure.distance" in names
    assert "robot.execute_grasp" in names
    arguments = json.dumps({"image_index": 0, "start": [0.72, 0.57], "end": [0.40, 0.50]})
    called = package.toolhand("call", "measure.distance", arguments, "--suite", "measuring", "--scene", "3")
    assert (called.returncode, called.stderr) == (0, "")
    assert called.stdout.startswith("The points are 0.3")
    words = ("run", "Pick up the violin", "--scene", "3", "--suite", "spacetools,measuring")
    ran = package.toolhand(*words, "--no-animation", "--json")
    assert (ran.returncode, json.loads(ran.stdout)["error_code"]) == (1, "NOT_RECOGNISED"), ran.stderr
    wrong = package.toolhand("tools", "--suite", "measurin")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no tool suite 'measurin'" in wrong.stderr
    assert "Did you mean measuring?" in wrong.stderr
    assert "measuring" in package.toolhand("run", "--help").stdout


def test_the_page_of_tools_has_a_tool_of_a_new_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from docs.site.tool_docs import make_documents
    from tool_nodes import registry

    monkeypatch.syspath_prepend(str(install_guide(tmp_path / "site", "tool").folder))
    registry._entries.cache_clear()
    try:
        documents = make_documents(("measuring",))
    finally:
        registry._entries.cache_clear()
        sys.modules.pop("my_package", None)
    assert "## Measuring" in documents.page
    assert re.search(r"The points are \d\.\d{3} m apart\.", documents.page)
    assert re.search(r"^\| Measuring \| `measure\.distance` \|", documents.page, re.MULTILINE)
