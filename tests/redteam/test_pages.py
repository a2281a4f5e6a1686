"""Pages that tell what somebody else wrote: no script, handler, style or foreign address comes of it."""

import functools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.training.data.rollouts_at_hand import SCHEMAS, collection, rollout
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.runs.report import write_report
from toolhand.cli import main as cli
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.training.data.formats.sample import write_html_sample
from toolhand.training.rollouts.collection import shard_path
from toolhand.training.rollouts.group_page import write_group_page
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import RolloutRecord

SAID = {
    "a script": "<script>evil()</script>",
    "the end of the page's script": "</script><script>evil()</script>",
    "the end of the page's style": "</style><style>body{background:url(https://evil.example/x)}</style>",
    "a picture": "<img src=https://evil.example/x onerror=evil()>",
    "the end of an attribute": '"><img src=x onerror=evil()>',
    "the end of an attribute in other quotes": "'><svg onload=evil()>",
    "a handler": '" onmouseover="evil()" x="',
    "a handler without quotes": "x onfocus=evil() autofocus",
    "an address that runs": '<a href="javascript:evil()">x</a>',
    "an address that holds a page": '<iframe src="data:text/html,<script>evil()</script>"></iframe>',
    "a frame of its own": '<iframe srcdoc="<script>evil()</script>"></iframe>',
    "another base": '<base href="https://evil.example/">',
    "another page": '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    "a form": '<form action="https://evil.example"><input name=a><button>x</button></form>',
    "a style": '<link rel=stylesheet href="https://evil.example/x.css"><p style="position:fixed;inset:0">x',
    "a drawing": '<svg><animate onbegin=evil() attributeName=x dur=1s><use href="data:image/svg+xml,x#x"/></svg>',
    "formulas": "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=evil()>'>",
    "a comment": "<!-- --!><script>evil()</script> -->",
    "data of another kind": "<![CDATA[<script>evil()</script>]]>",
    "entities": "&lt;script&gt;evil()&lt;/script&gt; &#60;script&#62; &#x22; onload=evil()",
    "the ends of what is around it": "</td></tr></table></pre></section></body></html><script>evil()</script>",
    "a template": "{{constructor.constructor('evil()')()}} ${evil()} <template><script>evil()</script></template>",
    "half an element": "<img src=https://evil.example/",
    "wide signs": "\uff1cscript\uff1eevil()\uff1c/script\uff1e \u2028<script>evil()</script>",
    "signs without a picture": "a\x00b\x08c\x1b[31m\x7f<\x00script>evil()</script>",
    "half a pair": "\ud800<script>evil()</script>\udfff",
    "turned text": "\u202e<script>\u2066evil()\u2069\u202d\u202a\u202b\u202c",
    "a gigantic text": "<b onclick=evil()>" * 20_000,
}
"""What stands in every field that holds a text."""


class Page(HTMLParser):
    """The elements of a page with their attributes, its scripts and styles, and what is left of it as text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.declared: list[str] = []
        self.inside: dict[str, str] = {"script": "", "style": ""}
        self.text, self._tag = "", ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._tag = tag

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag in self.inside:
            self.inside[self._tag] += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.declared.append(data)

    def unknown_decl(self, data: str) -> None:
        self.declared.append(data)

    def handle_pi(self, data: str) -> None:
        self.declared.append(data)

    @property
    def kinds(self) -> set[tuple[str, str]]:
        """Elements with the names of their attributes."""
        return {(tag, name) for tag, attributes in self.elements for name in ("", *attributes)}


def _everywhere(value: Any, said: str, but: frozenset[str]) -> Any:
    """The value with these words in each text of it, also in the names of mappings."""
    if is_dataclass(value) and not isinstance(value, type):
        entries = {entry.name: getattr(value, entry.name) for entry in fields(value) if entry.name not in but}
        return replace(value, **{name: _everywhere(inner, said, but) for name, inner in entries.items()})
    if isinstance(value, str):
        return said
    if isinstance(value, dict):
        return {f"{said}{name}" if name not in _READ else name: _everywhere(v, said, but) for name, v in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_everywhere(inner, said, but) for inner in value)
    return value


_READ = ("kind", "things", "rejected", "accepted", "reasons", "success", "terms", "picked_up", "meant", "seed", "split")
_NO_TEXT = frozenset({"image", "role", "tools", "span", "stages"})


def _records(folder: Path, said: str) -> tuple[list[RolloutRecord], ImageStore]:
    """Two rollouts of a group that say the same in every field, also an object and a label of their turns."""
    store = ImageStore(folder)
    record = rollout(store)
    turns = tuple(
        replace(turn, problem="p", labels={"objects": [["x"]] * len(turn.calls), "more": {"y": ["z"]}})
        for turn in record.turns
    )
    truth = {"success": False, "reasons": ["x"], "terms": {"x": 1.0}}
    labels = {"accepted": False, "rejected": "x", "more": ["y", {"z": "x"}]}
    record = replace(record, turns=turns, truth=truth, labels=labels, error_code="x", stages={})
    made = _everywhere(record, said, _NO_TEXT)
    return [made, replace(made, rollout=1, total=0.1)], store


def _sample(folder: Path, said: str) -> str:
    records, store = _records(folder, said)
    write_html_sample(records, store, folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def _group(folder: Path, said: str) -> str:
    records, store = _records(folder, said)
    write_group_page(records, store, folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


class _Teller:
    """A tool whose answers and errors are somebody else's words."""

    def __init__(self, said: str) -> None:
        self._said = said

    @tool("robot.capture_image")
    def look(self) -> ToolResult:
        """Look."""
        return ToolResult(text=self._said)

    @tool("robot.execute_grasp")
    def grasp(self) -> ToolResult:
        """Fail."""
        raise ToolError(ErrorCode.NO_GRASP, self._said, self._said)


