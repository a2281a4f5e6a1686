"""`make mutants`: runs mutmut as pyproject.toml says, and prints its results as a table.

As a pytest plugin it lets those tests of a mutant run first that are soonest over: most mutants die of a quick one.
Of properties it tries 30 examples, and of a failing one no smaller example.
"""

import argparse
import gc
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import _lru_cache_wrapper
from pathlib import Path

import pytest
from hypothesis import Phase, settings

RESULTS = Path("mutants")
"""mutmut's folder in the repository's root. A run goes on where the one before it was stopped."""

VERDICTS = {
    None: "not run",
    2: "not run",
    0: "survived",
    1: "killed",
    3: "killed",
    33: "not reached",
    36: "killed",
    -24: "killed",
}
"""Of mutmut's exit codes. A mutant that runs into its time limit (36, -24) is killed: without it, the tests end."""


_MUTMUT = """
import mutmut.__main__ as program
from mutmut.mutation import file_mutation
from mutmut.utils import format_utils

def named(path, function, named=format_utils.get_mutant_name):
    name = named(path, function)
    return name if name.startswith("toolhand.") else f"toolhand.{name}"

program.get_mutant_name = file_mutation.get_mutant_name = format_utils.get_mutant_name = named
"""
"""Lets mutmut name modules after their files: `sim/world.py` is toolhand.sim.world."""

_GENERATE = """
program.set_mutant_under_test("mutant_generation")
program.makedirs("mutants", exist_ok=True)
program.copy_src_dir()
program.copy_also_copy_files()
program.setup_source_paths()
program.create_mutants(1)
"""
"""What `mutmut run` begins with, and has no command for."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Import the mutants' folders, not those of the editable installation, also in conftest.py."""
    import toolhand

    toolhand.__path__.append(str(Path.cwd()))


def pytest_sessionstart() -> None:
    """After the profile of `tests/conftest.py`. What this process has computed without a mutant is forgotten."""
    gc.unfreeze()  # tests/tiers.py hides what is there from the collector
    for kept in gc.get_objects():
        if isinstance(kept, _lru_cache_wrapper) and str(kept.__module__).startswith("toolhand."):
            kept.cache_clear()
    settings.register_profile("mutants", settings(phases=[Phase.explicit, Phase.generate], max_examples=30))
    settings.load_profile("mutants")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files by their durations, and so the tests of each, as mutmut measured them."""
    try:
        durations: dict[str, float] = json.loads(Path("mutmut-stats.json").read_text())["duration_by_test"]
    except FileNotFoundError:
        return  # this is the run that measures
    files: Counter[str] = Counter()
    for item in items:
        files[str(item.path)] += durations.get(item.nodeid, 0.0)  # type: ignore[assignment]
    items.sort(key=lambda item: (files[str(item.path)], str(item.path), durations.get(item.nodeid, 0.0)))


def verdicts() -> dict[Path, dict[str, str]]:
    """Of each module's mutants by name; a mutant whose process broke is "suspicious"."""
    found = {}
    for file in sorted(RESULTS.rglob("*.py.meta")):
        codes: dict[str, int | None] = json.loads(file.read_text())["exit_code_by_key"]
        if codes:
            module = file.relative_to(RESULTS).with_suffix("")
            found[module] = {name: VERDICTS.get(code, "suspicious") for name, code in codes.items()}
    return found


def table() -> str:
    """A line of Markdown for each module, and one for all."""
    columns = ("killed", "survived", "not reached", "suspicious", "not run")
    lines = [f"| module | mutants | {' | '.join(columns)} | killed of those run |", "|---" * (len(columns) + 3) + "|"]
    total: Counter[str] = Counter()
    counts = [(str(module), Counter(names.values())) for module, names in verdicts().items()]
    for _, count in counts:
        total += count
    for name, count in [*counts, ("all", total)]:
        run = count.total() - count["not run"]
        share = f"{100 * count['killed'] / run:.1f} %" if run else "-"
        lines.append(f"| {name} | {count.total()} | {' | '.join(str(count[c]) for c in columns)} | {share} |")
    return "\n".join(lines)


def mutmut(then: str, *arguments: str) -> int:
    """Run mutmut's command line, or other code that knows it as `program`."""
    return subprocess.run([sys.executable, "-c", _MUTMUT + then, *arguments]).returncode


def sample(size: int, seed: int, places: Sequence[str]) -> list[str]:
    """So many mutants of each module, drawn by a seed; of all, or of those in some files and folders."""
    mutmut(_GENERATE)
    return [
        name
        for module, names in verdicts().items()
        if not places or any(module.is_relative_to(place) for place in places)
        for name in random.Random(f"{seed} {module}").sample(sorted(names), min(size, len(names)))
    ]


def main() -> int:
    """Run what has not been run, with `--again` what was not killed, with `--sample` some, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="run those again that were not killed: after a new test")
    parser.add_argument("--sample", type=int, metavar="N", help="run N of each module, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", nargs="+", default=[], metavar="PATH", help="files or folders that --sample draws from")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--jobs", default="1", help="processes")
    options = parser.parse_args()
    names = [name for found in verdicts().values() for name, verdict in found.items() if verdict != "killed"]
    if options.table:
        status = 0
    elif options.again and not names:
        print("All were killed.")
        status = 0
    else:
        # mutmut measures only new tests: a changed function would keep those that reached it before.
        (RESULTS / "mutmut-stats.json").unlink(missing_ok=True)
        chosen = sample(options.sample, options.seed, options.of) if options.sample else names if options.again else []
        status = mutmut("program.cli()", "run", "--max-children", options.jobs, *chosen)
    print(table())
    return status


if __name__ == "__main__":
    sys.exit(main())
