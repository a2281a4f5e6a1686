"""Convex parts of one mesh by CoACD, in a process of its own: a fault in the library or a hang ends no simulator.

Run as a script with a file to read (npz: vertices, faces), a file to write (npz: part_0, part_1, ...) and the
parameters as JSON. The one file that needs coacd; it imports nothing of the project.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Reads, decomposes, writes."""
    import coacd
    import numpy as np

    read, write, parameters = sys.argv[1:4]
    with np.load(read, allow_pickle=False) as mesh:
        vertices, faces = mesh["vertices"], mesh["faces"]
    coacd.set_log_level("error")
    parts = coacd.run_coacd(coacd.Mesh(vertices, faces), **json.loads(parameters))
    np.savez(write, **{f"part_{k}": points for k, (points, _) in enumerate(parts)})


if __name__ == "__main__":
    main()
