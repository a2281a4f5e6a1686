"""Simulated perception of labelled images: the frame says what its ids are called, whatever they are."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from toolhand.sim.mock.recording import record_frame
from toolhand.sim.perception import PerceptionNoise, SimPerception
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame, ObjectView

EXACT = PerceptionNoise(point_jitter_px=0.0, mask_noise_px=0.0)


@cache
def table() -> Frame:
    return record_frame(3, (640, 480)).frame


def renamed(**names: str) -> Frame:
    labels = tuple(names.get(label.replace(" ", "_"), label) for label in table().labels or ())
    return replace(table(), labels=labels)


def drawing(depth: float = np.nan) -> Frame:
    """A red square left of a large blue one, over a green one that stretches along the lower edge."""
    rgb = np.full((240, 320, 3), 255, np.uint8)
    ids = np.full((240, 320), -1, np.int32)
    objects = ((40, 40, 40, (220, 30, 30)), (180, 20, 90, (30, 60, 230)), (100, 170, 60, (30, 190, 60)))
    for k, (x, y, side, colour) in enumerate(objects):
        rgb[y : y + side, x : x + side], ids[y : y + side, x : x + side] = colour, k
    labels = ("street sign", "Grand Piano", "box of oatmeal-raisin cookies")
    K = np.array([[320.0, 0, 159.5], [0, 320.0, 119.5], [0, 0, 1.0]])
    return Frame(rgb, np.full((240, 320), depth, np.float32), K, np.eye(4), 0.0, ids=ids, labels=labels)


def id_at(frame: Frame, point: tuple[float, float]) -> int:
    u, v = pixel(point, frame.size)
    assert frame.ids is not None
    return int(frame.ids[v, u])


def by_name(frame: Frame) -> dict[str, ObjectView]:
    return {view.name: view for view in SimPerception((), EXACT).views(frame)}


def test_names_of_the_catalogue_mean_its_products_without_any_scene() -> None:
    frame = table()
    labels = list(frame.labels or ())
    with_scene = SimPerception(labels).views(replace(frame, labels=None))
    without = SimPerception().views(frame)
    assert len(with_scene) == len(labels)
    for a, b in zip(with_scene, without, strict=True):
        assert (a.name, a.kind, a.colour, a.synonyms, a.point) == (b.name, b.kind, b.colour, b.synonyms, b.point)
        assert np.array_equal(a.position_m, b.position_m)


def test_labels_win_over_the_scene() -> None:
    frame = renamed(cracker_box="oatmeal-raisin cookies")
    perception = SimPerception(list(table().labels or ()), EXACT)
    (point,) = perception.points(frame, "oatmeal-raisin cookies")
    assert (table().labels or ())[id_at(frame, point)] == "cracker box"
    with pytest.raises(ToolError, match=r"no 'cracker box' here: nothing .* 'cracker'; I see: .*oatmeal-raisin"):
        perception.points(frame, "cracker box")


def test_another_name_is_described_by_its_head_noun_and_the_colour_that_it_shows() -> None:
    views = by_name(drawing())
    assert views["Grand Piano"].kind == "piano"
    assert views["Grand Piano"].colour == "blue"
    assert views["box of oatmeal-raisin cookies"].kind == "box"
    assert views["street sign"].colour == "red"


@pytest.mark.parametrize(
    ("phrase", "k"),
    [
        ("grand piano", 1),
        ("the blue piano", 1),
        ("piano", 1),
        ("box of oatmeal-raisin cookies", 2),
        ("the green box", 2),
        ("sign", 0),
        ("leftmost object", 0),
        ("the object to the right of the sign", 1),
        ("the biggest thing", 1),
        ("object closest to the camera", 2),
    ],
)
def test_words_find_objects_in_a_drawing_without_depth(phrase: str, k: int) -> None:
    frame = drawing()
    assert id_at(frame, SimPerception((), EXACT).points(frame, phrase)[0]) == k


def test_a_whole_name_means_its_object_even_where_its_words_could_mean_others() -> None:
    frame = replace(drawing(), labels=("box on the left", "the left", "box"))
    perception = SimPerception((), EXACT)
    assert [id_at(frame, point) for point in perception.points(frame, "Box on the left")] == [0]
    assert [id_at(frame, point) for point in perception.points(frame, "the box")] == [2]


def test_all_objects_of_one_name_are_found() -> None:
    frame = replace(drawing(), labels=("cone", "cone", "cone"))
    assert sorted(id_at(frame, point) for point in SimPerception((), EXACT).points(frame, "cone")) == [0, 1, 2]


def test_objects_with_depth_but_without_a_table_are_seen_too() -> None:
    assert set(by_name(drawing(depth=3.0))) == {"street sign", "Grand Piano", "box of oatmeal-raisin cookies"}


def test_an_image_without_depth_and_without_labels_stays_an_error() -> None:
    with pytest.raises(ToolError) as error:
        SimPerception(["red box", "honey", "tea box"]).views(replace(drawing(), labels=None))
    assert error.value.code is ErrorCode.NO_DEPTH


def test_ids_beyond_the_labels_are_ignored() -> None:
    assert set(by_name(replace(drawing(), labels=("street sign",)))) == {"street sign"}


def test_everything_that_is_seen_is_outlined_best_first() -> None:
    frame = table()
    found = SimPerception().masks(frame)
    assert len(found) == len(SimPerception().views(frame))
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    exact = SimPerception((), EXACT).masks(frame)
    assert frame.ids is not None
    assert all(len(np.unique(frame.ids[one.mask])) == 1 for one in exact)
    assert SimPerception().backend == "sim"


def test_a_name_of_any_letters_is_found_by_itself() -> None:
    for name in ("???", "猫", "the", "a b c"):
        frame = replace(drawing(), labels=("street sign", name, "box"))
        assert id_at(frame, SimPerception((), EXACT).points(frame, name)[0]) == 1
