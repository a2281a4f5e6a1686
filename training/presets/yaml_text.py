"""YAML in which each number says beside it where it is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True)
class Noted:
    """A value with words beside it.

    Attributes:
        value: A scalar or a list of scalars.
    """

    value: Any
    note: str


def yaml_text(document: Mapping[str, Any], head: str) -> str:
    """A document as YAML.

    Args:
        document: Mappings, lists, scalars and `Noted` ones.
        head: Lines above it.
    """
    lines = [f"# {line}".rstrip() for line in head.strip().splitlines()]
    return "\n".join([*lines, "", *_lines(document, "")]) + "\n"


def _lines(document: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{key}:"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, Noted):
            yield f"{indent}{key}: {_inline(value.value)}  # {' '.join(value.note.split())}"
        else:
            yield f"{indent}{key}: {_inline(value)}"


def _inline(value: Any) -> str:
    if isinstance(value, float) and value and abs(value) < 1e-3:
        mantissa, exponent = f"{value:e}".split("e")  # 1e-06 would be a text: YAML wants the point
        return f"{mantissa.rstrip('0').rstrip('.')}{'' if '.' in mantissa.rstrip('0').rstrip('.') else '.0'}e{exponent}"
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).strip().removesuffix("\n...").strip()
