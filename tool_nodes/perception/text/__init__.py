"""Reads printed text from pixels alone: no weights, one typeface, upright lines."""

from tool_nodes.perception.text.reader import PixelTextReader

__all__ = ["PixelTextReader"]
