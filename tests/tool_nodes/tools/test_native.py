"""The native suite: what one call does is what the single tools do, shown, bounded and said in few words."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.tool_nodes.tools.cell import Cell
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene, parse_scene
from toolhand.sim.station import Station, StationConfig, StationState
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.scene_change import what_became_of
from toolhand.tool_nodes.toolbox.toolbox import Session, printed_schemas
from toolhand.tool_nodes.tools.native.picking import MOST_TRIES, PANEL_PX

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12]}
  - {name: red box, position: [0.50, -0.15]}
"""
SUITES = ("spacetools", "native")
BLOCK, BOX = 2, 1
"""Their marks: numbered from the left of the picture."""


def tokens(schemas: list[dict[str, Any]]) -> float:
    return len(json.dumps(schemas)) / 4


@pytest.fixture(scope="module")
def example() -> Station:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=SUITES))


# -- schemas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suites", "most"), [(("spacetools",), 3000), (("native",), 850)])
def test_short_schemas_cost_few_tokens(suites: tuple[str, ...], most: int) -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=suites))
    assert tokens(printed_schemas(station.toolbox, slim=True)) <= most


def test_short_schemas_say_which_variables_a_call_needs_and_sets(example: Station) -> None:
    short = {schema["function"]["name"]: schema["function"] for schema in printed_schemas(example.toolbox, slim=True)}
    grasp = short["grasp_generator.compute_grasp"]
    assert grasp["description"].endswith("Sets $grasp_pose.")
    assert grasp["parameters"]["properties"]["mask"] == {"type": "string", "description": "$segmentation_mask"}
    assert grasp["parameters"]["required"] == ["point_cloud", "mask"]
    assert "$<obj_name>_detection" in short["roborefer.detect_one"]["description"]
    full = printed_schemas(example.toolbox)
    assert not any("Sets $" in schema["function"]["description"] for schema in full)
    assert all("additionalProperties" in schema["function"]["parameters"] for schema in full)


def test_what_follows_from_the_picture_may_be_left_out(example: Station) -> None:
    session = Session()
    example.toolbox.call("robot.look", {}, session)
    example.toolbox.call("sam2.segment_from_point", {"x": 0.349, "y": 0.545, "image_index": 0}, session)
    clouds = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask"}
    short = example.toolbox.call("grasp_generator.compute_grasp", clouds, session.fork()).result
    full = {**clouds, "focal_length_px": "$focal_length_px", "image_index": 0}
    long = example.toolbox.call("grasp_generator.compute_grasp", full, session.fork()).result
    assert np.array_equal(short.variables["grasp_pose"], long.variables["grasp_pose"])
    lost = example.toolbox.call("grasp_generator.compute_grasp", clouds, Session()).result.error
    assert lost is not None
    assert "$point_cloud, which does not exist; " in lost.message
    assert "$segmentation_mask, which does not exist; sam2.segment_from_point" in lost.message


def test_a_tool_of_two_suites_is_one_with_both_names() -> None:
    for suites, name in ((SUITES, "robot.park"), (("native", "skills", "wrist"), "robot.return_to_park")):
        toolbox = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=suites)).toolbox
        assert toolbox.find("robot.park") is toolbox.find("robot.return_to_park") is toolbox.specs[name]
        assert toolbox.find("robot.release") is toolbox.find("robot.open_gripper")


def test_an_observer_can_look_and_nothing_else() -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=("native",), role="observer"))
    assert list(station.toolbox.specs) == ["robot.look"]


# -- the look -----------------------------------------------------------------------------------------


def test_a_look_numbers_what_stands_on_the_table(example: Station) -> None:
    session = Session()
    result = example.toolbox.call("robot.look", {}, session).result
    assert result.ok
    assert session.marks is not None
    frame = session.marks.frame
    assert len(session.marks.objects) == len(example.scene.objects)
    assert result.image is not None
    assert result.image.shape == frame.rgb.shape
    assert not np.array_equal(result.image, frame.rgb)
    seen = [set(example.object_ids_at(frame, [each.points[0]]) or ()) for each in session.marks.objects]
    assert len(set().union(*seen)) == len(seen)
    assert "too wide for the gripper" in result.text
    assert {"captured_image", "depth_map", "point_cloud", "focal_length_px"} == set(session.variables)
    assert len(result.text) / 4 < 160


