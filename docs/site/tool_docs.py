"""docs/reference/tools.md and its images, made from the code.

`python -m docs.site.tool_docs` writes them; `--check` only says what is stale, and exits with status 1 then.
"""

from __future__ import annotations

import inspect
import io
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from docs.site.tool_families import (
    FAMILIES,
    Family,
    families_of,
    heading,
    model_table,
    suite_title,
    tool_matrix,
    tools_of,
)
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tool_examples import TABLE, example_image, example_of, set_up
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.extras import PROJECT
from toolhand.tool_nodes.toolbox.arguments import VARIABLE
from toolhand.tool_nodes.toolbox.image_files import opened
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import ToolSpec
from toolhand.tool_nodes.tools.suites import POINTING, SUITES

ROOT = Path(__file__).parents[2]
PAGE = "docs/reference/tools.md"

IMAGE_WIDTH = 320
"""Widest image of the page [px]; narrower ones stay as they are."""

IMAGE_BYTES = 15_000
"""Largest image file; the JPEG quality is lowered until it fits."""

_NOTABLE = 32
_NOTABLE_SHARE = 1e-4
"""A file shows what the code draws if at most this share of pixels differs by more levels: machines round otherwise."""

_QUALITIES = (80, 70, 60, 50)
_SHOWN_CHARACTERS = 170
_USE = re.compile(r" Use \$.*?(?=$| \(backend)| \(backend: sim\)$", re.DOTALL)
"""What of a result the page leaves out: the sentence about the variables, which it lists with their shapes, and the
backend that answers if none is chosen."""
_COLUMNS = 116

_USUAL_LENGTH = ", at most 300 characters"
"""The bound of most strings, which the introduction names once."""

_IMAGE_ARGUMENTS = ("image_index", "image_idx", "img_path")
"""Arguments that name an image; the introduction says how, for all tools of a suite."""

_INTRODUCTION = """\
# Tools

Made from the code by `python -m docs.site.tool_docs`: schemas, docstrings, and example calls with their results.

`toolhand tools --suite peria` lists one suite, `--suite evic,last` two, `--suite all` all. The first four suites have
the names, arguments and coordinates that their papers print; the others stand in no paper. `--suite native` is for
models with tool calls of their own.

| suite | coordinates | an image is named by |
|---|---|---|
| SpaceTools and what stands in no paper | normalized (x, y) in [0, 1] from the top left; poses and 3D points in the \
scene camera's frame (OpenCV) [m] | `image_index` (also `image`): 0, 1, ... or a `$variable` |
| PERIA | 0 to 1000 along either side, boxes as strings `\\boxed{x1,y1,x2,y2}` | `image_index`: 0, 1, ... or a \
`$variable` |
| E-ViC | pixels, [0, W] x [0, H] | `image_idx`: 0, 1, ...; 0 where it is left out |
| LAST | pixels | `img_path`: `"image-0"`, `"image-1"`, ...; no file is ever opened |

- **Images** are counted from 0; a result's image is appended. Crops and drawings keep their link to the camera's
  image, so depth and words work in them, too. An image without that link is seen by its colours.
- **Variables** carry arrays: a result stores `$segmentation_mask`, the next call names it, the tool gets the array.
  One that belongs to another image than the call's is refused.
- **Strings** have at most 300 characters where nothing else is said.
- **Errors** are one sentence, `Error CODE: ...`. A failed call leaves no variable that it was to make, not even an
  older one of that name. Nothing is coerced.
- **Backends** sign their results: `(backend: sim)`, left out below, is the simulator's truth with noise, `pixels`
  colours and depth, `analytic` the grasp sampler, `sandbox` the locked-down Python process. With `--station mock`
  recorded frames answer as `mock`, and nothing moves; the names `mock_robot.*` work there, too.
- A call is refused after three times in a row where its result cannot have changed. Times are simulated time.
"""

_EXAMPLES_LEAD = (
    "Below the arguments of a tool stands an example call, written as a function "
    "([protocols](papers.md#conversations) say how models write it): the calls that it comes after, the variables "
    "that it leaves with their shapes, its result (the beginning of a long one), and the image that it shows. It "
    "looks at one of the images {images}, shown here in this order: at `table` where nothing else is said."
)


