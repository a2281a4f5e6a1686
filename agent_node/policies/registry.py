"""Policies by the names that users type."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.transport import check_url
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.protocol import OWN, Protocol, load_protocol
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.http_request import is_private, plain_line
from toolhand.tool_nodes.results import invalid

FORMS = (
    "scripted",
    "openai:MODEL[@BASE_URL]",
    "anthropic:MODEL[@BASE_URL]",
    "transformers:FOLDER_OR_NAME",
    "replay:RUN_FOLDER",
    "smollm2",
)
"""What a user can type; installed packages may offer more (the entry points `toolhand.policy`)."""

OWN_PROTOCOLS = {"smollm2": "compact", "openai": "native", "anthropic": "native"}
"""What a policy was taught to write, by its name; every other writes `spacetools`."""
_NO_MODELS = frozenset({"scripted", "smollm2", "replay"})
"""Policies that call the tools they know, whatever a prompt says."""


def is_model(spec: str) -> bool:
    """Whether a policy reads its prompt and its tools; the others call the tools that they know."""
    return spec.partition(":")[0] not in _NO_MODELS


def protocol_of(spec: str, named: str = OWN, advised: bool = False) -> Protocol:
    """The protocol in which a policy writes.

    Args:
        spec: The policy, as `make_policy` takes it.
        named: Name of a protocol, or OWN.
        advised: A model is told, after a paper's prompt too, how to use its tools, how to ask and how to give up.

    Raises:
        ToolError: INVALID_ARGUMENT for a protocol that there is not.
    """
    own = OWN_PROTOCOLS.get(spec.partition(":")[0], "spacetools")
    protocol = load_protocol(own if named == OWN else named)
    return replace(protocol, advised=True) if advised and is_model(spec) else protocol


def suites_of(spec: str, protocol: Protocol, named: str = OWN) -> str:
    """The suites of a policy, separated by commas: those that are named, or with OWN those of a model's protocol."""
    own = protocol.suites if is_model(spec) else "spacetools"
    return own if named == OWN else named


def make_policy(
    spec: str, protocol: Protocol, schemas: Sequence[Mapping[str, Any]], options: PolicyOptions | None = None
) -> Policy:
    """The policy of a name, e.g. `openai:Qwen/Qwen2.5-VL-7B-Instruct@http://localhost:8000/v1`.

    A model's name may hold colons and slashes. Without a URL, OPENAI_BASE_URL or ANTHROPIC_BASE_URL is used, else the
    maker's own server.

    Args:
        spec: One of `FORMS`, or the name of an installed one.
        protocol: How the policy writes; with `native` a server is given the tools and writes calls in its own form.
        schemas: JSON schemas of the toolbox.
        options: Settings; the defaults where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that is none; UNAVAILABLE where an extra or a model is missing.
    """
    require_form(spec)
    options = options or PolicyOptions()
    policy: Policy = registry.make("policy", spec, protocol=protocol, schemas=schemas, options=options)
    return policy


def require_form(spec: str) -> None:
    """Refuse what names no policy, without making one. Raises ToolError INVALID_ARGUMENT."""
    kind, colon, rest = spec.partition(":")
    own = [form for form in FORMS if form.partition(":")[0] == kind]
    named = not own or any(bool(_served(rest)[0]) if ":" in form else not colon for form in own)
    if not named or kind not in registry.names("policy"):
        more = [name for name in registry.names("policy") if name not in {form.partition(":")[0] for form in FORMS}]
        raise invalid(
            f"There is no policy {plain_line(spec, length=60)!r}: it must be like {', '.join([*FORMS, *more])}."
        )


def scripted(protocol: Protocol, options: PolicyOptions) -> Policy:
    """The entry `scripted`: rules without a model."""
    from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy

    return ScriptedPolicy(max_turns=options.turns or protocol.turn_budget, protocol=protocol)


scripted.session = "rules"  # type: ignore[attr-defined]


def replay(model: str) -> Policy:
    """The entry `replay`: what was said in a run's folder."""
    from toolhand.agent_node.policies.replay import Replay

    return Replay(Path(model))


def transformers(model: str, protocol: Protocol, options: PolicyOptions) -> Policy:
    """The entry `transformers`: a model in this process."""
    from toolhand.agent_node.policies.transformers_chat import TransformersChat

    return TransformersChat(model, protocol, options)


def smollm2(protocol: Protocol, options: PolicyOptions) -> Policy:
    """The entry `smollm2`: a small language model in this process, of the weights that a package has."""
    from toolhand.agent_node.policies.smollm2 import smollm2 as make

    return make(protocol, options)


def openai(model: str, protocol: Protocol, schemas: Sequence[Mapping[str, Any]], options: PolicyOptions) -> Policy:
    """The entry `openai`: a server of that interface."""
    from toolhand.agent_node.policies.openai_chat import OpenAIChat

    name, url = _served(model)
    base_url = check_url(url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
    leads = options.led_by and make_policy(options.led_by, protocol, schemas, replace(options, guided=None, led_by=""))
    key = _key(options, "OPENAI_API_KEY", base_url)
    return OpenAIChat(name, base_url, protocol, schemas, options, key, leads or None)


def anthropic(model: str, protocol: Protocol, schemas: Sequence[Mapping[str, Any]], options: PolicyOptions) -> Policy:
    """The entry `anthropic`: Anthropic's Messages API."""
    from toolhand.agent_node.policies.anthropic_messages import AnthropicMessages

    name, url = _served(model)
    base_url = check_url(url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com")
    key = _key(options, "ANTHROPIC_API_KEY", base_url)
    return AnthropicMessages(name, base_url.removesuffix("/v1"), protocol, schemas, options, key)


def _served(rest: str) -> tuple[str, str]:
    """(model, base URL or "") of what follows the first colon."""
    model, at, url = rest.rpartition("@")
    return (model, url) if at else (rest, "")


def _key(options: PolicyOptions, variable: str, base_url: str) -> str:
    """The key to send; one that merely lies in the environment goes nowhere that others can read it on the way."""
    key = options.api_key if options.api_key is not None else os.environ.get(variable, "")
    if options.api_key is None and not is_private(base_url):
        return ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise invalid(f"The key in {variable} holds signs that no key has.")
    return key
