import subprocess
import sys

import numpy as np
import pytest

from toolhand.sim.camera.ray import jittered, scene_camera
from toolhand.sim.scene.clutter import CLUTTER, OBJECTS, Clutter, clutter_scene
from toolhand.sim.scene.files import named_scene, parse_scene, scene_yaml
from toolhand.sim.scene.scenes import Scene, footprint, gap
from toolhand.sim.world import World
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.workspace import within_reach

SETS = ("catalogue", "generated")


@pytest.fixture(scope="module")
def scenes() -> dict[Clutter, Scene]:
    return {kind: clutter_scene(kind, 5, SETS) for kind in CLUTTER}


@pytest.mark.parametrize("kind", CLUTTER)
def test_a_scene_of_clutter_is_at_rest_when_the_robot_begins(kind: Clutter, scenes: dict[Clutter, Scene]) -> None:
    world = World(scenes[kind])
    begun = world.snapshot().objects
    world.step(round(1.0 / world.timestep))
    after = world.snapshot().objects
    for placed in scenes[kind].objects:
        start = np.asarray(placed.position_m)
        assert np.linalg.norm(begun[placed.id].position_m - start) < 1e-3
        assert np.linalg.norm(after[placed.id].position_m - start) < 2e-3


@pytest.mark.parametrize("kind", CLUTTER)
def test_all_of_it_is_within_reach_and_in_view(kind: Clutter, scenes: dict[Clutter, Scene]) -> None:
    scene = scenes[kind]
    camera = jittered(scene_camera(), scene)
    for placed in scene.objects:
        pixels = project(transform(invert(camera.T_base_camera), placed.points), camera.K)
        assert (pixels >= 0).all()
        assert (pixels <= np.asarray(camera.size) - 1).all()
        assert within_reach(placed.position_m[:2])


@pytest.mark.parametrize("kind", CLUTTER)
def test_a_file_gives_the_scene_back_to_the_last_bit(kind: Clutter, scenes: dict[Clutter, Scene]) -> None:
    text = scene_yaml(scenes[kind])
    again = parse_scene(text)
    assert again == scenes[kind]
    assert scene_yaml(again) == text


@pytest.mark.parametrize("kind", ["packed", "pile"])
def test_the_same_seed_gives_the_same_bytes_in_another_process(kind: Clutter, scenes: dict[Clutter, Scene]) -> None:
    code = (
        "from toolhand.sim.scene.clutter import clutter_scene; from toolhand.sim.scene.files import scene_yaml; "
        f"print(scene_yaml(clutter_scene({kind!r}, 5, {SETS!r})), end='')"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert other == scene_yaml(scenes[kind])


def test_other_seeds_and_sets_give_other_scenes() -> None:
    assert clutter_scene("single", 1, SETS).objects != clutter_scene("single", 2, SETS).objects
    assert clutter_scene("single", 1, ("catalogue",)).objects != clutter_scene("single", 1, ("generated",)).objects


def test_sets_are_taken_in_turn(scenes: dict[Clutter, Scene]) -> None:
    items = [placed.item for placed in scenes["packed"].objects]
    assert ["/" in item for item in items] == [False, True] * (OBJECTS["packed"] // 2)


def test_a_scene_takes_the_objects_that_an_endless_set_draws_for_its_seed() -> None:
    scene = clutter_scene("packed", 7, ("generated",), 3)
    assert [placed.item for placed in scene.objects] == ["generated/7", "generated/7-1", "generated/7-2"]


@pytest.mark.parametrize("kind", ["packed", "lying"])
def test_objects_stand_two_to_six_centimetres_apart(kind: Clutter) -> None:
    for seed in range(3):
        scene = clutter_scene(kind, seed, SETS)
        outlines = [footprint(placed) for placed in scene.objects]
        for k, outline in enumerate(outlines):
            nearest = min(gap(outline, other) for j, other in enumerate(outlines) if j != k)
            assert nearest > 0.018
            # Where an object was left out, the next one to it is further away.
            assert nearest < 0.062 or len(scene.objects) < OBJECTS[kind]


def test_lying_objects_lie(scenes: dict[Clutter, Scene]) -> None:
    toppled = [placed for placed in scenes["lying"].objects if abs(placed.rotation[2, 2]) < 0.8]
    assert len(toppled) >= len(scenes["lying"].objects) / 2


@pytest.mark.parametrize("kind", ["pile", "bin", "stacked"])
def test_objects_of_a_heap_lie_against_and_on_each_other(kind: Clutter, scenes: dict[Clutter, Scene]) -> None:
    states = World(scenes[kind]).snapshot().objects
    against = [name for name, state in states.items() if state.touching & set(states)]
    assert len(against) >= len(states) / 2
    assert any("table" not in state.touching for state in states.values())


def test_objects_of_a_bin_are_in_it(scenes: dict[Clutter, Scene]) -> None:
    tote, *objects = scenes["bin"].objects
    assert tote.item == "fixtures/bin"
    for placed in objects:
        inside = np.abs(np.subtract(placed.position_m, tote.position_m)[:2])
        assert (inside < np.asarray(tote.asset.size_m[:2]) / 2).all()


def test_objects_of_a_shelf_stand_on_its_boards(scenes: dict[Clutter, Scene]) -> None:
    shelf, *objects = scenes["shelf"].objects
    assert shelf.item == "fixtures/shelf"
    touching = World(scenes["shelf"]).snapshot().objects
    assert all("shelf_1" in touching[placed.id].touching for placed in objects)


def test_more_objects_than_a_generated_scene_has_can_be_asked_for() -> None:
    scene = clutter_scene("pile", 1, SETS, 14)
    assert len(scene.objects) == 14
    assert len({placed.id for placed in scene.objects}) == 14


def test_a_scene_that_has_no_room_for_all_says_how_many_it_has() -> None:
    scene = clutter_scene("shelf", 1, SETS, 30)
    assert len(scene.objects) - 1 < 30
    assert scene.name.endswith(f", {len(scene.objects) - 1} of 30 objects")


def test_clutter_is_named_by_kind_seed_sets_and_number() -> None:
    assert named_scene("packed:17:catalogue+generated:3") == clutter_scene("packed", 17, SETS, 3)
    assert named_scene("single:17:catalogue") == clutter_scene("single", 17, ("catalogue",))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pile:", "KIND:SEED"),
        ("pile:x", "KIND:SEED"),
        ("pile:-1", "KIND:SEED"),
        ("pile:1:catalogue:x", "KIND:SEED"),
        ("pile:1:catalogue:3:4", "KIND:SEED"),
        ("pile", "KIND:SEED"),
        ("pile:1:catalogue:0", "from 1 to 40 objects"),
        ("pile:1:catalogue:41", "from 1 to 40 objects"),
        ("pile:1:catalog", "catalog"),
        ("pile:1:", "object set"),
        ("heap:1", "clutter such as pile:17"),
        ("pile:1:fixtures", "nothing that a hand could grasp"),
    ],
)
def test_a_wrong_name_of_clutter_is_one_sentence(name: str, said: str) -> None:
    with pytest.raises(ToolError) as caught:
        named_scene(name)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message


def test_an_object_that_trembles_on_a_rounded_face_stays() -> None:
    (block,) = clutter_scene("single", 5015).objects
    world = World(clutter_scene("single", 5015))
    world.step(round(1.0 / world.timestep))
    assert np.linalg.norm(world.snapshot().objects[block.id].position_m - np.asarray(block.position_m)) < 1e-3


def test_a_bin_holds_all_objects_that_fit() -> None:
    assert clutter_scene("bin", 6001).name == "bin 6001 of generated"  # it adds how many where some were left out
