from __future__ import annotations

from itertools import combinations
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from sim.scene.objects import add_object, cavity, hull_points
from sim.scene.scenes import PlacedObject
from sim.scene.shapes import item_parts
from tool_nodes.catalogue import GRIP_WIDTH_M, CatalogueItem, load_catalogue, nearest_names
from tool_nodes.results import ErrorCode, ToolError

CATALOGUE = load_catalogue()
ITEMS = list(CATALOGUE.values())
by_name = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)

GOOD = """
- {name: red box, kind: box, size_m: [0.06, 0.09, 0.08], mass_kg: 0.1, colour: red, rgb: [200, 30, 30],
   synonyms: [], categories: [], attributes: [rigid]}
"""


def test_there_are_at_least_forty_items_of_twelve_kinds() -> None:
    assert len(ITEMS) >= 40
    assert len({item.kind for item in ITEMS}) >= 12


def test_the_paper_s_things_are_in_the_catalogue() -> None:
    names = {"coconut water", "pineapple juice", "hot dog", "black bin", "transparent bin", "cinnamon", "rice box"}
    assert names | {"hot sauce", "pony", "red box", "tennis ball tube", "teddy bear", "bunny"} <= set(CATALOGUE)
    assert sum("condiment" in item.categories for item in ITEMS) >= 4
    assert sum(item.kind == "plush" for item in ITEMS) >= 2
    assert any(item.colour == "dark blue" for item in ITEMS)
    assert any(item.colour == "purple" and "drink" in item.categories for item in ITEMS)


def test_everything_but_containers_fits_between_the_jaws() -> None:
    for item in ITEMS:
        assert item.graspable != item.container
        if item.graspable:
            assert GRIP_WIDTH_M[0] < min(item.size_m[:2]) < GRIP_WIDTH_M[1]


def test_no_two_items_differ_in_name_only() -> None:
    for a, b in combinations(ITEMS, 2):
        colour = np.abs(np.subtract(a.rgb, b.rgb)).max()
        size = np.abs(np.subtract(a.size_m, b.size_m)).max()
        second = np.abs(np.subtract(a.secondary_rgb or a.rgb, b.secondary_rgb or b.rgb)).max()
        assert a.shape != b.shape or colour > 30 or size > 0.015 or second > 60, (a.name, b.name)


def test_tall_things_are_called_tall_and_no_others() -> None:
    for item in ITEMS:
        assert ("tall" in item.attributes) == (item.size_m[2] >= 0.15), item.name


def test_a_misspelt_name_finds_its_neighbours() -> None:
    assert '"red box"' in nearest_names("red bx", CATALOGUE)
    assert '"black bin"' in nearest_names("bin", CATALOGUE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: box, ", "", "kind is missing"),
        ("kind: box", "weight: 3, kind: box", "weight is not a field"),
        ("0.06,", "0.08,", "narrower side of a graspable item must lie between 0.015 and 0.072"),
        ("0.08]", "0.3]", "height must lie between 0.03 and 0.2"),
        ("0.06, 0.09, 0.08", "0.06, 0.09", "three numbers"),
        ("mass_kg: 0.1", "mass_kg: .nan", "mass_kg must lie between 0.03 and 0.5"),
        ("mass_kg: 0.1", "mass_kg: true", "mass_kg must lie between 0.03 and 0.5"),
        ("[200, 30, 30]", "[200, 30, 300]", "whole numbers from 0 to 255"),
        ("name: red box", "name: Red Box", "lower-case"),
        ("synonyms: []", "synonyms: box", "list of lower-case texts"),
        ("kind: box", "container: maybe, kind: box", "true or false"),
        ("kind: box", "secondary: {part: cap}, kind: box", "part, colour and rgb"),
    ],
)
def test_a_wrong_item_is_refused_in_one_clear_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "shop.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ToolError) as caught:
        load_catalogue(path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in str(caught.value)
    assert str(caught.value).startswith("shop.yaml, item 1")


@pytest.mark.parametrize("text", ["", "a: 1", "- 3", "[1", GOOD + GOOD])
def test_a_file_that_is_no_list_of_items_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text)
    with pytest.raises(ToolError, match=r"shop\.yaml"):
        load_catalogue(path)


@by_name
def test_the_built_item_fills_its_stated_size(item: CatalogueItem) -> None:
    points = hull_points(item.name)
    assert len(points) <= 120
    assert np.ptp(points, axis=0) == pytest.approx(item.size_m, abs=5e-4)
    assert (points.max(axis=0) + points.min(axis=0)) / 2 == pytest.approx(np.zeros(3), abs=5e-4)


def test_only_transparent_things_can_be_seen_through() -> None:
    for item in ITEMS:
        clear = "transparent" in item.attributes
        assert any(part.alpha < 1 for part in item_parts(item.name)) == clear, item.name


def test_bins_take_a_held_seven_centimetre_object() -> None:
    for item in ITEMS:
        inside = cavity(item)
        if item.container:
            assert inside is not None
            assert min(inside.half_extents_m) > 0.06
            assert inside.contains(np.array([0.04, 0.04]))
            assert not inside.contains(np.array([0.1, 0.0]))


@pytest.fixture(scope="module")
def settled() -> tuple[mujoco.MjModel, NDArray[np.float64], NDArray[np.float64]]:
    """Every item on a plane for half a second: the model, how far each moved [m], how far each tilted [rad]."""
    spec = mujoco.MjSpec()
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    rng = np.random.default_rng(0)
    for index, item in enumerate(ITEMS):
        at = (0.3 * (index % 8), 0.3 * (index // 8), item.size_m[2] / 2)
        add_object(spec, PlacedObject(f"thing_{index}", item.name, at, rng.uniform(-np.pi, np.pi)), index)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start = data.xpos[1:].copy()
    for _ in range(round(0.5 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    tilt = np.arccos(np.clip(data.xmat[1:, 8], -1, 1))
    return model, np.linalg.norm(data.xpos[1:] - start, axis=1), tilt


def test_every_item_stands_where_it_is_put(
    settled: tuple[mujoco.MjModel, NDArray[np.float64], NDArray[np.float64]],
) -> None:
    model, moved, tilt = settled
    for index, item in enumerate(ITEMS):
        assert moved[index] < 0.003, item.name
        assert tilt[index] < np.radians(2), item.name
        assert model.body_mass[index + 1] == pytest.approx(item.mass_kg)


def test_labels_are_seen_but_not_touched(
    settled: tuple[mujoco.MjModel, NDArray[np.float64], NDArray[np.float64]],
) -> None:
    model = settled[0]
    labels = model.geom_group == 1
    assert labels.any()
    assert (model.geom_contype[labels] == 0).all()
    assert (model.geom_conaffinity[labels] == 0).all()
    assert (model.geom_contype[~labels] == 1).all()
