"""What stands at a point looks like the words or not, whichever pointer gave it, and without depth."""

from __future__ import annotations

import numpy as np

from agent_node.policies.tiny.visual_encoder import FIT, VisualFeatures
from agent_node.policies.tiny.weights import TinyConfig, fresh_weights
from tool_nodes.types import Frame
from training.pointer.data import picture_of, scene_of

WEIGHTS = fresh_weights(0, TinyConfig(width=16, layers=1, heads=2, hidden=16))


def middles(frame: Frame) -> dict[int, tuple[float, float]]:
    """Of each thing that is seen well, the pixel of it that is nearest to its middle, normalized."""
    assert frame.ids is not None
    found = {}
    for thing in np.unique(frame.ids[frame.ids >= 0]).tolist():
        rows, columns = np.nonzero(frame.ids == thing)
        if len(rows) >= 40:
            k = np.argmin(np.hypot(rows - rows.mean(), columns - columns.mean()))
            found[thing] = ((columns[k] + 0.5) / frame.size[0], (rows[k] + 0.5) / frame.size[1])
    return found


def test_a_thing_fits_its_own_name_better_than_others() -> None:
    better, n = 0, 0
    for number in range(8):
        scene = scene_of("test", 0, 5000 + number)
        frame = picture_of(scene, number)
        seen, points = WEIGHTS.visual_encoder.look(frame.rgb), middles(frame)
        for thing, point in points.items():
            asked = WEIGHTS.visual_encoder.meanings(f"the {scene.objects[thing].asset.name}")
            own = seen.at(point, asked)[FIT]
            others = [
                seen.at(there, asked)[FIT]
                for other, there in points.items()
                if scene.objects[other].item != scene.objects[thing].item
            ]
            better, n = better + sum(own > fit for fit in others), n + len(others)
    assert n > 150
    assert better / n > 0.9, f"{better} of {n}"


def test_what_is_looked_for_is_the_thing_and_not_its_place() -> None:
    encoder = WEIGHTS.visual_encoder
    np.testing.assert_array_equal(encoder.meanings("the left can"), encoder.meanings("can"))
    np.testing.assert_array_equal(encoder.meanings("the can left of the red box"), encoder.meanings("can"))
    assert len(encoder.meanings("the red box")) == 2


def test_without_a_known_word_nothing_fits_or_not() -> None:
    def fit(phrase: str) -> VisualFeatures:
        return seen.things(WEIGHTS.visual_encoder.meanings(phrase))[:, FIT]

    seen = WEIGHTS.visual_encoder.look(picture_of(scene_of("test", 0, 5000), 0).rgb)
    assert fit("can").any()
    for phrase in ("violin", "", "the the the"):
        assert not fit(phrase).any(), phrase
