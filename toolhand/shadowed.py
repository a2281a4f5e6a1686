"""This project's packages have plain names, such as `sim`: whether another distribution stands in their place."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

PACKAGES = ("agent_node", "bench", "rclpy_zenoh", "sim", "tool_nodes", "training")
"""Those that are imported, beside toolhand itself."""

_PROJECT = "toolhand"
_ROOT = Path(__file__).parents[1]
_PLACES = (_ROOT, _ROOT / "ros2_ws" / "src" / "rclpy_zenoh")
"""Where they lie: beside toolhand, and in a checkout the ROS client in a folder of its own."""


def explanation() -> str:
    """The sentence about the packages that are not ours or hold files of others; empty where all is well.

    It takes as long as reading the lists of all installed files, so it is for when an import has failed.
    """
    owners: dict[str, list[str]] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        for file in distribution.files or ():
            if file.parts and file.parts[0] in PACKAGES and name != _PROJECT:
                owners.setdefault(file.parts[0], []).append(name)
    reasons = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        found = Path(next(iter(spec.submodule_search_locations or [spec.origin or ""]))) if spec else None
        others = " and ".join(dict.fromkeys(owners.get(package, ())))
        of = f" (of {others})" if others else ""
        if found is not None and found.resolve() not in [(place / package).resolve() for place in _PLACES]:
            reasons.append(f"Python finds another package {package!r} in {found.parent}{of}")
        elif others:
            reasons.append(f"{others} has put files into Toolhand's package {package!r}")
    if not reasons:
        return ""
    return f"{'; '.join(reasons)}: give Toolhand a virtual environment of its own, and a folder without such a name."
