"""Grounding DINO, Depth Pro, Depth Anything: shapes, batches, units, and that what is found lies where it was seen."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.tool_nodes.models import bright
from tests.tool_nodes.models.conftest import Folder
from tests.tool_nodes.models.tiny import make_image
from toolhand.tool_nodes.models.depth_anything import ASSUMED_FOV_DEG, DepthAnything
from toolhand.tool_nodes.models.depth_pro import DepthPro, focal_of
from toolhand.tool_nodes.models.grounding_dino import GroundingDino, caption
from toolhand.tool_nodes.results import ErrorCode, ToolError


@pytest.fixture(scope="module")
def detector(folder: Folder) -> GroundingDino:
    return GroundingDino(f"{folder('grounding_dino')}?threshold=0.02")


@pytest.fixture(scope="module")
def depth_pro(folder: Folder) -> DepthPro:
    return DepthPro(str(folder("depth_pro")))


@pytest.fixture(scope="module")
def depth_anything(folder: Folder) -> DepthAnything:
    return DepthAnything(str(folder("depth_anything")))


@pytest.fixture(params=["depth_pro", "depth_anything"])
def estimator(request: pytest.FixtureRequest) -> DepthPro | DepthAnything:
    model: DepthPro | DepthAnything = request.getfixturevalue(request.param)
    return model


def test_boxes_lie_in_the_image_best_first(detector: GroundingDino) -> None:
    for size in ((80, 60), (33, 97)):
        answer = detector.detect(make_image(*size), "red can")
        assert answer.backend == "grounding_dino"
        assert answer.value
        scores = [one.score for one in answer.value]
        assert scores == sorted(scores, reverse=True)
        for one in answer.value:
            left, top, right, bottom = one.box
            assert 0 <= left < right <= size[0]
            assert 0 <= top < bottom <= size[1]
            assert one.label == "red can"


def test_captions_are_as_the_model_was_trained_on() -> None:
    assert caption("  The red  CAN. ") == "the red can."
    assert caption(" . ") == ""


def test_boxes_of_many_images_are_those_of_each(detector: GroundingDino) -> None:
    requests = [
        (make_image(), "red can"),
        (make_image(33, 97, 1), "mug"),
        (make_image(80, 60, 2), "the remote"),
        (make_image(), "cat"),
    ]
    for request, answer in zip(requests, detector.batch(requests), strict=True):
        assert not isinstance(answer, ToolError)
        alone = detector.one(*request).value
        assert [one.box for one in answer.value] == [one.box for one in alone]
        assert [one.score for one in answer.value] == pytest.approx([one.score for one in alone], abs=1e-4)


def test_words_decide_what_is_found(detector: GroundingDino) -> None:
    assert detector.detect(make_image(), "cat").value != detector.detect(make_image(), "the red mug").value


def test_no_box_above_the_threshold_and_no_words_are_errors_of_their_own(folder: Folder) -> None:
    strict = GroundingDino(f"{folder('grounding_dino')}?threshold=1")
    none, silent = strict.batch([(make_image(), "mug"), (make_image(), " . ")])
    assert isinstance(none, ToolError)
    assert isinstance(silent, ToolError)
    assert (none.code, none.backend) == (ErrorCode.OBJECT_NOT_FOUND, "grounding_dino")
    assert silent.code is ErrorCode.NOT_UNDERSTOOD


@pytest.mark.parametrize("name", sorted(bright.make_images()))
def test_a_box_lies_where_the_network_sees_it(
    detector: GroundingDino, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Network:
        dtype = torch.float32

        def __call__(self, pixel_values: Any, pixel_mask: Any, **words: Any) -> Any:
            assert pixel_mask.all(), "nothing is padded"
            places = [bright.brightest(one.mean(0)) for one in pixel_values]
            boxes = torch.tensor([[[x, y, 0.1, 0.2]] for x, y in places])
            return SimpleNamespace(logits=torch.full((len(places), 1, 4), 2.0), pred_boxes=boxes)

    monkeypatch.setattr(detector, "_model", Network())
    image = bright.make_images()[name]
    left, top, right, bottom = detector.detect(image, "spot").value[0].box
    assert (right - left) / image.size[0] == pytest.approx(0.1, abs=1.5 / image.size[0])
    assert (bottom - top) / image.size[1] == pytest.approx(0.2, abs=1.5 / image.size[1])
    middle = ((left + right) / 2.0 / image.size[0], (top + bottom) / 2.0 / image.size[1])
    assert bright.offset_px(image, middle) < 1.5


def test_depth_is_of_every_pixel_and_finite(estimator: DepthPro | DepthAnything) -> None:
    for size in ((80, 60), (33, 97)):
        answer = estimator.estimate(make_image(*size))
        depth, focal = answer.value
        assert answer.backend == estimator.backend
        assert (depth.shape, depth.dtype) == (size[::-1], np.float32)
        assert np.isfinite(depth).all()
        assert (depth >= 0.0).all()
        assert focal > 0.0


def test_depth_of_many_images_is_that_of_each(estimator: DepthPro | DepthAnything) -> None:
    requests = [(make_image(),), (make_image(33, 97, 1),), (make_image(80, 60, 2),)]
    for request, answer in zip(requests, estimator.batch(requests), strict=True):
        assert not isinstance(answer, ToolError)
        alone = estimator.estimate(*request).value
        np.testing.assert_allclose(answer.value[0], alone[0], rtol=2e-3, atol=1e-4)
        assert answer.value[1] == pytest.approx(alone[1], rel=1e-4)


def test_a_cameras_focal_length_is_known_and_a_crops_too(estimator: DepthPro | DepthAnything) -> None:
    for image in bright.make_images().values():
        assert image.view is not None
        assert estimator.estimate(image).value[1] == pytest.approx(image.view.K[0, 0])


def test_any_other_image_is_taken_to_show_60_degrees(depth_anything: DepthAnything, folder: Folder) -> None:
    assert depth_anything.estimate(make_image()).value[1] == pytest.approx(focal_of(ASSUMED_FOV_DEG, 80))
    assert focal_of(90.0, 80) == pytest.approx(40.0)
    wide = DepthAnything(f"{folder('depth_anything')}?fov=90")
    assert wide.estimate(make_image()).value[1] == pytest.approx(40.0)


def test_depth_pro_scales_by_the_focal_length(depth_pro: DepthPro, monkeypatch: pytest.MonkeyPatch) -> None:
    """As transformers' post_process_depth_estimation where it says 90 degrees, and with a camera's own else."""

    class Network:
        dtype = torch.float32

        def __call__(self, pixel_values: Any) -> Any:
            return SimpleNamespace(
                predicted_depth=torch.full((len(pixel_values), 8, 8), 0.5),
                field_of_view=torch.full((len(pixel_values),), 90.0),
            )

    monkeypatch.setattr(depth_pro, "_model", Network())
    depth, focal = depth_pro.estimate(make_image()).value
    assert focal == pytest.approx(40.0)
    np.testing.assert_allclose(depth, 1.0 / (0.5 * 80 / 40.0), rtol=1e-5)
    depth, focal = depth_pro.estimate(bright.make_images()["whole"]).value
    assert focal == pytest.approx(100.0)
    np.testing.assert_allclose(depth, 100.0 / (96 * 0.5), rtol=1e-5)


@pytest.mark.parametrize("name", sorted(bright.make_images()))
def test_depth_lies_where_the_network_sees_it(
    estimator: DepthPro | DepthAnything, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Network:
        dtype = torch.float32

        def __call__(self, pixel_values: Any) -> Any:
            seen = pixel_values.mean(1) - pixel_values.min() + 0.1
            shown = seen if isinstance(estimator, DepthAnything) else 1.0 / seen
            return SimpleNamespace(predicted_depth=shown, field_of_view=torch.full((len(seen),), 60.0))

    monkeypatch.setattr(estimator, "_model", Network())
    image = bright.make_images()[name]
    assert bright.offset_px(image, bright.brightest(estimator.estimate(image).value[0])) < 1.5
