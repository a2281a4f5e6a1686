from collections import Counter
from functools import cache

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import free_spot, furthest
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import RELATIONS
from toolhand.sim.tasks.sentences import PAPER_SENTENCES
from toolhand.sim.tasks.tasks import CATEGORIES, GeneratedTask, paper_task, random_task
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.workspace import within_reach

CAMERA = np.array([0.98, 0.0, 0.88])
SEEDS = range(3)
PAPER = range(20)
RANDOM = range(40)


@cache
def paper(index: int, seed: int) -> GeneratedTask:
    return paper_task(index, seed)


@cache
def random(seed: int) -> GeneratedTask:
    return random_task(seed)


def target(task: GeneratedTask) -> PlacedObject:
    return task.scene.find(task.target_ids[0])


def same_item(task: GeneratedTask) -> list[PlacedObject]:
    return [placed for placed in task.scene.objects if placed.item == target(task).item]


def test_the_twenty_sentences_are_the_paper_s() -> None:
    assert len(PAPER_SENTENCES) == 20
    assert PAPER_SENTENCES[0] == "Pick up the dark blue object"
    assert PAPER_SENTENCES[8] == "Pick up the coconut water that is closer to the camera"
    assert PAPER_SENTENCES[19] == "Pick up the pony and place it left of the two plushies"


@pytest.mark.parametrize("index", PAPER)
def test_a_paper_task_is_well_formed_in_a_crowded_scene(index: int) -> None:
    for seed in SEEDS:
        task = paper(index, seed)
        assert task.text == PAPER_SENTENCES[index]
        assert task.category == CATEGORIES[0 if index < 7 else 1 if index < 13 else 2]
        assert isinstance(task, PlaceTask) == (index >= 13)
        about = {*task.target_ids, *(task.reference_ids if isinstance(task, PlaceTask) else ())}
        assert len(task.scene.objects) - len(about) >= 6
        assert target(task).asset.graspable


@pytest.mark.parametrize("index", PAPER)
def test_a_paper_task_is_decided_by_its_seed(index: int) -> None:
    assert paper_task(index, 1) == paper(index, 1)
    assert paper(index, 0).scene != paper(index, 1).scene


@pytest.mark.parametrize(
    ("index", "phrase"),
    [(3, "tall cylindrical"), (4, "coconut water"), (5, "plastic bottle"), (6, "red box"), (13, "hot dog")],
)
def test_only_the_target_answers_to_its_description(index: int, phrase: str) -> None:
    for seed in SEEDS:
        meant = [p.id for p in paper(index, seed).scene.objects if sentences.could_mean(phrase, p.asset)]
        assert meant == list(paper(index, seed).target_ids)


def test_exactly_one_object_is_dark_blue() -> None:
    for seed in SEEDS:
        blue = [p.id for p in paper(0, seed).scene.objects if "dark blue" in (p.asset.colour,)]
        assert blue == list(paper(0, seed).target_ids)


def test_soft_and_solid_toy_are_both_there_and_told_apart() -> None:
    for seed in SEEDS:
        for index, meant in ((1, "soft"), (2, "solid")):
            task = paper(index, seed)
            toys = [placed.asset for placed in task.scene.objects if "toy" in placed.asset.categories]
            assert sorted(next(a for a in ("soft", "solid") if a in toy.attributes) for toy in toys) == [
                "soft",
                "solid",
            ]
            assert meant in target(task).asset.attributes


@pytest.mark.parametrize("index", [7, 8, 11, 12])
def test_far_and_near_follow_the_distance_to_the_camera(index: int) -> None:
    for seed in SEEDS:
        task = paper(index, seed)
        both = same_item(task)
        assert len(both) == 2
        distance = {placed.id: np.linalg.norm(placed.position_m - CAMERA) for placed in both}
        wanted = (max if index in (7, 11) else min)(distance, key=lambda name: distance[name])
        assert task.target_ids == (wanted,)
        assert abs(both[0].position_m[0] - both[1].position_m[0]) >= 0.10


@pytest.mark.parametrize("index", [9, 10])
def test_left_and_right_follow_the_camera_s_image(index: int) -> None:
    for seed in SEEDS:
        task = paper(index, seed)
        both = sorted(same_item(task), key=lambda placed: placed.position_m[1])
        assert task.target_ids == (both[0 if index == 9 else 1].id,)
        assert both[1].position_m[1] - both[0].position_m[1] >= 0.10


