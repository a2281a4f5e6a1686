"""`bench policy`: outcomes are kept, broken runs go on, and tables count what is true."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import toolhand.bench.policies.command as command
from toolhand.bench.commands.policy import Options
from toolhand.bench.policies.command import task_list
from toolhand.bench.policies.outcome import OUTCOMES, SETTINGS, OutcomeFolder, PolicyOutcome, read_outcomes
from toolhand.bench.policies.page import policies_page
from toolhand.bench.policies.playing import PolicyGone
from toolhand.bench.policies.table import differences, policy_row, share
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable

NOTED = {"split": "test", "kinds": ["pick", "size"], "first_seed": 0, "perception": "sim", "difficulty": 0.0}


def outcome(policy: str = "scripted", kind: str = "pick", seed: int = 0, **more: object) -> PolicyOutcome:
    plain = {"scored": True, "deed": kind != "size", "turns": 2, "calls": 3, "looked": True}
    return PolicyOutcome(policy, kind, seed, "test", "Pick up the salt.", **{**plain, **more})  # type: ignore[arg-type]


def test_a_line_keeps_the_probability() -> None:
    for probability in (0.5, None):
        assert PolicyOutcome.read(outcome(probability=probability).line()).probability == probability


class FakePlayer:
    """Plays nothing: says what `answer` says."""

    played: ClassVar[list[tuple[str, str, int]]] = []
    answer: ClassVar[Callable[[str, str, int], PolicyOutcome]] = staticmethod(outcome)

    def __init__(self, settings: object) -> None:
        self.settings = settings

    def play(self, spec: str, kind: str, seed: int) -> PolicyOutcome:
        FakePlayer.played.append((spec, kind, seed))
        return FakePlayer.answer(spec, kind, seed)

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakePlayer]:
    monkeypatch.setattr(command, "Player", FakePlayer)
    monkeypatch.setattr(FakePlayer, "played", [])
    monkeypatch.setattr(FakePlayer, "answer", staticmethod(outcome))
    return FakePlayer


def run(out: Path, *policies: str, n: int = 6, **more: object) -> int:
    return Options(policies or ("scripted",), "pick,size", n=n, out=out, as_json=True, **more)()  # type: ignore[arg-type]


def test_a_line_is_read_as_it_was_written():
    one = outcome(answer='it said "{}" \u2028 and more', error_code="OBJECT_NOT_FOUND", cost=0.25)
    assert PolicyOutcome.read(one.line()) == one
    assert one.line().count(b"\n") == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"turns": -1}, "turns must be a whole number of 0 or more, not -1"),
        ({"success": 1}, "success must be true or false, not 1"),
        ({"wall_s": float("inf")}, "wall_s must be a finite number of 0 or more, not inf"),
        ({"more": 1}, "there is no key more"),
    ],
)
def test_a_line_of_something_else_is_refused_in_a_sentence(change, told):
    document = json.loads(outcome().line()) | change
    with pytest.raises(ToolError, match=re.escape(told)):
        PolicyOutcome.read(json.dumps(document).encode())
    with pytest.raises(ToolError, match="no JSON"):
        PolicyOutcome.read(b"{half")


def test_tasks_of_a_smaller_number_are_the_first_of_a_larger():
    assert task_list(("pick", "size"), 3, 5) == [("pick", 5), ("size", 5), ("pick", 6)]
    assert task_list(("pick", "size"), 7, 5)[:3] == task_list(("pick", "size"), 3, 5)


def test_the_same_command_goes_on_and_gives_no_task_twice(tmp_path, fake, capsys):
    fake.answer = staticmethod(lambda *task: _stop() if len(fake.played) == 4 else outcome(*task))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert len(read_outcomes(tmp_path)) == 3
    with (tmp_path / OUTCOMES).open("ab") as file:  # as a power cut leaves it
        file.write(outcome(seed=99).line()[:40])
    fake.answer, fake.played = staticmethod(outcome), []
    assert run(tmp_path) == 0
    assert len(fake.played) == 3
    assert len(read_outcomes(tmp_path)) == 6
    capsys.readouterr()
    assert run(tmp_path, n=8) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 8
    assert [task[1:] for task in fake.played[3:]] == [("pick", 3), ("size", 3)]


def _stop() -> PolicyOutcome:
    raise KeyboardInterrupt


def test_a_server_that_stops_answering_leaves_what_was_measured_and_one_sentence(tmp_path, fake, capsys):
    def answer(spec: str, kind: str, seed: int) -> PolicyOutcome:
        if spec != "scripted" and seed >= 2:
            raise PolicyGone(unavailable("The server is gone."))
        return outcome(spec, kind, seed)

    fake.answer = staticmethod(answer)
    server = "openai:m@http://127.0.0.1:9/v1"
    assert run(tmp_path, server, "scripted", n=20) == 1
    said = capsys.readouterr()
    assert (
        f"{server} could not be asked for 16 of 20 tasks (UNAVAILABLE: The server is gone); its 4 outcomes are kept"
        in said.err
    )
    document = json.loads(said.out)
    assert {row["policy"]: (row["n"], row["missing"]) for row in document["rows"]} == {
        "scripted": (20, 0),
        server: (4, 16),
    }
    assert sum(task[0] == server for task in fake.played) == 4 + command.GIVEN_UP
    fake.answer = staticmethod(outcome)
    assert run(tmp_path, server, "scripted", n=20) == 0
    assert len(read_outcomes(tmp_path)) == 40


def test_one_missed_answer_is_asked_again_by_the_next_run_and_ends_nothing(tmp_path, fake):
    fake.answer = staticmethod(
        lambda spec, kind, seed: _gone() if (kind, seed) == ("size", 1) else outcome(spec, kind, seed)
    )
    assert run(tmp_path) == 1
    assert len(read_outcomes(tmp_path)) == 5


def _gone() -> PolicyOutcome:
    raise PolicyGone(ToolError(ErrorCode.TIMEOUT, "Too slow."))


def test_many_conversations_at_once_leave_the_same_outcomes(tmp_path, fake):
    assert run(tmp_path / "one", n=40) == run(tmp_path / "many", n=40, workers=8) == 0
    one, many = (sorted(read_outcomes(tmp_path / name), key=lambda o: (o.kind, o.seed)) for name in ("one", "many"))
    assert one == many


def test_a_folder_of_other_tasks_or_settings_is_refused(tmp_path, fake):
    run(tmp_path)
    with pytest.raises(ToolError, match="has outcomes of split test, not train"):
        run(tmp_path, split="train")
    with pytest.raises(ToolError, match="has outcomes of scripted with turns 24, not 9"):
        run(tmp_path, turns=9)
    assert run(tmp_path, "careful", turns=9) == 0  # another policy may have others


def test_the_folder_notes_the_protocol_of_each_policy(tmp_path, fake, monkeypatch):
    monkeypatch.setattr(command.registry, "require_installed", lambda port, spec: None)  # nothing is played
    assert run(tmp_path, "scripted", "smollm2") == 0
    noted = json.loads((tmp_path / SETTINGS).read_text())["policies"]
    assert {spec: settings["protocol"] for spec, settings in noted.items()} == {
        "scripted": "spacetools",
        "smollm2": "compact",
    }


def test_two_commands_do_not_write_to_one_folder(tmp_path):
    with OutcomeFolder(tmp_path), pytest.raises(ToolError, match="Another command adds to"):
        OutcomeFolder(tmp_path)
    OutcomeFolder(tmp_path).close()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"policies": ("scripted", "scripted")}, "each once"),
        ({"policies": ("nobody",)}, "There is no policy 'nobody'"),
        ({"kinds": "juggle"}, "There is no task 'juggle'"),
        ({"split": "exam"}, "There is no split 'exam'"),
        ({"n": 0}, "must be 1 or more"),
        ({"workers": 0}, "must be 1 or more"),
        ({"difficulty": 2.0}, "must be from 0 to 1"),
        ({"world": "erring:2"}, "is from 0 to 1"),
        ({"world": "erring", "difficulty": 0.5}, "leave out both"),
    ],
)
def test_bad_input_is_told_before_anything_is_written(tmp_path, fake, options, told):
    with pytest.raises(ToolError, match=told):
        Options(**{"out": tmp_path / "new", "n": 4, **options})()
    assert not (tmp_path / "new").exists()


def test_what_has_no_score_counts_as_a_failure():
    row = policy_row("x", [outcome(success=True), outcome(seed=1, scored=False), outcome(seed=2)], planned=5)
    assert (row["n"], row["missing"], row["unscored"]) == (3, 2, 1)
    assert row["success"] == share(1, 3)


def test_each_rate_is_of_its_own_tasks():
    row = policy_row(
        "x",
        [
            outcome(success=True, denied=True),
            outcome(seed=1, wrong_object=True, false_success=True),
            outcome(kind="absent", success=True, refused=True),
            outcome(kind="absent", seed=1, refused=True, looked=False),
            outcome(kind="size", wrong_answer=True),
            outcome(kind="size", seed=1, refused=True),
        ],
        planned=6,
    )
    counted = {name: (row[name]["count"], row[name]["n"]) for name in command_rates()}
    assert counted == {
        "success": (2, 6),
        "deeds": (1, 2),
        "questions": (0, 2),
        "refused_rightly": (1, 2),
        "wrong_object": (1, 4),
        "false_success": (1, 4),
        "denied": (1, 2),
        "wrong_answer": (1, 2),
        "wrongly_acted": (0, 0),
        "gave_up": (1, 4),
    }


def command_rates() -> list[str]:
    from toolhand.bench.policies.table import RATES

    return list(RATES)


def test_paired_differences_are_over_the_tasks_of_both_and_come_from_the_seed():
    rng = np.random.default_rng(0)
    first = [outcome("a", seed=k, success=bool(rng.random() < 0.8)) for k in range(120)]
    second = [outcome("b", seed=k, success=bool(rng.random() < 0.5)) for k in range(100)]
    (row,) = differences({"a": first, "b": second}, seed=7)
    gains = [int(a.success) - int(b.success) for a, b in zip(first, second, strict=False)]
    assert row["n"] == 100
    assert row["difference"] == pytest.approx(np.mean(gains), abs=1e-4)
    assert (row["first_alone"], row["second_alone"]) == (gains.count(1), gains.count(-1))
    spread = 1.96 * np.std(gains) / 10
    assert row["low"] == pytest.approx(np.mean(gains) - spread, abs=0.02)
    assert row["high"] == pytest.approx(np.mean(gains) + spread, abs=0.02)
    assert differences({"a": first, "b": second}, seed=7) == [row]
    assert differences({"a": first, "b": []}, seed=7)[0]["difference"] is None


def test_the_page_is_whole_and_nothing_of_a_name_is_obeyed():
    evil = "openai:<script>alert(1)</script>@http://127.0.0.1:1/v1"
    outcomes = [outcome(evil, success=True), outcome("blind"), outcome("blind", kind="size")]
    document = command.tables(outcomes, NOTED, [("pick", 0), ("size", 0)], 0, [f"{evil} <b>is gone</b>"])
    html = policies_page(document)
    assert "alert(1)</script>" not in html
    assert "<b>is gone" not in html
    assert html.count("<script>") == 1
    assert not re.findall(r"(?:src|href)=|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html
    assert "SpaceTools" in html
    assert html.count("<table>") == 4
