"""A policy of another package, as docs/guides/policy.md says."""

from __future__ import annotations

from pathlib import Path

from tests.extensions.package import install_guide, promised


def test_a_policy_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "policy")
    assert promised("policy") == f"{package.files} file, {package.lines} line"
    words = ("run", "Pick up the red box", "--scene", "3", "--policy", "first_pick", "--no-animation")
    ended = package.toolhand(*words)
    assert ended.returncode == 0, ended.stderr
    assert "I hold the red box." in ended.stdout
