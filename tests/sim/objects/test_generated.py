"""Objects that are drawn from a seed: what every one of them is, and that a name means one object."""

import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from toolhand.sim.objects.asset import ABOVE_PADS
from toolhand.sim.objects.generated.families import FAMILIES
from toolhand.sim.objects.generated.objects import FRICTION, GENERATED, LARGE, LARGER, MASS_KG
from toolhand.sim.objects.mesh_asset import MeshAsset
from toolhand.sim.objects.meshes import convex_mesh, joined, mass_properties
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.files import parse_scene, scene_yaml
from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ToolError

SEEDS = range(12)
EVERY = [f"{family}-{seed}" for family in FAMILIES for seed in SEEDS]


def make_object(name: str) -> MeshAsset:
    made = GENERATED[name]
    assert isinstance(made, MeshAsset)
    return made


def add(spec: mujoco.MjSpec, name: str, at: tuple[float, float, float], index: int) -> None:
    PlacedObject(f"thing_{index}", f"generated/{name}", at, 0.0).add_to(spec, index)


def test_a_large_object_is_the_one_of_its_name_but_larger() -> None:
    for name in ("block-1", "mug-3", "17-2"):
        small, large = GENERATED[name], LARGE[name]
        scale = large.size_m[0] / small.size_m[0]
        assert LARGER[0] <= scale <= LARGER[1]
        np.testing.assert_allclose(large.size_m, scale * np.array(small.size_m))
        assert (large.cavity is None) == (small.cavity is None)
        if large.cavity is not None and small.cavity is not None:
            assert large.cavity.rim_z == pytest.approx(scale * small.cavity.rim_z)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_object_of_a_family_is_whole(family: str) -> None:
    for seed in SEEDS:
        made = make_object(f"{family}-{seed}")
        assert made.kind == made.name == family
        assert re.fullmatch(r"[A-Za-z0-9-]+", f"{family}-{seed}")
        assert 1 <= len(made.parts) <= 25
        for part in made.parts:
            assert ConvexHull(part).volume > 1e-8
        corners = np.vstack(made.parts)
        assert (corners.max(axis=0) + corners.min(axis=0)) == pytest.approx(np.zeros(3), abs=1e-9)
        assert np.ptp(corners, axis=0) == pytest.approx(made.size_m)
        assert MASS_KG[0] <= made.mass_kg <= MASS_KG[1]
        assert FRICTION[0] <= made.contact.friction[0] <= FRICTION[1]
        assert (np.linalg.eigvalsh(made.matter.inertia_m2) > 0).all()
        assert (np.abs(made.matter.centre_m) <= np.array(made.size_m) / 2).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_seen_of_an_object_is_what_touches(family: str) -> None:
    for seed in SEEDS:
        made = make_object(f"{family}-{seed}")
        seen = joined([skin.mesh for skin in made.skins])
        assert np.ptp(seen.vertices, axis=0) == pytest.approx(made.size_m, abs=1e-6)
        # Closed, with its faces outwards: its volume is that of the solids, whatever colours it was cut into.
        assert mass_properties(seen).volume_m3 == pytest.approx(made.matter.volume_m3, rel=1e-6)
        assert made.matter.volume_m3 == pytest.approx(
            sum(mass_properties(convex_mesh(part)).volume_m3 for part in made.parts)
        )


def narrowest_of_parts(made: MeshAsset) -> float:
    """Least extent over directions in the plane of the table of any one convex solid [m]."""
    angles = np.arange(0, np.pi, np.pi / 36)
    across = np.stack([np.cos(angles), np.sin(angles)])
    return min(float(np.ptp(part[:, :2] @ across, axis=0).min()) for part in made.parts)


def test_a_hand_can_hold_some_part_of_everything() -> None:
    widest = load_robot().gripper.max_width
    for name in EVERY:
        made = make_object(name)
        assert narrowest_of_parts(made) < widest - 0.003, name
        assert max(made.size_m) < 0.19, name


def test_hollow_objects_are_really_hollow() -> None:
    for family in ("cup", "mug", "bowl", "plate", "tray"):
        for seed in SEEDS:
            made = make_object(f"{family}-{seed}")
            assert made.container
            inside = made.cavity
            assert inside is not None
            middle = np.array([0.0, 0.0, (inside.floor_z + inside.rim_z) / 2])
            for part in made.parts:
                hull = ConvexHull(part)
                assert (hull.equations[:, :3] @ middle + hull.equations[:, 3]).max() > 0.002


