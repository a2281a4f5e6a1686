"""`toolhand data`: rollouts as training data, and a page to look through them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from toolhand.agent_node.console.options import ImageSize, Perception, SensorName
from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.tool_nodes.port_names import DEFAULT_PRESET, DEFAULT_SENSOR, PortNames

NewFolder = Annotated[Path, tyro.conf.arg(metavar="DIR", help="Where it goes: not there yet, or empty.")]
Kept = Annotated[
    Literal["all", "accepted", "successful"],
    tyro.conf.arg(
        help="Which rollouts: all; those that were not rejected when they were made; or those whose task was done, by "
        "the simulator's truth."
    ),
]


def data_export(
    rollouts: Annotated[
        tuple[Path, ...], tyro.conf.arg(name="from", metavar="DIR", help="A folder of rollouts, or several.")
    ],
    out: NewFolder,
    format: Literal["chat", "parquet", "sharegpt"] = "chat",
    layout: Literal["calls", "text"] = "calls",
    keep: Kept = "accepted",
    method: tuple[str, ...] = (),
    as_json: AsJson = False,
) -> int:
    """Write rollouts as training data: chat JSONL, Parquet, or ShareGPT as LLaMA-Factory reads it.

    Shards appear whole, one after the other, and a manifest when all are there; nothing is ever replaced.

    Args:
        format: "chat" is JSONL with images as files, "parquet" has them inside, "sharegpt" comes with its
            dataset_info.json.
        layout: "calls" are tool calls in the function-calling form with the tools' schemas beside them, "text" is what
            the policy read and wrote, word by word, the tools in its system prompt.
        method: Only what `toolhand data synth` made by these methods, e.g. views; everything where it is left out.
    """
    from toolhand.training.data.formats.export import export

    written = export(rollouts, out, format, layout, keep, say, method)
    if as_json:
        emit(written.document())
    else:
        print(written)
    return 0


def data_show(
    rollouts: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR", help="A folder of rollouts.")],
    html: Annotated[Path, tyro.conf.arg(metavar="FILE", help="The page.")] = Path("sample.html"),
    n: int = 100,
    as_json: AsJson = False,
) -> int:
    """Write a page that shows the rollouts of a folder, to be looked through.

    Args:
        n: Most rollouts to show, spread evenly over the folder.
    """
    from toolhand.training.data.formats.export import show

    shown, of = show(rollouts, html, n, say)
    if as_json:
        emit({"page": str(html), "rollouts": shown, "of": of})
    else:
        print(f"{html}: {shown} of {of} rollouts")
    return 0


def data_lerobot(
    out: NewFolder,
    n: int = 10,
    seed: int = 0,
    category: Literal["pick", "relational_pick", "pick_and_place"] | None = None,
    size: ImageSize = (320, 240),
    fps: int = 5,
    perception: Perception = DEFAULT_PRESET,
    sensor: SensorName = DEFAULT_SENSOR,
    as_json: AsJson = False,
) -> int:
    """Record simulated episodes of the scripted policy as a LeRobot v3.0 data set.

    Whole episodes appear, file by file; nothing is ever replaced. Episodes that fail are kept and say so.

    Args:
        n: Episodes, of random tasks with the seeds from --seed on.
        seed: Seed of the first task and its station.
        category: Kind of task; any where it is not given.
        fps: Frames a second of simulated time; a divisor of 25.
    """
    from toolhand.sim.station import StationConfig
    from toolhand.training.data.demonstrations import demonstrations
    from toolhand.training.data.formats.lerobot import LeRobotWriter

    config = StationConfig(perception, PortNames(sensor=sensor), image_size=size, sleep=True)
    writer = LeRobotWriter(out)
    try:
        for shown in demonstrations(n, seed, config, category, fps, say):
            writer.add(shown)
            say(f"  episode {writer.episodes}: {shown.text}: {'done' if shown.success else 'not done'}")
    finally:
        writer.flush()  # after Ctrl-C too
    writer.finish()
    if as_json:
        emit({"folder": str(out), **writer.document()})
    else:
        print(writer)
    return 0
