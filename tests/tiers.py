"""Which tests `make check`, `make test` and `make test-whole` run, by what each of them costs.

`tests/costs.txt` has the processor seconds of every module, and below it those of its dear tests; `make costs` measures
and writes them.

    make check         the cheapest modules, as many as CHECK_S pays for
    make test          the cheapest tests, as many as TEST_S pays for, those that are marked as essential, and of every
                       module at least one: its cheapest
    make test-whole    what `make test` leaves out

What has not been measured yet belongs to `make test`. Without `--tier` pytest runs whatever it is given. After a run
stands what it cost, and what cost more than anything else that its tier has.
"""

import bisect
import gc
import resource
import time
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

import pytest

CHECK_S = 30.0
TEST_S = 700.0
"""What all tests of `make check` and of `make test` may cost [s of processor time, child processes included]: on two
cores half as long, beside lint, types and the collection."""

LISTED_S = 0.1
"""A test of a smaller cost has no row of its own and is in `make test`: its own cost, and its share of what is set up
for several tests [s]."""

NOTICED = 2.0
"""What costs so many times the dearest of its tier is reported: the processor time of one test varies by a half."""

REPORTED = 10
"""Most tests that are reported so, the dearest first [-]: what a person reads."""

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("costs.txt")

ON_REQUEST = tuple(Path(__file__).parent / place for place in ("console/browser", "tool_nodes/serve/on_ray"))
"""What needs a browser, or a machine of its own for many minutes, and runs only where it is named: `make test-console`,
`make test-serve`."""


def read_costs(text: str) -> dict[str, float]:
    """What each measured module costs, by its path in the repository, and each of its dear tests, by its id [s]."""
    costs, module = dict[str, float](), ""
    for line in text.splitlines():
        cost, name = line.split(maxsplit=1)
        module = module if line.startswith(" ") else name
        costs[f"{module}::{name}" if line.startswith(" ") else name] = float(cost)
    return costs


def write_costs(costs: Mapping[str, float]) -> str:
    """The table of what modules and tests cost [s], the dearest first."""
    lines = []
    for module in sorted((name for name in costs if "::" not in name), key=lambda name: (-round(costs[name], 1), name)):
        lines.append(f"{costs[module]:.1f} {module}")
        tests = {name.partition("::")[2]: cost for name, cost in costs.items() if name.startswith(f"{module}::")}
        dear = sorted((-round(cost, 1), name) for name, cost in tests.items() if round(cost, 1) > LISTED_S)
        lines += [f"  {-cost:.1f} {name}" for cost, name in dear]
    return "".join(f"{line}\n" for line in lines)


def affordable(costs: Iterable[float], budget_s: float) -> float:
    """The cost of the dearest one, where the cheapest are chosen as long as the budget lasts [s]."""
    dearest = 0.0
    for cost in sorted(costs):
        budget_s -= cost
        if budget_s < 0.0:
            break
        dearest = cost
    return dearest


def brief_cost(costs: Mapping[str, float], dearest: float) -> float:
    """What `make test` costs with tests of up to `dearest`, those aside that are marked as essential [s]."""
    total = 0.0
    tests: dict[str, list[float]] = {}
    for name, cost in costs.items():
        if "::" in name:
            tests.setdefault(_module(name), []).append(cost)
    for module in (name for name in costs if "::" not in name):
        listed = tests.get(module, [])
        unlisted = max(costs[module] - sum(listed), 0.0)
        chosen = [cost for cost in listed if cost <= dearest]
        total += unlisted + (sum(chosen) if chosen or unlisted >= LISTED_S or not listed else min(listed))
    return total


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


COSTS = read_costs(TABLE.read_text(encoding="utf-8"))
_BOUNDS = [LISTED_S, *sorted({cost for name, cost in COSTS.items() if "::" in name})]

