"""A package of somebody else's: a module and what pip leaves beside it in a folder, used on the command line.

    package = install(tmp_path, "count_package", SOURCE, {"toolhand.task": {"count_red": "count_package:CountRed"}})
    ended = package.toolhand("rollouts", "collect", ...)

Nothing is built, downloaded or installed: the folder is put on PYTHONPATH, where Python finds entry points as well.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guides"

EntryPoints = Mapping[str, Mapping[str, str]]
"""The entries of each group: a name, and "module:attribute" with extras in brackets, if any."""


@dataclass(frozen=True)
class Package:
    """An installed package.

    Attributes:
        folder: Its place on PYTHONPATH.
        entry_points: Entries by group, as in its pyproject.toml.
    """

    folder: Path
    entry_points: EntryPoints

    @property
    def work(self) -> Path:
        """The folder in which its commands run."""
        work = self.folder.parent / f"{self.folder.name}-work"
        work.mkdir(exist_ok=True)
        return work

    @property
    def files(self) -> int:
        """Number of files written by hand, its pyproject.toml aside."""
        return sum(not path.parent.name.endswith(".dist-info") for path in self.folder.rglob("*") if path.is_file())

    @property
    def lines(self) -> int:
        """Number of entries in its pyproject.toml."""
        return sum(map(len, self.entry_points.values()))

    def toolhand(self, *words: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run `toolhand` with these words in a process of its own that finds the package, in `work`."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(self.folder), str(ROOT))), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "toolhand", *words]
        return subprocess.run(
            command,
            cwd=self.work,
            env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )


def install(
    folder: Path,
    module: str,
    source: str,
    entry_points: EntryPoints,
    requires: Mapping[str, Sequence[str]] | None = None,
) -> Package:
    """Write a package of one module into a folder.

    Args:
        folder: New or existing; what is put on PYTHONPATH.
        module: Name of its module; the distribution has the same, with hyphens.
        source: Python of the module.
        entry_points: Entries by group.
        requires: Names of distributions that each of its extras needs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir()
    metadata = ["Metadata-Version: 2.1", f"Name: {module.replace('_', '-')}", "Version: 1.2"]
    for extra, names in (requires or {}).items():
        metadata += [f"Provides-Extra: {extra}", *(f'Requires-Dist: {name}; extra == "{extra}"' for name in names)]
    groups = [
        "\n".join((f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())))
        for group, entries in entry_points.items()
    ]
    for name, text in (("METADATA", metadata), ("INSTALLER", ["pip"]), ("entry_points.txt", groups)):
        (info / name).write_text("\n".join((*text, "")), encoding="utf-8")
    return Package(folder, entry_points)


def install_guide(folder: Path, guide: str) -> Package:
    """A package as a page of docs/guides says: its example, and the entries that it shows.

    Args:
        folder: New or existing; what is put on PYTHONPATH.
        guide: Name of the page, e.g. "policy".
    """
    page = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    entries: EntryPoints = tomllib.loads(block)["project"]["entry-points"]
    (module,) = {target.partition(":")[0] for group in entries.values() for target in group.values()}
    example = re.findall(r"\]\(\.\./\.\./examples/(\w+\.py)\)", page)[0]
    return install(folder, module, (ROOT / "examples" / example).read_text(encoding="utf-8"), entries)


def promised(guide: str) -> str:
    """The files that docs/guides/README.md says are needed for what a guide adds, e.g. "1 file, 1 line"."""
    table = (GUIDES / "README.md").read_text(encoding="utf-8")
    (cell,) = re.findall(rf"^\| [^|]+ \| ([^|]+) \| \[{guide}\]\({guide}\.md\) \|$", table, re.MULTILINE)
    return str(cell)
