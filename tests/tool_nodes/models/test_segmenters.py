"""SAM 2 and SAM 3: shapes, batches, what is not there, and that a mask lies where its prompt or its object is."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.tool_nodes.models import bright
from tests.tool_nodes.models.conftest import Folder
from tests.tool_nodes.models.tiny import make_image
from toolhand.tool_nodes.models.sam import PromptableModel
from toolhand.tool_nodes.models.sam2 import Sam2
from toolhand.tool_nodes.models.sam3 import Sam3
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoxPrompt, Everything, PointPrompt, TextPrompt

WHERE = [(0.5, 0.5), (0.1, 0.9), (0.73, 0.21)]


@pytest.fixture(scope="module")
def sam2(folder: Folder) -> Sam2:
    return Sam2(f"{folder('sam2')}?grid=3&batch=8")


@pytest.fixture(scope="module")
def sam3(folder: Folder) -> Sam3:
    return Sam3(f"{folder('sam3')}?grid=3&batch=8&threshold=0.01")


@pytest.fixture(params=["sam2", "sam3"])
def segmenter(request: pytest.FixtureRequest) -> PromptableModel:
    model: PromptableModel = request.getfixturevalue(request.param)
    return model


class Marksman:
    """In the place of the network: its masks lie where it is prompted, or else where the image is bright."""

    dtype = torch.float32

    def __init__(self, aims: bool) -> None:
        self._aims = aims
        self._spots: list[tuple[float, float]] = []
        self.side = 0

    def get_image_embeddings(self, pixels: Any) -> list[Any]:
        self.side = pixels.shape[-1]
        return [torch.tensor([bright.brightest(one.mean(0)) for one in pixels])]

    def __call__(self, image_embeddings: list[Any], multimask_output: bool, **prompts: Any) -> Any:
        if self._aims and "input_boxes" in prompts:
            places = prompts["input_boxes"].reshape(-1, 2, 2).mean(1)
        elif self._aims:
            given = prompts["input_points"][:, 0]
            valid = (prompts["input_labels"][:, 0] == 1)[..., None]
            places = (given * valid).sum(1) / valid.sum(1)
        else:
            places = image_embeddings[0] * self.side - 0.5
        masks = torch.stack([bright.blob(*((place + 0.5) / self.side).tolist(), 64) for place in places])
        count = 3 if multimask_output else 1
        scores = torch.linspace(0.9, 0.5, count).expand(len(masks), 1, count)
        if not self._aims and prompts["input_points"].shape[1] > 1:
            masks, scores = masks.repeat(1, prompts["input_points"].shape[1], 1, 1)[:, :, None], scores.repeat(1, 9, 1)
            return SimpleNamespace(pred_masks=masks.expand(-1, -1, count, -1, -1), iou_scores=scores)
        return SimpleNamespace(pred_masks=masks[:, None, None].expand(-1, -1, count, -1, -1), iou_scores=scores)


def test_a_mask_is_as_large_as_its_image_and_the_best_comes_first(segmenter: PromptableModel) -> None:
    for size in ((80, 60), (33, 97)):
        for prompt in (PointPrompt([(0.4, 0.6)]), PointPrompt(WHERE), BoxPrompt((3, 4, 30, 40))):
            answer = segmenter.segment(make_image(*size), prompt)
            assert answer.backend == segmenter.backend
            scores = [one.score for one in answer.value]
            assert scores == sorted(scores, reverse=True)
            assert all(0.0 <= score <= 1.0 for score in scores)
            assert {(one.mask.shape, one.mask.dtype) for one in answer.value} == {(size[::-1], np.dtype(bool))}


def test_one_point_has_up_to_three_answers_and_more_points_or_a_box_one(segmenter: PromptableModel) -> None:
    assert len(segmenter.segment(make_image(), PointPrompt([(0.5, 0.5)])).value) > 1
    assert len(segmenter.segment(make_image(), PointPrompt(WHERE)).value) == 1
    assert len(segmenter.segment(make_image(), BoxPrompt((3, 4, 30, 40))).value) == 1


def test_many_at_once_are_answered_as_one_by_one(segmenter: PromptableModel) -> None:
    first, second = make_image(), make_image(33, 97, 1)
    requests: list[tuple[Any, ...]] = [
        (first, PointPrompt([WHERE[0]])),
        (second, BoxPrompt((3, 4, 30, 40))),
        (first, PointPrompt(WHERE)),
        (first, PointPrompt([WHERE[1]])),
        (second, PointPrompt(WHERE[:2])),
        (first, BoxPrompt((0, 0, 80, 60))),
    ]
    if TextPrompt in segmenter.takes:
        requests += [(first, TextPrompt("red can")), (second, TextPrompt("mug"))]
    together = segmenter.batch(requests)
    for request, answer in zip(requests, together, strict=True):
        alone = segmenter.batch([request])[0]
        assert not isinstance(answer, ToolError)
        assert not isinstance(alone, ToolError)
        assert len(alone.value) == len(answer.value)
        for one, other in zip(alone.value, answer.value, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert np.count_nonzero(one.mask ^ other.mask) <= 0.002 * one.mask.size


def test_a_prompt_decides_what_is_outlined(segmenter: PromptableModel) -> None:
    one, other = (segmenter.segment(make_image(), PointPrompt([where])).value[0] for where in WHERE[1:])
    assert not np.array_equal(one.mask, other.mask)


def test_the_image_part_of_a_video_model_is_read_from_its_folder(folder: Folder) -> None:
    model = Sam2(str(folder("sam2_video")))
    assert model.config["model_type"] == "sam2_video"
    assert model.segment(make_image(), PointPrompt([(0.5, 0.5)])).value[0].mask.shape == (60, 80)


def test_what_words_do_not_name_is_not_found(folder: Folder) -> None:
    strict = Sam3(f"{folder('sam3')}?threshold=1")
    with pytest.raises(
        ToolError, match="'red can' is not in this picture: the best match has a probability of"
    ) as raised:
        strict.segment(make_image(), TextPrompt("red can"))
    assert (raised.value.code, raised.value.backend) == (ErrorCode.OBJECT_NOT_FOUND, "sam3")


def test_a_phrase_that_is_too_long_is_cut_and_no_error(sam3: Sam3) -> None:
    assert sam3.segment(make_image(), TextPrompt("red can " * 60)).value


def test_words_find_several_objects_each_with_its_probability(sam3: Sam3) -> None:
    found = sam3.segment(make_image(), TextPrompt("red can")).value
    assert len(found) > 1
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_one_request_that_fails_leaves_the_others_alone(sam2: Sam2, monkeypatch: pytest.MonkeyPatch) -> None:
    def empty_where_white(logits: Any, rgb: np.ndarray) -> np.ndarray:
        return np.full((len(logits), *rgb.shape[:2]), -1.0 if rgb.mean() > 200 else 1.0)

    monkeypatch.setattr(sam2, "_enlarged", empty_where_white)
    white = make_image()
    white.rgb[:] = 255
    failed, fine = sam2.batch([(white, PointPrompt([(0.5, 0.5)])), (make_image(), PointPrompt([(0.5, 0.5)]))])
    assert isinstance(failed, ToolError)
    assert (failed.code, failed.backend) == (ErrorCode.EMPTY_MASK, "sam2")
    assert not isinstance(fine, ToolError)


@pytest.mark.parametrize("name", sorted(bright.make_images()))
def test_a_point_and_a_box_mean_the_same_place_to_the_network(
    segmenter: PromptableModel, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segmenter, "_model", Marksman(aims=True))
    image = bright.make_images()[name]
    left, top, right, bottom = bright.SPOT
    corners = image.from_frame(np.array([(left, top), (right, bottom)]) / (bright.WIDTH, bright.HEIGHT))
    middle = tuple(corners.mean(axis=0))
    box = tuple((corners * image.size).reshape(-1))
    for prompt in (PointPrompt([middle]), PointPrompt([tuple(corner) for corner in corners]), BoxPrompt(box)):
        mask = segmenter.segment(image, prompt).value[0].mask
        assert bright.offset_px(image, bright.brightest(mask)) < 1.0


@pytest.mark.parametrize("name", sorted(bright.make_images()))
def test_everything_lies_where_the_network_sees_it(
    segmenter: PromptableModel, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segmenter, "_model", Marksman(aims=False))
    image = bright.make_images()[name]
    found = segmenter.segment(image, Everything()).value
    assert len(found) == 1, "nine points of the grid have found one thing"
    assert bright.offset_px(image, bright.brightest(found[0].mask)) < 1.0


@pytest.mark.parametrize("name", sorted(bright.make_images()))
def test_words_lie_where_the_network_sees_them(sam3: Sam3, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Detector:
        dtype = torch.float32

        def __call__(self, pixel_values: Any, **words: Any) -> Any:
            blobs = torch.stack([bright.blob(*bright.brightest(one.mean(0)), 64) for one in pixel_values])
            sure = torch.full((len(blobs), 1), 3.0)
            return SimpleNamespace(pred_masks=blobs[:, None], pred_logits=sure, presence_logits=sure)

    monkeypatch.setattr(sam3, "_detector", Detector())
    image = bright.make_images()[name]
    mask = sam3.segment(image, TextPrompt("spot")).value[0].mask
    assert bright.offset_px(image, bright.brightest(mask)) < 1.0