DEAREST = {
    "check": affordable([cost for name, cost in COSTS.items() if "::" not in name], CHECK_S),
    "test": _BOUNDS[max(bisect.bisect(_BOUNDS, TEST_S, key=lambda bound: brief_cost(COSTS, bound)) - 1, 0)],
}
"""The largest cost of a module in `make check` and of a test in `make test` [s]."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--tier` is for the Makefile, `--record-costs` for `make costs`."""
    parser.addoption("--tier", choices=("check", "test", "whole"), help="run what this command may cost")
    parser.addoption("--record-costs", action="store_true", help="write what whole modules cost to tests/costs.txt")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave a module out before it is imported: True is yes, None asks the next in line."""
    if collection_path in ON_REQUEST:
        named = [config.invocation_params.dir / arg.split("::")[0] for arg in config.args]
        return None if any(path.is_relative_to(collection_path) for path in named) else True
    if not collection_path.name.startswith("test_"):
        return None
    cost = COSTS.get(str(collection_path).removeprefix(f"{ROOT}/"))
    tier = config.getoption("--tier")
    wanted = {"check": cost is not None and cost <= DEAREST["check"], "whole": (cost or 0.0) > DEAREST["test"]}
    return None if wanted.get(tier, True) else True


def in_brief(tests: list[pytest.Item]) -> list[pytest.Item]:
    """Those tests of a module that `make test` runs."""

    def cost(test: pytest.Item) -> float:
        return COSTS.get(test.nodeid, 0.0)

    chosen = [test for test in tests if test.get_closest_marker("essential") or cost(test) <= DEAREST["test"]]
    return chosen or [min(tests, key=cost)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of a tier, and begin with the dearest modules: begun last they keep one worker for long."""
    modules: dict[str, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(_module(item.nodeid), []).append(item)
    costs, tier = Counter[str](), config.getoption("--tier")
    for module, tests in modules.items():
        brief = in_brief(tests) if tier in ("test", "whole") else tests
        modules[module] = brief if tier != "whole" else [test for test in tests if test not in brief]
        left = {test.nodeid for test in tests} - {test.nodeid for test in modules[module]}
        cost = COSTS.get(module, 0.0) - sum(COSTS.get(name, 0.0) for name in left)
        costs[module] = round(cost, 1)  # the same in every worker, whatever the order of that sum
    kept = [test for module, _ in costs.most_common() for test in modules[module]]
    if left_out := set(items) - set(kept):
        config.hook.pytest_deselected(items=list(left_out))
    items[:] = kept


def pytest_collection() -> None:
    """All modules and 17,000 tests stay to the end: there is nothing to be collected among them."""
    gc.disable()


def pytest_collection_finish() -> None:
    """No later collection of garbage looks through them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


# -- what a run costs ------------------------------------------------------------------------------


def _processor_s() -> float:
    """Processor time of this process, and of those children that have ended [s]."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Spent:
    """Processor time of the tests of this run [s].

    What is set up for several tests of a module is shared in equal parts by those that use it, and what is taken down
    after the last one by all of them.
    """

    def __init__(self) -> None:
        self.lap_s = 0.0
        self.set_up_s = Counter[str]()
        self._tests: dict[str, Counter[str]] = {}
        self._shared: dict[str, Counter[str]] = {}
        self._fixtures: dict[str, set[str]] = {}
        self._last_teardown: dict[str, tuple[str, float]] = {}

    def add(self, report: pytest.TestReport) -> None:
        """Add a phase of a test."""
        all_s, shared_s, fixtures = getattr(report, "processor_s", (0.0, {}, []))  # none where a worker died
        module = _module(report.nodeid)
        self._tests.setdefault(module, Counter())[report.nodeid] += all_s - sum(shared_s.values())
        self._shared.setdefault(module, Counter()).update(shared_s)
        self._fixtures.setdefault(report.nodeid, set()).update(fixtures)
        if report.when == "teardown":
            self._last_teardown[module] = report.nodeid, all_s

    def costs(self) -> dict[str, float]:
        """What modules and tests cost, by their ids."""
        found = dict[str, float]()
        for module, tests in self._tests.items():
            last, teardown_s = self._last_teardown.get(module, ("", 0.0))
            shared = self._shared[module]
            users = Counter(name for test in tests for name in self._fixtures[test])
            for test, cost in tests.items():
                own = cost - (teardown_s if test == last else 0.0)
                parts = sum(shared[name] / users[name] for name in self._fixtures[test])
                found[test] = own + parts + teardown_s / len(tests)
            found[module] = tests.total() + shared.total()
        return found


SPENT = Spent()


def pytest_runtest_logstart() -> None:
    """What lies between two tests, such as the collection, is nobody's cost."""
    SPENT.lap_s = _processor_s()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Tell what is set up for several tests from what is set up for one."""
    before = _processor_s()
    try:
        return (yield)
    finally:
        if fixturedef.scope != "function":
            SPENT.set_up_s[fixturedef.argname] += _processor_s() - before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a report say what its phase cost, also when it goes from a worker to the process that writes."""
    report = yield
    now = _processor_s()
    used = {*SPENT.set_up_s, *(item.fixturenames if report.when == "setup" else ())}
    report.processor_s = now - SPENT.lap_s, dict(SPENT.set_up_s), sorted(used)
    SPENT.lap_s = now
    SPENT.set_up_s.clear()
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a phase to its test and its module."""
    SPENT.add(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what the run cost, and what should be cheaper or in another tier."""
    spent, tier = SPENT.costs(), config.getoption("--tier")
    total = sum(cost for name, cost in spent.items() if "::" not in name)
    budget = {"check": f" of {CHECK_S:.0f} s", "test": f" of {TEST_S:.0f} s"}.get(tier, "")
    terminalreporter.write_line(f"{total:.0f} s{budget} of processor time")
    if config.getoption("--record-costs"):
        there = {name: cost for name, cost in COSTS.items() if (ROOT / _module(name)).exists()}
        others = {name: cost for name, cost in there.items() if _module(name) not in spent}
        TABLE.write_text(write_costs(others | spent), encoding="utf-8")
    bound = DEAREST.get(tier, float("inf"))
    dear = [
        (cost, name)
        for name, cost in spent.items()
        if ("::" in name) == (tier == "test") and cost > NOTICED * bound and COSTS.get(name, 0.0) <= bound
    ]
    for cost, name in sorted(dear, reverse=True)[:REPORTED]:
        terminalreporter.write_line(f"{cost:6.1f} s, where others cost up to {bound} s: {name} (make costs)")
