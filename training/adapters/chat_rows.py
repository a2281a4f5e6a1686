"""Conversations as tokens to be learned: what `training.adapters.sft_on_trl` reads, made of rollouts.

    .engines/trl/bin/python -m training.adapters.chat_rows ROLLOUTS MODEL FOLDER [WORDINGS [LONGEST [ROWS]]]

ROLLOUTS is a folder of `toolhand data synth` or `toolhand rollouts collect`, of which those are taken that the task's
own score calls right. The tokens are those that the policy `transformers` reads and writes: the model's own chat
template, and the turns word by word. The policy's turns and the tokens that end them are learned, nothing else.

Of each conversation with a command there are as many rows as WORDINGS (1 where it is left out): the first as it was,
the others with the command in other words of its split (`training.tasks.sayings`), so that an epoch has each wording
once. Rows of more than LONGEST tokens are left out, and of the others ROWS are drawn; all where they are left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tool_nodes.files import write_whole
from tool_nodes.results import ToolError, invalid
from training.adapters.environments import require_engine
from training.adapters.sft_on_trl import DATA, ROWS
from training.data.formats.conversation import ChatEntry, example_of
from training.rollouts.collection import read_rollouts
from training.tasks.sayings import command_of, say_command
from training.tasks.splits import Split

_NOT_LEARNED = -100


def row_of(entries: Sequence[ChatEntry], tokenizer: Any) -> dict[str, list[int]]:
    """A conversation in the layout "text" as tokens, and those that are learned.

    Raises:
        ToolError: INVALID_ARGUMENT where the template writes a turn otherwise once another one follows.
    """
    messages = [{"role": entry.role, "content": entry.words} for entry in entries]

    def tokens(count: int, **more: Any) -> list[int]:
        text = tokenizer.apply_chat_template(messages[:count], tokenize=False, **more)
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    ids = tokens(len(messages))
    labels = [_NOT_LEARNED] * len(ids)
    for k, entry in enumerate(entries):
        if entry.role != "assistant" or not entry.sampled:
            continue
        before, after = tokens(k, add_generation_prompt=True), tokens(k + 1)
        if ids[: len(after)] != after or after[: len(before)] != before:
            raise invalid("The model's chat template writes a turn otherwise once another one follows it.")
        if tokenizer.eos_token_id not in after[len(before) :]:
            raise invalid("The model's chat template does not end a turn with the token that ends the model's.")
        end = after.index(tokenizer.eos_token_id, len(before)) + 1
        labels[len(before) : end] = ids[len(before) : end]
    return {"input_ids": ids, "labels": labels}


def in_other_words(entries: Sequence[ChatEntry], split: Split, rng: np.random.Generator) -> list[ChatEntry]:
    """The same conversation with its command said otherwise; as it was where the grammar does not know the command."""
    said = next(entry.words for entry in entries if entry.role == "user")
    meant = command_of(said)
    if meant is None:
        return list(entries)
    other = say_command(rng, split, meant)
    return [replace(entry, parts=(other,)) if entry.words == said else entry for entry in entries]


def write_rows(
    rollouts: Path, model: str, folder: Path, wordings: int = 1, longest: int = 0, most: int = 0
) -> tuple[int, int]:
    """Write FOLDER/rows.jsonl, and data.json beside it; (rows, tokens of all).

    Args:
        rollouts: Folder of the conversations.
        model: Folder of the base model.
        folder: Where the rows go.
        wordings, longest, most: See the module; 0 for no limit of tokens and of rows.

    Raises:
        ToolError: INVALID_ARGUMENT where there are no rollouts that are right, and as `row_of`; UNAVAILABLE without
            TRL's environment.
    """
    with require_engine("trl"):
        from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(model)
    made = []  # (number of the conversation, row)
    for number, record in enumerate(record for record in read_rollouts(rollouts) if record.true_success):
        entries, rng = example_of(record, "text").entries, np.random.default_rng(record.task["seed"])
        said = [entries, *(in_other_words(entries, record.task["split"], rng) for _ in range(wordings - 1))]
        made += [(number, row_of(each, tokenizer)) for each in said]
    rows = [(number, row) for number, row in made if not longest or len(row["input_ids"]) <= longest]
    if not rows:
        raise invalid(f"No rollout in {rollouts} is right and short enough: there is nothing to learn.")
    if most:
        drawn = np.random.default_rng(most).permutation(len(rows))[:most]
        rows = [rows[k] for k in sorted(drawn)]
    made_of = {"conversations": len({number for number, _ in rows}), "wordings": wordings}
    write_whole(folder / DATA, f"{json.dumps(made_of)}\n".encode())
    write_whole(folder / ROWS, "".join(f"{json.dumps(row)}\n" for _, row in rows).encode())
    return len(rows), sum(len(row["input_ids"]) for _, row in rows)


if __name__ == "__main__":
    try:
        where, base, to, *more = sys.argv[1:]
        print("{} rows, {} tokens".format(*write_rows(Path(where), base, Path(to), *map(int, more))))
    except ToolError as error:
        sys.exit(f"{error.code}: {error}")
