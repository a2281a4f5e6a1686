"""Conversations as tokens: what is learned is what the policy wrote, as it would write it in use."""

import re

import pytest

from tests.random_qwen import TEMPLATE, byte_tokenizer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.chat_rows import row_of, sentence_rows, unresolved_rows, write_rows
from toolhand.training.data.formats.conversation import ChatEntry

ENTRIES = [
    ChatEntry("system", ("Work the arm.",)),
    ChatEntry("user", ("pick up the can",)),
    ChatEntry("assistant", ("look\ndepth",), sampled=True),
    ChatEntry("user", ("seen\nmeasured",)),
    ChatEntry("assistant", ("was cut",), sampled=False),
    ChatEntry("user", ("Go on.",)),
    ChatEntry("assistant", ("say Done.",), sampled=True),
]


def test_the_policys_turns_and_their_ends_are_learned_and_nothing_else():
    tokenizer = byte_tokenizer()
    row = row_of(ENTRIES, tokenizer)
    learned = tokenizer.decode([token for token in row["labels"] if token != -100])
    assert learned == "look\ndepth<|im_end|>say Done.<|im_end|>"
    assert all(label in (-100, token) for label, token in zip(row["labels"], row["input_ids"], strict=True))
    assert tokenizer.decode(row["input_ids"]).startswith("<|im_start|>system\nWork the arm.<|im_end|>")


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (TEMPLATE.replace("{{ m.role }}", "{{ m.role }} {{ messages|length }}"), "otherwise once another one follows"),
        (TEMPLATE.replace("<|im_end|>", "[end]"), "does not end a turn"),
    ],
)
def test_a_template_that_cannot_be_learned_from_is_refused(template, why):
    with pytest.raises(ToolError, match=why) as caught:
        row_of(ENTRIES, byte_tokenizer(template=template))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_a_folder_without_right_rollouts_is_refused(tmp_path):
    byte_tokenizer().save_pretrained(tmp_path / "model")
    (tmp_path / "rollouts" / "shards").mkdir(parents=True)
    with pytest.raises(ToolError):
        write_rows(tmp_path / "rollouts", str(tmp_path / "model"), tmp_path)


def test_sentences_are_read_into_plans_several_in_a_row():
    tokenizer = byte_tokenizer()
    rows = sentence_rows("Work the arm.", 13, tokenizer)
    assert len(rows) == 3, "six, six and one"
    assert rows == sentence_rows("Work the arm.", 13, tokenizer), "the seed draws them"
    learned = [tokenizer.decode([token for token in row["labels"] if token != -100]) for row in rows]
    turns = "".join(learned).split("<|im_end|>")[:-1]
    assert len(turns) == 13
    assert all(re.fullmatch("# take [a-z' ]+, put [a-z' ]+\nlook\ndepth", turn) for turn in turns)
    nowhere = [turn.endswith("put nowhere\nlook\ndepth") for turn in turns]
    assert nowhere == [number % 2 == 0 for number in range(13)], "a pick, then a placement"
    assert rows != sentence_rows("Work the arm.", 13, tokenizer, seed=1)


def test_what_fits_several_objects_is_looked_for_again_and_then_asked_about():
    tokenizer = byte_tokenizer()
    rows = unresolved_rows("Work the arm.", 4, tokenizer)
    for row in rows:
        learned = tokenizer.decode([token for token in row["labels"] if token != -100])
        turns = learned.split("<|im_end|>")[:-1]
        assert [turn.split()[0] for turn in turns] == ["#", "point", "look", "point", "look", "point", "say"]
        assert turns[-1].startswith("say AMBIGUOUS: ")
        answers = set(re.findall(r"user\n([\d., ]+)<", tokenizer.decode(row["input_ids"])))
        assert len(answers) == 1, "the same things each time"
        assert len(answers.pop().split(", ")) in (2, 3)
    assert len({str(row) for row in rows}) == 4
