"""The robots that come with the project, by name; apart from their model, so that help need not load numpy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DEFAULT_ROBOT = "gen3"

ROBOTS: Mapping[str, str] = MappingProxyType({"gen3": "gen3_robotiq_2f_85", "jaco2_j2s7s300": "jaco2_j2s7s300"})
"""The robots that come along: folder in `urdf/` by name."""
