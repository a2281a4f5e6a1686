import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import toolhand.sim.scene.scenes
from tests.refusals import refused
from tests.sim.scene.free_sides import free_side
from toolhand.sim.scene.files import load_scene, named_scene, parse_scene, scene_document, scene_yaml, valid_object_id
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import (
    FREE_CLEARANCE,
    FREE_GAP,
    FREE_RADIUS,
    MIN_GAP,
    SIDES,
    PlacedObject,
    Scene,
    distances,
    footprint,
    gap,
    object_ids,
)
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.predicates import judge_pick
from toolhand.sim.world import World
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.workspace import within_reach

EXAMPLE = Path(toolhand.sim.scene.scenes.__file__).with_name("example_scene.yaml")


def square(x: float, y: float, half: float = 0.05) -> np.ndarray:
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return corners * half + [x, y]


def test_the_gap_between_two_squares_is_the_distance_of_their_edges_or_corners() -> None:
    assert gap(square(0, 0), square(0.3, 0)) == pytest.approx(0.2)
    assert gap(square(0, 0), square(0.3, 0.4)) == pytest.approx(np.hypot(0.2, 0.3))
    assert gap(square(0, 0), square(0.08, 0)) <= 0
    assert gap(square(0, 0), square(0, 0, 0.01)) <= 0


def test_distances_are_zero_inside_and_euclidean_outside() -> None:
    points = np.array([[0, 0], [0.15, 0], [0.08, 0.09]])
    assert distances(points, square(0, 0)) == pytest.approx([0, 0.1, np.hypot(0.03, 0.04)])


@pytest.mark.parametrize("seed", range(40))
def test_every_generated_object_can_be_gripped_reached_and_placed_beside(seed: int) -> None:
    scene = generate_scene(seed)
    assert 7 <= len(scene.objects) <= 9
    outlines = {placed.id: footprint(placed) for placed in scene.objects}
    assert len(outlines) == len(scene.objects)
    for a, b in combinations(outlines.values(), 2):
        assert gap(a, b) >= MIN_GAP
    for placed in scene.objects:
        assert within_reach(placed.position_m[:2])
        assert placed.position_m[2] == pytest.approx(placed.asset.size_m[2] / 2)
        if placed.asset.container:
            continue
        assert placed.asset.graspable
        for side, direction in SIDES.items():
            spot = free_side(scene, placed.id, side)
            assert spot is not None, (placed.id, side)
            assert within_reach(spot)
            offset = spot - placed.position_m[:2]
            assert offset @ direction >= np.cos(np.radians(45)) * np.linalg.norm(offset)
            for name, outline in outlines.items():
                clearance = distances(spot[None], outline)[0] - FREE_RADIUS
                if name == placed.id:
                    assert FREE_GAP[0] - 1e-9 <= clearance <= FREE_GAP[1] + 1e-9
                else:
                    assert clearance >= FREE_CLEARANCE - 1e-9


@pytest.mark.parametrize("seed", range(10))
def test_nine_objects_with_a_bin_fit(seed: int) -> None:
    scene = generate_scene(seed, required=["black bin", "bunny", "bunny"], n_objects=9)
    assert [placed.id for placed in scene.objects[:3]] == ["black_bin_1", "bunny_1", "bunny_2"]
    assert len(scene.objects) == 9


def test_a_seed_decides_the_scene() -> None:
    assert generate_scene(3) == generate_scene(3)
    assert generate_scene(3) != generate_scene(4)


def test_forbidden_items_stay_away_whether_named_or_described() -> None:
    for seed in range(8):
        names = {placed.item for placed in generate_scene(seed, forbidden=["bunny", "cola"]).objects}
        assert not names & {"bunny", "cola"}
        kinds = {p.asset.kind for p in generate_scene(seed, forbidden=lambda item: item.kind == "box").objects}
        assert "box" not in kinds


def test_no_tall_object_stands_right_before_a_lower_one() -> None:
    for seed in range(20):
        for rear, front in combinations(generate_scene(seed).objects, 2):
            for low, tall in ((rear, front), (front, rear)):
                if tall.asset.size_m[2] <= max(0.12, low.asset.size_m[2]):
                    continue
                offset = np.subtract(tall.position_m, low.position_m)
                assert not (0 < offset[0] < 0.12 and abs(offset[1]) < 0.02), (tall.id, low.id)


