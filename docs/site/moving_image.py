"""Make the moving image at the top of the README: a pick and place as the simulator computed it, each frame with
the tool that moved the arm.

    python docs/site/moving_image.py docs/pick.webp
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from toolhand.agent_node.agent import Agent
from toolhand.agent_node.events import Event, ToolCalled
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.animation import logged_images
from toolhand.sim.camera.ray import overview_camera
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station

SENTENCE = "Pick up the cinnamon and place it in the grey bin"
SIZE = (640, 480)
"""Width and height of a frame [px]."""
FRAMES = 72
FRAME_MS = 90
"""How long a frame is shown; the last one stays for LAST_MS."""
LAST_MS = 1800
QUALITY = 72
"""WebP's, 0 to 100."""
BAR_PX = 40
"""Height of the caption below the image."""


def film(scene_seed: int = 5) -> list[Image.Image]:
    """The frames of one run of SENTENCE.

    Raises:
        AssertionError: The tools report that the run failed.
    """
    station = Station(generate_scene(scene_seed))
    called = [(0.0, "")]

    def tell(event: Event) -> None:
        if isinstance(event, ToolCalled):
            called.append((station.world.time, event.call.name))

    episode = Agent(ScriptedPolicy(), station.toolbox, listener=tell).run(SENTENCE)
    assert episode.success, episode.answer
    log = station.world.log
    states = [log[i] for i in np.unique(np.linspace(0, len(log) - 1, FRAMES).astype(int))]
    names = [next(name for at, name in reversed(called) if at <= time) for time, _ in states]
    captions = [f"calls  {name}" for name in names[:-1]] + [episode.answer]
    images = logged_images(station, states, overview_camera(SIZE))
    return [captioned(image, caption) for image, caption in zip(images, captions, strict=True)]


def captioned(rgb: np.ndarray, caption: str) -> Image.Image:
    """An image (H, W, 3) of uint8 with a line of text below it."""
    frame = Image.new("RGB", (SIZE[0], SIZE[1] + BAR_PX), (24, 26, 30))
    frame.paste(Image.fromarray(rgb), (0, 0))
    ImageDraw.Draw(frame).text((14, SIZE[1] + 10), caption, font=ImageFont.load_default(18), fill=(235, 235, 235))
    return frame


if __name__ == "__main__":
    path = Path(sys.argv[1])
    first, *others = film()
    times = [FRAME_MS] * len(others) + [LAST_MS]
    first.save(path, save_all=True, append_images=others, duration=times, loop=0, quality=QUALITY, method=6)
    print(f"{path}: {len(times)} frames, {path.stat().st_size / 1e6:.2f} MB")