def test_an_empty_table_is_shown_as_it_is(cell: Cell) -> None:
    for item in ("toy block", "red box"):
        cell.put(item, 3.0, 3.0, 0.1)
    result = cell.call("robot.look")
    assert cell.session.seen is not None
    assert np.array_equal(result.image, cell.session.seen.rgb)
    assert "No object" in result.text


# -- the pick -----------------------------------------------------------------------------------------


@pytest.fixture
def looked(cell: Cell) -> Cell:
    assert cell.call("robot.look").ok
    return cell


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, ErrorCode.INVALID_ARGUMENT),
        ({"point": [0.5, 0.5], "mark": 1}, ErrorCode.INVALID_ARGUMENT),
        ({"mark": 9}, ErrorCode.INVALID_ARGUMENT),
        ({"mark": 0}, ErrorCode.INVALID_ARGUMENT),
        ({"mask": "$nothing"}, ErrorCode.INVALID_ARGUMENT),
        ({"box": [0.6, 0.2, 0.3, 0.4]}, ErrorCode.INVALID_ARGUMENT),
        ({"point": [266, 240]}, ErrorCode.INVALID_ARGUMENT),
        ({"point": [0.02, 0.98]}, ErrorCode.EMPTY_MASK),
    ],
)
def test_what_is_no_object_is_refused_before_anything_moves(
    looked: Cell, arguments: dict[str, Any], code: ErrorCode
) -> None:
    before = looked.station.arm.state().q
    assert looked.refusal("robot.pick", **arguments).code is code
    assert np.array_equal(looked.station.arm.state().q, before)


def test_a_mask_of_several_marks_is_ambiguous(looked: Cell) -> None:
    marks = looked.session.marks
    assert marks is not None
    looked.session.variables["both"] = marks.objects[0].mask | marks.objects[1].mask
    assert looked.refusal("robot.pick", mask="$both").code is ErrorCode.AMBIGUOUS


def ways(cell: Cell) -> dict[str, Any]:
    """The block in each way that a pick takes."""
    marks = cell.session.marks
    assert marks is not None
    block = marks.objects[BLOCK - 1]
    cell.session.variables["block"] = block.mask
    rows, columns = (np.flatnonzero(block.mask.any(axis=axis)) for axis in (1, 0))
    height, width = block.mask.shape
    box = [columns[0] / width, rows[0] / height, (columns[-1] + 1) / width, (rows[-1] + 1) / height]
    return {"point": list(block.points[0]), "box": [float(v) for v in box], "mark": BLOCK, "mask": "$block"}


