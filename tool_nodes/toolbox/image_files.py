"""Image files from outside, opened with a few formats and a bounded size.

Pillow alone hands an EPS file to ghostscript, which runs it as a program, and unpacks a kilobyte to gigabytes.
"""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from toolhand.tool_nodes.files import read_file

LOSSLESS_OR_JPEG = ("PNG", "JPEG")
"""What cameras, recordings and data sets hold."""
USUAL = (*LOSSLESS_OR_JPEG, "WEBP", "GIF", "BMP", "TIFF")
"""What a person may have at hand. All are decoded by Pillow itself; none can hold a program."""

MAX_FILE_BYTES = 2**26
"""Longest file that is read [bytes]."""
MAX_SIDE = 8192
"""Longest side [px]; of `limits.CallLimits`, too."""
_MAX_SCANS = 100
"""Scans of a progressive JPEG: each walks over the whole image and may be ten bytes long; ten are usual."""


class ImageFileError(ValueError):
    """Why an image cannot be read, as the end of a sentence."""


@contextlib.contextmanager
def opened(
    source: Path | bytes, formats: tuple[str, ...] = LOSSLESS_OR_JPEG, side: int = MAX_SIDE
) -> Iterator[Image.Image]:
    """An image of an allowed format and size; its pixels are decoded only when they are asked for, within the block.

    Args:
        source: A file, or what is in it.
        formats: Pillow's names of those that are allowed.
        side: Longest side that is allowed [px].

    Raises:
        ImageFileError: It cannot be read, is of another format, too large, or damaged.
    """
    data = source if isinstance(source, bytes) else _read(source)
    if len(data) > MAX_FILE_BYTES:
        raise ImageFileError(f"it is longer than {MAX_FILE_BYTES // 2**20} MiB")
    allowed = f"{', '.join(formats[:-1])} or {formats[-1]}" if len(formats) > 1 else formats[0]
    try:
        with warnings.catch_warnings(action="ignore"):  # of damage that ends in an error anyway
            image = Image.open(io.BytesIO(data), formats=formats)
    except Image.DecompressionBombError as error:
        raise ImageFileError(f"it is too large: a side may have {side} px") from error
    except (UnidentifiedImageError, *_DAMAGE) as error:
        raise ImageFileError(f"it is no {allowed} picture") from error
    with image:
        if max(image.size) > side or min(image.size) < 1:
            raise ImageFileError(f"it is {image.width}x{image.height}, and a side may have {side} px")
        if image.format == "JPEG" and data.count(b"\xff\xda") > _MAX_SCANS:
            raise ImageFileError(f"it is a JPEG of more than {_MAX_SCANS} scans")
        try:
            with warnings.catch_warnings(action="ignore"):
                yield image
        except ImageFileError:
            raise
        except _DAMAGE as error:
            raise ImageFileError("it is damaged") from error


_DAMAGE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    struct.error,
    zlib.error,
    MemoryError,
    Image.DecompressionBombError,
)
"""Exceptions by which Pillow's decoders report damage."""


def _read(path: Path) -> bytes:
    try:
        return read_file(path, MAX_FILE_BYTES)
    except IsADirectoryError as error:
        raise ImageFileError("it is no file") from error
    except OSError as error:
        raise ImageFileError(error.strerror or "it cannot be opened") from error
