"""One example call of every tool, and the pictures it runs on: docs/reference/tools.md, tests and `bench tools`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict

from sim.drawings import samples as pictures
from tool_nodes.ports import Camera
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from tool_nodes.types import Frame

PictureName = Literal["table", "street", "city_map", "formula", "ruled_table", "shapes"]
Call = tuple[str, Mapping[str, Any]]

DRAWN: Mapping[str, Callable[[int], Frame]] = {
    "street": pictures.street,
    "city_map": pictures.city_map,
    "formula": pictures.formula,
    "ruled_table": pictures.table,
    "shapes": pictures.shapes,
}
"""Pictures without depth, from a seed, by name. "table" is what the scene camera sees of the example scene."""


class Example(TypedDict):
    """One call.

    Attributes:
        arguments: Of the tool. Picture 0 is the one named here; `$variables` come from the calls before.
        picture: What picture 0 shows; "table" where it is left out.
        before: Calls that the tool needs first.
    """

    arguments: Mapping[str, Any]
    picture: NotRequired[PictureName]
    before: NotRequired[Sequence[Call]]


_CARTON = {"x": 0.349, "y": 0.545, "image_index": 0}
"""Where the carton is in picture 0, normalized."""
_CLOUD: Call = ("depth_estimator.estimate_depth_with_pointcloud", {"image_index": 0})
_OUTLINE: Call = ("sam2.segment_from_point", _CARTON)
_OBJECT = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
_FIND_GRASP: Call = ("grasp_generator.compute_grasp", {**_OBJECT, "image_index": 0})
_GRASP: Call = ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"})
_SEEN = (_CLOUD, _OUTLINE)
_GRASPED = (*_SEEN, _FIND_GRASP, _GRASP)
_BOX_1000 = r"\boxed{300, 440, 400, 680}"
_SIGN_1000 = r"\boxed{700, 300, 1000, 500}"

EXAMPLES: Mapping[str, Example] = {
    # SpaceTools
    "robot.capture_image": Example(arguments={}),
    "robot.get_depth": Example(arguments={}),
    "robot.get_depth_with_pointcloud": Example(arguments={}),
    "robot.execute_grasp": Example(arguments=_GRASP[1], before=(*_SEEN, _FIND_GRASP)),
    "robot.place_object_at_2d_location": Example(arguments={"placement_point_2d": [0.48, 0.62]}, before=_GRASPED),
    "robot.place_object_at_3d_location": Example(
        arguments={"placement_point_3d": [-0.02, 0.14, 0.93]}, before=_GRASPED
    ),
    "roborefer.detect_one": Example(arguments={"obj_name": "the carton on the left", "image_index": 0}),
    "roborefer.detect_all": Example(arguments={"obj_name": "coconut water", "image_index": 0}),
    "vlm.detect_one": Example(arguments={"obj_name": "black bin", "image_index": 0}),
    "vlm.detect_all": Example(arguments={"obj_name": "food", "image_index": 0}),
    "sam2.segment_from_point": Example(arguments=_CARTON),
    "sam2.segment_from_points": Example(arguments={"points": [[0.349, 0.52], [0.349, 0.56]], "image_index": 0}),
    "depth_estimator.estimate_depth": Example(arguments={"image_index": 0}),
    "depth_estimator.estimate_depth_with_pointcloud": Example(arguments={"image_index": 0}),
    "grasp_generator.compute_grasp": Example(arguments=_FIND_GRASP[1], before=_SEEN),
    "bounding_box.compute_bbox": Example(arguments=_OBJECT, before=_SEEN),
    "vision_ops.index_at": Example(arguments={"data": "$depth_map", "u": 0.349, "v": 0.545}, before=(_CLOUD,)),
    "vision_ops.point_crop": Example(arguments={"image_index": 0, "points": [[0.30, 0.45], [0.40, 0.66]]}),
    "vision_ops.mask_crop": Example(arguments={"image_index": 0, "mask": "$segmentation_mask"}, before=(_OUTLINE,)),
    "code_executor.exec": Example(
        arguments={
            "code": "near = depth_map[segmentation_mask]\nresult = {'pixels': near.size, 'm': float(np.median(near))}"
        },
        before=_SEEN,
    ),
    "code_executor.eval": Example(arguments={"expression": "float(np.nanmax(depth_map))"}, before=(_CLOUD,)),
    # PERIA
    "text_ocr": Example(arguments={"image_index": 0}, picture="street"),
    "text_spotting": Example(arguments={"image_index": 0}, picture="street"),
    "map_text_ocr": Example(arguments={"image_index": 0}, picture="city_map"),
    "formula_ocr": Example(arguments={"image_index": 0}, picture="formula"),
    "table_ocr": Example(arguments={"image_index": 0}, picture="ruled_table"),
    "grounding_dino": Example(arguments={"image_index": 0, "question": "coconut water . black bin"}),
    "auto_segment": Example(arguments={"image_index": 0}),
    "bbox_segment": Example(arguments={"image_index": 0, "bounding_box": _BOX_1000}),
    "text_segment": Example(arguments={"image_index": 0, "text_prompt": "rice box"}),
    "exemplar_segment": Example(arguments={"image_index": 0, "bounding_box": _BOX_1000}),
    "concept_count": Example(arguments={"image_index": 0, "text_prompt": "coconut water"}),
    "presence_check": Example(arguments={"image_index": 0, "text_prompt": "teddy bear"}),
    "image_crop": Example(arguments={"image_index": 0, "bounding_box": _SIGN_1000}, picture="street"),
    "image_label": Example(arguments={"image_index": 0, "text": "carton", "position": [350, 430]}),
    "draw_line": Example(arguments={"image_index": 0, "coordinates": [[350, 540], [610, 560]]}),
    "draw_path": Example(arguments={"image_index": 0, "points": [[350, 700], [480, 640], [610, 700], [800, 640]]}),
    "bounding_box": Example(arguments={"image_index": 0, "bounding_box": _BOX_1000}),
    "image_highlight": Example(arguments={"image_index": 0, "bounding_box": _BOX_1000}),
    # E-ViC
    "image_zoom_in": Example(arguments={"image_idx": 0, "bbox_2d": [180, 200, 270, 320], "label": "carton"}),
    "draw_point": Example(arguments={"image_idx": 0, "points": [[224, 258], [392, 264]]}),
    "draw_box": Example(arguments={"image_idx": 0, "boxes": [[196, 221, 252, 300], [373, 240, 410, 296]]}),
    "draw_trajectory": Example(arguments={"image_idx": 0, "trajectories": [[[224, 258], [300, 310], [392, 264]]]}),
    "draw_3d_bbox": Example(
        arguments={
            "image_idx": 0,
            "boxes_3d": [
                [[194, 260], [240, 260], [250, 300], [210, 300], [198, 220], [243, 220], [252, 264], [213, 264]],
            ],
        }
    ),
    # LAST
    "EstimateDepth": Example(arguments={"img_path": "image-0", "text_labels": ["rice box", "teddy bear"]}),
    "EstimateSize": Example(arguments={"img_path": "image-0", "text_labels": ["rice box"]}),
    "SegmentObjects": Example(arguments={"img_path": "image-0", "text_labels": ["coconut water", "cinnamon"]}),
    "CountObjects": Example(arguments={"img_path": "image-0", "text_labels": ["coconut water"]}),
    "ZoomCrop": Example(arguments={"img_path": "image-0", "box": [180, 200, 270, 320], "zoom_factor": 2.0}),
    "Get3DPoint": Example(arguments={"img_path": "image-0", "text_labels": ["cinnamon"]}),
}
"""By the tool's name; every tool of every suite has one."""


