"""A conversation about the example table, for tests of the tools that look."""

from typing import Any

from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session

CLOUD = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}


class Table:
    """A conversation that has an image of the table as image 0."""

    def __init__(self, station: Station) -> None:
        self.station = station
        self.toolbox = station.toolbox
        self.session = Session()
        self.do("robot.capture_image")

    def call(self, name: str, **arguments: Any) -> CallRecord:
        return self.toolbox.call(name, arguments, self.session)

    def do(self, name: str, **arguments: Any) -> CallRecord:
        record = self.call(name, **arguments)
        assert record.result.ok, record.result.text
        return record

    def refusal(self, name: str, **arguments: Any) -> ToolError:
        """The error of a call that must fail: one sentence, and nothing enters the session."""
        variables, images = dict(self.session.variables), len(self.session.images)
        error = self.call(name, **arguments).result.error
        assert error is not None
        assert "\n" not in error.message
        assert len(str(error)) < 400
        assert all(variables[name] is value for name, value in self.session.variables.items())
        assert len(self.session.images) == images
        return error

    def point(self, name: str) -> tuple[float, float]:
        """Where an object is."""
        (found,) = self.do("roborefer.detect_one", obj_name=name, image_index=0).result.variables.values()
        return found

    def segment(self, name: str) -> None:
        """Bring $segmentation_mask, $point_cloud and $focal_length_px of an object into the session."""
        self.do("robot.get_depth_with_pointcloud")
        x, y = self.point(name)
        self.do("sam2.segment_from_point", x=x, y=y, image_index=0)
