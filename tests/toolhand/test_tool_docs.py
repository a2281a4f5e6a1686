import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docs.site import tool_docs
from docs.site.tool_docs import IMAGE_BYTES, IMAGE_WIDTH, ROOT, Documents, describe_schema, encode
from docs.site.tool_families import FAMILIES, anchor, tool_matrix, tools_of
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.sandbox import seccomp
from toolhand.tool_nodes.toolbox.arguments import ArrayArgument, ImageArgument, NumberArgument, TextArgument
from toolhand.tool_nodes.toolbox.toolbox import ToolSpec

FOLDER = ROOT / "docs" / "reference" / "tools"
ALL_IMAGES_BYTES = 700_000


@pytest.fixture(scope="module")
def specs() -> list[ToolSpec]:
    return list(Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=tool_docs.own_suites())).toolbox.specs.values())


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / tool_docs.PAGE).read_text(encoding="utf-8")


@pytest.mark.skipif(bool(seccomp.why_missing()), reason=seccomp.why_missing())
def test_every_example_succeeds_and_the_page_and_the_images_show_what_came_out() -> None:
    assert tool_docs.stale(tool_docs.make_documents()) == [], "run python -m docs.site.tool_docs"


def test_every_tool_is_of_exactly_one_family_and_no_family_is_empty(specs: list[ToolSpec]) -> None:
    for spec in specs:
        assert len([family.title for family in FAMILIES if family.rank(spec) is not None]) == 1, spec.name
    assert [family.title for family in FAMILIES if not tools_of(family, specs)] == []


def test_the_matrix_names_every_tool_once(specs: list[ToolSpec]) -> None:
    lines = tool_matrix(specs).splitlines()
    names = [name for line in lines[2:] for name in re.findall(r"`([^`]+)`", line.split("|")[2])]
    assert len(lines) == 2 + len(FAMILIES)
    assert sorted(names) == sorted(n if n in names else n.rpartition(".")[2] for n in (spec.name for spec in specs))


def test_the_page_shows_each_image_file_once(page: str) -> None:
    shown = re.findall(r"!\[[^\]]*\]\(tools/([^)]+)\)", page)
    assert len(shown) == len(set(shown))
    assert set(shown) == {path.name for path in FOLDER.iterdir()}


def test_the_images_are_small_and_can_be_decoded() -> None:
    paths = sorted(FOLDER.iterdir())
    for path in paths:
        with Image.open(path) as image:
            image.load()
            assert image.format == "JPEG"
            assert image.width <= IMAGE_WIDTH, path.name
        assert path.stat().st_size <= IMAGE_BYTES, path.name
    assert sum(path.stat().st_size for path in paths) < ALL_IMAGES_BYTES


def test_every_link_inside_the_page_leads_to_a_heading(page: str) -> None:
    headings = {anchor(title) for title in re.findall(r"^#+ (.+)$", page, re.MULTILINE)}
    links = re.findall(r"\]\(#([^)]+)\)", page)
    assert links
    assert set(links) <= headings


def test_what_is_stale_is_named_and_written_anew(tmp_path: Path) -> None:
    red = np.full((20, 30, 3), (200, 30, 30), np.uint8)
    documents = Documents("# Tools\n", {"a.jpg": red, "b.jpg": red})
    (tmp_path / "docs" / "reference" / "tools").mkdir(parents=True)
    (tmp_path / "docs" / "reference" / "tools" / "gone.jpg").write_bytes(b"")
    (tmp_path / "docs" / "reference" / "tools" / "b.jpg").write_bytes(encode(255 - red))
    wrong = [
        "docs/reference/tools.md",
        "docs/reference/tools/a.jpg",
        "docs/reference/tools/b.jpg",
        "docs/reference/tools/gone.jpg",
    ]
    assert tool_docs.stale(documents, tmp_path) == wrong

    tool_docs.write(documents, tmp_path)
    assert tool_docs.stale(documents, tmp_path) == []
    assert sorted(path.name for path in (tmp_path / "docs" / "reference" / "tools").iterdir()) == ["a.jpg", "b.jpg"]


