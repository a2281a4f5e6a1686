"""The products of the simulated world, as bodies."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.refusals import refused
from toolhand.sim.objects import products, sets
from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.primitives import BOX, PrimitiveAsset, ShapePart
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.objects.shapes import shaped
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.perception.recognition import Recogniser
from toolhand.tool_nodes.results import ErrorCode, ToolError

ITEMS = list(PRODUCTS.values())
by_name = pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)


def test_everything_but_containers_fits_between_the_jaws() -> None:
    for item in ITEMS:
        assert item.graspable != item.container
        if item.graspable:
            assert 0.015 < min(item.size_m[:2]) < 0.072 < load_robot().gripper.max_width
        assert 0.03 <= item.mass_kg <= 0.5


def test_the_robot_expects_of_the_products_what_they_are() -> None:
    """Two files, which agree for what comes along; either may list what the other does not."""
    for name, known in load_catalogue().items():
        item = PRODUCTS[name]
        assert item.size_m == known.size_m
        assert item.container == known.container
        assert isinstance(item, PrimitiveAsset)
        assert {known.rgb, known.secondary_rgb or known.rgb} <= {part.rgb for part in item.parts}, name


def test_the_world_is_the_same_whatever_the_robot_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "load_catalogue", dict)
    for name, unknown in products._Products().items():
        known = PRODUCTS[name]
        assert model_bytes(unknown) == model_bytes(known), name
        assert np.array_equal(unknown.hull_points, known.hull_points)
        assert (unknown.cavity, unknown.container, unknown.graspable) == (
            known.cavity,
            known.container,
            known.graspable,
        )
        assert unknown.synonyms == ()


def model_bytes(item: ObjectAsset) -> bytes:
    spec = mujoco.MjSpec()
    item.add_geoms(spec, spec.worldbody.add_body(), "thing", grip=1.0, weight=1.0)
    model = spec.compile()
    buffer = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()


def test_the_robot_may_know_what_the_world_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    row = "{name: dragon fruit, kind: fruit, size_m: [0.06, 0.06, 0.08], colour: pink, rgb: [230, 60, 120],"
    path.write_text(f"- {row} synonyms: [], categories: [], attributes: [round]}}\n", encoding="utf-8")
    assert [item.name for item in Recogniser(list(load_catalogue(path).values())).items] == ["dragon fruit"]
    with pytest.raises(ToolError, match='"dragon fruit" is not in the catalogue, the nearest names are'):
        find_asset("dragon fruit")


def test_the_name_of_a_set_has_no_colon() -> None:
    with pytest.raises(ToolError, match="has no colon"):
        find_asset("generated:big/7")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shape": "cube"}, "The shape of 'x' must be one of apple"),
        ({"size_m": (0.0, 0.1, 0.1)}, "size_m of 'x' must be three numbers from 0.001 to 1 m"),
        ({"size_m": (0.1, float("nan"), 0.1)}, "size_m of 'x' must be three numbers from 0.001 to 1 m"),
        ({"mass_kg": -1.0}, "mass_kg of 'x' must be a number from 0.001 to 100 kg"),
    ],
)
def test_a_body_that_nothing_has_is_refused_in_one_sentence(change: dict[str, Any], said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        shaped(**{"name": "x", "shape": "box", "size_m": (0.1, 0.1, 0.1), "mass_kg": 0.1, "rgb": (1, 2, 3)} | change)


def test_parts_beyond_the_stated_size_are_refused_instead_of_cut() -> None:
    part = ShapePart(BOX, (0.05, 0.02, 0.02), (0.02, 0.0, 0.0), (90, 90, 90))
    item = PrimitiveAsset(name="bar", kind="tool", colour="grey", size_m=(0.1, 0.04, 0.04), mass_kg=0.1, parts=(part,))
    with pytest.raises(ToolError, match="solid parts of 'bar' reach out of the box of its size_m"):
        _ = item.hull_points


@pytest.mark.parametrize(
    ("offered", "said"),
    [
        (["mug"], "The object set 'mine' must be a mapping of names to ObjectAsset"),
        ({"mug": "red box"}, '"mug" of the set "mine" must be an ObjectAsset, not a str'),
    ],
)
def test_a_set_of_something_else_is_unavailable(monkeypatch: pytest.MonkeyPatch, offered: object, said: str) -> None:
    sets._installed.cache_clear()
    monkeypatch.setattr(registry, "load", lambda port, name: offered)
    with refused(ErrorCode.UNAVAILABLE, said):
        find_asset("mine/mug")
    sets._installed.cache_clear()


@by_name
def test_the_built_item_fills_its_stated_size(item: ObjectAsset) -> None:
    points = item.hull_points
    assert len(points) <= 120
    assert np.ptp(points, axis=0) == pytest.approx(item.size_m, abs=5e-4)
    assert (points.max(axis=0) + points.min(axis=0)) / 2 == pytest.approx(np.zeros(3), abs=5e-4)


def test_only_transparent_objects_can_be_seen_through() -> None:
    for item in ITEMS:
        clear = "transparent" in item.attributes
        assert isinstance(item, PrimitiveAsset)
        assert any(part.alpha < 1 for part in item.parts) == clear, item.name


def test_bins_take_a_held_seven_centimetre_object() -> None:
    for item in ITEMS:
        inside = item.cavity
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
        PlacedObject(f"thing_{index}", item.name, at, rng.uniform(-np.pi, np.pi)).add_to(spec, index)
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
