"""A product's name needs evidence that unknown things do not have."""

from __future__ import annotations

import numpy as np
import pytest

from bench.perception.masks import pictures, scene_of
from bench.perception.naming import fit
from tool_nodes.catalogue import load_catalogue
from tool_nodes.geometry import pixel
from tool_nodes.perception.extents import Extents
from tool_nodes.perception.naming import EVIDENCE, SURE, known_product
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.perception.recognition import Look, Recogniser

PRODUCTS = list(load_catalogue().values())


def look_of(name: str, taller_m: float = 0.0, cut: bool = False) -> Look:
    """A product in even light, or something of its colours that is taller."""
    item = load_catalogue()[name]
    length, width = sorted(item.size_m[:2], reverse=True)
    extents = Extents(np.zeros(3), np.array([length, width, item.size_m[2] + taller_m]), 0.0, np.zeros((4, 2)), 0.985)
    return Look(extents, item.container, np.tile(np.uint8(item.rgb), (60, 1)), np.full(60, 0.5), cut)


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_larger_than_a_product_is_not_that_product_even_where_it_is_half_hidden(cut: bool) -> None:
    recogniser = Recogniser([load_catalogue()["red box"]])
    assert recogniser.best(look_of("red box", cut=cut)) is not None
    taller = recogniser.readings(look_of("red box", 0.03, cut))
    assert [reading.item for reading in taller] == [None]


def test_the_readings_of_a_thing_add_up_to_one_at_most() -> None:
    readings = Recogniser(PRODUCTS).readings(look_of("red box"))
    assert readings[0].item is not None
    assert readings[0].item.name == "red box"
    assert SURE <= sum(reading.probability for reading in readings if reading.item is not None) <= 1.0
    assert sum(reading.probability for reading in readings) <= 1.0 + 1e-9


def test_a_product_has_its_name_and_none_where_the_list_lacks_it() -> None:
    scene = scene_of("apart", 2000)
    true, frame = pictures(scene, "stereo", 2000)
    assert true.ids is not None
    here = {placed.item for placed in scene.objects}
    views = [view for view in PixelPerception(PRODUCTS).views(frame) if view.recognised]
    shown = [scene.objects[true.ids[pixel(view.point, frame.size)[::-1]]].item for view in views]
    assert [view.name for view in views] == shown
    assert set(shown) == here
    unknown = PixelPerception([item for item in PRODUCTS if item.name not in here]).views(frame)
    assert len(unknown) == len(views)
    assert not any(view.recognised for view in unknown)


def test_the_fit_finds_the_evidence_that_tells_known_things_from_unknown_ones() -> None:
    rng = np.random.default_rng(0)
    known = (np.arange(400) % 4 == 0).astype(float)
    evidence = rng.standard_normal((400, len(EVIDENCE)))
    evidence[:, 3] += 3.0 * known
    weights, bias = fit(evidence, known)
    named = evidence @ weights + bias > 0.0
    assert int(np.argmax(np.abs(weights))) == 3
    assert np.mean(named == (known > 0.5)) > 0.9


def test_no_evidence_is_needed_for_nothing() -> None:
    assert Recogniser([]).best(look_of("red box")) is None
    assert 0.0 <= known_product(np.zeros(len(EVIDENCE))) <= 1.0
