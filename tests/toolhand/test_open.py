"""`toolhand open`: which report is opened, and what is said where there is none."""

import webbrowser
from pathlib import Path

import pytest

from tests.toolhand.test_runs import make
from toolhand.cli.open import open_run, report_of
from toolhand.tool_nodes.results import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two runs with reports, and a newer one without."""
    for name in ("20261120-100000-0", "20261121-100000-0", "20261122-100000-0"):
        make(tmp_path, name)
    for name in ("20261120-100000-0", "20261121-100000-0"):
        (tmp_path / name / "report.html").touch()
    return tmp_path


@pytest.mark.parametrize("browser", [True, False], ids=["a browser", "no browser"])
def test_the_report_is_opened_and_its_place_is_printed(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], browser: bool
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: (asked.append(address), browser)[1])
    assert open_run("last", root) == 0
    report = root / "20261121-100000-0" / "report.html"
    shown = capsys.readouterr()
    assert (shown.out, asked) == (f"{report}\n", [report.as_uri()])
    assert shown.err == ("" if browser else "There is no browser here: open that file in one.\n")


def test_nothing_is_opened_where_only_the_place_is_wanted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail(address))
    assert open_run("20261120-100000-0", root, browser=False) == 0


def test_a_run_is_named_by_its_name_its_folder_or_its_report(root: Path) -> None:
    report = root / "20261120-100000-0" / "report.html"
    for name in (report.parent.name, str(report.parent), str(report)):
        assert report_of(name, root) == report


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("20261122-100000-0", r"has no report\.html"),
        ("none", "There is no run 'none'"),
        ("\x1b[31m", "There is no run"),
    ],
)
def test_what_has_no_report_is_one_sentence(root: Path, run: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        report_of(run, root)


def test_a_folder_without_reports_is_one_sentence(tmp_path: Path) -> None:
    make(tmp_path, "20261122-100000-0")
    with pytest.raises(ToolError, match="has a report"):
        report_of("last", tmp_path)
