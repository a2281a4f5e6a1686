"""Make the moving images of README and docs, as the simulator computed them, each frame with the tool that moved the
arm: a pick and place, and an object that is got at below others.

    python docs/site/moving_image.py docs/pick.webp
    python docs/site/moving_image.py docs/results/clearing.gif --clearing
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.events import Event, ToolCalled
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.bench.commands.grasp import AS_MEASURED
from toolhand.bench.grasp.scenes import GraspJob
from toolhand.bench.grasp.sides import sides_of
from toolhand.bench.grasp.trial import attempts
from toolhand.bench.grasp.watch import Watch
from toolhand.sim.animation import logged_images
from toolhand.sim.camera.ray import overview_camera
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

SENTENCE = "Pick up the cinnamon and place it in the grey bin"
SIZE = (640, 480)
"""Width and height of a frame [px]."""
CLEARING_SIZE = (360, 270)
"""The same of what is got at below others: a GIF holds every pixel that changes."""
PILE = 861001
"""Seed of the pile in which something is got at."""
FRAMES = 72
COLOURS = 64
FRAME_MS = 90
"""How long a frame is shown; the last one stays for LAST_MS."""
LAST_MS = 1800
QUALITY = 72
"""WebP's, 0 to 100."""
BAR_PX = 40
"""Height of the caption below the image."""


Called = list[tuple[float, str]]
"""Times [s] from which on a tool was the newest, and its name."""


def pick_and_place(scene_seed: int = 5) -> list[Image.Image]:
    """The frames of one run of SENTENCE.

    Raises:
        AssertionError: The tools report that the run failed.
    """
    station = Station(generate_scene(scene_seed))
    called: Called = []

    def tell(event: Event) -> None:
        if isinstance(event, ToolCalled):
            called.append((station.world.time, event.call.name))

    episode = Agent(ScriptedPolicy(), station.toolbox, listener=tell).run(SENTENCE)
    assert episode.success, episode.answer
    return frames(station, called, episode.answer, SIZE)


def clearing(pile_seed: int = PILE) -> list[Image.Image]:
    """The frames of one object of `toolhand bench grasp --scene pile --clearing`, and of the judge's look at it.

    Raises:
        AssertionError: It is not held alone in the end.
    """
    called: Called = []

    class Told(Watch):
        def call(self, name: str, **arguments: object) -> CallRecord:
            called.append((self.station.world.time, name))
            return super().call(name, **arguments)

    [*_, side] = sides_of(AS_MEASURED, "gen3", "", control=False, ideal=False, ways=["clearing"])
    job = GraspJob(side, "pile", pile_seed, ("generated",))
    watch = Told(job)
    [record] = attempts(watch, job)
    assert record.success, record.text
    return frames(watch.station, called, f"The {record.family} is held, after {record.actions} grasps", CLEARING_SIZE)


def frames(station: Station, called: Called, end: str, size: tuple[int, int]) -> list[Image.Image]:
    """FRAMES images of what the station's arm did, the last with `end` below it."""
    log = station.world.log
    states = [log[i] for i in np.unique(np.linspace(0, len(log) - 1, FRAMES).astype(int))]
    names = [next((name for at, name in reversed(called) if at <= time), "") for time, _ in states]
    captions = [f"calls  {name}" for name in names[:-1]] + [end]
    images = logged_images(station, states, overview_camera(size))
    return [captioned(image, caption) for image, caption in zip(images, captions, strict=True)]


def captioned(rgb: np.ndarray, caption: str) -> Image.Image:
    """An image (H, W, 3) of uint8 with a line of text below it."""
    height, width, _ = rgb.shape
    frame = Image.new("RGB", (width, height + BAR_PX), (24, 26, 30))
    frame.paste(Image.fromarray(rgb), (0, 0))
    ImageDraw.Draw(frame).text((14, height + 10), caption, font=ImageFont.load_default(18), fill=(235, 235, 235))
    return frame


def write(path: Path, images: Sequence[Image.Image]) -> None:
    """Write a film; as GIF every other frame, in COLOURS that all of them have."""
    if path.suffix == ".gif":
        palette = images[len(images) // 2].quantize(COLOURS)
        images = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in (*images[:-1:2], images[-1])]
    first, *others = images
    times = [FRAME_MS] * len(others) + [LAST_MS]
    first.save(path, save_all=True, append_images=others, duration=times, loop=0, quality=QUALITY, method=6)
    print(f"{path}: {len(times)} frames, {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--clearing", action="store_true", help="what is got at below others")
    options = parser.parse_args()
    write(options.path, clearing() if options.clearing else pick_and_place())