def test_pairs_stand_close_together() -> None:
    for seed in range(5):
        a, b = generate_scene(seed, required=["teddy bear", "bunny"], pair=(0, 1)).objects[:2]
        assert 0.1 <= np.linalg.norm(np.subtract(a.position_m[:2], b.position_m[:2])) <= 0.145


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"required": ["red bx"]}, '"red box"'),
        ({"n_objects": 0}, "from 1 to 9"),
        ({"n_objects": 12}, "from 1 to 9"),
        ({"required": ["bunny"] * 3, "n_objects": 2}, "from 3 to 9"),
        ({"forbidden": lambda item: True}, "0 items are allowed"),
    ],
)
def test_impossible_wishes_are_refused(arguments: dict, said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        generate_scene(0, **arguments)


def beside_a_bin(distance: float) -> Scene:
    """A can with a bin on its left side, its centre that far away."""
    here = PlacedObject("cola_1", "cola", (0.48, 0.0, 0.061), 0.0)
    there = PlacedObject("black_bin_1", "black bin", (0.48, -distance, 0.04), 0.0)
    zero = (0.0, 0.0, 0.0)
    return Scene(0, (here, there), zero, zero, zero, zero, "")


def test_a_side_is_free_until_something_stands_there() -> None:
    free = free_side(beside_a_bin(0.35), "cola_1", "left")
    assert free is not None
    assert free[1] < -0.08
    assert free_side(beside_a_bin(0.14), "cola_1", "left") is None
    assert free_side(beside_a_bin(0.14), "cola_1", "right") is not None


def test_a_side_beyond_reach_is_not_free() -> None:
    zero = (0.0, 0.0, 0.0)
    scene = Scene(0, (PlacedObject("cola_1", "cola", (0.67, 0.0, 0.061), 0.0),), zero, zero, zero, zero, "")
    assert free_side(scene, "cola_1", "front") is None
    assert free_side(scene, "cola_1", "behind") is not None


def test_an_unknown_id_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ToolError, match="cola_1, black_bin_1"):
        free_side(beside_a_bin(0.3), "cola_2", "left")


def test_the_example_scene_loads_and_can_be_worked_in() -> None:
    scene = load_scene(EXAMPLE)
    assert [placed.id for placed in scene.objects[:2]] == ["coconut_water_1", "coconut_water_2"]
    assert all(within_reach(placed.position_m[:2]) for placed in scene.objects)
    assert all(free_side(scene, "rice_box_1", side) is not None for side in SIDES)


def test_the_scene_document_is_plain_json_and_complete() -> None:
    document = json.loads(json.dumps(scene_document(load_scene(EXAMPLE))))
    assert document["seed"] == 1
    first = document["objects"][0]
    assert first["name"] == "coconut water"
    assert first["position_m"] == [0.36, 0.2, 0.07]
    assert first["yaw_deg"] == 10
    assert set(first) == set(
        "id name kind colour synonyms position_m size_m yaw_deg container mass_kg".split()  # noqa: SIM905
    )


def test_objects_may_stand_in_a_bin_or_on_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "objects:\n- {name: black bin, position: [0.5, 0.0]}\n- {name: lemon, position: [0.5, 0.0, 0.031]}\n"
        "- {name: red box, position: [0.5, 0.3]}\n- {name: tuna can, position: [0.5, 0.3, 0.093]}\n"
    )
    assert len(load_scene(path).objects) == 4


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "must be a mapping with the keys objects"),
        ("- 1", 0, "must be a mapping with the keys objects"),
        ("objects:\n- cola\n", 1, "objects[0] must be a mapping with the keys name"),
        ("!!python/object/apply:os.getcwd []", 1, "no plain YAML"),
        ("objects: 3", 1, "objects must be a list of 1 to 100 mappings"),
        ("objects: []", 1, "objects must be a list of 1 to 100 mappings"),
        ("seed: 1\nobjects:\n- {name: cola, position: [0.4, 0.1]\n", 4, "no plain YAML"),
        ("objects:\n- {name: red bx, position: [0.4, 0.1]}", 2, '"red box"'),
        ("objects:\n- {name: 7, position: [0.4, 0.1]}", 2, "objects[0].name must be a text"),
        ("objects:\n- {position: [0.4, 0.1]}", 2, "needs a name"),
        ("objects:\n- {name: cola}", 2, "objects[0].position is missing"),
        ("objects:\n- {name: cola, position: [0.4]}", 2, "2 or 3 finite numbers"),
        ("objects:\n- {name: cola, position: [.nan, 0.1]}", 2, "finite"),
        ("objects:\n- {name: cola, position: [.inf, 0.1]}", 2, "finite"),
        ("objects:\n- {name: cola, position: [true, 0.1]}", 2, "finite"),
        ("objects:\n- {name: cola, position: here}", 2, "2 or 3 finite numbers"),
        ("objects:\n- {name: cola, position: [0.9, 0.1]}", 2, "off the table"),
        ("objects:\n- {name: cola, position: [0.4, 0.1, 0.02]}", 2, "from 0.061 to 0.5 m"),
        ("objects:\n- {name: cola, position: [0.4, 0.1], yaw_deg: much}", 2, "yaw_deg must be a finite number"),
        ("objects:\n- {name: cola, position: [0.4, 0.1], id: table}", 2, "id must be"),
        ("objects:\n- {name: cola, position: [0.4, 0.1], id: a b}", 2, "id must be"),
        ("objects:\n- {name: cola, position: [0.4, 0.1], tint: 3}", 2, "there is no key objects[0].tint"),
        ("objects:\n- {name: cola, position: [0.4, 0]}\n- {name: milk, position: [0.42, 0]}", 3, "overlaps cola_1"),
        (
            "objects:\n- {name: cola, position: [0.4, 0], id: a}\n- {name: milk, position: [0.6, 0], id: a}",
            3,
            "used twice",
        ),
        ("seed: -1\nobjects:\n- {name: cola, position: [0.4, 0.1]}", 1, "seed must be a whole number"),
        ("table_rgb: [2, 0, 0]\nobjects:\n- {name: cola, position: [0.4, 0.1]}", 1, "from 0 to 1"),
        ("light: up\nobjects:\n- {name: cola, position: [0.4, 0.1]}", 1, "light must be a list of 3 finite numbers"),
        ("name: 3\nobjects:\n- {name: cola, position: [0.4, 0.1]}", 1, "name must be text"),
    ],
)
def test_a_wrong_scene_file_is_refused_with_file_line_and_what_is_allowed(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    path = tmp_path / "table.yaml"
    path.write_text(text)
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        load_scene(path)
    where = f"table.yaml, line {line}:" if line else "table.yaml:"
    assert str(caught.value).startswith(where), str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"\x00\x01\x02", b"[" * 5000])
