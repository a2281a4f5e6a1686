"""What a user types behind a model's name: `WEIGHTS?device=cuda&dtype=bfloat16&batch=8`, or `MODEL@URL` for a
server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from toolhand.tool_nodes.results import invalid

DTYPES = ("auto", "float32", "bfloat16", "float16")
"""Numbers that weights are kept as; `auto` is float32 on the CPU and as they were saved elsewhere."""
MAX_BATCH = 256
"""Most requests that are computed at once [requests]."""
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,2})?")
_SHOWN = 100
"""Characters of a typed text that a message repeats."""


@dataclass(frozen=True)
class Option:
    """A number that a model can be given.

    Attributes:
        default: Where it is not said.
        low, high: Smallest and largest allowed value.
    """

    default: float
    low: float
    high: float


NumberOptions = Mapping[str, Option]
"""By name."""


@dataclass(frozen=True)
class ModelSpec:
    """A model in this process.

    Attributes:
        weights: A folder, or a name of the Hugging Face hub.
        device: "auto" (a GPU where there is one), "cpu", "cuda", "cuda:N" or "mps".
        dtype: One of `DTYPES`.
        batch_size: Most requests that are computed at once.
        numbers: The model's own options.
    """

    weights: str
    device: str = "auto"
    dtype: str = "auto"
    batch: int = 8
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ServerSpec:
    """A model behind a server.

    Attributes:
        model: Name of the model on the server.
        url: Base URL without a slash at its end, e.g. "http://localhost:8000/v1".
        batch_size: Most requests that are sent at once.
        numbers: Further options.
    """

    model: str
    url: str
    batch: int = 8
    numbers: Mapping[str, float] = field(default_factory=dict)


_BATCH = {"batch": Option(8, 1, MAX_BATCH)}
"""Option of every model: most requests that are computed at once [requests]."""


def parse_model(name: str, text: str, options: NumberOptions | None = None) -> ModelSpec:
    """What is typed behind `name:`.

    Args:
        name: The backend, for sentences.
        text: Behind its colon.
        options: The numbers that this model takes beside device, dtype and batch.

    Raises:
        ToolError: INVALID_ARGUMENT; the sentence says what is allowed.
    """
    weights, _, query = text.partition("?")
    if not weights:
        raise invalid(f"The model {name!r} needs weights: {name}:FOLDER or {name}:OWNER/NAME.")
    given = _given(name, query, ("device", "dtype", *_BATCH, *(options or {})))
    device, dtype = given.get("device", "auto"), given.get("dtype", "auto")
    if not _DEVICE.fullmatch(device):
        raise invalid(
            f"The model {name!r} has no device {device[:_SHOWN]!r}: it must be auto, cpu, cuda, cuda:N or mps."
        )
    if dtype not in DTYPES:
        raise invalid(f"The model {name!r} has no dtype {dtype[:_SHOWN]!r}: it must be {', '.join(DTYPES)}.")
    numbers = _numbers(name, given, {**_BATCH, **(options or {})})
    return ModelSpec(weights, device, dtype, int(numbers.pop("batch")), numbers)


def parse_server(name: str, text: str, options: NumberOptions | None = None) -> ServerSpec:
    """What is typed behind `name:` for a model behind a server: `MODEL@URL`, and options behind a question mark.

    Raises:
        ToolError: INVALID_ARGUMENT; the sentence says what is allowed.
    """
    model, at, rest = text.partition("@")
    url, _, query = rest.partition("?")
    if not (model and at and _is_base_url(url)):
        raise invalid(
            f"The model {name!r} is behind a server: {name}:MODEL@URL, e.g. {name}:m@http://localhost:8000/v1."
        )
    numbers = _numbers(name, _given(name, query, (*_BATCH, *(options or {}))), {**_BATCH, **(options or {})})
    return ServerSpec(model, url.rstrip("/"), int(numbers.pop("batch")), numbers)


def parse_address(name: str, text: str, port: int, options: NumberOptions) -> tuple[str, Mapping[str, float]]:
    """(`HOST:PORT`, numbers) of what is typed behind `name:` for a server with a protocol of its own.

    Raises:
        ToolError: INVALID_ARGUMENT; the sentence says what is allowed.
    """
    address, _, query = text.removeprefix("tcp://").partition("?")
    host, colon, number = address.rpartition(":")
    host, number = (host, number) if colon else (address, str(port))
    if not re.fullmatch(r"[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\]", host) or not number.isdecimal() or int(number) > 65535:
        raise invalid(f"{address[:_SHOWN]!r} is no address of {name}: it must be {name}:HOST or {name}:HOST:PORT.")
    return f"{host}:{int(number)}", _numbers(name, _given(name, query, tuple(options)), options)


def _given(name: str, query: str, allowed: tuple[str, ...]) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in query.split("&") if query else ():
        key, equals, value = part.partition("=")
        if not equals or key not in allowed or key in given:
            why = "is given twice" if key in given else f"is unknown: {name} takes {', '.join(allowed)}"
            raise invalid(f"The option {part[:_SHOWN]!r} {why}.")
        given[key] = value
    return given


def _numbers(name: str, given: Mapping[str, str], options: NumberOptions) -> dict[str, float]:
    numbers = {}
    for key, option in options.items():
        try:
            number = float(given.get(key, option.default))
        except ValueError:
            number = float("nan")
        whole = isinstance(option.default, int)
        if not option.low <= number <= option.high or (whole and number != int(number)):
            kind = "a whole number" if whole else "a number"
            raise invalid(
                f"The option {key!r} of {name} must be {kind} from {option.low:g} to {option.high:g}, "
                f"not {given[key][:_SHOWN]!r}."
            )
        numbers[key] = int(number) if whole else number
    return numbers


def _is_base_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(
            parts.scheme in ("http", "https")
            and parts.hostname
            and parts.port != 0
            and not (parts.fragment or parts.username or parts.password)
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        return False
