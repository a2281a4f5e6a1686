"""Conversations as tokens to be learned: what `toolhand.training.adapters.sft_on_trl` reads, made of rollouts.

    .engines/trl/bin/python -m toolhand.training.adapters.chat_rows ROLLOUTS MODEL FOLDER
        [--wordings N] [--longest N] [--rows N] [--sentences N] [--unresolved N] [--seed N]

ROLLOUTS is a folder of `toolhand data synth` or `toolhand rollouts collect`, of which those are taken that the task's
own score calls right. The tokens are those that the policy `transformers` reads and writes: the model's own chat
template, and the turns word by word. The policy's turns and the tokens that end them are learned, nothing else.

Of each conversation with a command there are as many rows as --wordings (1 where it is left out): the first as it was,
the others with the command in other words of its split (`toolhand.training.tasks.sayings`), of the train split and
more, so that an epoch has each wording once. Rows of more than --longest tokens are left out, and of the others --rows
are drawn; all where they are left out.

What a sentence asks for is learned from more sentences than were played: --sentences commands in the words of the train
split and more, each with the turn that a teacher begins with, which holds its plan. They need no simulation, and there
are six in a row. In --unresolved more conversations the words fit several objects, and the teacher must not guess.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.smollm2 import PROTOCOL
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.tasks.predicates import RELATIONS
from toolhand.sim.tasks.sentences import COMPARATIVES
from toolhand.tool_nodes.files import write_whole
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.training.adapters.environments import require_engine, run_stage
from toolhand.training.adapters.sft_on_trl import DATA, NOT_LEARNED, ROWS
from toolhand.training.data.formats.conversation import ChatEntry, example_of
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.tasks.sayings import CommandWords, say_otherwise, say_widely, wider_objects
from toolhand.training.tasks.splits import Split, products_of
from toolhand.training.teacher.careful import RETRIES, plan_of
from toolhand.training.teacher.moves import Move, Plan, render_move

_SENTENCES, _UNRESOLVED = 23, 29
"""Keep these random numbers apart from others of the same seed."""
_PRODUCTS, _BOTH = 0.5, 0.15
"""Shares of the commands that ask for a product of the training, the others for any object, and of the placements that
also say which of two alike; round figures [-]."""

IN_A_ROW = 6
"""Sentences of a row [-]: with the system prompt of 92 tokens in front of them it is as long as a conversation."""


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
    labels = [NOT_LEARNED] * len(ids)
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
    other = say_otherwise(rng, said, split)
    return [replace(entry, parts=(other,)) if entry.words == said else entry for entry in entries]


def sentence_rows(system: str, count: int, tokenizer: Any, seed: int = 0) -> list[dict[str, list[int]]]:
    """`count` commands of the training with a teacher's first turn each, as rows: picks, of two alike, placements."""
    rng = np.random.default_rng([seed, _SENTENCES])
    turns: list[ChatEntry] = []
    for number in range(count):
        said, plan = _drawn_command(rng, number)
        turns += [ChatEntry("user", (said,)), _written(Move("look", plan=plan))]
    first, step = ChatEntry("system", (system,)), 2 * IN_A_ROW
    return [row_of((first, *turns[k : k + step]), tokenizer) for k in range(0, len(turns), step)]


def unresolved_rows(system: str, count: int, tokenizer: Any, seed: int = 0) -> list[dict[str, list[int]]]:
    """`count` commands whose words fit several objects, as rows: the teacher looks again and says it must not guess.

    What the tools answer is written down and not played; objects are drawn from those of the training.
    """
    rng = np.random.default_rng([seed, _UNRESOLVED])
    rows = []
    for number in range(count):
        said, plan = _drawn_command(rng, number, sided=False)
        seen = ", ".join(f"{x:.3f} {y:.3f}" for x, y in rng.uniform(0.1, 0.9, (int(rng.integers(2, 4)), 2)))
        turns = [ChatEntry("system", (system,)), ChatEntry("user", (said,))]
        for attempt in range(RETRIES + 1):
            turns += [_written(Move("look", plan=None if attempt else plan)), ChatEntry("user", ("seen\nmeasured",))]
            turns += [_written(Move("point", "roborefer", plan.target)), ChatEntry("user", (seen,))]
        turns.append(_written(Move("refuse", why=ErrorCode.AMBIGUOUS)))
        rows.append(row_of(turns, tokenizer))
    return rows


