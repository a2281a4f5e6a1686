"""ShareGPT, as LLaMA-Factory (and SpaceTools' released recipe, which trains with it) reads it.

    {"conversations": [{"from": "human" | "gpt" | "function_call" | "observation", "value"}, ...],
     "system", "tools", "images": [path, ...], "id", "about"}

Turns alternate, human or observation first and gpt or function_call last; LLaMA-Factory leaves out what does not. So
the results of one turn are one observation, joined as LLaMA-Factory joins them, and what comes after the last turn of
the assistant is left out. Each `<image>` stands for the next of `images`; where anybody says so in words it becomes a
look-alike, and in JSON an escape. `tools` and `about` are JSON text. A function_call is JSON, its thought in `<think>`
before it. Every gpt and function_call is learned, so a rollout with a turn that is not to be learned is left out.

`dataset_info.json` beside the shards describes them under the name `toolhand`: pass the folder as `dataset_dir` and
`media_dir`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes.results import invalid
from toolhand.training.data.formats.conversation import ChatEntry, ChatExample
from toolhand.training.data.formats.shards import ROWS
from toolhand.training.data.formats.writing import ImageCopies, JsonLines, json_text

DATASET = "toolhand"
"""Name of the set in dataset_info.json."""

PLACEHOLDER = "<image>"
BETWEEN_RESULTS = "\n</tool_response>\n<tool_response>\n"
"""How LLaMA-Factory joins the results of parallel calls."""

_PLACEHOLDERS = re.compile(r"<(?=(?:image|video|audio)>)")
_ASKING, _ANSWERING = ("human", "observation"), ("gpt", "function_call")


class ShareGpt(JsonLines):
    """Rows as lines of JSON.

    A rollout is left out where its turns do not alternate or one of the policy's turns is not to be learned.
    """

    name = "sharegpt"

    def document(self, example: ChatExample, images: ImageCopies) -> dict[str, Any]:
        """See `JsonLines`."""
        conversation, shown = _conversation(example)
        return {
            "id": example.id,
            "conversations": conversation,
            "system": "\n".join(_words(entry) for entry in example.entries if entry.role == "system"),
            "tools": json_text([tool["function"] for tool in example.tools]) if example.tools else "",
            "images": [images.file(name) for name in shown],
            "about": json_text(example.about),
        }

    def beside(self, folder: Path) -> None:
        """The entry by which LLaMA-Factory finds the set."""
        document = {
            DATASET: {
                "file_name": ROWS,
                "formatting": "sharegpt",
                "columns": {"messages": "conversations", "system": "system", "tools": "tools", "images": "images"},
                "tags": {
                    "role_tag": "from",
                    "content_tag": "value",
                    "user_tag": "human",
                    "assistant_tag": "gpt",
                    "observation_tag": "observation",
                    "function_tag": "function_call",
                    "system_tag": "system",
                },
            }
        }
        write_atomically(folder / "dataset_info.json", f"{json.dumps(document, indent=2)}\n".encode(), durable=True)


def _conversation(example: ChatExample) -> tuple[list[dict[str, str]], tuple[str, ...]]:
    """The turns, and the images that they show in order."""
    turns: list[tuple[str, str, tuple[str, ...]]] = []
    for entry in example.entries:
        if entry.role == "system":
            continue
        if entry.role == "assistant" and not entry.sampled:
            raise invalid("It has a turn that is not to be learned, which ShareGPT cannot say.")
        speaker, value = _turn(entry)
        if speaker == "observation" and turns and turns[-1][0] == "observation":
            speaker, before, shown = turns.pop()
            turns.append((speaker, f"{before}{BETWEEN_RESULTS}{value}", (*shown, *entry.images)))
        else:
            turns.append((speaker, value, entry.images))
    while turns and turns[-1][0] in _ASKING:
        turns.pop()
    for k, (speaker, _, _) in enumerate(turns):
        if speaker not in (_ANSWERING if k % 2 else _ASKING):
            raise invalid(f"Its turns do not alternate: turn {k} is {speaker}.")
    if not turns:
        raise invalid("It has no assistant's turn.")
    return [{"from": speaker, "value": value} for speaker, value, _ in turns], tuple(
        name for _, _, shown in turns for name in shown
    )


def _turn(entry: ChatEntry) -> tuple[str, str]:
    if entry.role != "assistant":
        return ("observation" if entry.role == "tool" else "human"), _words(entry)
    if not entry.calls:
        return "gpt", _words(entry)
    calls = [{"name": call.name, "arguments": dict(call.arguments)} for call in entry.calls]
    thought = f"<think>\n{_words(entry)}\n</think>\n\n" if entry.words else ""
    return "function_call", thought + _PLACEHOLDERS.sub(r"\\u003c", json_text(calls))


def _words(entry: ChatEntry) -> str:
    return "".join(said(part) if isinstance(part, str) else PLACEHOLDER for part in entry.parts)


def said(text: str) -> str:
    """Words without a placeholder of an image, which is counted wherever it stands."""
    return _PLACEHOLDERS.sub("\u2039", text)
