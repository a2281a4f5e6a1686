"""OpenUSD: the one module that loads it (extra `usd`), and only when something is exported or checked."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

from toolhand.tool_nodes.extras import package

_MODULES = ("Gf", "Sdf", "Usd", "UsdGeom", "UsdLux", "UsdPhysics", "UsdShade", "UsdValidation", "Vt")


@cache
def openusd() -> SimpleNamespace:
    """OpenUSD's modules by their names. Raises ToolError UNAVAILABLE without the extra, with what installs it."""
    return SimpleNamespace(**{name: package(f"pxr.{name}", "usd", "USD") for name in _MODULES})
