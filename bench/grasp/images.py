"""Images of an attempt that failed: what was outlined, the grasp, and a film of the motion."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from toolhand.bench.grasp.records import GraspRecord
from toolhand.bench.grasp.watch import Watch
from toolhand.sim.animation import logged_images
from toolhand.sim.camera.ray import overview_camera
from toolhand.tool_nodes.drawing import RGB, draw_mask, draw_points
from toolhand.tool_nodes.files import write_whole

FILM_FRAMES = 24
"""Images in a film at most [-]: with FILM_SIZE it has about 60 kB."""
FILM_SIZE = (320, 240)
"""Width and height of a film [px]."""
FRAME_MS = 250
"""Time that each image of a film is shown [ms]: the film takes half as long as the motion."""
_QUALITY = 70
"""Quality of images as JPEG and WebP have it; chosen to look at [-]."""


def keep_images(watch: Watch, record: GraspRecord, folder: Path, name: str) -> tuple[str, ...]:
    """Write the images of an attempt.

    Args:
        watch: The attempt, before anything is taken away.
        record: Its record, without the images.
        name: Beginning of their names.

    Returns:
        Names of the files: the image with the mask, the one with the grasp, and the film, as far as there are any.
    """
    written = []
    session = watch.session
    if session.images:
        shown = {"mask": _outlined(watch, record)}
        if watch.grasp_image is not None:
            shown["grasp"] = watch.grasp_image
        for what, rgb in shown.items():
            written.append(f"{name}-{what}.jpg")
            write_whole(folder / written[-1], _jpeg(rgb))
    if record.executed and (frames := film(watch)):
        written.append(f"{name}-film.webp")
        write_whole(folder / written[-1], _webp(frames))
    return tuple(written)


def film(watch: Watch) -> Sequence[RGB]:
    """The motion of the attempt and the judge's hold, seen from the side."""
    states = [state for state in watch.station.world.log if state[0] >= watch.began]
    picks = np.unique(np.linspace(0, len(states) - 1, min(FILM_FRAMES, len(states))).astype(int))
    return list(logged_images(watch.station, (states[k] for k in picks), overview_camera(FILM_SIZE)))


def _outlined(watch: Watch, record: GraspRecord) -> RGB:
    rgb = watch.session.images[watch.outlined].rgb
    mask = watch.session.variables.get("segmentation_mask")
    if mask is not None:
        rgb = draw_mask(rgb, mask)
    return draw_points(rgb, [(record.prompt[0], record.prompt[1])]) if record.prompt else rgb


def _jpeg(rgb: RGB) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, format="JPEG", quality=_QUALITY)
    return buffer.getvalue()


def _webp(frames: Sequence[RGB]) -> bytes:
    first, *others = [Image.fromarray(frame) for frame in frames]
    buffer = io.BytesIO()
    first.save(
        buffer,
        format="WEBP",
        save_all=True,
        append_images=others,
        duration=FRAME_MS,
        loop=0,
        quality=_QUALITY,
        method=2,
    )
    return buffer.getvalue()
