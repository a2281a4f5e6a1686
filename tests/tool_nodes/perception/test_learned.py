"""The learned pointer that is shipped: how often it is right, what it refuses, and that it looks at pixels alone."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sim.tasks.sentences import unique_descriptions
from tool_nodes import registry
from tool_nodes.backends import make_ports
from tool_nodes.perception.learned import weights as weights_module
from tool_nodes.perception.learned.backend import SURE, LearnedPerception, LearnedPointer, shrunk
from tool_nodes.perception.learned.forward import PICTURE_PX, convolved, soft_minimum
from tool_nodes.perception.learned.peaks import cell_point, mass_around, peaks, summed_around
from tool_nodes.perception.learned.reading import ANYTHING, Named, PhraseTokens, read_phrase
from tool_nodes.perception.learned.weights import MAX_BYTES, SHIPPED, SHIPPED_SHA256, read_weights, shipped_weights
from tool_nodes.registry import Setting
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import Frame
from training.pointer.data import picture_of, scene_of

POINTER = LearnedPointer()
PERCEPTION = LearnedPerception()


@cache
def seen(number: int) -> tuple[Frame, tuple[str, ...]]:
    """A scene of no training: what the camera sees, and the names of the products."""
    scene = scene_of("test", 0, 5000 + number)
    return picture_of(scene, number), tuple(placed.item for placed in scene.objects)


def error_of(text: str, frame: Frame | None = None) -> ToolError:
    with pytest.raises(ToolError) as raised:
        PERCEPTION.points(frame or seen(0)[0], text)
    return raised.value


def test_the_shipped_weights_are_those_whose_checksum_is_known() -> None:
    data = SHIPPED.read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHIPPED_SHA256
    assert len(data) <= MAX_BYTES
    weights = shipped_weights()
    assert sum(tensor.size for tensor in weights.tensors.values()) <= 500_000
    assert SHIPPED.with_suffix(".md").read_text(encoding="utf-8").startswith("# A pointer that sees")


def test_it_hits_what_names_and_attributes_single_out_in_scenes_that_it_never_saw() -> None:
    hits, n = 0, 0
    for number in range(40):
        scene = scene_of("test", 0, 5000 + number)
        frame, _ = seen(number)
        assert frame.ids is not None
        items = [placed.asset for placed in scene.objects]
        for k, item in enumerate(items):
            if np.count_nonzero(frame.ids == k) < 20:
                continue
            for text in unique_descriptions(item, items)[:2]:
                found = POINTER.candidates(replace(frame, ids=None), text, least=0.0)
                x, y = found[0].point
                hits += int(frame.ids[int(y * 120), int(x * 160)] == k)
                n += 1
    assert n > 300
    assert hits / n > 0.9


def test_all_of_a_kind_are_given_and_nothing_for_what_is_not_there() -> None:
    right, absent, n = 0, 0, 0
    for number in range(12):
        frame, names = seen(number)
        points = PERCEPTION.points(frame, "everything")
        right += len(points) == len(names)
        missing = next(name for name in ("baseball", "red mug", "banana", "ketchup") if name not in names)
        n += 1
        try:
            PERCEPTION.points(frame, missing)
        except ToolError as error:
            absent += error.code is ErrorCode.OBJECT_NOT_FOUND
    assert right >= n // 2
    assert absent >= n - 3


def test_it_never_reads_the_ids_of_a_frame() -> None:
    frame, names = seen(1)
    wrong = replace(frame, ids=np.full_like(frame.depth, 3, dtype=np.int32))
    without = replace(frame, ids=None)
    for text in (names[0], "everything"):
        assert POINTER.candidates(wrong, text) == POINTER.candidates(without, text)


def test_candidates_are_sorted_and_points_are_the_sure_ones() -> None:
    frame, _ = seen(2)
    found = POINTER.candidates(frame, "everything", least=0.0)
    certainties = [one.certainty for one in found]
    assert certainties == sorted(certainties, reverse=True)
    assert PERCEPTION.points(frame, "everything") == [one.point for one in found if one.certainty >= SURE]


def test_words_that_were_never_trained_on_are_named() -> None:
    error = error_of("zeppelin")
    assert error.code is ErrorCode.NOT_RECOGNISED
    assert "zeppelin" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "second can from the left",
        "the tallest can",
        "the can between the box and the bowl",
        "the can with a red lid",
        "the middle can",
        "the can that is not red",
        "the left can behind the box",
    ],
)
def test_a_grammar_that_was_never_trained_on_is_refused(text: str) -> None:
    assert error_of(text).code is ErrorCode.NOT_RECOGNISED


def test_an_empty_phrase_is_not_understood() -> None:
    assert error_of("").code is ErrorCode.NOT_UNDERSTOOD


def without_depth(frame: Frame) -> Frame:
    """The same picture as colour alone."""
    return replace(frame, depth=np.full_like(frame.depth, np.nan), ids=None)


def test_a_place_in_a_frame_without_depth_and_another_camera_are_refused_in_a_sentence() -> None:
    frame, _ = seen(0)
    assert error_of("the left can", without_depth(frame)).code is ErrorCode.PICTURE_UNUSABLE
    assert error_of("everything", replace(frame, camera="wrist")).code is ErrorCode.PICTURE_UNUSABLE


def test_what_things_are_is_seen_without_depth_too() -> None:
    hits, n = 0, 0
    for number in range(10):
        frame, names = seen(number)
        assert frame.ids is not None
        for k, name in enumerate(names):
            if names.count(name) == 1 and np.count_nonzero(frame.ids == k) >= 20:
                x, y = POINTER.candidates(without_depth(frame), name, least=0.0)[0].point
                hits += int(frame.ids[int(y * 120), int(x * 160)] == k)
                n += 1
    assert n > 40
    assert hits / n > 0.8


def test_the_share_of_the_surest_point_is_small_where_two_things_are_alike() -> None:
    shares: dict[bool, list[float]] = {True: [], False: []}
    for number in range(12):
        frame, names = seen(number)
        for name in sorted(set(names)):
            shares[names.count(name) == 1].append(POINTER.answer(frame, name).share)
    assert np.median(shares[True]) > 0.9
    assert np.median(shares[False]) < 0.8


def test_a_picture_without_a_frame_is_refused() -> None:
    pointer = registry.make("pointer", "learned", Setting())
    with pytest.raises(ToolError) as raised:
        pointer.point(SessionImage(np.zeros((120, 160, 3), np.uint8)), "red box")
    assert raised.value.code is ErrorCode.PICTURE_UNUSABLE
    assert raised.value.backend == "learned"


def enlarged(frame: Frame, times: int, border: int = 0) -> Frame:
    """The same picture with more pixels, and some without depth on its left and right."""
    rgb, depth = (np.repeat(np.repeat(a, times, 0), times, 1) for a in (frame.rgb, frame.depth))
    rgb = np.pad(rgb, ((0, 0), (border, border), (0, 0)))
    depth = np.pad(depth, ((0, 0), (border, border)), constant_values=np.nan)
    K = np.array(frame.K, float)
    K[:2, 2] += 0.5
    K[:2] *= times
    K[:2, 2] += (border - 0.5, -0.5)
    return Frame(rgb, depth, K, frame.T_base_camera, frame.stamp)


def test_pictures_of_other_sizes_are_resampled() -> None:
    frame, names = seen(3)
    text = next(name for name in names if names.count(name) == 1)
    small = POINTER.candidates(replace(frame, ids=None), text)
    large = POINTER.candidates(enlarged(frame, 4), text)
    assert np.allclose(large[0].point, small[0].point, atol=0.03)
    assert abs(large[0].certainty - small[0].certainty) < 0.1


def test_a_picture_that_is_not_4_to_3_is_padded_and_points_lie_in_it() -> None:
    frame, _ = seen(3)
    wide = enlarged(frame, 4, border=60)
    small = shrunk(wide)
    assert small.rgb.shape == (PICTURE_PX[1], PICTURE_PX[0], 3)
    assert not np.isfinite(small.depth[0]).any()
    sure = [one.point for one in POINTER.candidates(wide, "everything", least=SURE)]
    assert len(sure) >= 4
    assert all(60 / wide.size[0] <= x <= 1 - 60 / wide.size[0] for x, _ in sure)


def test_the_preset_points_by_the_network_and_outlines_as_pixels() -> None:
    ports = make_ports("learned")
    assert not list(ports.over_truth)
    frame, names = seen(4)
    image = SessionImage(frame.rgb, replace(frame, ids=None))
    text = next(name for name in names if names.count(name) == 1)
    answer = ports.pointer.point(image, text)
    assert answer.backend == "learned"
    assert "pixels" in {ports.segmenter.backend, ports.depth.backend}


def test_free_space_is_found_by_the_rules_beside_what_the_network_points_at() -> None:
    frame, _ = seen(5)
    ((x, y),) = PERCEPTION.points(frame, "free table")
    assert 0.0 <= x <= 1.0
    assert 0.0 <= y <= 1.0
    assert error_of("free table left of the zeppelin", frame).code is ErrorCode.NOT_RECOGNISED


def test_spellings_of_one_meaning_are_one_phrase() -> None:
    same = ["the leftmost can", "the can furthest to the left", "the can on the left", "the left can"]
    assert {read_phrase(text) for text in same} == {PhraseTokens(Named(("can",), "can"), "left")}
    assert read_phrase("the navy plushie").thing == Named(("blue", "dark", "plush"), "plush")
    assert read_phrase("everything").thing == Named((), ANYTHING)
    beside = read_phrase("the can to the right of the red box")
    assert (beside.relation, beside.reference) == ("right_of", Named(("box", "red"), "box"))


def test_a_convolution_is_the_sum_that_it_says() -> None:
    rng = np.random.default_rng(0)
    x, w, b = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 5, 6), (3, 2, 3, 3), (3,)))
    out = convolved(x, w, b, dilation=2)
    by_hand = b[1] + sum(
        w[1, c, i, j] * x[c, 2 + 2 * (i - 1), 3 + 2 * (j - 1)] for c in range(2) for i in range(3) for j in range(3)
    )
    assert out[1, 2, 3] == pytest.approx(by_hand, abs=1e-4)
    assert convolved(x, w, b, stride=2).shape == (3, 3, 3)


def test_the_soft_minimum_is_high_only_where_all_are() -> None:
    out = soft_minimum(np.array([[10.0, 10.0, -5.0], [10.0, -5.0, -5.0]], np.float32))
    assert out[0] > 9
    assert out[1] == pytest.approx(-5.0, abs=1e-3)
    assert out[2] < -5


def test_a_candidate_is_the_highest_of_its_surroundings() -> None:
    scores = np.full(1200, -9.0, np.float32)
    scores[[45, 46, 700]] = 3.0, 2.0, 1.0
    assert peaks(scores, -5.0) == [45, 700]
    assert cell_point(45) == (5.5 / 40, 1.5 / 30)
    assert mass_around(np.full(1200, np.log(1 / 1200), np.float32), 700) == pytest.approx(25 / 1200)
    around = summed_around(scores)
    assert around[45] == pytest.approx(np.log(np.exp(3.0) + np.exp(2.0)), abs=1e-2)
    assert around[900] == pytest.approx(np.log(25) - 9.0, abs=1e-4)


@pytest.mark.parametrize("how", ["cut", "no file", "not json", "other network", "too large"])
def test_damaged_weights_are_refused_in_one_sentence(how: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    data = SHIPPED.read_bytes()
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "not json":
        path.write_bytes(data[:8] + b"x" * 100)
    elif how == "other network":
        path.write_bytes(data.replace(b"side.weight", b"hide.weight"))
    elif how == "too large":
        path.write_bytes(data + bytes(MAX_BYTES))
    with pytest.raises(ToolError, match="no pointer's weights") as raised:
        read_weights(path)
    assert raised.value.code is ErrorCode.INVALID_ARGUMENT


def test_shipped_weights_with_another_checksum_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_module, "SHIPPED_SHA256", "0" * 64)
    with pytest.raises(ToolError, match="another checksum"):
        shipped_weights.__wrapped__()
