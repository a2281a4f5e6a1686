"""The simulated station: physics, arm, cameras, perception and the tools over them.

from toolhand.sim import Station, generate_scene
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolhand.sim.scene.generator import generate_scene as generate_scene
    from toolhand.sim.station import Station as Station
    from toolhand.sim.station import StationConfig as StationConfig

_HOMES = {"Station": ".station", "StationConfig": ".station", "generate_scene": ".scene.generator"}


def __getattr__(name: str) -> Any:
    """Load what is asked for; to import a part of this package does not load MuJoCo."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
