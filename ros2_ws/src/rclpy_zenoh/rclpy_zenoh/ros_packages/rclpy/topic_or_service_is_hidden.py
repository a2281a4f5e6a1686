"""Distinguishes hidden names from others."""

from __future__ import annotations


def topic_or_service_is_hidden(name: str) -> bool:
    """True if a part of the name begins with an underscore."""
    return any(part.startswith("_") for part in name.split("/") if part)
