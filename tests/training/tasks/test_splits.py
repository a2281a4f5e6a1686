"""Three splits that share no layout, no product and no wording."""

import re

import pytest

from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.results import ToolError
from toolhand.training.tasks.kinds import TASK_KINDS, make_task
from toolhand.training.tasks.maps import PLACES
from toolhand.training.tasks.sayings import wordings_of
from toolhand.training.tasks.splits import (
    HELD_OUT,
    SPLITS,
    layout_of,
    products_of,
    split_named,
    split_of_layout,
)

SEEDS = (21,)


@pytest.fixture(scope="module")
def tasks():
    """Tasks of every kind of every split: (split, task)."""
    return [(split, make_task(kind, seed, split)) for kind in TASK_KINDS for split in SPLITS for seed in SEEDS]


def test_no_table_has_a_product_that_is_held_out_for_another_split(tasks):
    for split, task in tasks:
        items = {placed.item for placed in task.scene.objects}
        foreign = {name for other in SPLITS if other != split for name in HELD_OUT.get(other, ())}
        assert not items & foreign, (split, task.kind)
        if not task.kind.startswith("map_"):  # whose lines have colours: "the orange line"
            assert not any(re.search(rf"\bthe {name}\b", task.text) for name in foreign), task.text


def test_every_held_out_task_asks_about_something_of_its_own(tasks):
    for split, task in tasks:
        own = set(PLACES[split]) if task.kind.startswith("map") else set(products_of(split))
        assert own & set(task.asked), (split, task.kind, task.asked)


def test_layouts_of_the_splits_are_apart(tasks):
    layouts = {split: {task.layout for own, task in tasks if own == split} for split in SPLITS}
    for split in SPLITS:
        assert {split_of_layout(layout) for layout in layouts[split]} == {split}
    for task in (task for _, task in tasks if task.scene.objects):
        assert task.layout == layout_of(task.scene.objects)


def test_each_task_is_said_in_the_words_of_its_split(tasks):
    for split, task in tasks:
        assert any(
            re.search(_loosely(wording), task.text, re.IGNORECASE) for wording in wordings_of(task.kind, split)
        ), (
            task.kind,
            task.text,
        )


def _loosely(wording):
    """A pattern of a wording with anything in its blanks and choices."""
    return re.sub(r"\\\{\w+\\\}|\\\[.*?\\\]", ".+", re.escape(wording.rstrip(".?")))


def test_products_of_the_splits_are_apart_and_known():
    parts = [set(products_of(split)) for split in SPLITS]
    assert not parts[0] & parts[1]
    assert not parts[0] & parts[2]
    assert not parts[1] & parts[2]
    assert set.union(*parts) == set(load_catalogue())
    assert all(set(HELD_OUT[split]) == set(products_of(split)) for split in SPLITS[1:])


def test_names_of_stations_are_apart():
    assert len({name for names in PLACES.values() for name in names}) == sum(map(len, PLACES.values()))


def test_an_unknown_split_is_told_with_those_that_there_are():
    with pytest.raises(ToolError, match="There is no split 'dev', only train, validation, test"):
        split_named("dev")
