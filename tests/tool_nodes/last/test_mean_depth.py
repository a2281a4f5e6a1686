"""EstimateDepth averages over the whole detected region (LAST, section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.tools.last.tools import SkillTools


@pytest.mark.parametrize("part", [np.s_[60:75, :], np.s_[75:90, :], np.s_[:, 60:80], np.s_[:, 80:100]])
def test_every_half_of_the_region_counts_alike(finder: Any, picture: SessionImage, part: Any) -> None:
    """The plate's box is 60..100 by 60..90 px, and 1.5 m away; half of it is put 2.5 m away."""
    assert picture.frame is not None
    inside = np.zeros(picture.frame.depth.shape, bool)
    inside[60:90, 60:100] = True
    half = np.zeros_like(inside)
    half[part] = True
    picture.frame.depth[inside & half] = 2.5
    toolbox = Toolbox([SkillTools(finder)])
    arguments = {"img_path": "image-0", "text_labels": ["plate"]}
    result = toolbox.call("EstimateDepth", arguments, Session(images=[picture])).result
    assert result.ok, result.text
    assert result.value["depths"][0]["depth"] == pytest.approx(2.0, abs=0.01)
