"""The products of the simulated world, as bodies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from sim.objects.asset import ObjectAsset
from sim.objects.primitives import PrimitiveAsset
from sim.objects.products import PRODUCTS
from sim.scene.scenes import PlacedObject
from tool_nodes.catalogue import load_catalogue
from tool_nodes.motion.robot_model import load_robot

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


@by_name
def test_the_built_item_fills_its_stated_size(item: ObjectAsset) -> None:
    points = item.hull_points
    assert len(points) <= 120
    assert np.ptp(points, axis=0) == pytest.approx(item.size_m, abs=5e-4)
    assert (points.max(axis=0) + points.min(axis=0)) / 2 == pytest.approx(np.zeros(3), abs=5e-4)


def test_only_transparent_things_can_be_seen_through() -> None:
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
