import json
from dataclasses import replace

import numpy as np
import pytest

from tests.refusals import refused
from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policies.replay import Replay
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.runs.folder import write_trajectory
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError

TASK = "pick up the unicorn"
SETTINGS = replace(FAST, seed=1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run in which the policy looks, finds nothing, and says so."""
    folder = tmp_path_factory.mktemp("run")
    station = Station(load_scene(EXAMPLE_SCENE), SETTINGS)
    episode = Agent(ScriptedPolicy(), station.toolbox).run(TASK)
    write_trajectory(folder, episode, station.toolbox.schemas())
    return folder, episode


def lines(episode):
    return [(message.role, message.text) for message in episode.messages]


def test_a_run_says_again_what_it_said(recorded):
    folder, episode = recorded
    assert len(episode.turns) > 1, "the run is worth replaying"
    for _ in range(2):
        again = Agent(Replay(folder), Station(load_scene(EXAMPLE_SCENE), SETTINGS).toolbox).run(TASK)
        assert lines(again) == lines(episode)
        assert again.answer == episode.answer


def test_another_sentence_is_told_before_the_first_turn(recorded):
    folder, _ = recorded
    again = Agent(Replay(folder), Station(load_scene(EXAMPLE_SCENE), SETTINGS).toolbox).run("pick up the dragon")
    assert again.error_code is ErrorCode.UNAVAILABLE
    assert "before the first turn (the operator's sentence)" in again.answer
    assert "dragon" in again.answer


def test_another_result_is_told_with_its_turn(recorded):
    folder, episode = recorded
    conversation = list(episode.messages[:-1])
    at = max(i for i, message in enumerate(conversation) if message.role == "tool")
    conversation[at] = replace(conversation[at], text="<tool_response>Nothing moved.</tool_response>")
    turn = sum(message.role == "assistant" for message in conversation[:at])
    with refused(ErrorCode.UNAVAILABLE, rf"at turn {turn} \(a tool\): it says .*Nothing moved"):
        Replay(folder).respond(conversation)


def test_an_image_of_another_number_is_a_difference(recorded):
    folder, episode = recorded
    at = next(i for i, message in enumerate(episode.messages) if message.image_index is not None)
    conversation = list(episode.messages[: at + 1])
    conversation[at] = replace(conversation[at], text=conversation[at].text.replace("<image 0>", "<image 1>"))
    with pytest.raises(ToolError, match="is no longer as it was recorded"):
        Replay(folder).respond(conversation)


def test_a_record_that_is_over_says_nothing_more(recorded):
    folder, episode = recorded
    with pytest.raises(ToolError, match=f"nothing more at turn {len(episode.turns) + 1}"):
        Replay(folder).respond(episode.messages)


def test_a_folder_without_a_record_is_told(tmp_path):
    with refused(ErrorCode.INVALID_ARGUMENT, r"Cannot read .*trajectory\.jsonl: No such file"):
        Replay(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b'{"messages": []}',
        b'{"messages": [3]}',
        b'{"messages": [{"role": "user"}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "image", "image": "../../etc/passwd"}]}]}',
        b'{"messages": [{"role": "user", "content": [{"type": "text", "text": 3}]}]}',
    ],
)
def test_a_damaged_record_is_told(tmp_path, content):
    (tmp_path / "trajectory.jsonl").write_bytes(content)
    with refused(ErrorCode.INVALID_ARGUMENT, "trajectory"):
        Replay(tmp_path)


def test_what_no_file_can_hold_is_compared_as_it_was_written(recorded, tmp_path):
    folder, episode = recorded
    document = json.loads((folder / "trajectory.jsonl").read_text())
    document["messages"][1]["content"] = [{"type": "text", "text": "pick up the ?"}]
    (tmp_path / "trajectory.jsonl").write_text(json.dumps(document))
    conversation = [episode.messages[0], replace(episode.messages[1], text="pick up the \ud800")]
    assert Replay(tmp_path).respond(conversation).text == episode.turns[0].text


def test_images_are_not_compared(recorded):
    folder, episode = recorded
    at = next(i for i, message in enumerate(episode.messages) if message.image is not None)
    until = next(i for i, message in enumerate(episode.messages) if i > at and message.role == "assistant")
    conversation = list(episode.messages[:until])
    conversation[at] = replace(conversation[at], image=np.zeros_like(conversation[at].image))
    assert Replay(folder).respond(conversation).text == episode.messages[until].text
