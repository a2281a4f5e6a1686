"""A folder of one's own with a mesh, and a scene that holds it."""

import itertools
from pathlib import Path

SCENE = """objects:
  - {name: my-things/blue-block, position: [0.48, 0.05], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.20]}
"""
"""A scene with the block, of a folder whose name makes the set `my-objects`."""

_HALF_M = (0.025, 0.02, 0.03)
"""Half sides of the block [m]."""
_FACES = ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))


def write_blocks(folder: Path) -> Path:
    """Write a folder that holds one blue block, and what people call it; the folder."""
    folder.mkdir()
    corners = itertools.product(*((-half, half) for half in _HALF_M))
    lines = ["mtllib blue.mtl", *(f"v {x} {y} {z}" for x, y, z in corners), "usemtl blue"]
    for a, b, c, d in _FACES:
        lines += [f"f {a} {b} {c}", f"f {a} {c} {d}"]
    (folder / "blue_block.obj").write_text("\n".join(lines), encoding="utf-8")
    (folder / "blue.mtl").write_text("newmtl blue\nKd 0.08 0.2 0.75\n", encoding="utf-8")
    words = "{name: blue block, kind: block, colour: blue, synonyms: [brick]}"
    (folder / "objects.yaml").write_text(f"objects:\n  blue_block: {words}\n", encoding="utf-8")
    return folder
