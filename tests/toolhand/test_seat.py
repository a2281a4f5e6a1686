"""Who is asked: behind every door the session's policy hears what the operator says, word for word, and answers."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent_node.session.hearing import UTTERANCES, Hearing
from tests.toolhand.test_cli import Cli
from toolhand.agent_node.session import POLICY_SESSION
from toolhand.agent_node.session_kinds import session_of
from toolhand.cli import run_in_process
from toolhand.cli import talk as talking
from toolhand.cli.run_command import TalkCommand

ROOT = Path(__file__).parents[2]
MODEL = "openai:m@http://127.0.0.1:9/v1"
DOORS = (
    "agent_node/conversation.py",
    "agent_node/agent.py",
    "agent_node/session.py",
    "agent_node/session_tools.py",
    "agent_node/sessions.py",
    "agent_node/opening.py",
    "agent_node/memory.py",
    "agent_node/command_node.py",
    "agent_node/ros/*.py",
    "agent_node/mcp/*.py",
    "toolhand/cli/run*.py",
    "toolhand/cli/talk*.py",
    "toolhand/cli/mcp.py",
    "toolhand/cli/console.py",
    "console/robot.py",
    "console/console_state.py",
)
READERS = re.compile(r"agent_node\.(?:dialogue|policies\.scripted)\b|tool_nodes\.language\.(?!stopping\b)")


def test_no_door_reads_words_before_the_policy() -> None:
    files = [file for pattern in DOORS for file in sorted(ROOT.glob(pattern))]
    assert len(files) > len(DOORS)
    found = []
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            found += [f"{file.name}: {module}" for module in modules if READERS.search(module)]
    assert found == []


@pytest.mark.parametrize(
    ("spec", "own"),
    [
        ("scripted", True),
        ("teacher", True),
        ("careful", True),
        ("blind", True),
        ("openai:m", False),
        ("anthropic:m", False),
        ("transformers:folder", False),
        ("replay:folder", False),
        ("smollm2", False),
    ],
)
def test_rules_have_a_session_of_their_own_and_every_other_policy_hears_the_words(spec: str, own: bool) -> None:
    assert (session_of(spec) is not POLICY_SESSION) is own


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Hearing:
    """Is made in place of the server's model."""
    made = Hearing()
    monkeypatch.setattr(run_in_process, "make_policy", lambda *_: made)
    return made


@pytest.mark.parametrize(
    "said",
    ["what do you see?", "clear the table", "put the orange left of the red box, then pick up the lemon", "undo"],
)
def test_a_run_gives_the_sentence_to_the_model_and_says_that_it_answered(
    policy: Hearing, cli: Cli, tmp_path: Path, said: str
) -> None:
    ended = cli("run", said, "--policy", MODEL, "--scene", "3", "--runs-dir", str(tmp_path), "--no-animation", "--json")
    assert policy.heard == [said]
    result = ended.document
    assert ended.status == 0
    assert (result["task"], result["policy"], result["outcome"], result["success"]) == (said, MODEL, "answered", False)
    assert result["answer"] == "It is so."
    assert result["turns"] == (1 if said.endswith("?") else 2), "words that answer an order are put once more"
    assert (Path(result["run_dir"]) / "report.html").is_file()


def test_a_talk_is_one_conversation(
    policy: Hearing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    left: Iterator[str] = iter([*UTTERANCES, "exit"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(left))
    command: Any = {"scene": "3", "policy": MODEL, "runs_dir": tmp_path, "animation": False}
    assert talking.talk(TalkCommand(**command)) == 0
    said = [words.strip() for words in UTTERANCES]
    assert policy.heard == said
    assert capsys.readouterr().out.count("It is so.") == len(said)
    results = [json.loads(path.read_text("utf-8")) for path in sorted(tmp_path.glob("*/result.json"))]
    assert sorted(result["task"] for result in results) == sorted(said)
    assert {result["policy"] for result in results} == {MODEL}
    assert max(len(result.get("earlier", ())) for result in results) == len(said) - 1
