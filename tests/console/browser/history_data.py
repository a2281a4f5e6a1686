"""A console's folders with a history: runs, results of benchmarks, a training and its rollouts."""

import json
import math
from pathlib import Path

from PIL import Image

from tests.console.history.test_benches import keep
from tests.console.history.test_trainings import collected, logged
from tests.console.recordings import picked, record


def fill(folder: Path) -> None:
    """Write all of it into the folder that `serving` serves."""
    runs = folder / "runs"
    record(runs / "20261120-100000-0")
    record(
        runs / "20261121-100000-0",
        picked("side", failed=True),
        success=False,
        error_code="NO_GRASP",
        answer="No grasp was found.",
        policy="teacher",
    )
    record(runs / "20261122-100000-0", picked("side"))
    damaged = record(runs / "20261123-100000-0") / "run.mcap"
    damaged.write_bytes(damaged.read_bytes()[:-2000])
    (runs / "20261124-100000-0").mkdir()
    failures = runs / "grasp" / "failures"
    failures.mkdir(parents=True)
    for k in range(3):
        Image.new("RGB", (160, 120), (40 * k, 90, 120)).save(failures / f"ours-packed-{k}-mask.jpg")
    for day, success in ((20, 19), (21, 18), (22, 3)):
        keep(folder / "bench", success, day, f"0.{day}", out=str(runs / "grasp"))
    for name, pace in (("tiny/sft", 8.0), ("tiny/long", 20.0)):
        rows = [{"epoch": k, "loss": math.exp(-k / pace), "accuracy": 1 - math.exp(-k / pace)} for k in range(1, 60)]
        logged(folder / "training" / name, *map(json.dumps, rows))
    collected(folder / "training" / "tiny" / "rollouts", groups=3)