def test_the_leftmost_condiment_is_left_of_another() -> None:
    for seed in SEEDS:
        task = paper(15, seed)
        condiments = [placed for placed in task.scene.objects if "condiment" in placed.asset.categories]
        assert len(condiments) >= 2
        assert task.target_ids == (min(condiments, key=lambda placed: placed.position_m[1]).id,)


def test_the_two_plushies_stand_together_and_both_are_meant() -> None:
    for seed in SEEDS:
        task = paper(19, seed)
        assert isinstance(task, PlaceTask)
        plush = {placed.id for placed in task.scene.objects if placed.asset.kind == "plush"}
        assert plush == set(task.reference_ids)
        a, b = (task.scene.find(name).position_m for name in task.reference_ids)
        assert np.linalg.norm(np.subtract(a, b)) <= 0.15


@pytest.mark.parametrize("index", range(13, 20))
def test_every_place_has_a_free_reachable_spot(index: int) -> None:
    for seed in SEEDS:
        task = paper(index, seed)
        assert isinstance(task, PlaceTask)
        assert task.relation != "anywhere"
        references = [task.scene.find(name) for name in task.reference_ids]
        spot = free_spot(task.scene.objects, target(task), task.relation, references)
        assert spot is not None
        assert within_reach(spot)


@pytest.mark.parametrize("index", [-1, 20])
def test_a_sentence_that_the_paper_lacks_is_refused(index: int) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "0 to 19"):
        paper_task(index, 0)


def can(name: str, x: float, y: float) -> PlacedObject:
    return PlacedObject(name, "cola", (x, y, 0.061), 0.0)


def test_the_furthest_object_must_be_clearly_the_furthest() -> None:
    a, b = can("a", 0.4, 0.10), can("b", 0.4, -0.10)
    assert furthest([a, b], "left") == b
    assert furthest([a, b], "right") == a
    assert furthest([a, b], "front") is None
    assert furthest([a, can("c", 0.4, 0.02)], "left") is None


def test_random_tasks_cover_every_category_and_differ_in_wording() -> None:
    tasks = [random(seed) for seed in RANDOM]
    assert set(Counter(task.category for task in tasks)) == set(CATEGORIES)
    assert len({task.text for task in tasks}) >= 35
    assert len({task.text.split()[0] for task in tasks}) >= 4
    assert len({task.relation for task in tasks if isinstance(task, PlaceTask)}) >= 5


def test_a_random_task_is_decided_by_its_seed() -> None:
    assert random_task(5) == random(5)
    assert random(5) != random(6)


@pytest.mark.parametrize("seed", RANDOM)
def test_a_random_task_can_be_done(seed: int) -> None:
    task = random(seed)
    assert target(task).asset.graspable
    if not isinstance(task, PlaceTask):
        assert task.category != "pick_and_place"
        return
    assert not set(task.target_ids) & set(task.reference_ids)
    assert task.relation in RELATIONS
    assert task.relation != "anywhere"
    references = [task.scene.find(name) for name in task.reference_ids]
    assert len(references) == (2 if task.relation == "between" else 1)
    assert task.relation != "in" or references[0].asset.container
    assert free_spot(task.scene.objects, target(task), task.relation, references) is not None


def test_what_is_told_from_its_like_by_its_place_is_called_by_its_name_or_kind() -> None:
    relational = [task for task in map(random, RANDOM) if task.category == "relational_pick"]
    assert len(relational) >= 5
    for task in relational:
        product = target(task).asset
        assert product.name in task.text or product.kind in task.text


def test_a_description_counts_only_if_nothing_else_could_be_meant() -> None:
    catalogue = load_catalogue()
    orange, juice, apple = catalogue["orange"], catalogue["orange juice"], catalogue["apple"]
    assert sentences.could_mean("orange", juice)
    assert "orange" not in sentences.unique_descriptions(orange, [orange, juice])
    assert "orange" in sentences.unique_descriptions(orange, [orange, apple])
    assert "fruit" in sentences.unique_descriptions(orange, [orange, juice])


@pytest.mark.parametrize("seed", range(6))
def test_a_task_of_a_named_category_is_of_it_and_the_one_that_would_be_drawn(seed: int) -> None:
    drawn = random_task(seed)
    assert random_task(seed, drawn.category) == drawn
    for category in CATEGORIES:
        assert random_task(seed, category).category == category


def test_a_category_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "must be pick, relational_pick, pick_and_place, got 'juggle'"):
        random_task(0, "juggle")  # type: ignore[arg-type]
