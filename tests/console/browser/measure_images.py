"""What the pages' process takes while a page shows a camera: `python -m tests.console.browser.measure_pictures`.

The camera is that of the simulated graph, which renders 640 x 480 images in real time on the same processor; the arm
is parked. Counted is the processor time of the pages' process, which takes the messages from the graph, encodes them
and sends them. The 3D view has a window of its own, as in every browser without a GPU.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.console.browser.conftest import CHROMIUM, FLAGS
from tests.console.browser.graph_rig import GraphRig
from tests.console.browser.test_figures import images_cost

LONGEST_MS = 300_000
"""Longest wait for a page on a busy machine [ms]."""
SETTLED_S = 5.0
"""Time from the first image until counting begins [s]."""


def measure(seconds: float, with_3d: bool) -> dict[str, float | bool]:
    """Show a camera for so long, and count."""
    with (
        tempfile.TemporaryDirectory() as folder,
        GraphRig(Path(folder), {}, camera_hz=10.0) as rig,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(LONGEST_MS)
        page.goto(rig.url)
        page.get_by_test_id("picture-img").wait_for()
        if with_3d:
            context.new_page().goto(f"{rig.url}/scene/")
            page.bring_to_front()
        page.wait_for_timeout(1000 * SETTLED_S)
        rate, share, memory_mb = images_cost(page, rig.console_pids()["pages"], seconds)
        browser.close()
    return {
        "3D": with_3d,
        "seconds": seconds,
        "pictures a second": round(rate, 1),
        "share of a core [%]": round(100 * share, 1),
        "memory [MB]": round(memory_mb),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Read the arguments, measure, and print a line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each counts")
    seconds = parser.parse_args().seconds
    for with_3d in (False, True):
        print(json.dumps(measure(seconds, with_3d)), flush=True)


if __name__ == "__main__":
    main()
