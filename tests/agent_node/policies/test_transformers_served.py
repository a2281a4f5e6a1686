"""Against a real server: `transformers serve`, with a tiny model that has learned three turns by heart."""

import os
import re
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
SYSTEM, LOOK = Message("system", "You work an arm."), Message("user", "Look.", "Look.")
CALL = '<think>Hm.</think>\n<tool_call>{"name": "look", "arguments": {}}</tool_call>'
SEEN = "<tool_response>A can.</tool_response>"
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}]


@pytest.fixture
def serve(tiny_model, tmp_path):
    """Starts the server; gives its base URL and its process."""
    system, user = {"role": "system", "content": SYSTEM.text}, {"role": "user", "content": LOOK.text}
    after = [system, user, {"role": "assistant", "content": CALL}, {"role": "user", "content": SEEN}]
    endless = [system, {"role": "user", "content": "Go on."}]
    lessons = [([system, user], CALL), (after, "<answer>A can.</answer>"), (endless, "<think>" + "on and " * 40)]
    folder = tiny_model("text", tmp_path, lessons)
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve", str(folder)]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0", "--device", "cpu"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    log = []
    for line in process.stderr:
        log.append(line)
        if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
            break
    else:
        process.wait()
        raise AssertionError("".join(log[-20:]))
    reader = threading.Thread(target=lambda: all(True for _ in process.stderr), daemon=True)
    reader.start()
    yield f"openai:{folder}@{found.group(1)}/v1", process
    process.kill()
    process.wait()
    reader.join()
    process.stderr.close()


def test_a_real_server_speaks_both_modes_and_its_death_in_mid_sentence_is_told(serve, quick):
    spec, process = serve
    whole = replace(quick, deadline_s=60.0, max_tokens=120)
    heard = []
    for options in (whole, replace(whole, on_piece=heard.append)):
        policy = make_policy(spec, SPACETOOLS, [], options)
        first = policy.respond([SYSTEM, LOOK])
        assert SPACETOOLS.parse(first.text).thought == "Hm."
        assert [call.name for call in SPACETOOLS.parse(first.text).calls] == ["look"]
        assert first.prompt_tokens > 30
        assert first.completion_tokens > 30
        told = [SYSTEM, LOOK, Message("assistant", CALL), Message("tool", SEEN, "A can.")]
        assert policy.respond(told).text == "<answer>A can.</answer>", "the server drops the stop string"
        native = make_policy(spec, NATIVE, TOOLS, options).respond([SYSTEM, LOOK])
        assert native.details["calls"] == [("look", "{}")]
        assert (NATIVE.parse(native.text).thought, NATIVE.parse(native.text).calls[0].name) == ("Hm.", "look")
    assert "A can" in "".join(heard)

    endless = replace(whole, max_tokens=3000, on_piece=lambda piece: process.kill())
    with pytest.raises(ToolError, match=r"in the middle of its answer|broke the connection") as error:
        make_policy(spec, SPACETOOLS, [], endless).respond([SYSTEM, Message("user", "Go on.")])
    assert error.value.code is ErrorCode.UNAVAILABLE
    with pytest.raises(ToolError, match="cannot be reached") as error:
        make_policy(spec, SPACETOOLS, [], endless).respond([SYSTEM, LOOK])
    assert error.value.code is ErrorCode.UNAVAILABLE