@dataclass(frozen=True)
class ExampleResult:
    """What the example of a tool gave.

    Attributes:
        text: Its text.
        rgb: Its image (H, W, 3) or None.
        shapes: Shape of each variable that it left, by name; () for what is no array.
    """

    text: str
    rgb: NDArray[np.uint8] | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Documents:
    """Everything that is made.

    Attributes:
        page: Text of docs/reference/tools.md.
        images: uint8 (H, W, 3) by file name in docs/reference/tools.
    """

    page: str
    images: Mapping[str, NDArray[np.uint8]]


def make_documents(suites: Sequence[str] | None = None) -> Documents:
    """Call every example and write about it.

    Args:
        suites: Names of suites; None for every suite of this project.

    Raises:
        RuntimeError: An example failed, or a backend signed that its family does not know.
        ToolError: A call that an example needs first failed.
    """
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=tuple(suites or own_suites())))
    specs = station.toolbox.specs
    shown = {name: example_image(name, station.camera) for name in _images_of_examples(specs)}
    answers = {spec.name: _answer(spec, family, station, shown) for family, spec in _listed(specs)}
    images = {f"picture-{name}.jpg": _reduced(image.rgb) for name, image in shown.items()}
    images |= {f"{name}.jpg": _reduced(answer.rgb) for name, answer in answers.items() if answer.rgb is not None}
    parts = [_INTRODUCTION, _wrapped(_EXAMPLES_LEAD.format(images=", ".join(f"`{name}`" for name in shown)))]
    parts.append("\n".join(f"![{name}](tools/picture-{name}.jpg)" for name in shown) + "\n")
    parts.append(tool_matrix(specs.values()))
    families = families_of(specs.values())
    for suite in dict.fromkeys(family.suite for family in families):
        parts.append(f"## {suite_title(suite)}\n")
        tools = [spec for family in families if family.suite == suite for spec in tools_of(family, specs.values())]
        shared, opening = _shared_arguments(tools), _shared_opening([answers[spec.name].text for spec in tools])
        parts += [f"Every result begins with the line `{opening}`.\n"] if opening else []
        parts += ["Arguments of several tools:\n", "\n".join(shared) + "\n"] if shared else []
        parts += [_entry(spec, answers[spec.name], shared, opening) for spec in tools]
    parts.append(model_table())
    page = "\n".join(parts)
    return Documents(f"<!-- tools:begin -->\n{page}<!-- tools:end -->\n", images)


def write(documents: Documents, root: Path | None = None) -> None:
    """Put everything into its place, and remove images that nothing shows any more."""
    root = root or ROOT
    folder = root / PAGE.removesuffix(".md")
    folder.mkdir(parents=True, exist_ok=True)
    (root / PAGE).write_text(documents.page, encoding="utf-8")
    for old in folder.iterdir():
        if old.name not in documents.images:
            old.unlink()
    for name, rgb in documents.images.items():
        if _stale_image(folder / name, rgb):
            (folder / name).write_bytes(encode(rgb))


def stale(documents: Documents, root: Path | None = None) -> list[str]:
    """Files, relative to the root, that do not say or show what the code says."""
    root = root or ROOT
    folder = root / PAGE.removesuffix(".md")
    found = [] if _rounded(_read(root / PAGE)) == _rounded(documents.page) else [PAGE]
    wrong = {name for name, rgb in documents.images.items() if _stale_image(folder / name, rgb)}
    wrong |= {path.name for path in folder.glob("*") if path.name not in documents.images}
    return found + [f"{PAGE.removesuffix('.md')}/{name}" for name in sorted(wrong)]


def encode(rgb: NDArray[np.uint8]) -> bytes:
    """The image as a JPEG file of at most IMAGE_BYTES."""
    data = b""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "JPEG", quality=quality, optimize=True)
        data = buffer.getvalue()
        if len(data) <= IMAGE_BYTES:
            break
    return data


