from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from toolhand.sim.objects.products import PRODUCTS
from toolhand.tool_nodes.catalogue import load_catalogue, nearest_names
from toolhand.tool_nodes.results import ErrorCode, ToolError

CATALOGUE = load_catalogue()
ITEMS = list(CATALOGUE.values())

GOOD = """
- {name: red box, kind: box, size_m: [0.06, 0.09, 0.08], colour: red, rgb: [200, 30, 30],
   synonyms: [], categories: [], attributes: [rigid]}
"""


def test_there_are_at_least_forty_items_of_twelve_kinds() -> None:
    assert len(ITEMS) >= 40
    assert len({item.kind for item in ITEMS}) >= 12


def test_the_paper_s_objects_are_in_the_catalogue() -> None:
    names = {"coconut water", "pineapple juice", "hot dog", "black bin", "transparent bin", "cinnamon", "rice box"}
    assert names | {"hot sauce", "pony", "red box", "tennis ball tube", "teddy bear", "bunny"} <= set(CATALOGUE)
    assert sum("condiment" in item.categories for item in ITEMS) >= 4
    assert sum(item.kind == "plush" for item in ITEMS) >= 2
    assert any(item.colour == "dark blue" for item in ITEMS)
    assert any(item.colour == "purple" and "drink" in item.categories for item in ITEMS)


def test_no_two_items_differ_in_name_only() -> None:
    for a, b in combinations(ITEMS, 2):
        colour = np.abs(np.subtract(a.rgb, b.rgb)).max()
        size = np.abs(np.subtract(a.size_m, b.size_m)).max()
        second = np.abs(np.subtract(a.secondary_rgb or a.rgb, b.secondary_rgb or b.rgb)).max()
        other = PRODUCTS[a.name].shape != PRODUCTS[b.name].shape
        assert other or colour > 30 or size > 0.015 or second > 60, (
            a.name,
            b.name,
        )


def test_tall_objects_are_called_tall_and_no_others() -> None:
    for item in ITEMS:
        assert ("tall" in item.attributes) == (item.size_m[2] >= 0.15), item.name


def test_a_misspelt_name_finds_its_neighbours() -> None:
    assert '"red box"' in nearest_names("red bx", CATALOGUE)
    assert '"black bin"' in nearest_names("bin", CATALOGUE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: box, ", "", "kind is missing"),
        ("kind: box", "weight: 3, kind: box", "there is no key [0].weight"),
        ("0.08]", "0.3]", "[0].size_m[2] must be a finite number"),
        ("0.06, 0.09, 0.08", "0.06, 0.09", "[0].size_m must be a list of 3"),
        ("0.08]", ".nan]", "[0].size_m[2] must be a finite number"),
        ("0.08]", "true]", "[0].size_m[2] must be a finite number"),
        ("[200, 30, 30]", "[200, 30, 300]", "a whole number from 0 to 255"),
        ("name: red box", "name: Red Box", "lower-case"),
        ("synonyms: []", "synonyms: box", "synonyms must be a list"),
        ("kind: box", "container: maybe, kind: box", "true or false"),
        ("kind: box", "secondary: {part: cap}, kind: box", "[0].secondary.colour is missing"),
    ],
)
def test_a_wrong_item_is_refused_in_one_clear_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "shop.yaml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ToolError) as caught:
        load_catalogue(path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in str(caught.value)
    assert str(caught.value).startswith("shop.yaml, line 2: ")


@pytest.mark.parametrize("text", ["", "a: 1", "- 3", "[1", GOOD + GOOD])
def test_a_file_that_is_no_list_of_items_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text)
    with pytest.raises(ToolError, match=r"shop\.yaml"):
        load_catalogue(path)
