import sys

import pytest

from tests.refusals import refused
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import FORMS, make_policy, protocol_of
from toolhand.agent_node.protocol import load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

SPACETOOLS = load_protocol("spacetools")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("spec", "name", "url"),
    [
        ("openai:gpt-x", "openai:gpt-x", "https://api.openai.com/v1/chat/completions"),
        (
            "openai:qwen2.5vl:7b@http://localhost:11434/v1/",
            "openai:qwen2.5vl:7b",
            "http://localhost:11434/v1/chat/completions",
        ),
        ("openai:Qwen/Q@https://h/v1", "openai:Qwen/Q", "https://h/v1/chat/completions"),
        ("anthropic:claude-x", "anthropic:claude-x", "https://api.anthropic.com/v1/messages"),
        ("anthropic:claude-x@http://[::1]:9", "anthropic:claude-x", "http://[::1]:9/v1/messages"),
        ("anthropic:claude-x@https://h/v1", "anthropic:claude-x", "https://h/v1/messages"),
    ],
)
def test_a_name_says_the_model_and_where_it_is(schemas, spec, name, url):
    policy = make_policy(spec, SPACETOOLS, schemas)
    assert policy.name == name
    assert policy._client._endpoint.url == url


def test_the_environment_names_a_server_too(schemas, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert make_policy("openai:m", SPACETOOLS, schemas)._client._endpoint.server == "127.0.0.1:9"


def test_the_scripted_policy_writes_the_protocol_that_is_asked_for(schemas, conversation):
    policy = make_policy("scripted", load_protocol("peria"), schemas)
    assert "<action>" in policy.respond(conversation[:2]).text


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "gpt",
        "openai",
        "openai:",
        "openai:@http://h",
        "anthropic:",
        "scripted:x",
        "replay:",
        "transformers:",
        "\x1b[2J",
        "Scripted",
        "x" * 5000,
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(schemas, spec):
    with refused(ErrorCode.INVALID_ARGUMENT) as error:
        make_policy(spec, SPACETOOLS, schemas)
    assert all(form in str(error.value) for form in FORMS)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000",
        "ftp://h/v1",
        "http://",
        "http://user:pass@h/v1",
        "http://h/v1?x=1",
        "http://h:99999/v1",
        "http://h:x/v1",
        "http://h h/v1",
        "http://h/\r\nX: y",
        "file:///etc/passwd",
    ],
)
def test_a_base_url_that_is_none_is_told(schemas, url):
    for kind in ("openai", "anthropic"):
        with refused(ErrorCode.INVALID_ARGUMENT) as error:
            make_policy(f"{kind}:m@{url}", SPACETOOLS, schemas)
        assert str(error.value).isprintable()


def test_a_key_with_a_line_break_is_refused_and_not_shown(schemas):
    with pytest.raises(ToolError, match="no key has") as error:
        make_policy("openai:m", SPACETOOLS, schemas, PolicyOptions(api_key="sk\r\nX-Evil: 1"))
    assert "Evil" not in str(error.value)


def test_without_its_extra_a_model_in_this_process_is_unavailable(schemas, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with refused(ErrorCode.UNAVAILABLE, r"pip install -e \S+\[transformers\]"):
        make_policy("transformers:some/model", SPACETOOLS, schemas)


def test_a_model_in_this_process_does_not_speak_a_servers_form(schemas):
    with pytest.raises(ToolError, match="for servers"):
        make_policy("transformers:some/model", load_protocol("native"), schemas)


@pytest.mark.parametrize(
    "option", ["max_tokens", "connect_s", "first_token_s", "deadline_s", "attempts", "temperature", "backoff_s"]
)
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_options_must_be_sensible(option, value):
    with pytest.raises(ToolError, match=option):
        PolicyOptions(**{option: value})


@pytest.mark.parametrize(
    ("spec", "named", "written"),
    [
        ("scripted", "own", "spacetools"),
        ("openai:smollm2@http://localhost:1/v1", "own", "native"),
        ("openai:smollm2@http://localhost:1/v1", "spacetools", "spacetools"),
        ("anthropic:m", "own", "native"),
        ("transformers:m", "own", "spacetools"),
        ("smollm2", "own", "compact"),
        ("smollm2", "spacetools", "spacetools"),
        ("scripted", "peria", "peria"),
    ],
)
def test_a_policy_writes_as_it_was_taught_unless_somebody_names_a_protocol(spec, named, written):
    assert protocol_of(spec, named).name == written