def own_suites() -> tuple[str, ...]:
    """Every suite of this project, the papers' first; a part of one is left out."""
    own = [offer.name for offer in registry.offers("tool suite") if offer.package == PROJECT]
    return (*SUITES, *(name for name in own if name not in (*SUITES, POINTING)))


def _listed(specs: Mapping[str, ToolSpec]) -> list[tuple[Family, ToolSpec]]:
    return [(family, spec) for family in families_of(specs.values()) for spec in tools_of(family, specs.values())]


def _answer(spec: ToolSpec, family: Family, station: Station, images: Mapping[str, SessionImage]) -> ExampleResult:
    if spec.motion:
        station = Station(
            station.scene, station.config
        )  # it moves objects, and every example starts from the same scene
    example = example_of(spec)
    session = set_up(example, images[example.image], station.toolbox)
    record = station.toolbox.call(spec.name, example.arguments, session)
    result = record.result
    if not result.ok:
        raise RuntimeError(f"the example of {spec.name} failed: {result.text}")
    if result.backend and family in FAMILIES and result.backend not in family.backend_names:
        raise RuntimeError(f"{spec.name} was answered by {result.backend!r}, which its family does not list")
    rgb = None if record.image_index is None else session.images[record.image_index].rgb
    return ExampleResult(
        result.text, rgb, {name: getattr(value, "shape", ()) for name, value in result.variables.items()}
    )


def _images_of_examples(specs: Mapping[str, ToolSpec]) -> list[str]:
    return list(dict.fromkeys(example_of(spec).image for _, spec in _listed(specs)))


def _shared_arguments(tools: Sequence[ToolSpec]) -> list[str]:
    """Lines of the arguments that mean the same in two tools or more; the page has them once for the suite."""
    lines = Counter(line for spec in tools for line in _arguments(spec))
    return [line for line, count in lines.items() if count > 1]


def _shared_opening(texts: Sequence[str]) -> str:
    """First line of every result of a suite, or nothing."""
    first = {text.partition("\n")[0] for text in texts}
    return first.pop() if len(first) == 1 and len(texts) > 1 else ""


def _entry(spec: ToolSpec, answer: ExampleResult, shared: Sequence[str], opening: str) -> str:
    lines = [f"### {heading(spec)}\n"]
    lines.append(_wrapped(spec.description + (" **Moves the robot.**" if spec.motion else "")))
    if spec.aliases:
        lines.append(f"Also: {', '.join(f'`{alias}`' for alias in spec.aliases)}.\n")
    arguments = [line for line in _arguments(spec) if line not in shared]
    if arguments:
        lines.append("\n".join(arguments) + "\n")
    lines.append(_wrapped(f"{_call(spec, answer)}:"))
    text = _USE.sub("", answer.text.removeprefix(opening).lstrip("\n"))
    lines.append(textwrap.indent(_in_columns(_shortened(text)), "    ") + "\n")
    if answer.rgb is not None:
        lines.append(f"![{spec.name}](tools/{spec.name}.jpg)\n")
    return "\n".join(lines)


def _arguments(spec: ToolSpec) -> list[str]:
    return [_argument(spec, name) for name in spec.kinds if name not in _IMAGE_ARGUMENTS]


def _argument(spec: ToolSpec, name: str) -> str:
    need = "" if name in spec.required else _default(spec, name)
    others = [f"`{other}`" for other, own in spec.renamed.items() if own == name]
    also = f", also {' '.join(others)}" if others else ""
    form = describe_schema(spec.kinds[name].schema()).replace(_USUAL_LENGTH, "")
    return _wrapped(f"- `{name}` ({form}{need}{also}): {spec.argument_docs.get(name, '')}", indent="  ").rstrip("\n")


def _default(spec: ToolSpec, name: str) -> str:
    parameter = inspect.signature(spec.function).parameters.get(name)  # a skill's default stands in its description
    default = parameter.default if parameter else None
    return ", optional" if default in (None, "") else f", default {json.dumps(default)}"