@cache
def _drawn(name: str) -> Frame:
    return DRAWN[name](0)


def example_picture(name: str, camera: Camera) -> SessionImage:
    """A picture by name, as an object that no cache has seen."""
    frame = _drawn(name) if name in DRAWN else camera.capture()
    frame = replace(frame, rgb=frame.rgb.copy(), depth=frame.depth.copy())
    return SessionImage(frame.rgb, frame)


def set_up(example: Example, picture: SessionImage, toolbox: Toolbox) -> Session:
    """A conversation with a picture, after the calls that an example needs. Raises ToolError if one of them fails."""
    session = Session(images=[picture])
    for name, arguments in example.get("before", ()):
        error = toolbox.call(name, arguments, session).result.error
        if error is not None:
            raise error
    return session


def run_example(name: str, toolbox: Toolbox, camera: Camera) -> tuple[CallRecord, Session]:
    """Run the example of a tool in a conversation of its own.

    Raises:
        ToolError: UNKNOWN_TOOL where it has no example; that of a call before which failed.
    """
    if name not in EXAMPLES:
        raise ToolError(ErrorCode.UNKNOWN_TOOL, f"There is no example of {name[:60]!r}.")
    example = EXAMPLES[name]
    session = set_up(example, example_picture(example.get("picture", "table"), camera), toolbox)
    return toolbox.call(name, example["arguments"], session), session
