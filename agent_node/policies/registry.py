"""Policies by the names that users type."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.policies.anthropic_messages import AnthropicMessages
from agent_node.policies.openai_chat import OpenAIChat
from agent_node.policies.options import PolicyOptions
from agent_node.policies.replay import Replay
from agent_node.policies.scripted.policy import ScriptedPolicy
from agent_node.policies.transport import check_url, is_private, plain_line
from agent_node.policy import Policy
from agent_node.protocol import Protocol
from tool_nodes.results import ErrorCode, ToolError

FORMS = (
    "scripted",
    "openai:MODEL[@BASE_URL]",
    "anthropic:MODEL[@BASE_URL]",
    "transformers:FOLDER_OR_NAME",
    "replay:RUN_FOLDER",
)
"""What a user can type."""


def make_policy(
    spec: str, protocol: Protocol, schemas: Sequence[Mapping[str, Any]], options: PolicyOptions | None = None
) -> Policy:
    """The policy of a name, e.g. `openai:Qwen/Qwen2.5-VL-7B-Instruct@http://localhost:8000/v1`.

    A model's name may hold colons and slashes. Without a URL, OPENAI_BASE_URL or ANTHROPIC_BASE_URL is used, else the
    maker's own server.

    Args:
        spec: One of `FORMS`.
        protocol: How the policy writes; with `native` a server is given the tools and writes calls in its own form.
        schemas: JSON schemas of the toolbox.
        options: Settings; the defaults where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that is none; UNAVAILABLE where an extra or a model is missing.
    """
    require_form(spec)
    options = options or PolicyOptions()
    kind, _, rest = spec.partition(":")
    if kind == "scripted":
        return ScriptedPolicy(max_turns=options.turns or protocol.turn_budget, protocol=protocol)
    if kind == "replay":
        return Replay(Path(rest))
    if kind == "transformers":
        from agent_node.policies.transformers_chat import TransformersChat

        return TransformersChat(rest, protocol, options)
    model, url = _served(rest)
    if kind == "openai":
        base_url = check_url(url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1")
        return OpenAIChat(model, base_url, protocol, schemas, options, _key(options, "OPENAI_API_KEY", base_url))
    base_url = check_url(url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com")
    key = _key(options, "ANTHROPIC_API_KEY", base_url)
    return AnthropicMessages(model, base_url.removesuffix("/v1"), protocol, schemas, options, key)


def require_form(spec: str) -> None:
    """Refuse what names no policy, without making one. Raises ToolError INVALID_ARGUMENT."""
    kind, _, rest = spec.partition(":")
    named = kind in ("openai", "anthropic", "transformers", "replay") and bool(_served(rest)[0])
    if spec != "scripted" and not named:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"There is no policy {plain_line(spec, length=60)!r}: it must be like {', '.join(FORMS)}.",
        )


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
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"The key in {variable} holds signs that no key has.")
    return key
