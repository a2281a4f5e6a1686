"""Scores of objects that are found by words: high where the object is what was asked for, lower the less it looks
so."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tool_nodes.perception.test_pixels import arranged, make_image
from toolhand.sim.perception import PerceptionNoise, SimPerception
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.perception.certainty import word_fit
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.perception.pixels import PixelPerception
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.tools.last.operations import detect
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools
from toolhand.tool_nodes.types import Frame, TextPrompt

PIXELS = PixelPerception()


def score(frame: Frame, text: str, seeing: FramePerception = PIXELS) -> float:
    """The best score of what is found for a text, 0 where that is nothing."""
    try:
        return max(one.score for one in seeing.detect(SessionImage(frame.rgb, frame), text).value)
    except ToolError:
        return 0.0


def test_an_object_scores_higher_by_its_own_name_than_by_that_of_another_colour() -> None:
    _, frame = arranged(("orange juice", 0.45, 0.0, 0.0))
    right, wrong = score(frame, "orange carton"), score(frame, "yellow carton")
    assert right > 0.8
    assert wrong < 0.5 * right


def test_a_red_box_scores_lower_the_more_its_colour_is_painted_orange() -> None:
    scene, frame = arranged(("red box", 0.45, 0.0, 0.0))
    assert frame.ids is not None
    shown = []
    for share in (0.0, 0.5, 0.8):
        rgb = frame.rgb.astype(float)
        rgb[frame.ids == 0] += share * (np.array([245.0, 140.0, 25.0]) - rgb[frame.ids == 0])
        shown.append(score(replace(frame, rgb=rgb.astype(np.uint8)), scene.objects[0].item))
    assert shown[0] > 0.9
    assert shown[0] > shown[1] >= shown[2]


def test_an_object_that_is_partly_hidden_scores_lower_than_alone() -> None:
    _, alone = arranged(("honey", 0.35, 0.0, 0.0))
    _, hidden = arranged(("honey", 0.35, 0.0, 0.0), ("red box", 0.44, 0.035, 0.0))
    assert 0.0 < score(hidden, "honey") < score(alone, "honey")


def test_what_is_absent_scores_lower_than_everything_that_is_there() -> None:
    right, impostors = [], []
    others = ("cola", "ketchup", "red box", "salt", "basil")
    for seed in range(4):
        scene, frame = make_image(seed)
        here = {placed.item for placed in scene.objects}
        right += [score(frame, name) for name in here]
        impostors += [score(frame, name) for name in others if name not in here]
    assert len(impostors) > 10
    assert min(right) > max(impostors)


def test_masks_found_by_words_promise_no_more_than_object_and_outline_together() -> None:
    scene, frame = make_image(0)
    image = SessionImage(frame.rgb, frame)
    detected = PIXELS.detect(image, scene.objects[0].item).value[0]
    outlined = PIXELS.segment(image, TextPrompt(scene.objects[0].item)).value[0]
    assert 0.5 < outlined.score < detected.score


def test_words_that_are_not_an_objects_own_fit_it_less() -> None:
    _, frame = arranged(("coconut water", 0.45, 0.0, 0.0))
    (view,) = PixelPerception().views(frame)
    assert word_fit("coconut water", view) == word_fit("turquoise carton", view) == 1.0
    assert word_fit("blue carton", view) < word_fit("coconut watre", view) < 1.0


def unsure_truth() -> tuple[Frame, SimPerception, list[str]]:
    """The example scene, seen by a truth that is unsure of every object."""
    station = Station(load_scene(EXAMPLE_SCENE))
    noise = PerceptionNoise(confusion_rate=1.0)
    seeing = SimPerception(station.scene, noise, seed=1)
    return station.camera.capture(), seeing, [placed.item for placed in station.scene.objects]


@pytest.mark.parametrize("threshold", [0.1, 0.25])
def test_the_papers_thresholds_drop_what_is_unlikely_and_keep_the_rest(threshold: float) -> None:
    frame, seeing, _ = unsure_truth()
    image, finder = SessionImage(frame.rgb, frame), ObjectFinder(seeing, seeing, seeing)
    unlikely = likely = 0
    for view in [reading.view for readings in seeing._scene(frame).readings for reading in readings]:
        scores = [one.score for one in seeing.detect(image, view.name).value]
        kept = [one for one in scores if one >= threshold]
        unlikely += len(scores) - len(kept)
        likely += len(kept)
        if threshold == 0.25:
            answer = PeriaPerceptionTools(finder).grounding_dino(image, view.name)
            assert len(answer.value["objects"]) == len(kept)
        elif kept:
            assert len(detect(finder, image, [view.name], threshold).value) == len(kept)
    assert unlikely > 0
    assert likely > unlikely


def test_confusions_of_the_truth_are_as_often_right_as_their_score_says() -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    frame, items = station.camera.capture(), [placed.item for placed in station.scene.objects]
    sure, right = [], []
    for seed in range(40):
        perception = SimPerception(station.scene, PerceptionNoise(confusion_rate=1.0), seed)
        readings = perception._scene(frame).readings
        assert len(readings) == len(items)
        for item, (taken, *_) in zip(items, readings, strict=True):
            sure.append(taken.probability)
            right.append(taken.view.name == item)
    assert 0.55 < np.mean(right) < 0.95
    assert np.mean(right) == pytest.approx(np.mean(sure), abs=0.07)
    half = np.asarray(sure) > 0.75
    assert np.mean(np.asarray(right)[half]) > np.mean(np.asarray(right)[~half])


def test_confusions_change_no_other_random_number() -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    frame = station.camera.capture()
    plain, unsure = (
        SimPerception(station.scene, PerceptionNoise(confusion_rate=rate), seed=3).views(frame) for rate in (0.0, 1.0)
    )
    assert [view.point for view in plain] == [view.point for view in unsure]
    assert [view.name for view in plain] == [placed.item for placed in station.scene.objects]
    assert [view.name for view in plain] != [view.name for view in unsure]
