"""What is counted of episodes: by the simulator's truth, and by what points lay on."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.data.episodes_at_hand import HELD, LOOK, OTHER, SLIPPED, TARGET, Call, episode, pointed
from toolhand.training.rollouts.measures import Share, markdown_table, measure, summarise
from toolhand.training.rollouts.record import CallEntry, RolloutRecord


def test_a_wrong_object_is_what_left_the_table_and_was_not_meant(tmp_path: Path) -> None:
    assert not measure(episode(tmp_path, [HELD], picked_up=[TARGET])).wrong_object
    assert measure(episode(tmp_path, [HELD], picked_up=[OTHER, TARGET])).wrong_object


def test_false_success_is_said_by_the_tools_and_the_answer_and_denied_by_the_judge(tmp_path: Path) -> None:
    assert measure(episode(tmp_path, [HELD], true=False)).false_success
    assert not measure(episode(tmp_path, [HELD])).false_success
    assert not measure(episode(tmp_path, [SLIPPED], true=False, success=False)).false_success


@pytest.mark.parametrize(("true", "said"), [(True, True), (True, False), (False, True), (False, False)])
def test_done_and_said_is_what_the_judge_and_the_tools_agree_on(tmp_path: Path, true: bool, said: bool) -> None:
    assert measure(episode(tmp_path, [HELD], true=true, success=said)).reported == (true and said)


def test_a_refusal_is_right_where_the_object_was_never_shown(tmp_path: Path) -> None:
    def refusal(objects: Sequence[str]) -> RolloutRecord:
        return episode(tmp_path, [pointed("roborefer", objects)], answer="AMBIGUOUS: Which?", success=False, true=False)

    right, wrong = measure(refusal([OTHER])), measure(refusal([OTHER, TARGET]))
    assert (right.refused, right.refused_rightly, right.refused_wrongly) == (True, True, False)
    assert (wrong.refused, wrong.refused_rightly, wrong.refused_wrongly) == (True, False, True)
    assert not measure(episode(tmp_path, [pointed("roborefer", [OTHER])])).refused


def refused(tmp_path: Path, *turns: Sequence[Call]) -> RolloutRecord:
    return episode(tmp_path, *turns, answer="NOT_UNDERSTOOD: I cannot.", success=False, true=False)


def test_who_refuses_everything_at_once_refuses_nothing_rightly(tmp_path: Path) -> None:
    at_once = [refused(tmp_path), refused(tmp_path, [LOOK])]
    other_words = refused(tmp_path, [LOOK], [pointed("roborefer", [], "the violin")])
    found = summarise([*at_once, other_words])
    assert (found.right_refusals, found.wrong_refusals, found.unasked_refusals) == (
        Share(0, 3),
        Share(0, 3),
        Share(3, 3),
    )


def test_a_refused_question_is_neither_right_nor_wrong_and_in_no_rate_of_deeds(tmp_path: Path) -> None:
    asked = refused(tmp_path, [LOOK], [pointed("roborefer", [])])
    question = replace(asked, truth={**asked.truth, "meant": []})
    found = summarise([question, question, asked])
    assert (found.right_refusals, found.wrong_refusals, found.unasked_refusals) == (
        Share(1, 1),
        Share(0, 1),
        Share(2, 3),
    )


def test_episodes_that_are_missing_count_as_wrong_in_a_column_of_their_own(tmp_path: Path) -> None:
    found = summarise([episode(tmp_path, [HELD])], planned=4)
    assert (found.n, found.unscored, found.success_of_planned) == (1, 3, Share(1, 4))
    head, _, row = markdown_table([("careful", found)]).splitlines()
    assert head.endswith("| true success, unscored as wrong |")
    assert row.startswith("| careful | 1 | 3 | 100.0 %")
    assert row.endswith("| 25.0 % (4.6..69.9) |")


def test_invalid_are_malformed_turns_and_bad_calls_but_not_what_a_failure_left_without_its_argument(
    tmp_path: Path,
) -> None:
    bad = (CallEntry("robot.fly", {}, "no such tool", "UNKNOWN_TOOL", run=False), None)
    empty = (CallEntry("sam2.segment_from_point", {"x": 0.1, "y": 0.1, "image_index": 0}, "", "EMPTY_MASK"), None)
    lacking = (CallEntry("grasp_generator.compute_grasp", {}, "no mask", "INVALID_ARGUMENT"), None)
    assert measure(episode(tmp_path, [bad], [empty, lacking], [lacking])).invalid == 2
    record = episode(tmp_path, [HELD])
    malformed = replace(record, turns=(replace(record.turns[0], problem="no call"), *record.turns[1:]))
    assert (measure(malformed).invalid, measure(malformed).calls) == (1, 1)


def test_many_episodes_are_rates_with_intervals_and_a_table(tmp_path: Path) -> None:
    records = [episode(tmp_path, [HELD], true=k < 3, picked_up=[OTHER] if k == 3 else []) for k in range(4)]
    found = summarise(records)
    assert (found.n, found.true_success, found.wrong_objects) == (4, Share(3, 4), Share(1, 4))
    assert str(found.true_success) == "75.0 % (30.1..95.4)"
    table = markdown_table([("careful", found)]).splitlines()
    assert len(table) == 3
    assert len({line.count("|") for line in table}) == 1
    assert "| careful | 4 | 0 | 75.0 % (30.1..95.4) | 75.0 % (30.1..95.4) | 25.0 % (4.6..69.9) |" in table[2]
    assert str(Share(0, 0)) == "-"
