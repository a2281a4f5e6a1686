"""What the children of test_children.py do."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.tool_nodes.results import invalid


def work(request: dict[str, Any]) -> dict[str, Any]:
    """Does what `what` says."""
    what = str(request["what"])
    if what == "double":
        print("libraries print")
        return {"twice": 2 * request["numbers"], "process": os.getpid()}
    if what == "refuse":
        raise invalid("It is not allowed.", "Do something else.")
    if what == "fill":
        return {"much": np.ones(2**30).sum()}
    if what == "crash":
        os.abort()
    if "note" in request:
        note = Path(str(request["note"]))
        note.with_suffix(".part").write_text(str(os.getpid()), "utf-8")
        note.with_suffix(".part").rename(note)
    while True:
        pass
