"""The documentation site can be built: what Sphinx would refuse, seen without it. `make docs` is the whole truth."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def site_configuration() -> ModuleType:
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("site_configuration", ROOT / "docs" / "site" / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path[:] = path  # it is for the docstrings
    return module


SITE = site_configuration()


def matches(name: str, pattern: str) -> bool:
    """As Sphinx matches: `*` stays within a folder, `**` does not."""
    regex = "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in re.split(r"(\*\*?)", pattern))
    return re.fullmatch(regex, name) is not None


def pages() -> dict[str, str]:
    """The text of each page by its name without the ending, as the site completes it."""
    found = {}
    for pattern in SITE.include_patterns:
        for file in ROOT.glob(re.sub(r"\*\*(?!/)", "**/*", pattern)):
            name = file.relative_to(ROOT).as_posix()
            if not any(matches(name, skip) or name.startswith(f"{skip}/") for skip in SITE.exclude_patterns):
                text = [file.read_text(encoding="utf-8")]
                SITE._complete(None, name.rpartition(".")[0], text)
                found[name.rpartition(".")[0]] = text[0]
    return found


PAGES = pages()
MARKDOWN = sorted(name for name in PAGES if (ROOT / f"{name}.md").exists())


def without_code(page: str) -> str:
    return re.sub(r"^( *)(```+)(?!\{toctree).*?^\1\2$", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def anchors(page: str) -> set[str]:
    """What a link may have behind its "#": the headings, as GitHub names them."""
    headings = re.findall(r"^#{1,4} (.+)$", without_code(page), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def test_the_site_has_the_documents_and_what_lies_beside_the_code() -> None:
    assert {
        "README",
        "docs/reference/ros",
        "docs/guides/tool",
        "docs/site/api/tools",
    } <= set(PAGES)
    assert not [name for name in PAGES if name.startswith((".venv", "tests/", "build/"))]


@pytest.mark.parametrize("page", MARKDOWN)
def test_every_link_of_a_page_leads_to_a_page_of_the_site_or_to_a_file(page: str) -> None:
    for target, anchor in re.findall(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)", without_code(page)):
        file = (ROOT / page).parent / target if target else ROOT / f"{page}.md"
        assert file.is_file(), f"{target} is no file"
        if file.suffix == ".md":
            name = file.resolve().relative_to(ROOT).as_posix().removesuffix(".md")
            assert name in PAGES, f"{target} is no page: add it to include_patterns of docs/site/conf.py"
            assert not anchor or anchor in anchors(name), f"{target} has no heading #{anchor}"


def test_every_page_is_in_a_menu() -> None:
    listed = {SITE.root_doc}
    for page, text in PAGES.items():
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            for entry in (line for line in block.splitlines() if line and not line.startswith(":")):
                pattern = (Path(page).parent / entry).as_posix()
                found = {name for name in PAGES if matches(name, pattern)}
                assert found, f"{page} lists {entry}, which is no page"
                listed |= found
    assert set(PAGES) - listed == set(), "add them to MENU of docs/site/conf.py"


# -- what a server of CI runs ----------------------------------------------------------------------------

CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_command_of_a_workflow_is_one_of_the_local_ci() -> None:
    steps = [
        step["run"]
        for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    assert steps
    commands = {line.strip() for step in steps for line in step.splitlines() if line.strip()}
    assert commands - {".ci/run"} <= set(re.findall(r"^step (.+)$", CI, re.MULTILINE))


def test_the_local_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = re.findall(r"^    (make test)\b", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert f"\nstep {command}\n" in CI
