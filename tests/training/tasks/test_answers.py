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


def test_numbers_may_have_their_unit_and_no_other():
    assert metres("0.12") == metres("0.12 m") == metres("0.12 metres.") == 0.12
    for said in ("12 cm", "0.1 to 0.2", "about 0.1"):
        with pytest.raises(WrongForm):
            metres(said)


def test_counts_are_whole_numbers_in_digits():
    assert count(" 3. ") == 3
    for said in ("three", "3.0", "-1", "3 cans"):
        with pytest.raises(WrongForm):
            count(said)


def test_a_letter_may_have_brackets_and_a_case():
    assert option("(B).", ("a", "b")) == "b"
    for said in ("C", "A and B", "the cola"):
        with pytest.raises(WrongForm):
            option(said, ("a", "b"))
