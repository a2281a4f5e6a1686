"""`bench sentences`: the maker knows no parser, the judge tells wrong deeds, and today's reading makes none."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

import bench.sentence_maker
import bench.sentences
from bench.sentence_maker import FAMILIES, Sentence, make_sentences
from bench.sentences import Judgement, bench_sentences, judge_all, judge_physics, judge_refusal, judge_words, rows_of
from sim.station import Station
from tool_nodes.results import ToolError
from training.goal_from_text import true_views

SEED = 3


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return make_sentences(44, SEED)


def test_the_maker_shares_nothing_with_the_reader() -> None:
    assert bench.sentence_maker.__file__ is not None
    tree = ast.parse(Path(bench.sentence_maker.__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not {name for name in imported if name and name.startswith(("agent_node", "tool_nodes.perception"))}


def test_the_same_seed_makes_the_same_sentences(sentences: list[Sentence]) -> None:
    assert make_sentences(12, SEED) == sentences[:12]
    assert make_sentences(12, SEED + 1) != sentences[:12]
    assert len({sentence.family for sentence in sentences}) >= len(FAMILIES) - 4


def test_every_sentence_is_done_as_meant_or_refused_in_its_own_words(sentences: list[Sentence]) -> None:
    wrong = [j for j in judge_all(sentences) if j.result == "false success"]
    assert not wrong, [(j.sentence.text, j.answer) for j in wrong]
    unclear = [j.sentence.text for j in judge_all(sentences) if j.result.startswith("refused in other")]
    assert len(unclear) <= 2, unclear


@pytest.mark.parametrize("wanted", ["deed", "refusal", "question"])
def test_what_is_read_holds_in_physics(sentences: list[Sentence], wanted: str) -> None:
    sentence = next(s for s in sentences if s.wanted == wanted)
    judged = judge_physics(sentence)
    assert judged.result == ("done as meant" if wanted == "deed" else "refused rightly"), judged.answer


def test_a_deed_that_was_not_meant_is_a_false_success(sentences: list[Sentence]) -> None:
    sentence = next(s for s in sentences if s.family == "plain place")
    views = true_views(Station(sentence.scene))
    assert judge_words(sentence, views).result == "done as meant"
    other = next(placed.id for placed in sentence.scene.objects if placed.id not in sentence.target_ids)
    for meant in (
        replace(sentence, target_ids=(other,)),
        replace(sentence, relation="between"),
        replace(sentence, reference_ids=(other, *sentence.reference_ids)),
        replace(sentence, wanted="refusal"),
    ):
        assert judge_words(meant, views).result == "false success"


def test_a_refusal_has_to_quote_what_was_not_understood(sentences: list[Sentence]) -> None:
    sentence = replace(sentences[0], wanted="refusal", quoted=("not", "in the Bin"))
    assert judge_refusal(sentence, 'I do not understand "not in the bin".') == "refused rightly"
    assert judge_refusal(sentence, "I do not understand that.") == "refused in other words"
    assert judge_refusal(replace(sentence, wanted="deed"), "No.") == "refused though fine"
    assert judge_refusal(replace(sentence, wanted="question"), "AMBIGUOUS: Which can?") == "refused rightly"
    assert judge_refusal(replace(sentence, wanted="question"), "No can.") == "refused in other words"


def test_the_document_counts_and_a_false_success_is_an_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench_sentences(n=4, seed=SEED, as_json=True) == 0
    document = json.loads(capsys.readouterr().out)
    assert sum(document["results"].values()) == 4
    assert [row["n"] for row in document["rows"]] == [4] * 5
    made = make_sentences(2, SEED)
    wrong = [
        Judgement(made[0], "words", "false success", "pick: it"),
        Judgement(made[1], "physics", "done as meant", ""),
    ]
    monkeypatch.setattr(bench.sentences, "judge_all", lambda *_: wrong)
    assert bench_sentences(n=2, seed=SEED) == 1
    assert "false success" in capsys.readouterr().out
    assert {row["name"]: row["success"] for row in rows_of(wrong)}["words: false success"] == 1


@pytest.mark.parametrize("numbers", [{"n": 0}, {"seed": -1}, {"physics": -1}, {"jobs": 0}])
def test_impossible_numbers_are_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(ToolError, match="must be"):
        bench_sentences(**numbers)  # type: ignore[arg-type]
