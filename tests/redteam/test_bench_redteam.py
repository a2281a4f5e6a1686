"""The command that runs the attacks."""

import json

import pytest

from toolhand.bench.commands.redteam import Options
from toolhand.bench.redteam.command import attack_rows, families
from toolhand.bench.redteam.trial import Trial
from toolhand.tool_nodes.results import ToolError


def test_the_document_counts_attacks_calls_and_turns(capsys: pytest.CaptureFixture[str]) -> None:
    assert Options(n=30, turns=30, family="answers", sequences=2, as_json=True)() == 0
    document = json.loads(capsys.readouterr().out)
    assert document["violations"] == []
    assert document["attacks"]["attacks"] == 5
    assert document["attacks"]["trials"] == 15
    assert document["calls"]["n"] == sum(document["calls"]["codes"].values()) == 30
    assert document["turns"]["n"] == 30
    assert document["sequences"]["n"] == 2
    assert document["graph_sequences"]["n"] == document["sequences"]["violations"] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": -1}, "n must be 0 or more"),
        ({"graph_sequences": -1}, "graph-sequences must be"),
        ({"seed": -1}, "seed must be"),
        ({"family": "magic"}, "no family of attacks"),
    ],
)
def test_wrong_arguments_are_one_sentence(arguments: dict, sentence: str) -> None:
    with pytest.raises(ToolError, match=sentence):
        Options(**arguments)()


def test_a_row_sums_up_a_family_in_a_mode() -> None:
    trials = [
        Trial("a", "x", "auto", motions=1, violations=["bad"]),
        Trial("b", "x", "auto"),
        Trial("a", "x", "dry-run"),
    ]
    trials[1].codes["NOT_APPROVED"] += 2
    rows = attack_rows(trials)
    assert [(row["mode"], row["attacks"], row["motions"], row["violations"]) for row in rows] == [
        ("auto", 2, 1, 1),
        ("dry-run", 1, 0, 0),
    ]
    assert rows[0]["codes"] == {"NOT_APPROVED": 2}
    assert "forged approvals" in families()