@pytest.fixture(scope="module")
def settled() -> tuple[mujoco.MjModel, NDArray[np.float64], NDArray[np.float64], float]:
    """Objects on a plate for a second: the model, how far each moved [m], how much each tilted [rad], their speed."""
    spec = mujoco.MjSpec()
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 1000  # as the robots' simulations have it
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[5, 5, 0.02], pos=[0, 0, -0.02])
    names = [f"{family}-{seed}" for family in FAMILIES for seed in range(4)]
    for index, name in enumerate(names):
        add(spec, name, (0.3 * (index % 10), 0.3 * (index // 10), make_object(name).size_m[2] / 2 + 2e-4), index)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    start, way_up = data.xpos[1:].copy(), data.xmat[1:, 8].copy()
    for _ in range(round(1.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    assert not data.warning.number.any()
    tilt = np.arccos(np.clip(data.xmat[1:, 8] * way_up, -1, 1))
    return model, np.linalg.norm(data.xpos[1:] - start, axis=1), tilt, float(np.abs(data.qvel).max())


def test_everything_rests_where_it_is_put(
    settled: tuple[mujoco.MjModel, NDArray[np.float64], NDArray[np.float64], float],
) -> None:
    model, moved, tilt, speed = settled
    assert speed < 0.1  # m/s or rad/s: a few pebbles still rock
    for body in range(1, model.nbody):
        made = make_object(f"{list(FAMILIES)[(body - 1) // 4]}-{(body - 1) % 4}")
        assert model.body_mass[body] == pytest.approx(made.mass_kg)
        assert moved[body - 1] < 0.012, made.name
        if made.upright:
            assert tilt[body - 1] < np.radians(2), made.name


def test_skins_are_seen_and_solids_touch(
    settled: tuple[mujoco.MjModel, NDArray[np.float64], NDArray[np.float64], float],
) -> None:
    model = settled[0]
    skins, solids = model.geom_group == 1, model.geom_group == 3
    assert skins.any()
    assert solids.sum() + skins.sum() == model.ngeom - 1
    assert not model.geom_contype[skins].any()
    assert not model.geom_conaffinity[skins].any()
    assert (model.geom_contype[solids] == 1).all()
    assert (model.geom_priority[solids] == ABOVE_PADS).all()


def test_a_colour_on_one_triangle_alone_is_drawn() -> None:
    made, spec = make_object("890068-5"), mujoco.MjSpec()
    assert min(len(skin.mesh.faces) for skin in made.skins) == 1
    made.add_geoms(spec, spec.worldbody.add_body(name="it"), "it", 1.0, 1.0)
    assert spec.compile().nmesh == len(made.parts) + len(made.skins)


def test_grip_and_weight_change_friction_and_mass_alone() -> None:
    made, spec = make_object("mug-2"), mujoco.MjSpec()
    made.add_geoms(spec, spec.worldbody.add_body(name="as_it_is"), "a", 1.0, 1.0)
    made.add_geoms(spec, spec.worldbody.add_body(name="changed"), "b", 0.5, 2.0)
    model = spec.compile()
    half = model.ngeom // 2
    assert model.body("changed").mass == pytest.approx(2 * model.body("as_it_is").mass)
    assert model.body("changed").inertia == pytest.approx(2 * model.body("as_it_is").inertia)
    solid = len(made.parts)
    assert model.geom_friction[half : half + solid, 0] == pytest.approx(0.5 * model.geom_friction[:solid, 0])


def test_a_name_gives_the_same_object_in_every_process() -> None:
    code = (
        "import hashlib; from toolhand.sim.objects.generated.objects import GENERATED\n"
        "total = hashlib.sha256()\n"
        "for name in ('17', 'bowl-17', '17-3', 'mug-4-2'):\n"
        "    made = GENERATED[name]\n"
        "    for a in (*made.parts, *(skin.mesh.vertices for skin in made.skins)): total.update(a.tobytes())\n"
        "    total.update(repr((made.mass_kg, made.contact, made.colour, [s.rgb for s in made.skins])).encode())\n"
        "print(total.hexdigest())"
    )
    said = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(said) == 1
    assert len(said.pop()) == 65


def test_the_family_of_a_bare_number_is_drawn_and_can_be_named() -> None:
    made = [make_object(str(seed)) for seed in range(60)]
    assert len({one.name for one in made}) > 15
    for seed, one in enumerate(made):
        assert make_object(f"{one.name}-{seed}").size_m == one.size_m
    assert make_object("17-1").size_m != make_object("17").size_m


def test_some_seeds_give_all_their_objects_one_hue() -> None:
    import colorsys

    def hues(seed: int) -> set[float]:
        skins = [skin for name in GENERATED.drawn(seed, 6) for skin in make_object(name).skins]
        return {round(colorsys.rgb_to_hsv(*skin.rgb)[0], 3) for skin in skins if np.ptp(skin.rgb) > 1e-6}

    alike = [len(hues(seed)) == 1 for seed in range(40)]
    assert 4 < sum(alike) < 22


def test_the_same_colour_is_not_everywhere_on_most_objects() -> None:
    several = [len(make_object(str(seed)).skins) > 1 for seed in range(80)]
    assert 0.6 < np.mean(several) < 0.95


@pytest.mark.parametrize(
    "name", ["", "x", "bowl", "bowl-", "-3", "017", "1.5", "bowl-17-0", "mango-3", "9" * 30, "../17"]
)
def test_what_is_no_seed_is_refused_with_names_that_are(name: str) -> None:
    with pytest.raises(ToolError, match='is not in the set "generated", the nearest names are "'):
        find_asset(f"generated/{name}")


def test_a_scene_of_generated_objects_is_saved_by_their_names() -> None:
    names = GENERATED.drawn(5, 3)
    assert names == ["5", "5-1", "5-2"]
    objects = []
    for k, name in enumerate(f"generated/{name}" for name in names):
        at = (0.45, -0.3 + 0.3 * k, find_asset(name).size_m[2] / 2)
        objects.append(PlacedObject(f"thing_{k}", name, at, 0.3))
    scene = Scene(5, tuple(objects), (0.8, -0.7, 1.9), (0.0,) * 3, (0.0,) * 3, (0.5, 0.5, 0.5), "five")
    assert parse_scene(scene_yaml(scene)) == scene
