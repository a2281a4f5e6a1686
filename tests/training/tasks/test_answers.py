"""Answers are read in the form that was asked for; whatever else a policy says scores 0 with a reason."""

from types import SimpleNamespace

import pytest

from toolhand.training.tasks.answers import WrongForm, count, metres, option, rows
from toolhand.training.tasks.kinds import QUESTIONS

NONSENSE = (
    "",
    "I cannot tell.",
    "No answer within 24 turns.",
    "Error TIMEOUT: 0.3 and 0.4 s",
    "[" * 30_000,
    "nan",
    "[NaN, NaN]",
    "1e999",
    "[[0.5]]",
    "[320, 240]",
    "[-0.1, 0.5]",
    "9" * 400,
    "\x00\ud800",
    "{}",
)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_nonsense_scores_nothing_and_never_raises(tasks, kind):
    task = tasks[kind]
    for said in NONSENSE:
        score = task.score(None, SimpleNamespace(answer=said))
        assert not score.success, said
        assert score.reasons, said
        # A text or a number of another size is wrong, not malformed, and may be near.
        assert set(score.terms) == set(task.marking.names)


def test_rows_have_brackets_commas_and_labels_and_nothing_else():
    assert rows("[0.5, .25]", 2).tolist() == [[0.5, 0.25]]
    assert rows("(0.5, 0.25), (1, 0)", 2).tolist() == [[0.5, 0.25], [1.0, 0.0]]
    assert rows("Grasp center: [0.1, 0.2], Left finger base: [0.3, 0.4].", 2, 2).tolist() == [[0.1, 0.2], [0.3, 0.4]]
    for said in ("about [0.5, 0.5]", "[0.5, 0.5, 0.5]", "[0.5, 1.01]", "0.5 m", "[]"):
        with pytest.raises(WrongForm):
            rows(said, 2)
    with pytest.raises(WrongForm, match="4 numbers were answered, 2 asked for"):
        rows("[0.1, 0.2, 0.3, 0.4]", 2, 1)


def letter(said):
    return option(said, ("a", "b"))


@pytest.mark.parametrize(
    ("read", "right", "value", "wrong"),
    [
        (metres, ("0.12", "0.12 m", "0.12 metres."), 0.12, ("12 cm", "0.1 to 0.2", "about 0.1")),
        (count, (" 3. ",), 3, ("three", "3.0", "-1", "3 cans")),
        (letter, ("(B).",), "b", ("C", "A and B", "the cola")),
    ],
)
def test_numbers_may_have_their_unit_and_letters_brackets_and_no_more(read, right, value, wrong):
    assert {read(said) for said in right} == {value}
    for said in wrong:
        with pytest.raises(WrongForm):
            read(said)
