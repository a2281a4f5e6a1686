"""Skills as data: a file of one's own becomes a tool, and a wrong file gets one sentence that says what and where."""

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.last.loading import FOLDER, load_skill, load_skills
from toolhand.tool_nodes.tools.last.objects import (
    CentroidRow,
    CountRow,
    CropRow,
    DepthRange,
    DepthRow,
    MissingRow,
    PointRow,
    SizeRow,
)
from toolhand.tool_nodes.tools.last.operations import OPERATIONS
from toolhand.tool_nodes.tools.last.tools import SkillTools, paper_skills

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
FILE = "nearest_object.yaml"


def written(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text, encoding="utf-8")
    return folder / FILE


def problem(folder: Path, text: str) -> str:
    """The one sentence about a wrong file."""
    with pytest.raises(ToolError) as caught:
        load_skill(written(folder, text))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert re.match(rf"{re.escape(FILE)}(, line \d+)?: |{re.escape(FILE)} cannot be read", str(caught.value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- the page of the documentation -----------------------------------------------------------------


def test_the_pages_example_is_a_skill_that_runs(tmp_path: Path, finder: Any, image: SessionImage) -> None:
    written(tmp_path, EXAMPLE)
    toolbox = Toolbox([SkillTools(finder, tmp_path)])
    session = Session(images=[image])
    arguments = {"img_path": "image-0", "text_labels": ["plate", "violin", "cup"]}
    record = toolbox.call("NearestObject", arguments, session)
    assert record.result.text == "Nearest: cup 1, average depth 1.00 m.\nviolin: not found. (backend: known)"
    changed = (session.images[1].rgb != image.rgb).any(axis=2)
    assert changed[10:13, 30].all()
    assert not changed[:, 60:].any()
    assert "Nearest: " in PAGE.split("answer ends with the backend")[1]


def test_the_pages_error_is_what_is_said(tmp_path: Path) -> None:
    wrong = EXAMPLE.replace(
        "{objects: objects, depth: depth}, as: winner}", "{objects: depth, depth: depth}, as: winner}"
    )
    sentence = problem(tmp_path, wrong)
    assert sentence in " ".join(PAGE.split())


def test_the_page_lists_every_operation_with_its_inputs_module_and_rows() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| `\w+\(", line)]
    listed = {}
    for calls, module, result in rows:
        for name, inputs in re.findall(r"`(\w+)\(([^)]*)\)`", calls):
            listed[name] = (inputs.split(", "), module, result.strip(" |"))
    assert set(listed) == set(OPERATIONS)
    for name, (inputs, module, result) in listed.items():
        assert inputs == list(OPERATIONS[name].inputs), name
        assert module == OPERATIONS[name].module, name
        columns = re.match(r"rows?: (.*)", result)
        for row in (CentroidRow, CountRow, CropRow, DepthRange, DepthRow, MissingRow, PointRow, SizeRow):
            if OPERATIONS[name].output in (row, list[row]):
                assert columns, name
                assert columns[1].split(", ") == list(inspect.signature(row).parameters), name


def test_the_modules_are_those_of_the_paper() -> None:
    modules = {operation.module for operation in OPERATIONS.values()}
    assert modules == {"GroundingDINO", "SAM2", "DepthAnything-v2", "VGGT", "Python"}
    for operation in OPERATIONS.values():
        assert operation.looks == (operation.module != "Python")
        assert inspect.getdoc(operation.function)


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("EstimateDepth", {"GroundingDINO", "DepthAnything-v2", "Python"}),
        ("EstimateSize", {"GroundingDINO", "SAM2", "Python"}),
        ("SegmentObjects", {"GroundingDINO", "SAM2", "Python"}),
        ("CountObjects", {"GroundingDINO", "Python"}),
        ("ZoomCrop", {"Python"}),
        ("Get3DPoint", {"GroundingDINO", "VGGT", "Python"}),
    ],
)
def test_a_skill_of_the_paper_combines_the_modules_that_the_paper_names(name: str, modules: set[str]) -> None:
    (skill,) = (skill for skill in paper_skills() if skill.name == name)
    assert {OPERATIONS[operation].module for operation in skill.operations} == modules


# -- wrong files -----------------------------------------------------------------------------------

DETECT = "- {do: detect, with: {image: img_path, labels: text_labels, threshold: threshold}, as: objects}"
DEPTH = "- {do: estimate_depth, with: {image: img_path}, as: depth}"
NEAREST = "- {do: nearest, with: {objects: objects, depth: depth}, as: winner}"
OPTIONAL = 'text_labels: {kind: labels, optional: true, description: "Objects to compare'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "do: nearest",
            "do: closest",
            "step 3 uses the unknown operation 'closest'; known: average_depth, box_centroids",
        ),
        (
            "labels: text_labels, threshold",
            "labels: text_label, threshold",
            "refers to 'text_label', which is no argument",
        ),
        (
            "labels: text_labels, threshold",
            "label: text_labels, threshold",
            "step 1 (detect) has no input 'label'; it has",
        ),
        ("labels: text_labels, threshold: threshold", "threshold: 0.2", "step 1 (detect) needs the input 'labels'"),
        ("labels: text_labels, threshold", "labels: 3, threshold", "must be the name of a list of str, not a number"),
        ("labels: text_labels", "labels: img_path", "takes a list of str, and 'img_path' is one SessionImage"),
        (f"{DETECT}\n  {DEPTH}", f"{DEPTH}\n  {DETECT}", ""),
        (
            f"{DEPTH}\n  {NEAREST}",
            f"{NEAREST}\n  {DEPTH}",
            "step 2 (nearest): input 'depth' refers to 'depth', which is no",
        ),
        (
            "{objects: objects, depth: depth}, as: w",
            "{objects: winner, depth: depth}, as: w",
            "made by no earlier step",
        ),
        ("as: depth}", "as: objects}", "step 2 (estimate_depth): the name 'objects' is taken"),
        ("as: depth}", "as: img_path}", "the name 'img_path' is taken"),
        ("as: depth}", "as: 3d}", "steps[1].as must be a name of letters, digits and underscores, not '3d'"),
        ("as: depth}", "as: depth, when: threshold}", "when must be an optional argument without a default: none"),
        ("as: depth}", "as: depth, for_each: images}", "for_each must be one of its inputs: image"),
        (
            "as: depth}",
            "as: depth, for_each: image}",
            "must be a list for for_each, and 'img_path' is one SessionImage",
        ),
        (
            "as: depth}",
            "as: depth, loop: 3}",
            "there is no key steps[1].loop; the keys are do, with, as, when, for_each",
        ),
        ("as: depth}", "as: depth, when: 0}", "steps[1].when must be a text, not 0"),
        ("do: nearest", "do: [nearest]", "steps[2].do must be a text"),
        (", as: depth}", "}", "steps[1].as is missing"),
        ("with: {image: img_path}, as: depth", "with: [img_path], as: depth", "steps[1].with must be a mapping"),
        ("name: NearestObject\n", "", "name is missing"),
        ("name: NearestObject", "name: Nearest Object", "name must be a name of letters, digits and underscores"),
        ("name: NearestObject", "name: [1]", "name must be a name of letters, digits and underscores"),
        (
            "operations: [detect,",
            "operations: [detect, crop,",
            "operations must list what the steps use: [detect, estimate",
        ),
        (
            "kind: labels",
            "kind: list",
            "arguments.text_labels.kind must be one of image, labels, text",
        ),
        ("default: 0.1", "default: 1.5", "argument 'threshold': its default must be between 0 and 1, got 1.5"),
        ("default: 0.1", "low: zero", "arguments.threshold.low must be a whole number or a finite number"),
        ("kind: labels", "kind: labels, low: 3", "low and high are for the kinds score and number"),
        ("image: shown\ntext", "image: depth\ntext", "image 'depth' must be a picture that is always made"),
        ("image: shown\ntext", "image: picture\ntext", "image refers to 'picture', which is no argument"),
        (
            "{depth:.2f} m",
            "{distance:.2f} m",
            "line 1 of the text has the unknown field {distance}; known: label, number",
        ),
        ("{depth:.2f} m", "{depth.real} m", "has the unknown field {depth.real}"),
        ("{depth:.2f} m", "{label.__class__} m", "has the unknown field {label.__class__}"),
        ("{depth:.2f} m", "{label:.2f} m", "line 1 of the text is no template"),
        ("{depth:.2f} m", "{depth:>999999999} m", "line 1 of the text is no template"),
        ("{depth:.2f} m", "{depth:.999999f} m", "line 1 of the text is no template"),
        ("{depth:.2f} m", "{depth:{x}} m", "line 1 of the text is no template"),
        ("{depth:.2f} m", "{depth:.2f m", "line 1 of the text is no template"),
        (
            "rows: winner_depth",
            "rows: shown",
            "rows must be a result with rows of texts and numbers, and 'shown' is one",
        ),
        ("rows: winner_depth", "rows: nothing", "line 1 of the text: rows refers to 'nothing'"),
        ("rows: winner_depth, line", "line", "has the unknown field {label}; known: none, for want of rows"),
        ("image: shown\n", "image: shown\ncode: import os\n", "there is no key code"),
        ("name: NearestObject", "name: !!python/name:os.system x", "it is no plain YAML"),
        ("name: NearestObject", "name: {", "it is no plain YAML"),
        ("name: NearestObject", "name: &a NearestObject\nimage: *a", "aliases are not allowed"),
        ("name: NearestObject", "name: A\nname: B", "is given twice"),
        (EXAMPLE, "- 1", "it must be a mapping with the keys name, description"),
        (EXAMPLE, "", "it must be a mapping with the keys name, description"),
        (EXAMPLE, "a: " + "x" * 100_001, "longer than 100,000 bytes"),
        (EXAMPLE, "[" * 5000, ""),
    ],
    ids=range(50),
)
def test_a_wrong_file_is_refused_with_file_and_step(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert EXAMPLE.count(old) >= 1
    changed = EXAMPLE.replace(old, new, 1)
    if words:
        assert words in problem(tmp_path, changed)
    elif new.startswith("["):
        problem(tmp_path, changed)
    else:  # steps that do not depend on each other may change places
        assert load_skill(written(tmp_path, changed)).name == "NearestObject"


def test_what_may_be_absent_needs_the_same_condition(tmp_path: Path) -> None:
    optional = EXAMPLE.replace("text_labels: {kind: labels, ", "text_labels: {kind: labels, optional: true, ")
    assert "step 1 (detect): input 'labels' may be absent: add `when: text_labels` to the step" in problem(
        tmp_path, optional
    )
    first = optional.replace("as: objects}", "as: objects, when: text_labels}")
    assert "step 3 (nearest): input 'objects' may be absent" in problem(tmp_path, first)
    second = first.replace("as: winner}", "as: winner, when: text_labels}")
    third = second.replace("as: winner_depth}", "as: winner_depth, when: text_labels}")
    fourth = third.replace("as: missing}", "as: missing, when: text_labels}")
    assert "line 1 of the text: 'winner_depth' may be absent: add `when: text_labels` to the line" in problem(
        tmp_path, fourth
    )
    last = fourth.replace("- {rows: ", "- {when: text_labels, rows: ")
    assert load_skill(written(tmp_path, last)).arguments["text_labels"].required is False


def test_a_file_that_cannot_be_read_and_a_folder_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"^gone\.yaml cannot be read"):
        load_skill(tmp_path / "gone.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ToolError, match=r"^bytes\.yaml: it is no plain YAML"):
        load_skill(tmp_path / "bytes.yaml")
    with pytest.raises(ToolError, match="There is no folder of skills"):
        load_skills(tmp_path / "nowhere")


def test_two_skills_of_one_name_are_refused(tmp_path: Path, finder: Any) -> None:
    written(tmp_path, EXAMPLE.replace("name: NearestObject", "name: ZoomCrop"))
    with pytest.raises(ToolError, match="Two skills are called 'ZoomCrop'"):
        SkillTools(finder, tmp_path)


def test_one_more_file_is_one_more_tool(tmp_path: Path, finder: Any) -> None:
    written(tmp_path, EXAMPLE)
    names = set(SkillTools(finder, tmp_path).skills) - set(SkillTools(finder).skills)
    assert names == {"NearestObject"}
    assert len(list(FOLDER.glob("*.yaml"))) == len(paper_skills()) == 6


# -- whatever a file holds -------------------------------------------------------------------------

DOCUMENTS = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))]
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from(
        ["", "img_path", "objects", "detect", "{", "{label}", "depth", [], {}, ["crop"], {"image": "img_path"}, 0.5]
    )
)


def mutated(value: Any, path: list[int], new: Any) -> Any:
    """The document with one value, somewhere inside, replaced."""
    if not path or not isinstance(value, (dict, list)) or not value:
        return new
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    chosen = keys[path[0] % len(keys)]
    changed = value.copy()
    changed[chosen] = mutated(value[chosen], path[1:], new)
    return changed


@settings(max_examples=80)
@given(st.sampled_from(DOCUMENTS), st.lists(st.integers(0, 30), min_size=1, max_size=5), VALUES)
def test_a_mutated_skill_is_refused_in_one_sentence_or_still_whole(
    tmp_path_factory: pytest.TempPathFactory, document: Any, path: list[int], new: Any
) -> None:
    file = tmp_path_factory.getbasetemp() / "mutated.yaml"
    file.write_text(yaml.safe_dump(mutated(document, path, new), sort_keys=False), encoding="utf-8")
    found: list[Any] = []
    try:
        found.append(load_skill(file).steps)
    except ToolError as error:
        found.append(re.fullmatch(r"mutated\.yaml(, line \d+)?: [^\n]+\.", str(error)))
    assert all(found)


# -- estimateDepth averages over the whole detected region (LAST, section 3.1) ---------------------


@pytest.mark.parametrize("part", [np.s_[60:75, :], np.s_[75:90, :], np.s_[:, 60:80], np.s_[:, 80:100]])
def test_every_half_of_the_region_counts_alike(finder: Any, image: SessionImage, part: Any) -> None:
    """The plate's box is 60..100 by 60..90 px, and 1.5 m away; half of it is put 2.5 m away."""
    assert image.frame is not None
    inside = np.zeros(image.frame.depth.shape, bool)
    inside[60:90, 60:100] = True
    half = np.zeros_like(inside)
    half[part] = True
    image.frame.depth[inside & half] = 2.5
    toolbox = Toolbox([SkillTools(finder)])
    arguments = {"img_path": "image-0", "text_labels": ["plate"]}
    result = toolbox.call("EstimateDepth", arguments, Session(images=[image])).result
    assert result.ok, result.text
    assert result.value["depths"][0]["depth"] == pytest.approx(2.0, abs=0.01)