def test_an_image_with_one_mark_elsewhere_is_stale(tmp_path: Path) -> None:
    grey = np.full((240, 320, 3), 128, np.uint8)
    one, other = grey.copy(), grey.copy()
    one[100:105, 100:105], other[100:105, 120:125] = (255, 0, 0), (255, 0, 0)
    tool_docs.write(Documents("", {"a.jpg": one}), tmp_path)
    assert tool_docs.stale(Documents("", {"a.jpg": one + (one < 255)}), tmp_path) == []  # another rounding
    assert tool_docs.stale(Documents("", {"a.jpg": other}), tmp_path) == ["docs/reference/tools/a.jpg"]


def test_only_the_far_decimals_of_a_number_may_differ_from_the_page(tmp_path: Path) -> None:
    tool_docs.write(Documents("0.8668770790100098 m", {}), tmp_path)
    assert tool_docs.stale(Documents("0.86687707901 m", {}), tmp_path) == []
    assert tool_docs.stale(Documents("0.867 m", {}), tmp_path) == ["docs/reference/tools.md"]


def test_the_command_says_what_is_stale_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool_docs, "ROOT", tmp_path)
    monkeypatch.setattr(tool_docs, "make_documents", lambda: Documents("# Tools\n", {}))
    assert tool_docs.main(["--check"]) == 1
    assert capsys.readouterr().out == "docs/reference/tools.md is stale; run python -m docs.site.tool_docs\n"
    assert list(tmp_path.iterdir()) == []
    assert tool_docs.main([]) == 0
    assert tool_docs.main(["--check"]) == 0
    assert tool_docs.main(["--wrong"]) == 2


def test_an_image_that_is_hard_to_compress_still_fits() -> None:
    noise = np.random.default_rng(0).normal(128, 30, (120, 160, 3)).clip(0, 255).astype(np.uint8)
    data = encode(noise)
    assert len(data) <= IMAGE_BYTES
    assert Image.open(io.BytesIO(data)).size == (160, 120)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (NumberArgument(0.0, 1.0).schema(), "number in [0, 1]"),
        (NumberArgument(0.0, exclusive_low=True, reference=True).schema(), "number > 0 or `$variable`"),
        ({"type": "integer", "minimum": 2, "maximum": 9}, "integer in [2, 9]"),
        (TextArgument(40).schema(), "string, at most 40 characters"),
        (ImageArgument().schema(), "integer >= 0 or `$variable`"),
        (ArrayArgument("pose", (4, 4), literal=True).schema(), "list of 4 lists of 4 numbers or `$variable`"),
        (ArrayArgument("points", (None, 2), literal=True).schema(), "list of lists of 2 numbers or `$variable`"),
        (
            {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 2}},
            "list of lists of 2 or more numbers",
        ),
        ({"type": "array", "items": {"type": "string", "maxLength": 9}}, "list of strings, at most 9 characters"),
        ({"type": "string", "pattern": r"^\\boxed\{[^{}]*\}$"}, r"string `\boxed{...}`"),
        ({"type": "string", "pattern": "^image-(0|[1-9][0-9]{0,5})$"}, "string `image-...`"),
        ({"enum": ["a", "b"]}, 'one of "a", "b"'),
        ({"type": "boolean"}, "boolean"),
    ],
)
def test_a_schema_is_told_in_few_words(schema: dict[str, object], words: str) -> None:
    assert describe_schema(schema) == words


def test_anchors_are_made_as_markdown_pages_make_them() -> None:
    assert anchor("`sam2.segment_from_point(x, y, image_index)`") == "sam2segment_from_pointx-y-image_index"
    assert anchor("E-ViC") == "e-vic"
