"""Names, arguments and required arguments of every tool, against tables transcribed from the four papers."""

from __future__ import annotations

import pytest

from sim.mock.data import read_dataset
from sim.mock.station import MockStation
from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station, StationConfig
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.tools.suites import SUITES

# (name, arguments in the paper's order, those of them that are optional)
SPACETOOLS = [  # supplement, appendix B.5; `mock_data` of mock_robot is the data set's and no argument of a model
    ("image_ops.index_at", "data x y", ""),  # printed under the name of the next one
    ("image_ops.point_crop", "image points", ""),
    ("image_ops.mask_crop", "image mask", ""),
    ("sam2.segment_from_point", "image x y", ""),
    ("sam2.segment_from_points", "image points", ""),
    ("point1.detect_one", "image obj_name", ""),
    ("point1.detect_all", "image obj_name", ""),
    ("point2.detect_one", "image obj_name", ""),
    ("point2.detect_all", "image obj_name", ""),
    ("depth_estimator.estimate_depth", "image", ""),
    ("depth_estimator.estimate_depth_with_pointcloud", "image", ""),
    ("grasp_generator.compute_grasp", "point_cloud mask image focal_length_px", ""),
    ("3d_bbox.compute_bbox", "point_cloud mask focal_length_px", ""),
    ("code_executor.exec", "code", ""),
    ("code_executor.eval", "expression", ""),
    ("robot.capture_image", "", ""),
    ("robot.get_depth", "", ""),
    ("robot.get_depth_with_pointcloud", "", ""),
    ("robot.execute_grasp", "grasp_pose", ""),
    ("robot.place_object_at_2d_location", "point_2d", ""),
    ("robot.place_object_at_3d_location", "point_3d", ""),
]
CALLED_IN_FIGURES = [  # figures 6 and 7
    ("roborefer.detect_one", "obj_name image_index", ""),
    ("sam2.segment_from_point", "x y image_index", ""),
    ("depth_estimator.estimate_depth", "image_index", ""),
    ("depth_estimator.estimate_depth_with_pointcloud", "image_index", ""),
    ("grasp_generator.compute_grasp", "point_cloud mask focal_length_px image_index", ""),
    ("vision_ops.index_at", "data u v", ""),
]
PERIA = [  # table 7
    ("text_ocr", "image_index", ""),
    ("text_spotting", "image_index", ""),
    ("map_text_ocr", "image_index", ""),
    ("formula_ocr", "image_index", ""),
    ("table_ocr", "image_index", ""),
    ("grounding_dino", "image_index question", ""),
    ("auto_segment", "image_index", ""),
    ("bbox_segment", "image_index bounding_box", ""),
    ("text_segment", "image_index text_prompt", ""),
    ("exemplar_segment", "image_index bounding_box", ""),
    ("concept_count", "image_index text_prompt", ""),
    ("presence_check", "image_index text_prompt", ""),
    ("image_crop", "image_index bounding_box", ""),
    ("image_label", "image_index text position", ""),
    ("draw_line", "image_index coordinates", ""),
    ("draw_path", "image_index points", ""),
    ("bounding_box", "image_index bounding_box", ""),
    ("image_highlight", "image_index bounding_box", ""),
]
EVIC = [  # figure 8
    ("image_zoom_in", "image_idx bbox_2d label", "image_idx label"),
    ("draw_point", "image_idx points", "image_idx"),
    ("draw_box", "image_idx boxes", "image_idx"),
    ("draw_trajectory", "image_idx trajectories", "image_idx"),
    ("draw_3d_bbox", "image_idx boxes_3d", "image_idx"),
]
LAST = [  # appendix A.1
    ("EstimateDepth", "img_path text_labels", "text_labels"),
    ("EstimateSize", "img_path text_labels threshold", "threshold"),
    ("SegmentObjects", "img_path text_labels threshold", "threshold"),
    ("CountObjects", "img_path text_labels threshold", "threshold"),
    ("ZoomCrop", "img_path box center zoom_factor", "box center zoom_factor"),
    ("Get3DPoint", "img_path text_labels", ""),
]
TABLES = {"spacetools": SPACETOOLS, "peria": PERIA, "evic": EVIC, "last": LAST}
ROWS = [(suite, *row) for suite, rows in TABLES.items() for row in rows]
ROWS += [("spacetools", *row) for row in CALLED_IN_FIGURES]


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    return Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=SUITES)).toolbox


@pytest.mark.parametrize(("suite", "name", "arguments", "optional"), ROWS, ids=lambda value: str(value).split()[:1])
def test_a_tool_has_the_papers_name_arguments_and_required_arguments(
    toolbox: Toolbox, suite: str, name: str, arguments: str, optional: str
) -> None:
    spec = toolbox.find(name)
    own = [argument if argument in spec.kinds else spec.renamed[argument] for argument in arguments.split()]
    parameters = spec.schema()["function"]["parameters"]
    assert sorted(parameters["properties"]) == sorted(own)
    assert sorted(parameters["required"]) == sorted(set(own) - set(optional.split()))
    assert spec.suite == suite


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_holds_the_papers_tools_and_no_others(toolbox: Toolbox, suite: str) -> None:
    offered = {name for name, spec in toolbox.specs.items() if spec.suite == suite}
    assert offered == {toolbox.find(name).name for name, *_ in TABLES[suite]}


def test_the_mock_robot_has_the_robots_names_and_its_own() -> None:
    mock = MockStation(read_dataset().frame(0)).toolbox
    for name, arguments, _ in SPACETOOLS:
        if name.startswith("robot."):
            assert mock.find(name) is mock.find(f"mock_{name}")
            assert len(mock.find(name).kinds) == len(arguments.split())
