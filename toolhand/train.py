"""`toolhand train`: what is learned here, on two cores."""

from __future__ import annotations

import json
from pathlib import Path

from agent_node.console.options import SensorName, require_at_least
from agent_node.console.terminal import AsJson, emit, say
from agent_node.runs.index import TRAININGS
from tool_nodes.files import write_whole
from tool_nodes.perception.learned.weights import read_weights, shipped_weights, write_weights
from tool_nodes.port_names import DEFAULT_SENSOR
from tool_nodes.results import invalid
from training.pointer.card import model_card
from training.pointer.data import make_pictures
from training.pointer.train import LOG, WEIGHTS, PointerTraining, be_nice, train_pointer

_DEFAULT = PointerTraining()


def train_a_pointer(
    seed: int = _DEFAULT.seed,
    out: Path = TRAININGS / "pointer",
    minutes: float | None = None,
    scenes: int = _DEFAULT.scenes,
    epochs: int = _DEFAULT.epochs,
    test_scenes: int = _DEFAULT.test_scenes,
    threads: int = _DEFAULT.threads,
    jobs: int = 2,
    without_products: int = 0,
    sensor: SensorName = DEFAULT_SENSOR,
    as_json: AsJson = False,
) -> int:
    """Train the pointer of --perception learned on pictures of random scenes; a killed run goes on where it was.

    Args:
        seed: Decides scenes, phrases and weights.
        out: Folder for pictures, checkpoint, log, weights, curves and model card.
        minutes: Stop the epochs after so long, wherever they are.
        scenes: To train on.
        epochs: Times that each scene is seen.
        test_scenes: To test on.
        threads: Processor threads of the training; the same weights come of the same number.
        jobs: Processes that make pictures.
        without_products: Number of products to show in no picture, and to test on apart.
    """
    require_at_least(1, jobs=jobs)
    _check_minutes(minutes)
    training = PointerTraining(
        seed, scenes, epochs, test_scenes, threads=threads, without_products=without_products, sensor=sensor
    )
    be_nice()
    result = train_pointer(training, out, jobs, minutes)
    if as_json:
        emit(result)
    else:
        print(model_card(result))
        say(f"Wrote {', '.join(result['files'])}; use it with --pointer learned:{result['files'][0]}")
    return 0


def _check_minutes(minutes: float | None) -> None:
    if minutes is not None and minutes <= 0:
        raise invalid(f"--minutes must be more than 0, got {minutes:g}.")


def train_pointer_by_hits(
    weights: Path | None = None,
    seed: int = 0,
    out: Path = TRAININGS / "pointer-by-hits",
    pictures: Path = TRAININGS / "pointer" / "pictures",
    scenes: int = _DEFAULT.scenes,
    steps: int = 300,
    samples: int = 8,
    minutes: float | None = None,
    threads: int = _DEFAULT.threads,
    jobs: int = 2,
    as_json: AsJson = False,
) -> int:
    """Improve a trained pointer on pictures of which only hits and misses are known; a killed run goes on.

    Args:
        weights: A file of `toolhand train pointer`; the shipped weights where None.
        seed: Seed of scenes, phrases and sampled points.
        out: Folder for checkpoint, log and weights.
        pictures: Folder for the pictures, those of `toolhand train pointer --seed` if they are there.
        scenes: To point at.
        steps: Training steps, of 16 scenes each.
        samples: Points that are tried for each phrase.
        minutes: Stop after so much processor time.
        threads: Processor threads.
        jobs: Processes that make pictures.
    """
    from training.pointer.hits import HitTraining, improve_by_hits

    require_at_least(1, jobs=jobs, scenes=scenes)
    _check_minutes(minutes)
    hits = HitTraining(seed, steps, samples, threads)
    start = shipped_weights() if weights is None else read_weights(weights)
    be_nice()
    improved = improve_by_hits(start, make_pictures(pictures, "train", seed, scenes, jobs), hits, out, minutes)
    try:
        write_weights(improved.weights, out / WEIGHTS)
        write_whole(out / LOG, "".join(json.dumps(row) + "\n" for row in improved.log).encode())
    except OSError as error:
        raise invalid(f"{out} cannot be written: {error.strerror or error}.") from error
    files = [str(out / WEIGHTS), str(out / LOG)]
    if as_json:
        emit({"log": list(improved.log), "files": files})
    else:
        say(f"Wrote {', '.join(files)}; use it with --pointer learned:{files[0]}")
    return 0
