"""Convex parts of one mesh by CoACD, run in a child: a fault in the library or a hang ends no simulator.

The one file that needs coacd.
"""

from __future__ import annotations

import json
from typing import Any


def parts(mesh: dict[str, Any]) -> dict[str, Any]:
    """Corners part_0, part_1, ... of the parts of `vertices` and `faces`, by `parameters` as JSON."""
    import coacd

    coacd.set_log_level("error")
    found = coacd.run_coacd(coacd.Mesh(mesh["vertices"], mesh["faces"]), **json.loads(str(mesh["parameters"])))
    return {f"part_{k}": points for k, (points, _) in enumerate(found)}
