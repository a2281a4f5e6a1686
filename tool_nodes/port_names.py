"""The ports by name: a preset names one backend for each port of perception, and each port can be chosen on its own."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import invalid


@dataclass(frozen=True)
class PortNames:
    """Which backend stands behind a port; where the name is left out, the one that --perception names.

    Attributes:
        pointer: Backend that points at objects by words.
        detector: Backend that frames objects by words.
        segmenter: Backend that outlines objects by points, boxes and words.
        depth: Backend that estimates depth.
        reader: Backend that reads text.
        grasps: Backend that proposes grasps.
        second_pointer: Backend that the tools vlm.* ask; the pointer where neither it nor the preset's is named.
        boxes: Backend that puts 3D boxes around objects; standing where it is left out.
        planner: Backend that plans motions; embedded where it is left out.
        sensor: Sensor model of the simulated cameras, or SCENE+WRIST; stereo where it is left out.
    """

    pointer: str = ""
    detector: str = ""
    segmenter: str = ""
    depth: str = ""
    reader: str = ""
    grasps: str = ""
    second_pointer: str = ""
    boxes: str = ""
    planner: str = ""
    sensor: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """The names that were given, by port."""
        return {port: name for port, name in vars(self).items() if name}

    def over(self, preset: str) -> PortNames:
        """A name for each port: one's own, or the preset's. Raises ToolError INVALID_ARGUMENT."""
        preset_names: PortNames = registry.load("perception", preset)
        named = replace(preset_names, **self.chosen)
        return replace(
            named,
            second_pointer=named.second_pointer or named.pointer,
            boxes=named.boxes or DEFAULT_BOXES,
            planner=named.planner or DEFAULT_PLANNER,
            sensor=named.sensor or DEFAULT_SENSOR,
        )

    def require_known(self, preset: str) -> None:
        """Refuse what names no preset or no backend, without making one. Raises ToolError INVALID_ARGUMENT."""
        chosen = self.over(preset)
        for port in PORTS:
            for part in chosen.parts(port):
                registry.find(port, part)

    def require_no_robot(self) -> None:
        """Refuse names that recorded images have no use for. Raises ToolError INVALID_ARGUMENT."""
        if wrong := [port for port in OF_THE_ROBOT if port in self.chosen]:
            raise invalid(f"Recorded pictures and the mock robot have no {wrong[0]}: leave it out.")

    def parts(self, port: str) -> list[str]:
        """The backend that a port names, and the one for images without depth, or for the wrist camera, of two.

        Raises:
            ToolError: INVALID_ARGUMENT for too many.
        """
        parts: list[str] = getattr(self, port).split("+")
        if len(parts) > (2 if port in (*SHARED, "sensor") else 1):
            raise invalid(
                f"The {port} {'+'.join(parts)[:60]!r} names too many: {', '.join(SHARED)} take NAME or NAME+OTHER, "
                "sensor NAME or SCENE+WRIST, all else NAME."
            )
        return parts


def require_sensor(names: str) -> None:
    """Refuse what is neither NAME nor SCENE+WRIST of known sensors. Raises ToolError INVALID_ARGUMENT."""
    for part in PortNames(sensor=names).parts("sensor"):
        registry.find("sensor", part)


SHARED = ("pointer", "detector", "segmenter", "depth", "second_pointer")
"""Ports whose images with depth may be one backend's, and all others another's: NAME+OTHER."""

SERVED_PRESET = "served"
"""What stands behind the ports where all is asked of a service, see `toolhand.tool_nodes.serve.ports`."""

DEFAULT_PRESET = "sim"
"""What stands behind the ports where nothing is said: this project works without a robot."""


def presets() -> tuple[str, ...]:
    """Every preset that needs no service, the default one first.

    Raises:
        ToolError: UNAVAILABLE where this installation knows none.
    """
    known = (name for name in registry.names("perception") if name != SERVED_PRESET)
    return tuple(sorted(known, key=lambda name: (name != DEFAULT_PRESET, name)))


DEFAULT_BOXES, DEFAULT_PLANNER, DEFAULT_SENSOR = "standing", "embedded", "stereo"

PORTS = tuple(entry.name for entry in fields(PortNames))
"""Every port that has a name of its own."""

OF_THE_ROBOT = ("planner", "sensor")
"""Ports that only a robot which moves, or its simulation, has: recorded images have neither."""

PERCEPTION_PORTS = tuple(port for port in PORTS if port not in OF_THE_ROBOT)
"""Ports that every station has, see `toolhand.tool_nodes.backends.make_ports`."""

AS_PRESET = PortNames()
"""Every port has what the preset names."""
