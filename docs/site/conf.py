"""The documentation site: `make docs` writes it to build/docs. Its pages are the Markdown files of the repository.

The source folder is the repository itself, so a link means the same here and in a viewer of the repository. What only a
site has (its menu, the code of the examples, the docstrings) is added while it is built, and nothing is downloaded.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "ros2_ws" / "src" / "rclpy_zenoh")]

project = "Toolhand"
html_title = "Toolhand"
copyright = "The authors of Toolhand. Apache-2.0"
root_doc = "README"
include_patterns = [
    "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md", "docs/site/api/*.rst", "examples/README.md",
    "launch/README.md", "ros2_ws/README.md", "ros2_ws/src/rclpy_zenoh/*.md",
    "training/README.md", "urdf/README.md", "agent_node/**.md", "tool_nodes/**.md",
]  # fmt: skip
exclude_patterns = [".venv", ".git", "build", "mutants", "runs", "tests", "**/__pycache__"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 4
default_role = "code"  # `name` in a docstring
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
html_theme = "furo"
html_show_sourcelink = False
html_theme_options = {"light_css_variables": {"code-font-size": "0.78rem"}, "dark_css_variables": {}}
html_static_path = ["wide.css"]
html_css_files = ["wide.css"]
html_search_scorer = "docs/site/scorer.js"
html_extra_path = ["index.html"]

_attributes: dict[str, list[str]] = {}
"""Docstrings of attributes that are being read, by their full name."""

MENU = """

```{toctree}
:hidden:
:glob:
:caption: Tutorials
docs/tutorials/*
examples/README
```
```{toctree}
:hidden:
:caption: Guides
docs/guides/README
CONTRIBUTING
```
```{toctree}
:hidden:
:glob:
:caption: Reference
docs/reference/*
docs/site/api/*
urdf/README
launch/README
ros2_ws/README
ros2_ws/src/rclpy_zenoh/README
ros2_ws/src/rclpy_zenoh/CHANGELOG
training/README
agent_node/plan/weights/card
agent_node/policies/smollm2_adapter/card
```
```{toctree}
:hidden:
:glob:
:caption: Explanation
docs/architecture
docs/explanation/*
docs/glossary
```
```{toctree}
:hidden:
:glob:
:caption: Results
docs/benchmarks
docs/results/*
CHANGELOG
```
"""


def _complete(app: object, name: str, source: list[str]) -> None:
    """Give the front page its menu, and the list of the examples their code."""
    if name == "README":
        source[0] += MENU
    if name == "docs/guides/README":
        pages = re.findall(r"\]\((\w+)\.md\)", source[0])
        source[0] += "\n```{toctree}\n:hidden:\n" + "\n".join(pages) + "\n```\n"
    if name == "examples/README":
        for file in re.findall(r"\]\((\d\d_\w+)\.py\)", source[0]):
            title = file.replace("_", " ")
            source[0] += f"\n## {title}\n\n```{{literalinclude}} {file}.py\n:language: python\n```\n"


def _as_markdown(app: object, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    """Docstrings are read as Markdown would be: |x| is a size, and in a module what is indented is code."""
    lines[:] = [re.sub(r"(?<!\S)\|(\w+)\|", r"\\|\1\\|", line) for line in lines]
    if what == "module":
        for k in range(len(lines) - 1, 1, -1):
            if lines[k].startswith("    ") and not lines[k - 1] and lines[k - 2][:1].strip():
                lines[k:k] = ["::", ""]


def _keep(app: object, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    """Put the docstring of an attribute by, before napoleon takes what stands before its first colon for a type."""
    if what in ("attribute", "data", "property"):
        _attributes[name] = list(lines)
        lines.clear()


def _give_back(app: object, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    """Put it back, after napoleon."""
    if what in ("attribute", "data", "property"):
        lines[:] = _attributes.pop(name)


def setup(app) -> None:  # type: ignore[no-untyped-def]
    """Called by Sphinx."""
    app.connect("source-read", _complete)
    app.connect("autodoc-process-docstring", _keep, priority=0)  # napoleon has 500
    app.connect("autodoc-process-docstring", _give_back, priority=900)
    app.connect("autodoc-process-docstring", _as_markdown, priority=950)