def describe_schema(schema: Mapping[str, Any]) -> str:
    """A JSON schema of an argument in a few words; a key with "?" may be left out."""
    if "anyOf" in schema:
        return " or ".join(describe_schema(choice) for choice in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(value) for value in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "string":
        if schema.get("pattern") == VARIABLE.pattern:
            return "`$variable`"
        if "pattern" in schema:
            return f"string `{_form(schema['pattern'])}`"
        return f"string, at most {schema['maxLength']} characters" if "maxLength" in schema else "string"
    if kind == "array":
        return _describe_list(schema)
    if "properties" in schema:
        optional = schema["properties"].keys() - set(schema.get("required", ()))
        keys = (
            f"`{key}`{'?' if key in optional else ''}: {describe_schema(own)}"
            for key, own in schema["properties"].items()
        )
        return "{" + ", ".join(keys) + "}"
    return kind + _range(schema)


def _describe_list(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minItems", 0), schema.get("maxItems")
    count = f"{low} " if low == high else f"{low} or more " if low > 1 else ""
    plural = re.sub(r"^\w+", lambda word: word[0] + "s", describe_schema(schema.get("items", {})))
    return f"list of {count}{plural}"


def _form(pattern: str) -> str:
    """A regular expression as people write such a form: "image-..." for "^image-[0-9]*$"."""
    return re.sub(r"\\(.)", r"\1", re.sub(r"\[\^?[^\]]*\]\*|\(.*\)", "...", pattern.strip("^$")))


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if "exclusiveMinimum" in schema:
        return f" > {schema['exclusiveMinimum']:g}"
    if low is not None and high is not None:
        return f" in [{low:g}, {high:g}]"
    return f" >= {low:g}" if low is not None else ""


def _call(spec: ToolSpec, answer: ExampleResult) -> str:
    """The example of a tool as a function, on which image, after which calls, and which variables it leaves."""
    example = example_of(spec)
    written = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in example.arguments.items())
    said = f"`{spec.name}({', '.join(written)})`"
    if example.image != TABLE:
        said += f" on `{example.image}`"
    if example.before:
        said += f" after {', '.join(f'`{name}`' for name in example.before)}"
    if answer.shapes:
        left = (f"`${name}` {'x'.join(map(str, shape))}".rstrip() for name, shape in answer.shapes.items())
        said += f" leaves {', '.join(left)}"
    return said


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return text[:_SHOWN_CHARACTERS].rpartition(" ")[0] + " [...]"


def _in_columns(text: str) -> str:
    lines = [textwrap.wrap(line, _COLUMNS, break_on_hyphens=False) or [""] for line in text.split("\n")]
    return "\n".join(part for wrapped in lines for part in wrapped)


def _wrapped(text: str, indent: str = "") -> str:
    options = {"break_on_hyphens": False, "break_long_words": False}
    return "\n".join(textwrap.wrap(text, 120, subsequent_indent=indent, **options)) + "\n"  # type: ignore[arg-type]


def _reduced(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = rgb.shape[:2]
    if width <= IMAGE_WIDTH:
        return rgb
    size = (IMAGE_WIDTH, max(1, round(height * IMAGE_WIDTH / width)))
    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.LANCZOS))


def _stale_image(path: Path, rgb: NDArray[np.uint8]) -> bool:
    try:
        found = _decoded(path.read_bytes())
    except OSError:
        return True
    wanted = _decoded(encode(rgb))
    return found.shape != wanted.shape or float((np.abs(found - wanted) > _NOTABLE).any(axis=2).mean()) > _NOTABLE_SHARE


def _decoded(data: bytes) -> NDArray[np.float64]:
    with opened(data) as image:
        return np.asarray(image.convert("RGB"), float)


def _rounded(text: str) -> str:
    """A text without the decimals after the fourth, in which machines differ."""
    return re.sub(r"(\.\d{4})\d+", r"\1", text)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def main(arguments: list[str]) -> int:
    """Write everything, or with `--check` say what is stale; the exit status."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m docs.site.tool_docs [--check]", file=sys.stderr)
        return 2
    documents = make_documents()
    if not arguments:
        write(documents)
        return 0
    old = stale(documents)
    for name in old:
        print(f"{name} is stale; run python -m docs.site.tool_docs")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