def _written(move: Move) -> ChatEntry:
    return ChatEntry("assistant", (render_move(move, (), 0, load_protocol(PROTOCOL)),), sampled=True)


def _drawn_command(rng: np.random.Generator, number: int, sided: bool = True) -> tuple[str, Plan]:
    """A command of this number, of any objects, and what it says: nobody has to carry it out."""
    names = products_of("train") if rng.random() < _PRODUCTS else wider_objects()
    target, *others = map(str, rng.permutation(names)[:3])
    words = CommandWords(target)
    if sided and number % 4 == 0:
        words = CommandWords(target, side=str(rng.choice(list(COMPARATIVES))))
    elif number % 2:
        relation = RELATIONS[int(rng.integers(len(RELATIONS)))]
        side = str(rng.choice(list(COMPARATIVES))) if sided and rng.random() < _BOTH else ""
        words = CommandWords(target, side, relation, tuple(others if relation == "between" else others[:1]))
    return say_widely(rng, words), plan_of(parse_command(words.plain))


def write_rows(
    rollouts: Path,
    model: str,
    folder: Path,
    wordings: int = 1,
    longest: int = 0,
    most: int = 0,
    sentences: int = 0,
    unresolved: int = 0,
    seed: int = 0,
) -> tuple[int, int]:
    """Write FOLDER/rows.jsonl, and data.json beside it; (rows, tokens of all).

    Args:
        rollouts: Folder of the conversations.
        model: Folder of the base model.
        folder: Where the rows go.
        wordings, longest, most, sentences, unresolved: See the module; 0 for no limit of tokens and of rows, and none.

    Raises:
        ToolError: INVALID_ARGUMENT where there are no rollouts that are right, and as `row_of`; UNAVAILABLE without
            TRL's environment.
    """
    with require_engine("trl"):
        from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained(model)
    made, system = [], ""  # (number of the conversation, row)
    for number, record in enumerate(record for record in read_rollouts(rollouts) if record.true_success):
        entries, rng = example_of(record, "text").entries, np.random.default_rng(record.task["seed"])
        said = [entries, *(in_other_words(entries, record.task["split"], rng) for _ in range(wordings - 1))]
        made += [(number, row_of(each, tokenizer)) for each in said]
        system = system or next(entry.words for entry in entries if entry.role == "system")
    rows = [(number, row) for number, row in made if not longest or len(row["input_ids"]) <= longest]
    if not rows:
        raise invalid(f"No rollout in {rollouts} is right and short enough: there is nothing to learn.")
    if most:
        drawn = np.random.default_rng([seed, most]).permutation(len(rows))[:most]
        rows = [rows[k] for k in sorted(drawn)]
    made_of = {"conversations": len({number for number, _ in rows}), "of": made[-1][0] + 1}
    made_of |= {"wordings": wordings, "sentences": sentences, "unresolved": unresolved}
    learned = [row for _, row in rows]
    learned += sentence_rows(system, sentences, tokenizer, seed) + unresolved_rows(system, unresolved, tokenizer, seed)
    write_whole(folder / DATA, f"{json.dumps(made_of)}\n".encode())
    write_whole(folder / ROWS, "".join(f"{json.dumps(row)}\n" for row in learned).encode())
    return len(learned), sum(len(row["input_ids"]) for row in learned)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rollouts", type=Path, help="folder of conversations")
    parser.add_argument("model", help="folder of the base model")
    parser.add_argument("folder", type=Path, help="where the rows go")
    parser.add_argument("--wordings", type=int, default=1, help="rows of a conversation, in other words")
    parser.add_argument("--longest", type=int, default=0, help="tokens of a row, at most; 0: any")
    parser.add_argument("--rows", dest="most", type=int, default=0, help="rows of conversations, at most; 0: all")
    parser.add_argument("--sentences", type=int, default=0, help="sentences that are read into plans, beside them")
    parser.add_argument("--unresolved", type=int, default=0, help="conversations of words that fit several objects")
    parser.add_argument("--seed", type=int, default=0, help="seed of what is drawn")
    return parser.parse_args()


if __name__ == "__main__":
    run_stage(lambda: "{} rows, {} tokens".format(*write_rows(**vars(_options()))))
