"""`toolhand train`: what is learned here, on two cores."""

from __future__ import annotations

from pathlib import Path

from agent_node.console.terminal import AsJson, emit, say
from tool_nodes.results import ErrorCode, ToolError
from training.pointer.card import model_card
from training.pointer.train import PointerTraining, be_nice, train_pointer

_DEFAULT = PointerTraining()


def train_a_pointer(
    seed: int = _DEFAULT.seed,
    out: Path = Path("runs/pointer"),
    minutes: float | None = None,
    scenes: int = _DEFAULT.scenes,
    epochs: int = _DEFAULT.epochs,
    test_scenes: int = _DEFAULT.test_scenes,
    threads: int = _DEFAULT.threads,
    jobs: int = 2,
    without_products: int = 0,
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
        without_products: Show so many products in no picture, and test on them apart.
    """
    if jobs < 1 or (minutes is not None and minutes <= 0):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "jobs must be 1 or more and minutes more than 0.")
    training = PointerTraining(
        seed, scenes, epochs, test_scenes, threads=threads, without_products=without_products
    )  # fmt: skip
    be_nice()
    result = train_pointer(training, out, jobs, minutes)
    if as_json:
        emit(result)
    else:
        print(model_card(result))
        say(f"Wrote {', '.join(result['files'])}; use it with --pointer learned:{result['files'][0]}")
    return 0
