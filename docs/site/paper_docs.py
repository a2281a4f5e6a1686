"""The tables of docs/reference/papers.md that the code can tell: what each paper prints beside what is offered.

`python -m docs.site.paper_docs` writes them between the page's markers; `--check` only says whether they are stale,
and exits with status 1 then. The rest of the page is written by hand.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from docs.site.blocks import filled
from docs.site.paper_tables import SPACETOOLS_FIGURES, TABLES, PrintedTool
from docs.site.tool_families import suite_title
from toolhand.agent_node.protocol import BOXED, Protocol, load_protocol
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, ToolSpec
from toolhand.tool_nodes.tools.suites import SUITES

ROOT = Path(__file__).parents[2]
PAGE = "docs/reference/papers.md"

_FIGURE_8_KEYWORDS = frozenset({"type", "description", "properties", "required"})
"""Keywords of JSON schemas that E-ViC's figure 8 writes."""

_CALLS = {"all": "as many as it likes", "one": "one", "first": "one; later ones are ignored"}


def make_blocks() -> dict[str, str]:
    """Markdown of each block by name."""
    toolbox = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=SUITES)).toolbox
    blocks = {suite: tool_table(tools, toolbox) for suite, tools in TABLES.items()}
    blocks["figures"] = tool_table(SPACETOOLS_FIGURES, toolbox)
    blocks["schemas"] = _schema_keywords(toolbox)
    blocks["protocols"] = protocol_table(load_protocol(name) for name in SUITES)
    return blocks


def tool_table(tools: Iterable[PrintedTool], toolbox: Toolbox) -> str:
    """What of the printed tools differs from those that answer to their names, and which are as printed.

    What differs in the same way in every tool that it can differ in, three or more, is said once.

    Raises:
        ToolError: UNKNOWN_TOOL for a printed name that nothing answers to.
    """
    found = [(printed, spec := toolbox.find(printed.name), _differences(printed, spec)) for printed in tools]
    counts = Counter(difference for *_, differences in found for difference in differences)
    everywhere = [
        difference
        for difference, count in counts.items()
        if count > 2
        and difference.startswith("`")
        and count == sum(difference.split("`")[1] in printed.arguments.split() for printed, *_ in found)
    ]
    same, rows = [], ["| printed | here; the printed names are taken too | what differs |", "|---|---|---|"]
    for printed, spec, differences in found:
        own = [difference for difference in differences if difference not in everywhere]
        theirs = f"`{printed.name}({', '.join(printed.arguments.split())})`"
        if own:
            rows.append(f"| {theirs} | `{spec.name}({', '.join(spec.kinds)})` | {'; '.join(own)} |")
        else:
            same.append(f"`{printed.name}`")
    parts = [_wrapped(f"In all tools {'; '.join(everywhere)}.")] if everywhere else []
    parts += ["\n".join(rows) + "\n"] if len(rows) > 2 else []
    parts += [_wrapped(f"As printed: {', '.join(same)}.")] if same else []
    return "\n".join(parts)


def _differences(printed: PrintedTool, spec: ToolSpec) -> list[str]:
    own = {name: name if name in spec.kinds else spec.renamed.get(name, "") for name in printed.arguments.split()}
    optional = {own[name] for name in printed.optional.split()}
    found = ["the name"] if spec.name != printed.name else []
    found += [f"`{name}` is {f'`{here}`' if here else 'missing'}" for name, here in own.items() if name != here]
    for name in spec.kinds:
        if name not in own.values():
            found.append(f"`{name}` is ours")
        elif (name in optional) == (name in spec.required):
            found.append(f"`{name}` is {'required' if name in spec.required else 'optional'} here")
    return found


def protocol_table(protocols: Iterable[Protocol]) -> str:
    """How each protocol writes."""
    rows = ["| protocol | thought | call | answer | calls in a turn | turns |", "|---|---|---|---|---|---|"]
    for protocol in protocols:
        thought = f"`<{protocol.thought}>`" if protocol.thought else "free text"
        needed = ", before every call" if protocol.thought_before_call else ""
        answer = rf"`{BOXED}{{}}`" if protocol.answer == BOXED else f"`<{protocol.answer}>`"
        title, calls = suite_title(protocol.name), _CALLS[protocol.calls_in_a_turn]
        call = f"`<{protocol.call}>` with {'JSON' if protocol.syntax == 'json' else 'a Python call'}"
        rows.append(f"| {title} | {thought}{needed} | {call} | {answer} | {calls} | {protocol.turn_budget} |")
    return "\n".join(rows) + "\n"


def _schema_keywords(toolbox: Toolbox) -> str:
    parameters = [s.schema()["function"]["parameters"] for s in toolbox.specs.values() if s.suite == "evic"]
    more = sorted({word for schema in parameters for word in _keywords(schema)} - _FIGURE_8_KEYWORDS)
    return _wrapped(f"Keywords of our schemas that figure 8 has not: {', '.join(f'`{word}`' for word in more)}.")


def _keywords(schema: Mapping[str, Any]) -> Iterable[str]:
    yield from schema
    items = [schema["items"]] if "items" in schema else []
    for inner in (*schema.get("properties", {}).values(), *items):
        yield from _keywords(inner)


def _wrapped(text: str) -> str:
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)  # no break within code
    lines = textwrap.fill(whole, 120, break_on_hyphens=False, break_long_words=False)
    return lines.replace("\0", " ") + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or check it. Exit status: 0, 1 where it is stale, 2 for unknown arguments."""
    if arguments not in ([], ["--check"]):
        print("Usage: python -m docs.site.paper_docs [--check]", file=sys.stderr)
        return 2
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    fresh = filled(page, make_blocks())
    if not arguments:
        (ROOT / PAGE).write_text(fresh, encoding="utf-8")
    elif fresh != page:
        print(f"{PAGE} is stale; run python -m docs.site.paper_docs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
