"""A URDF as XML whose elements know their lines, and the numbers in it.

The encoding is the one that the file declares: UTF-8, UTF-16, ISO-8859-1 or another of one byte a letter.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path
from xml.parsers import expat

from toolhand.tool_nodes.motion.robot_file import read_file, robot_error
from toolhand.tool_nodes.results import ToolError

MAX_DEPTH = 64
"""Elements within elements; a URDF needs 6, and readers of XML recurse."""
_MARKUP_OF_XACRO = ("${", "$(")


class UrdfFile:
    """The elements of a file, with lines.

    Args:
        path: The file.
        outermost: Its outermost element.

    Attributes:
        path: The file.
        root: Its outermost element.

    Raises:
        ToolError: INVALID_ARGUMENT where it is no such file; UNAVAILABLE where it is missing.
    """

    def __init__(self, path: Path, outermost: str = "robot") -> None:
        self.path = path
        data = read_file(path)
        self._lines: dict[ET.Element, int] = {}
        self._data = data
        self._plain = True
        self.root = self._parse(data)
        if self.root.tag != outermost:
            raise self.error(self.root, f"the outermost element must be <{outermost}>, got <{self.root.tag[:60]}>")
        for element in self.root.iter():
            if element.tag.startswith("xacro:"):
                raise self.error(element, "this is xacro; make a URDF of it first: xacro FILE.xacro > FILE.urdf")
        for part in self.root:
            if part.tag in ("link", "joint"):
                for element in part.iter():
                    self._refuse_xacro(element)

    def _parse(self, data: bytes) -> ET.Element:
        builder = ET.TreeBuilder()
        parser = expat.ParserCreate()
        parser.buffer_text = True
        depth = 0

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > MAX_DEPTH:
                raise robot_error(
                    self.path, f"line {parser.CurrentLineNumber}: elements may be {MAX_DEPTH} deep, not deeper"
                )
            self._lines[builder.start(tag, attributes)] = parser.CurrentLineNumber

        def end(tag: str) -> None:
            nonlocal depth
            depth -= 1
            builder.end(tag)

        def declaration(version: str, encoding: str | None, standalone: int) -> None:
            self._plain = (encoding or "utf-8").lower() in ("utf-8", "utf8", "us-ascii", "ascii")

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.XmlDeclHandler = declaration
        parser.CharacterDataHandler = builder.data
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise robot_error(self.path, f"{self.path.name} is no XML: {_in_a_line(str(error))}") from error
        return builder.close()

    def error(self, element: ET.Element, what: str) -> ToolError:
        """The error about an element: file, line, element, then `what`."""
        return robot_error(self.path, f"line {self._lines[element]}, {described(element)}: {_in_a_line(what)}")

    def numbers(
        self, element: ET.Element, key: str, count: int, above: float = -math.inf, default: str | None = None
    ) -> tuple[float, ...]:
        """`count` finite numbers of an attribute, each greater than `above`. Raises ToolError for anything else."""
        text = element.attrib.get(key, default)
        wanted = "a finite number" if count == 1 else f"{count} finite numbers with spaces between them"
        if text is None:
            raise self.error(element, f"{key} is missing; it must be {wanted}")
        try:
            values = tuple(float(part) for part in text.split())
        except ValueError:
            values = ()
        if len(values) != count or not all(map(math.isfinite, values)) or "_" in text:
            comma = ", with a point and no comma" if "," in text else ""
            raise self.error(element, f"{key} must be {wanted}{comma}, got {text[:60]!r}")
        if not all(value > above for value in values):
            raise self.error(element, f"{key} must be greater than {above:g}, got {text[:60]!r}")
        return values

    def number(self, element: ET.Element, key: str, above: float = -math.inf, default: str | None = None) -> float:
        """A finite number of an attribute, greater than `above`."""
        return self.numbers(element, key, 1, above, default)[0]

    def name(self, element: ET.Element, key: str = "name") -> str:
        """A text that is not empty, of an attribute."""
        text = element.attrib.get(key, "")
        if not text.strip():
            known = ", ".join(sorted(element.attrib))[:80] or "no attribute"
            raise self.error(element, f"its attribute {key} is missing or empty; it has {known}")
        return text

    def child(self, element: ET.Element, tag: str) -> ET.Element:
        """The first element of a tag within another. Raises ToolError where there is none."""
        found = element.find(tag)
        if found is None:
            raise self.error(element, f"it must have an element <{tag}>")
        return found

    def text(self) -> str:
        """The document: as it is in the file, and without declaration and comments where that is in no UTF-8."""
        if self._plain:
            try:
                return self._data.decode("utf-8")
            except UnicodeDecodeError:  # UTF-16, known by its first two bytes alone
                pass
        return ET.tostring(self.root, encoding="unicode")

    def _refuse_xacro(self, element: ET.Element) -> None:
        for key, value in element.attrib.items():
            if any(sign in value for sign in _MARKUP_OF_XACRO):
                raise self.error(
                    element, f"{key} holds an expression of xacro, {value[:60]!r}; expand it: xacro FILE > FILE.urdf"
                )


def described(element: ET.Element) -> str:
    """An element as a person finds it: its tag, and its name where it has one."""
    name = element.attrib.get("name")
    return f"<{element.tag[:60]}>" if not name else f'<{element.tag[:60]} name="{name[:60]}">'


def _in_a_line(text: str) -> str:
    return " ".join(text.split())