class _Saying:
    name = "saying"

    def __init__(self, said: str) -> None:
        call = [
            f"<tool_call>{json.dumps({'name': name, 'arguments': {}})}</tool_call>"
            for name in ("robot.capture_image", "robot.execute_grasp", said)
        ]
        more = f"<tool_call>{json.dumps({'name': 'robot.capture_image', 'arguments': {said[:90]: said}})}</tool_call>"
        lines = [f"<think>{said}</think>{call[0]}", call[1], call[2], more, said]
        self._lines = iter([*lines, f"<answer>{said}</answer>"])

    def respond(self, conversation: list[Message]) -> Reply:
        return Reply(next(self._lines))


def _report(folder: Path, said: str) -> str:
    episode = Agent(_Saying(said), Toolbox([_Teller(said)]), ConversationSettings(turn_budget=6)).run(said[:2000])  # type: ignore[arg-type]
    summary: dict[str, Any] = {
        "task": said,
        "answer": said,
        "scene": said,
        "policy": said,
        "error_code": said,
        "success": False,
        said: said,
        "versions": {said: said},
        "judged_against": {"goal": said, "source": said},
        "ports": {"pointer": said},
        "truth": {"picked": False, "score": said, said: [said]},
        "robot": said,
        "approval": said,
    }
    write_report(folder / "page.html", episode, summary, (), ())
    return (folder / "page.html").read_text(encoding="utf-8")


PAGES: dict[str, Callable[[Path, str], str]] = {"sample": _sample, "group": _group, "report": _report}


@functools.cache
def _plain(kind: str, folder: Path) -> Page:
    return Page(PAGES[kind](folder, "plain words"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Page]]:
    """The same pages of harmless words."""
    folder = tmp_path_factory.mktemp("plain")
    yield lambda kind: _plain(kind, folder)
    _plain.cache_clear()


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("kind", PAGES)
def test_nothing_comes_of_what_a_page_tells(kind: str, name: str, tmp_path: Path, plain: Callable[[str], Page]) -> None:
    text = PAGES[kind](tmp_path, SAID[name])
    page, harmless = Page(text), plain(kind)
    assert page.kinds <= harmless.kinds
    assert page.inside == harmless.inside
    assert set(page.declared) <= set(harmless.declared)
    for tag, attributes in page.elements:
        assert not any(attribute.startswith("on") for attribute in attributes)
        for attribute in ("src", "href", "action", "srcset", "formaction", "xlink:href"):
            value = attributes.get(attribute) or ""
            assert re.fullmatch(r"|#[\w.-]+|data:image/jpeg;base64,[A-Za-z0-9+/=]+", value), (tag, attribute)
        assert re.fullmatch(r"|flex: [\d.]+ 0 0", attributes.get("style") or "")
    policies = [found.get("content") for tag, found in page.elements if tag == "meta" and "http-equiv" in found]
    assert policies == [
        found.get("content") for tag, found in harmless.elements if tag == "meta" and "http-equiv" in found
    ]
    assert "default-src 'none'" in str(policies[0])
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
    assert len(text) < 8_000_000
    assert name in ("half a pair", "a gigantic text", "signs without a picture") or "evil" in page.text


@pytest.mark.parametrize(
    "image",
    [
        "../../../plan",
        "..",
        "/etc/passwd",
        "0" * 64,
        "f" * 64,
        "0" * 63,
        "A" * 64,
        "0" * 64 + ".png",
        "%2e%2e/x",
        "",
        "https://evil.example/x.png",
        "data:image/svg+xml,<svg onload=evil()>",
        "javascript:evil()",
        "x" * 10_000,
        "../" * 22,
        "\x00" * 64,
        '"><script>evil()</script>',
    ],
)
@pytest.mark.parametrize("words", [("data", "show", "--html"), ("rollouts", "group", "--out")], ids=" ".join)
def test_an_image_that_is_not_there_is_told_and_not_fetched(
    image: str, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, path = tmp_path / "rollouts", tmp_path / "page.html"
    collection(folder, 2, seed=0, task={"kind": "pick"}, tools=json.dumps(SCHEMAS))
    shard = shard_path(folder, 0)
    lines = []
    for line in shard.read_text().splitlines():
        document = json.loads(line)
        for message in document["messages"]:
            message |= {"image": image} if message.get("image") else {}
        for turn in document["turns"]:
            for call in turn.get("calls", ()):
                call |= {"image": image} if call.get("image") else {}
        lines.append(json.dumps(document))
    shard.write_text("\n".join(lines) + "\n")
    assert cli._run_command([*words[:2], str(folder), words[2], str(path)], False) == 0
    assert "INTERNAL" not in capsys.readouterr().err
    page = Page(path.read_text(encoding="utf-8"))
    assert not any(tag == "img" for tag, _ in page.elements)
    assert "is no SHA-256" in page.text or "The store has no picture" in page.text