def test_a_file_that_is_no_yaml_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.yaml"
    path.write_bytes(content)
    with pytest.raises(ToolError, match=r"table\.yaml"):
        load_scene(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with refused(ErrorCode.INVALID_ARGUMENT, "cannot be read"):
            load_scene(path)


def bomb(key: str, levels: int = 9) -> str:
    """A text of a few hundred bytes whose aliases stand for 10 to the power of `levels` values."""
    lines = [f"a0: &a0 {{{key}: [1]}}"]
    for k in range(1, levels):
        inner = ", ".join([f"*a{k - 1}"] * 10)
        lines.append(f"a{k}: &a{k} {{<<: [{inner}], b: [{inner}]}}" if key == "merged" else f"a{k}: &a{k} [{inner}]")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (bomb("merged"), "merge keys are not allowed"),
        (bomb("listed") + "seed: *a8\nobjects: [{name: cola, position: [0.4, 0.1]}]", "aliases are not allowed"),
        (bomb("listed") + "objects: [*a8]", "aliases are not allowed"),
        ("objects: [{<<: {name: cola}, position: [0.4, 0.1]}]", "merge keys are not allowed"),
        ("objects: " + "[" * 40 + "]" * 40, "nested deeper than 8 levels"),
        ("objects: [" + "1," * 12_000 + "]", "more than 10,000 values"),
        ("objects: [" + "{name: cola, position: [0.4, 0.1]}," * 300 + "]", "objects must be a list of 1 to 100"),
        ("#" * 200_000, "longer than 100,000 bytes"),
        (
            "seed: 1" + "0" * 5000 + "\nobjects: [{name: cola, position: [0.4, 0.1]}]",
            "a number may have 500 characters",
        ),
        ("seed: 1" + "0" * 400 + "\nobjects: [{name: cola, position: [0.4, 0.1]}]", "seed must be a whole number"),
        ("objects: [{name: cola, name: milk, position: [0.4, 0.1]}]", "'name' is given twice"),
        ("objects: [{name: cola, 3: 4}]", "a key must be text"),
        ("objects: [{position: [0.4, 0.1], name: " + "cola " * 15_000 + "}]", "is not in the catalogue"),
        ("objects: [{name: cola, " + "x" * 1000 + ": 3}]", "there is no key objects[0].xxx"),
        ("objects: [[" + "'long text'," * 5000 + "]]", "objects[0] must be a mapping"),
        ("objects: [{name: cola, position: [" + "1," * 5000 + "]}]", "2 or 3 finite numbers"),
        ("name: " + "x" * 300 + "\nobjects: [{name: cola, position: [0.4, 0.1]}]", "at most 200 characters"),
    ],
)
def test_a_scene_that_would_take_all_memory_or_time_is_refused_in_one_short_sentence(text: str, said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        parse_scene(text, "table.yaml")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_name_too_long_for_a_file_is_no_scene() -> None:
    with pytest.raises(ToolError, match="There is no scene"):
        named_scene("x" * 5000)


def test_every_name_of_an_object_makes_an_id_that_is_allowed() -> None:
    names = ["folder/" + "long-" * 30, "folder/" + "long-" * 30, "folder/é 100%", "folder/é-100%", "red box"]
    ids = object_ids(names)
    assert len(set(ids)) == len(names)
    assert all(valid_object_id(name) for name in ids)


def test_an_object_lies_at_any_rotation_and_a_file_gives_it_back_to_the_last_bit() -> None:
    text = (
        "objects:\n- {name: cola, position: [0.4, 0.1], rotvec_deg: [90, 0, 0], yaw_deg: 30}\n"
        "- {name: rice box, position: [0.5, -0.2], quat_wxyz: [2, 0.5, -1, 0.3]}\n"
    )
    scene = parse_scene(text)
    assert parse_scene(scene_yaml(scene)) == scene
    cola, box = scene.objects
    assert cola.position_m[2] == pytest.approx(cola.asset.size_m[0] / 2, abs=1e-3)
    assert np.abs(cola.rotation @ [0, 0, 1])[2] < 1e-9
    assert box.heights[0] == pytest.approx(0.0, abs=1e-9)
    assert footprint(cola).max(axis=0)[0] - footprint(cola).min(axis=0)[0] > 0.06


def test_an_object_in_the_physics_lies_as_its_scene_says() -> None:
    scene = parse_scene("objects: [{name: cola, position: [0.4, 0.1], rotvec_deg: [90, 0, 0], yaw_deg: 30}]")
    state = World(scene).snapshot().objects["cola_1"]
    R = matrix_from_quat_wxyz(state.quat_wxyz)
    assert np.abs(R - scene.objects[0].rotation).max() < 0.02


def test_a_lying_object_is_judged_lifted_when_its_own_height_rises_in_the_hand() -> None:
    scene = parse_scene("objects: [{name: cola, position: [0.4, 0.1], rotvec_deg: [90, 0, 0]}]")
    before = Snapshot(0.0, {"cola_1": state_of(scene, 0.0, frozenset({"table"}))})
    for raised, touching, good in ((0.06, "gripper", True), (0.04, "gripper", False), (0.06, "table", False)):
        held = state_of(scene, raised, frozenset({touching}))
        history = [Snapshot(t, {"cola_1": held}) for t in np.arange(0.0, 2.1, 0.1)]
        assert judge_pick(before, history, ("cola_1",)) is good


def state_of(scene: Scene, raised: float, touching: frozenset[str]) -> ObjectState:
    placed = scene.objects[0]
    position = np.add(placed.position_m, (0.0, 0.0, raised))
    return ObjectState(placed.id, position, placed.quat_wxyz, np.zeros(6), touching)


CUBE = "".join(f"v {x} {y} {z}\n" for x in (-20, 20) for y in (-30, 30) for z in (-40, 40)) + (
    "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


def test_a_scene_file_names_a_mesh_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    (tmp_path / "my mug.obj").write_text(CUBE)
    path = tmp_path / "s.yaml"
    path.write_text(
        "objects: [{mesh: my mug.obj, scale: 0.001, mass: 0.2, position: [0.45, 0.1], rotvec_deg: [0, 90, 0]}]"
    )
    scene = load_scene(path)
    (placed,) = scene.objects
    assert placed.id == "my_mug_1"
    assert placed.asset.size_m == pytest.approx((0.04, 0.06, 0.08))
    assert placed.asset.mass_kg == pytest.approx(0.2)
    assert placed.position_m[2] == pytest.approx(0.02)
    assert parse_scene(scene_yaml(scene)) == scene


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("mesh: none.obj", "mesh must name a file of"),
        ("mesh: 3", "mesh must be a text"),
        ("mesh: none.obj, name: cola", "and no name"),
        ("name: cola, scale: 2", "scale belongs to an object that has mesh"),
        ("mesh: none.obj, up: w", "up must be one of"),
        ("mesh: none.obj, scale: 0", "scale must be a finite number"),
        ("name: cola, quat_wxyz: [0, 0, 0, 0]", "quat_wxyz must be a rotation"),
        ("name: cola, quat_wxyz: [1, 0, 0]", "quat_wxyz must be a rotation"),
        ("name: cola, quat_wxyz: [1, 0, 0, 0], rotvec_deg: [0, 0, 0]", "give one of them"),
    ],
)
def test_wrong_meshes_and_rotations_are_one_sentence(row: str, said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        parse_scene(f"objects: [{{{row}, position: [0.45, 0.1]}}]")
