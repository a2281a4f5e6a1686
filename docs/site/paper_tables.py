"""The tools of the four papers as they print them: names, arguments in their order, and which of those are optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedTool:
    """A tool as a paper prints it.

    Attributes:
        name: Its name.
        arguments: Their names, separated by spaces.
        optional: Those that may be left out, separated by spaces.
    """

    name: str
    arguments: str = ""
    optional: str = ""


SPACETOOLS = (
    PrintedTool("image_ops.index_at", "data x y"),  # printed under the name of the next one
    PrintedTool("image_ops.point_crop", "image points"),
    PrintedTool("image_ops.mask_crop", "image mask"),
    PrintedTool("sam2.segment_from_point", "image x y"),
    PrintedTool("sam2.segment_from_points", "image points"),
    PrintedTool("point1.detect_one", "image obj_name"),
    PrintedTool("point1.detect_all", "image obj_name"),
    PrintedTool("point2.detect_one", "image obj_name"),
    PrintedTool("point2.detect_all", "image obj_name"),
    PrintedTool("depth_estimator.estimate_depth", "image"),
    PrintedTool("depth_estimator.estimate_depth_with_pointcloud", "image"),
    PrintedTool("grasp_generator.compute_grasp", "point_cloud mask image focal_length_px"),
    PrintedTool("3d_bbox.compute_bbox", "point_cloud mask focal_length_px"),
    PrintedTool("code_executor.exec", "code"),
    PrintedTool("code_executor.eval", "expression"),
    PrintedTool("robot.capture_image"),
    PrintedTool("robot.get_depth"),
    PrintedTool("robot.get_depth_with_pointcloud"),
    PrintedTool("robot.execute_grasp", "grasp_pose"),
    PrintedTool("robot.place_object_at_2d_location", "point_2d"),
    PrintedTool("robot.place_object_at_3d_location", "point_3d"),
)
"""Supplement, appendix B.5; `mock_data` of mock_robot is the data set's and no argument of a model."""

SPACETOOLS_FIGURES = (
    PrintedTool("roborefer.detect_one", "obj_name image_index"),
    PrintedTool("sam2.segment_from_point", "x y image_index"),
    PrintedTool("depth_estimator.estimate_depth", "image_index"),
    PrintedTool("depth_estimator.estimate_depth_with_pointcloud", "image_index"),
    PrintedTool("grasp_generator.compute_grasp", "point_cloud mask focal_length_px image_index"),
    PrintedTool("vision_ops.index_at", "data u v"),
)
"""As they are called in figures 6 and 7."""

PERIA = (
    PrintedTool("text_ocr", "image_index"),
    PrintedTool("text_spotting", "image_index"),
    PrintedTool("map_text_ocr", "image_index"),
    PrintedTool("formula_ocr", "image_index"),
    PrintedTool("table_ocr", "image_index"),
    PrintedTool("grounding_dino", "image_index question"),
    PrintedTool("auto_segment", "image_index"),
    PrintedTool("bbox_segment", "image_index bounding_box"),
    PrintedTool("text_segment", "image_index text_prompt"),
    PrintedTool("exemplar_segment", "image_index bounding_box"),
    PrintedTool("concept_count", "image_index text_prompt"),
    PrintedTool("presence_check", "image_index text_prompt"),
    PrintedTool("image_crop", "image_index bounding_box"),
    PrintedTool("image_label", "image_index text position"),
    PrintedTool("draw_line", "image_index coordinates"),
    PrintedTool("draw_path", "image_index points"),
    PrintedTool("bounding_box", "image_index bounding_box"),
    PrintedTool("image_highlight", "image_index bounding_box"),
)
"""Table 7."""

EVIC = (
    PrintedTool("image_zoom_in", "image_idx bbox_2d label", "image_idx label"),
    PrintedTool("draw_point", "image_idx points", "image_idx"),
    PrintedTool("draw_box", "image_idx boxes", "image_idx"),
    PrintedTool("draw_trajectory", "image_idx trajectories", "image_idx"),
    PrintedTool("draw_3d_bbox", "image_idx boxes_3d", "image_idx"),
)
"""Figure 8."""

LAST = (
    PrintedTool("EstimateDepth", "img_path text_labels", "text_labels"),
    PrintedTool("EstimateSize", "img_path text_labels threshold", "threshold"),
    PrintedTool("SegmentObjects", "img_path text_labels threshold", "threshold"),
    PrintedTool("CountObjects", "img_path text_labels threshold", "threshold"),
    PrintedTool("ZoomCrop", "img_path box center zoom_factor", "box center zoom_factor"),
    PrintedTool("Get3DPoint", "img_path text_labels"),
)
"""Appendix A.1."""

TABLES: Mapping[str, Sequence[PrintedTool]] = {"spacetools": SPACETOOLS, "peria": PERIA, "evic": EVIC, "last": LAST}
"""By suite."""
