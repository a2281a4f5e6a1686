"""The example of docs/reference/skills.md."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_of_the_page_gives_the_answer_that_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_skills").mkdir()
    (tmp_path / "my_skills" / "nearest_object.yaml").write_text(block("yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python"), "docs/reference/skills.md", "exec"), {})
    assert f"`{capsys.readouterr().out.strip()}`" in PAGE
