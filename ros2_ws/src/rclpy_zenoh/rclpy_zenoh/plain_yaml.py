"""YAML as plain data, for launch files, parameters and messages: no aliases, no merge keys, and bounds.

A text of another process may be hostile: with aliases of aliases a few hundred bytes stand for more than a machine can
hold. `events` refuses that while PyYAML parses, `compose` also refuses odd keys and endless numbers, and only then are
values made.
"""

from __future__ import annotations

import contextlib
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's where there is one: ten times as fast."""

_NUMBER_CHARACTERS = 500
"""Longest number [characters]: Python takes quadratic time to read longer ones. The largest double has 309 digits."""

_STRING, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


@dataclass(frozen=True)
class Limits:
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


def load(text: str | bytes, limits: Limits = Limits()) -> Any:
    """The value of a document: mappings with texts as keys, lists and scalars; None for an empty text.

    Raises:
        PlainYamlError: It is no YAML, too large, or holds an alias, a merge key, a key twice or one that is no text.
    """
    root = compose(text, limits)
    return None if root is None else value(root)


def compose(text: str | bytes, limits: Limits = Limits()) -> yaml.Node | None:
    """The node of a document, as `yaml.compose` gives it. Raises PlainYamlError as `load`."""
    with _plain_errors():
        for _ in events(text, limits):
            pass
        root: yaml.Node | None = yaml.compose(_decoded(text), Loader=_Loader)
    pending = [] if root is None else [root]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.MappingNode):
            _check_keys(node)
            pending += [entry for _, entry in node.value]
        elif isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif node.tag in _NUMBERS and len(node.value) > _NUMBER_CHARACTERS:
            raise PlainYamlError(f"a number may have {_NUMBER_CHARACTERS} characters", node.start_mark.line + 1)
    return root


def value(node: yaml.Node) -> Any:
    """The value of a node of `compose`. Raises PlainYamlError."""
    with _plain_errors():
        loader = _Loader("")
        try:
            return loader.construct_document(node)
        finally:
            loader.dispose()


def events(text: str | bytes, limits: Limits = Limits()) -> Iterator[yaml.Event]:
    """The events of a text as `yaml.parse` gives them, as long as they keep the limits. Raises PlainYamlError."""
    text = _decoded(text)
    if len(text) > limits.size or len(text.encode("utf-8", "surrogatepass")) > limits.size:
        raise PlainYamlError(f"it is longer than {limits.size:,} bytes")
    depth = nodes = 0
    with _plain_errors():
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
            yield event


def _is_merge(event: yaml.ScalarEvent) -> bool:
    return event.tag == _MERGE or (event.value == "<<" and event.tag is None and event.implicit[0])


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        line = key.start_mark.line + 1
        # Numbers as keys could be chosen so that all of them have one hash.
        if not isinstance(key, yaml.ScalarNode) or key.tag != _STRING:
            raise PlainYamlError("a key must be text", line)
        if key.value in seen:
            raise PlainYamlError(f"the key {reprlib.repr(key.value)} is given twice", line)
        seen.add(key.value)


def _decoded(text: str | bytes) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise PlainYamlError("it is no text in UTF-8") from None


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Whatever PyYAML and its constructors raise, as PlainYamlError."""
    try:
        yield
    except PlainYamlError:
        raise
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