def test_every_way_to_name_an_object_takes_the_grasp_of_the_single_calls(
    looked: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment, (x, y) = looked.save(), ways(looked)["point"]
    looked.call("sam2.segment_from_point", x=x, y=y, image_index=1)
    looked.call("grasp_generator.compute_grasp", point_cloud="$point_cloud", mask="$segmentation_mask")
    alone = looked.session.variables["grasp_pose"]
    tried: list[np.ndarray] = []

    def noted(T: np.ndarray, *_: Any) -> Any:
        tried.append(T)
        raise ToolError(ErrorCode.NOT_APPROVED, "Not approved.")

    monkeypatch.setattr(looked.station.manipulator, "grasp", noted)
    for way, value in ways(looked).items():
        looked.restore(moment)
        ways(looked)
        assert looked.refusal("robot.pick", **{way: value}).code is ErrorCode.NOT_APPROVED, way
    assert len(tried) == 4  # and no other grasp after a person said no
    for T in tried:
        assert pytest.approx(looked.T_base_camera @ alone, abs=1e-6) == T


@pytest.fixture(scope="module")
def picked() -> tuple[ToolResult, tuple[StationState, Session]]:
    cell = Cell(parse_scene(SCENE), SUITES)
    cell.call("robot.look")
    result = cell.call("robot.pick", mark=BLOCK, name="toy block")
    return result, cell.save()


def test_a_pick_holds_the_object_and_shows_its_steps(
    cell: Cell, picked: tuple[ToolResult, tuple[StationState, Session]]
) -> None:
    result, moment = picked
    cell.restore(moment)
    assert result.ok, result.text
    assert cell.holds_block
    assert cell.parked
    assert result.facts["grasped"]["called"] == "toy block"
    assert result.facts["grasped"]["seen"] is True
    assert result.image is not None
    height, width, _ = result.image.shape
    assert height == PANEL_PX
    assert 3 * PANEL_PX <= width <= 4 * PANEL_PX
    assert len(result.text) / 4 < 80
    assert cell.station.manipulator.holds() == "toy block"


def test_it_is_placed_at_a_point_and_on_a_mark(
    cell: Cell, picked: tuple[ToolResult, tuple[StationState, Session]]
) -> None:
    _, moment = picked
    for arguments in ({"point": cell.in_image(0.38, -0.05)}, {"mark": BOX}):
        cell.restore(moment)
        result = cell.call("robot.place", **arguments)
        assert result.ok, result.text
        on = bool(cell.block[2] > 0.05)
        assert on is ("mark" in arguments)
        assert result.image is not None
        assert result.image.shape == cell.station.camera.capture().rgb.shape
    assert cell.refusal("robot.place").code is ErrorCode.INVALID_ARGUMENT
    assert cell.refusal("robot.pick", mark=BLOCK).code is ErrorCode.SCENE_CHANGED


def test_a_placement_takes_longer_at_a_share_of_the_speed(
    cell: Cell, picked: tuple[ToolResult, tuple[StationState, Session]]
) -> None:
    took_s = []
    for speed in (1.0, 0.3):
        cell.restore(picked[1])
        began = cell.station.world.time
        assert cell.call("robot.place", point=cell.in_image(0.38, -0.05), speed=speed).ok
        took_s.append(cell.station.world.time - began)
    assert took_s[1] > 1.5 * took_s[0]
    assert cell.refusal("robot.pick", mark=BOX, speed=0.0).code is ErrorCode.INVALID_ARGUMENT


def failing(code: ErrorCode, after: Callable[[], None] = lambda: None) -> Callable[..., Any]:
    def grasp(*_: Any) -> Any:
        after()
        raise ToolError(code, "It failed.")

    return grasp


@pytest.mark.parametrize(
    ("code", "moves", "tries"),
    [
        (ErrorCode.GRIPPER_EMPTY, False, MOST_TRIES),
        (ErrorCode.IK_FAILED, False, MOST_TRIES),
        (ErrorCode.EXECUTION_FAILED, True, 1),
        (ErrorCode.STOPPED, False, 1),
        (ErrorCode.CONTROLLER_FAULT, False, 1),
        (ErrorCode.WRONG_OBJECT, False, 1),
    ],
)
def test_other_grasps_are_tried_where_the_object_still_stands(
    looked: Cell, monkeypatch: pytest.MonkeyPatch, code: ErrorCode, moves: bool, tries: int
) -> None:
    tried: list[np.ndarray] = []

    def grasp(T: np.ndarray, *_: Any) -> Any:
        tried.append(T)
        if moves:
            looked.put("toy block", 0.40, -0.02, 0.0225)
        raise ToolError(code, "It failed.")

    monkeypatch.setattr(looked.station.manipulator, "grasp", grasp)
    result = looked.call("robot.pick", mark=BLOCK)
    assert result.error is not None
    assert result.error.code is code
    assert len(tried) == tries
    assert all(np.abs(one - other).max() > 1e-3 for n, one in enumerate(tried) for other in tried[:n])
    assert (result.image is not None) == (code is not ErrorCode.STOPPED)


def test_a_stop_between_the_steps_ends_a_pick(looked: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[np.ndarray] = []

    def grasp(T: np.ndarray, *_: Any) -> Any:
        tried.append(T)
        looked.station.arm.stop()
        looked.station.arm.reset_stop()
        raise ToolError(ErrorCode.GRIPPER_EMPTY, "It failed.")

    monkeypatch.setattr(looked.station.manipulator, "grasp", grasp)
    looked.call("robot.pick", mark=BLOCK)
    assert len(tried) == 1


# -- what failed before -------------------------------------------------------------------------------


def test_a_grasp_that_failed_is_not_given_again_for_a_new_picture(looked: Cell) -> None:
    def given() -> np.ndarray:
        looked.call("robot.look")
        marks = looked.session.marks
        assert marks is not None
        looked.session.variables["segmentation_mask"] = marks.objects[BLOCK - 1].mask
        result = looked.call(
            "grasp_generator.compute_grasp",
            point_cloud="$point_cloud",
            mask="$segmentation_mask",
            focal_length_px="$focal_length_px",
            image_index="$captured_image",
        )
        return np.asarray(looked.T_base_camera @ result.variables["grasp_pose"])

    grasps = looked.session.grasps
    first = given()
    for _ in range(2):
        grasps.note_failed(first)
        assert grasps.has_failed(first)
        following = given()
        assert not grasps.has_failed(following)
        first = following
    assert grasps.fork().has_failed(first) is False
    grasps.note_failed(first)
    assert grasps.fork().has_failed(first)


def test_no_grasp_names_the_neighbour_that_is_near(looked: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    looked.put("red box", 0.42, 0.030, 0.03)
    looked.call("robot.look")

    def none(*_: Any) -> Any:
        raise ToolError(ErrorCode.NO_GRASP, "There is none.", "Move it.")

    monkeypatch.setattr(looked.station.ports.grasps, "generate", none)
    marks = looked.session.marks
    assert marks is not None
    for mark in range(1, len(marks.objects) + 1):
        error = looked.refusal("robot.pick", mark=mark)
        assert error.code is ErrorCode.NO_GRASP
        assert f"ark {3 - mark}, at (" in error.message
        assert "Take that away" in error.hint


# -- containers, marks that last, places that are offered ------------------------------------------------

CONTAINERS = """
objects:
  - {name: %s, position: %s}
  - {name: toy block, position: [0.35, 0.0]}
  - {name: pink ball, position: [0.35, -0.2]}
"""
BOWL = parse_scene(CONTAINERS % ("white bowl", [0.52, 0.20]))


@pytest.mark.parametrize("position", [[0.52, 0.20], [0.66, -0.05], [0.55, 0.42]])
@pytest.mark.parametrize("name", ["transparent bin", "white bowl", "black bin", "green bowl"])
def test_a_container_has_a_mark_whatever_share_of_it_is_floor(name: str, position: list[float]) -> None:
    station = Station(parse_scene(CONTAINERS % (name, position)), StationConfig(suites=SUITES, perception="pixels"))
    session = Session()
    station.toolbox.call("robot.look", {}, session)
    marks = session.marks
    assert marks is not None
    ids = station.camera.with_ids(marks.frame).ids  # type: ignore[attr-defined]
    assert sorted(int(np.bincount(ids[each.mask] + 1).argmax()) - 1 for each in marks.objects) == [0, 1, 2]


@pytest.mark.parametrize(
    ("item", "to", "became"),
    [
        ("pink ball", (0.52, 0.20, 0.032), ""),  # into it
        ("pink ball", (0.52, 0.315, 0.028), ""),  # beside it
        ("toy block", (3.0, 3.0, 0.1), ""),  # away from the table
        ("white bowl", (0.525, 0.20, 0.026), "has moved"),
        ("white bowl", (0.52, 0.195, 0.026), "has moved"),
        ("white bowl", (3.0, 3.0, 0.1), "has moved"),
    ],
)
def test_a_mark_is_good_as_long_as_its_object_stands(item: str, to: tuple[float, float, float], became: str) -> None:
    cell = Cell(BOWL, SUITES)
    cell.call("robot.look")
    marks, before = cell.session.marks, cell.session.seen
    assert marks is not None
    assert before is not None
    bowl = max((each.mask for each in marks.objects), key=np.count_nonzero)
    cell.put(item, *to)
    assert what_became_of(bowl, before, cell.station.camera.capture()) == became


def test_what_the_robot_put_into_a_container_leaves_its_mark() -> None:
    cell = Cell(BOWL, SUITES)
    cell.call("robot.look")
    marks = cell.session.marks
    assert marks is not None
    sizes = [int(each.mask.sum()) for each in marks.objects]
    bowl = sizes.index(max(sizes)) + 1
    block = next(
        n
        for n, each in enumerate(marks.objects, 1)
        if cell.station.object_ids_at(marks.frame, each.points) == ("toy_block_1",)
    )
    assert cell.call("robot.pick", mark=block).ok
    placed = cell.call("robot.place", mark=bowl)
    assert placed.ok, placed.text
    assert f"in the container of mark {bowl}" in placed.text
    now = cell.session.seen
    assert now is not None
    assert marks.find(bowl, now) is marks.objects[bowl - 1]
    with pytest.raises(ToolError) as caught:
        marks.find(block, now)
    assert caught.value.code is ErrorCode.SCENE_CHANGED


@pytest.mark.parametrize(
    ("point", "code"),
    [
        ((0.50, -0.15), ErrorCode.PLACE_BLOCKED),
        ((0.72, 0.10), ErrorCode.OUT_OF_WORKSPACE),
        ((0.45, 0.49), ErrorCode.OUT_OF_WORKSPACE),
        ((0.45, -0.17), ErrorCode.PLACE_BLOCKED),
    ],
)
def test_the_place_that_a_refusal_offers_is_free_and_reached(
    cell: Cell, picked: tuple[ToolResult, tuple[StationState, Session]], point: tuple[float, float], code: ErrorCode
) -> None:
    cell.restore(picked[1])
    error = cell.refusal("robot.place_object_at_3d_location", placement_point_3d=cell.in_camera(*point))
    assert error.code is code
    offered = [float(number) for number in error.hint.split(" at (")[1].split(")")[0].split(",")]
    result = cell.call("robot.place", point=offered)
    assert result.ok, result.text
    assert "on the table" in result.text
    assert result.facts["placed"]["found"] == pytest.approx(offered, abs=0.03)


def test_an_object_is_picked_in_the_picture_of_either_camera() -> None:
    cell = Cell(parse_scene(SCENE), SUITES)
    closer = cell.station.toolbox.call(
        "robot.look_closer", {"point": cell.in_image(0.42, 0.12), "image_index": 0}, cell.session
    )
    assert closer.result.ok, closer.result.text
    point = closer.result.facts["looked"]["point"]
    result = cell.call("robot.pick", point=point, image_index=closer.image_index)
    assert result.ok, result.text
    assert cell.holds_block
    assert result.facts["grasped"]["seen"]


@pytest.mark.parametrize(("suites", "listed"), [(("native",), False), (SUITES, True)])
def test_a_variable_is_asked_for_only_where_a_tool_makes_it(suites: tuple[str, ...], listed: bool) -> None:
    toolbox = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=suites)).toolbox
    short = {schema["function"]["name"]: schema["function"] for schema in printed_schemas(toolbox, slim=True)}
    assert ("mask" in short["robot.pick"]["parameters"]["properties"]) is listed


@pytest.mark.parametrize("several", [True, False])
def test_a_mark_says_where_it_may_be_two_objects(cell: Cell, monkeypatch: pytest.MonkeyPatch, several: bool) -> None:
    segmenter = cell.station.ports.segmenter
    segment = segmenter.segment

    def unsure(image: Any, prompt: Any) -> Any:
        answer = segment(image, prompt)
        return replace(answer, value=[replace(each, several=several) for each in answer.value])

    monkeypatch.setattr(segmenter, "segment", unsure)
    assert ("maybe two objects" in cell.call("robot.look").text) is several
