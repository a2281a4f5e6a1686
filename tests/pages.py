"""A page as tests look at it: its elements, what stands in them, and whether every tag is closed."""

from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """The elements of a page with their attributes, its script, the cells of its tables, and its visible text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.cells: list[str] = []
        self.text = self.script = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "img", "input", "br"):
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.script += data
        elif self.open[-1:] != ["style"]:
            self.text += data
        if "td" in self.open:
            self.cells[-1] += f" {data}"

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        """Attributes of each element of this kind that has these, of which `class_` is one."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}.items()
        return [found for name, found in self.elements if name == tag and wanted <= found.items()]
