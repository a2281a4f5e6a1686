"""Toolhand: a folder `X/` of the repository is the package `toolhand.X`. verifiers finds the adapter by this package's
name, and only it asks for what stands here."""

from typing import Any

__all__ = ["EpisodeTaskset", "NullHarness"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from toolhand.training.adapters import on_verifiers

    return getattr(on_verifiers, name)
