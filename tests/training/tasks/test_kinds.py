"""Tasks by kind: made, written down, balanced, and with one meaning a sentence."""

import pickle
from collections import Counter

import numpy as np
import pytest

from tests.training.conftest import SEED
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.tasks.kinds import TASK_KINDS, make_task, task_document, task_from_document
from toolhand.training.tasks.question import QuestionTask
from toolhand.training.tasks.splits import SPLITS

DRAWN = ("map_route", "map_stations", "small_print")


@pytest.mark.parametrize("kind", TASK_KINDS)
def test_a_document_makes_the_same_task_again(tasks, kind):
    task = tasks[kind]
    again = task_from_document(task_document(kind, SEED))
    assert again == task
    assert again.text == task.text
    assert task.goal
    assert task.text.strip()
    assert (task.kind, task.seed, task.split) == (kind, SEED, "train")


def test_other_seeds_and_splits_are_other_tasks():
    tasks = [make_task("small_print", seed, split) for seed in range(5) for split in SPLITS]
    assert len({(task.text, task.truth) for task in tasks}) == len(tasks)


@pytest.mark.parametrize("kind", DRAWN)
def test_a_pickled_question_is_the_same(tasks, kind):
    twin = pickle.loads(pickle.dumps(tasks[kind]))
    assert twin == tasks[kind]


def test_the_same_drawing_is_drawn_each_time(tasks):
    first, second = (task.drawing() for task in (tasks["map_route"], make_task("map_route", SEED)))
    assert np.array_equal(first.rgb, second.rgb)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (task_document("juggle", 1), "There is no task 'juggle': it must be absent or box or "),
        (task_document("depth", -1), "must be a whole number from 0"),
        (task_document("depth", 1.5), "must be a whole number from 0"),
        (task_document("depth", True), "must be a whole number from 0"),
        (task_document("depth", 1, "exam"), "There is no split 'exam', only train, validation, test."),
        ({"kind": "depth", "seed": 1}, "exactly the keys kind, seed, split and version"),
        ({"kind": "depth", "seed": 1, "split": "train"}, "of version 1 of the task generator; version 3 makes other"),
        (task_document("depth", 1) | {"version": 4}, "of version 4 of the task generator; version 3 makes other"),
    ],
)
def test_what_is_no_task_is_told_in_a_sentence(document, told):
    with pytest.raises(ToolError, match=told) as caught:
        task_from_document(document)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def even(counts: Counter, options: int) -> bool:
    """Whether draws are as even as chance leaves them: chi square below its 99.9 % quantile."""
    expected = sum(counts.values()) / options
    statistic = sum((counts.get(option, 0) - expected) ** 2 / expected for option in counts)
    statistic += (options - len(counts)) * expected
    return statistic < {2: 10.83, 4: 16.27}[options]


@pytest.mark.parametrize(("kind", "options"), [("depth", 2), ("yes_no", 2), ("choice", 4), ("count", 4)])
def test_answers_are_as_frequent_as_each_other(kind, options, monkeypatch):
    # Which answer a seed has is drawn before any scene, and no scene can be refused for it: the scenes are left out.
    fates, made = [], make_task("small_print", 0)

    def taken(rng, seed, split, fate):
        fates.append(fate)
        return made

    monkeypatch.setattr(registry, "load", lambda group, name: taken)
    for seed in range(200):
        make_task(kind, seed)
    assert even(Counter(int(fate * options) for fate in fates), options)
    assert not even(Counter({0: 150, 1: 50} if options == 2 else {0: 90, 1: 50, 2: 40, 3: 20}), options)


@pytest.mark.parametrize(
    ("kind", "answers"), [("depth", "AB"), ("choice", "ABCD"), ("count", (1, 2, 3, 4)), ("yes_no", ("yes", "no"))]
)
def test_the_fate_of_a_seed_is_its_answer(kind, answers):
    for k, answer in enumerate(answers):
        fate = (k + 0.5) / len(answers)
        for attempt in range(60):
            task = registry.load("task", kind)(np.random.default_rng([k, attempt]), 0, "train", fate)
            if task is not None:
                break
        assert isinstance(task, QuestionTask)
        assert task.truth == answer
