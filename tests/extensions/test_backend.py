"""A pointer of another package, as docs/guides/backend.md says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.extensions.package import install_guide, promised


def test_a_pointer_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "backend")
    assert promised("backend") == f"{package.files} file, {package.lines} line"
    arguments = json.dumps({"obj_name": "red", "image_index": 0})
    ended = package.toolhand("call", "roborefer.detect_one", arguments, "--pointer", "colour", "--scene", "3")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Detected 1 instance(s) of 'red'")
    assert ended.stdout.endswith("(backend: colour)\n")
    wrong = package.toolhand("call", "roborefer.detect_one", arguments, "--pointer", "color")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no pointer 'color'" in wrong.stderr
    assert "colour" in wrong.stderr
