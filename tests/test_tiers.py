"""What a test costs decides which command runs it."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import tiers

COSTS = {"tests/a.py": 9.0, "tests/a.py::test_dear[two words]": 5.0, "tests/a.py::test_first": 3.0, "tests/b.py": 0.2}


def item(name: str, *marks: str) -> Any:
    return SimpleNamespace(
        nodeid=f"tests/a.py::{name}", get_closest_marker=lambda mark: mark if mark in marks else None
    )


def phase(test: str, when: str, all_s: float, shared_s: float = 0.0, uses: bool = True) -> Any:
    cost = all_s, {"graph": shared_s}, ["tmp_path", "graph"] if uses else ["tmp_path"]
    return SimpleNamespace(nodeid=f"tests/a.py::{test}", when=when, processor_s=cost)


def test_a_table_is_read_as_it_was_written_and_has_no_row_for_a_cheap_test() -> None:
    assert tiers.read_costs(tiers.write_costs(COSTS | {"tests/a.py::test_cheap": 0.1})) == COSTS


def test_the_cheapest_are_chosen_as_long_as_the_budget_lasts() -> None:
    assert tiers.affordable([5.0, 1.0, 2.0], 3.5) == 2.0
    assert tiers.affordable([5.0, 1.0, 2.0], 99.0) == 5.0
    assert tiers.affordable([5.0], 3.5) == 0.0


@pytest.mark.parametrize(("dearest", "cost"), [(2.0, 1.0 + 0.2), (3.0, 1.0 + 3.0 + 0.2), (5.0, 9.0 + 0.2)])
def test_a_tier_costs_what_its_cheap_tests_do(dearest: float, cost: float) -> None:
    assert tiers.brief_cost(COSTS, dearest) == pytest.approx(cost)


def test_where_no_test_of_a_module_is_cheap_its_cheapest_counts() -> None:
    assert tiers.brief_cost({"tests/a.py": 8.0, "tests/a.py::x": 5.0, "tests/a.py::y": 3.0}, 2.0) == 3.0


def test_in_brief_a_module_has_its_cheap_and_essential_tests_or_else_its_cheapest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiers, "COSTS", COSTS)
    monkeypatch.setitem(tiers.DEAREST, "test", 2.0)
    first, cheap, dear = item("test_first"), item("test_cheap"), item("test_dear[two words]")
    essential = item("test_dear[two words]", "essential")
    assert tiers.in_brief([first, cheap, dear]) == [cheap]
    assert tiers.in_brief([first, cheap, essential]) == [cheap, essential]
    assert tiers.in_brief([dear, first]) == [first]


def test_what_is_set_up_for_several_tests_is_shared_by_those_that_use_it() -> None:
    spent = tiers.Spent()
    for report in (
        phase("test_one", "setup", 4.0, 3.0),
        phase("test_one", "call", 1.0),
        phase("test_one", "teardown", 0.5),
        phase("test_refused", "call", 0.25, uses=False),
        phase("test_refused", "teardown", 0.0, uses=False),
        phase("test_two", "call", 2.0),
        phase("test_two", "teardown", 0.75),
    ):
        spent.add(report)
    assert spent.costs() == {
        "tests/a.py": 8.5,
        "tests/a.py::test_one": 1.0 + 1.0 + 0.5 + 3.0 / 2 + 0.25,
        "tests/a.py::test_refused": 0.25 + 0.25,
        "tests/a.py::test_two": 2.0 + 3.0 / 2 + 0.25,
    }
