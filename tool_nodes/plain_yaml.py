"""YAML as plain data, for every file of the project: no aliases, no merge keys, and bounds.

A few hundred bytes with aliases of aliases stand for more than a machine can hold; everything else that a text can ask
for grows with its length. So the text is walked once for what is refused, and only then made into values.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where there is one: ten times as fast."""

_NUMBER_CHARACTERS = 500
"""Longest number [characters]: Python takes quadratic time to read longer ones. The largest double has 309 digits."""

_STRING = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True)
class YamlLimits:
    """How much a text may hold.

    Attributes:
        size: In UTF-8 [bytes].
        depth: Lists and mappings inside each other.
        nodes: Scalars, lists and mappings.
    """

    size: int = 200_000
    depth: int = 32
    nodes: int = 20_000


class PlainYamlError(ValueError):
    """A text that is no YAML, or not plain enough.

    Attributes:
        problem: Description of the error, worded as the end of a sentence.
        line: Line number from 1; None for the whole text.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem if line is None else f"line {line}: {problem}")
        self.problem = problem
        self.line = line


def load(text: str | bytes, limits: YamlLimits = YamlLimits(), line_key: str = "") -> Any:
    """The value of a document: mappings with texts as keys, lists and scalars; None for an empty text.

    Args:
        text: One document; bytes are UTF-8.
        limits: Largest allowed sizes.
        line_key: Key under which each mapping gets its first line's number; none by default.

    Raises:
        PlainYamlError: It is no YAML, too large, or holds an alias, a merge key, a key twice or one that is no text.
    """
    with _plain_errors():
        text = text if isinstance(text, str) else text.decode("utf-8")
        _check(text, limits)
        loader = _PlainLoader(text)
        loader.line_key = line_key
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()


def _check(text: str, limits: YamlLimits) -> None:
    """Raise PlainYamlError where the text exceeds the limits, or has an alias or a merge key."""
    if len(text) > limits.size or len(text.encode("utf-8", "surrogatepass")) > limits.size:
        raise PlainYamlError(f"it is longer than {limits.size:,} bytes")
    depth = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = None if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise PlainYamlError("aliases are not allowed", line)
        if isinstance(event, yaml.NodeEvent):
            nodes += 1
            if nodes > limits.nodes:
                raise PlainYamlError(f"it holds more than {limits.nodes:,} values", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > limits.depth:
                raise PlainYamlError(f"it is nested deeper than {limits.depth} levels", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent) and _is_merge(event):
            raise PlainYamlError("merge keys are not allowed", line)


def _is_merge(event: yaml.ScalarEvent) -> bool:
    return event.tag == _MERGE or (event.value == "<<" and event.tag is None and event.implicit[0])


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Whatever PyYAML and its constructors raise, as PlainYamlError."""
    try:
        yield
    except PlainYamlError:
        raise
    except UnicodeDecodeError:
        raise PlainYamlError("it is no text in UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise PlainYamlError(
            _short(", ".join(filter(None, (error.context, error.problem)))), None if mark is None else mark.line + 1
        ) from None
    except yaml.YAMLError:
        raise PlainYamlError("it holds characters that YAML does not allow") from None
    except (ValueError, TypeError, ArithmeticError, RecursionError, AttributeError) as error:  # of a value's text
        raise PlainYamlError(_short(f"it holds a value that YAML cannot read ({error})")) from None


def _short(problem: str) -> str:
    line = " ".join(problem.split())
    return line if len(line) <= 200 else f"{line[:200]}..."


class _PlainLoader(_Loader):
    """Constructs plain data from what `_check` let through."""

    line_key = ""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As PyYAML's, which would keep the last of two values in silence."""
        seen: set[str] = set()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            # Numbers as keys could be chosen so that all of them have one hash.
            if not isinstance(key, yaml.ScalarNode) or key.tag != _STRING:
                raise PlainYamlError("a key must be text", line)
            if key.value in seen:
                raise PlainYamlError(f"the key {reprlib.repr(key.value)} is given twice", line)
            seen.add(key.value)
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        if self.line_key:
            mapping[self.line_key] = node.start_mark.line + 1
        return mapping

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """An int or a float of a bounded length."""
        if len(node.value) > _NUMBER_CHARACTERS:
            problem = f"a number may have {_NUMBER_CHARACTERS} characters"
            raise PlainYamlError(problem, node.start_mark.line + 1)
        whole = node.tag == "tag:yaml.org,2002:int"
        number: int | float = self.construct_yaml_int(node) if whole else self.construct_yaml_float(node)
        return number


_PlainLoader.add_constructor("tag:yaml.org,2002:int", _PlainLoader.construct_number)
_PlainLoader.add_constructor("tag:yaml.org,2002:float", _PlainLoader.construct_number)
