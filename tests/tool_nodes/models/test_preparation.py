"""Images are prepared as transformers' own processors prepare them, which need torchvision.

The numbers below are those of transformers 5.23.0 with torchvision 0.28.0 for `image(80, 60)`, made once. Whole
colours that are resized may be rounded otherwise, by one level of 255.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tool_nodes.models.tiny import make_image
from toolhand.tool_nodes.models import depth_pro, molmo2, sam2, sam3
from toolhand.tool_nodes.models.images import Preparation, distinct
from toolhand.tool_nodes.results import ToolError

EXPECTED = {
    ("sam2", 32): [-0.4226, 0.0912, 0.3823, -0.3883, 0.2624, 0.4337, 0.6906, -0.7308, 0.6392, 0.1426, 0.0912, 0.1939],
    ("sam2", 100): [-0.5082, -0.6965, 0.0912, 0.7077, 1.0673, 0.6392, -0.8678, 1.1358, 1.6495, -1.2959, 0.8447, 0.7248],
    ("sam3", 32): [-0.2235, 0.0118, 0.1451, -0.2078, 0.0902, 0.1686, 0.2863, -0.3647, 0.2627, 0.0353, 0.0118, 0.0588],
    ("sam3", 100): [-0.2627, -0.349, 0.0118, 0.2941, 0.4588, 0.2627, -0.4275, 0.4902, 0.7255, -0.6235, 0.3569, 0.302],
    ("depth_pro", 32): [
        -0.131,
        0.1075,
        0.1737,
        -0.2945,
        0.4241,
        -0.0854,
        0.862,
        -0.6504,
        0.5116,
        0.1585,
        -0.4207,
        -0.0349,
    ],
    ("depth_pro", 100): [
        -0.2627,
        -0.3514,
        0.0118,
        0.2941,
        0.4557,
        0.2623,
        -0.4317,
        0.4933,
        0.7286,
        -0.6249,
        0.3602,
        0.302,
    ],
}
SEES = {"sam2": sam2.SEES, "sam3": sam3.SEES, "depth_pro": depth_pro.SEES}


@pytest.mark.parametrize(("name", "side"), sorted(EXPECTED))
def test_an_image_is_prepared_as_by_the_models_own_processor(name: str, side: int) -> None:
    prepared = replace(SEES[name], height=side, width=side)(torch, [make_image(80, 60).rgb], "cpu", torch.float32)
    assert prepared.shape == (1, 3, side, side)
    step = side // 3
    found = prepared[0, :, ::step, ::step].flatten()[:12].numpy()
    level = 0.0 if name == "depth_pro" else 1.0 / 255.0 / min(SEES[name].std)
    np.testing.assert_allclose(found, EXPECTED[name, side], atol=level + 1e-4)


def test_the_defaults_are_those_of_the_published_processors() -> None:
    imagenet = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    half = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    for sees, side, colours in (
        (sam2.SEES, 1024, imagenet),
        (sam3.SEES, 1008, half),
        (depth_pro.SEES, 1536, half),
        (molmo2.SEES, 378, half),
    ):
        assert (sees.height, sees.width, (sees.mean, sees.std)) == (side, side, colours)


def test_what_a_folder_says_is_done_and_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "preprocessor_config.json"
    assert Preparation.of(tmp_path, sam2.SEES) == sam2.SEES
    file.write_text(json.dumps({"size": {"height": 7, "width": 9}, "image_mean": [0.1, 0.2, 0.3]}))
    assert Preparation.of(tmp_path, sam2.SEES) == replace(sam2.SEES, height=7, width=9, mean=(0.1, 0.2, 0.3))
    for wrong in ({"size": 5}, {"image_mean": [0.5]}, {"size": {"height": "tall"}}):
        file.write_text(json.dumps(wrong))
        with pytest.raises(ToolError, match=r"preprocessor_config\.json in .* is damaged"):
            Preparation.of(tmp_path, sam2.SEES)
    file.unlink()
    (tmp_path / "processor_config.json").write_text(
        json.dumps({"image_processor": {"size": {"height": 3, "width": 3}}})
    )
    assert Preparation.of(tmp_path, sam2.SEES).height == 3


def test_an_image_of_several_requests_is_looked_at_once() -> None:
    one, other = make_image().rgb, make_image(seed=1).rgb
    kept, which = distinct([one, other, one])
    assert [id(rgb) for rgb in kept] == [id(one), id(other)]
    assert which == [0, 1, 0]
