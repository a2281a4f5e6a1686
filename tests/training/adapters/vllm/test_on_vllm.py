"""The policy `openai` against a real vLLM: random weights that a grammar holds to valid turns, up to whole picks.

What is called is decided by the grammar, and where that is led, by its leader: random weights know nothing.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch
import transformers

from tests.refusals import refused
from tests.training.adapters.vllm.conftest import Served
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.guide import Guide
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import Protocol, load_protocol, protocol_names
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.environment import Environment
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.rollouts.engine import collect
from toolhand.training.rollouts.options import WorkerOptions
from toolhand.training.rollouts.plan import RolloutPlan
from toolhand.training.tasks.kinds import make_task, task_document

SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
TASK = make_task("pick", seed=3)
Options = Callable[..., PolicyOptions]
BOTH = (False, True)


def asked(protocol: Protocol, schemas: Sequence[dict[str, Any]], words: str = "Pick up the can") -> list[Message]:
    user = Message("user", protocol.user_prompt(words), words)
    return [Message("system", protocol.system_prompt(schemas)), user]


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (120, 160, 3), dtype=np.uint8)


def test_random_weights_alone_write_no_call(server: Served, options: Options, schemas: list[dict[str, Any]]) -> None:
    policy = make_policy(server.spec, SPACETOOLS, schemas, options(temperature=1.0, max_tokens=60))
    turn = SPACETOOLS.parse(policy.respond(asked(SPACETOOLS, schemas)).text)
    assert turn.problem
    assert not turn.calls


def test_guided_they_write_turns_whose_calls_have_the_form_of_their_tools(
    server: Served, options: Options, schemas: list[dict[str, Any]]
) -> None:
    """In every protocol, native calls among them, whole and streamed: 20 requests at once, half with a choice."""
    forms = {schema["function"]["name"]: schema["function"]["parameters"] for schema in schemas}

    def calls_of(protocol: Protocol, stream: bool, only_calls: bool) -> int | None:
        settings = options(seed=int(only_calls), temperature=1.0, guided="vllm", max_tokens=300, stream=stream)
        policy = make_policy(server.spec, protocol, schemas, settings)
        if only_calls:  # and short strings, so that most turns end: random weights seldom close a quotation
            choice = Guide(protocol, schemas, 20).grammar(())
            assert "(calls | answer)" in choice
            policy._guide.grammar = lambda conversation: choice.replace("(calls | answer)", "calls")
        reply = policy.respond(asked(protocol, schemas))
        if reply.details["ending"] == "length":
            return None  # lists of random length may go on for long
        turn = protocol.parse(reply.text)
        assert not turn.problem, reply.text
        assert turn.calls or (turn.answer and not only_calls), reply.text
        for call in turn.calls:
            assert not call.problem, reply.text
            jsonschema.validate(call.arguments, _without_bounds(forms[call.name]))
        return len(turn.calls)

    several = [(load_protocol(n), stream, only) for n in protocol_names() for stream in BOTH for only in BOTH]
    with ThreadPoolExecutor(len(several)) as pool:
        calls = list(pool.map(lambda arguments: calls_of(*arguments), several))
    print(f"calls of each turn, None where it was cut: {calls}")
    assert sum(1 for number in calls if number is not None) >= 10
    assert sum(1 for number in calls if number) >= 5


def _without_bounds(schema: Any) -> Any:
    """A schema without the bounds of numbers, of which a grammar keeps the digits only."""
    if isinstance(schema, dict):
        kept = schema.keys() - {"minimum", "maximum", "exclusiveMinimum"}
        return {key: _without_bounds(schema[key]) for key in kept}
    return [_without_bounds(part) for part in schema] if isinstance(schema, list) else schema


def test_led_they_work_whole_picks(server: Served, options: Options) -> None:
    """The physics judges; the thoughts are the model's, whose tokens are counted."""

    def worked(protocol: Protocol, leader: str, stream: bool) -> None:
        environment = Environment(
            StationConfig(image_size=(320, 240), timestep=0.004, sleep=True),
            settings=ConversationSettings(protocol=protocol),
        )
        settings = options(temperature=1.0, guided="vllm", led_by=leader, logprobs=True, stream=stream, turns=24)
        with environment.open(TASK, seed=3) as session:
            policy = make_policy(server.spec, protocol, session.tools(), settings)
            while not session.done:
                session.say(policy.respond(session.messages()))
            score, turns = session.score(), session.episode.turns
            assert any(message.image is not None for message in session.messages())
        environment.close()
        assert score.truth.success, score.truth.reasons
        assert not [turn.parsed.problem for turn in turns if turn.parsed.problem]
        assert all(len(turn.as_sampled.token_ids) == len(turn.as_sampled.logprobs) > 0 for turn in turns)

    picks = [(NATIVE, "scripted", True), (SPACETOOLS, "teacher", False), (load_protocol("peria"), "scripted", False)]
    with ThreadPoolExecutor(len(picks)) as pool:
        list(pool.map(lambda arguments: worked(*arguments), picks))


def test_rollouts_keep_the_tokens_that_were_sampled(server: Served, tmp_path: Path) -> None:
    settings = {
        "temperature": 1.0,
        "max_tokens": 400,
        "deadline_s": 900.0,
        "logprobs": True,
        "guided": "vllm",
        "led_by": "scripted",
    }
    plan = RolloutPlan((task_document("pick", 3),), 2, policy=server.spec, settings=settings)
    report = collect(plan, tmp_path / "rollouts", WorkerOptions(2, deadline_s=3000.0))
    assert not report.dropped
    records = list(read_rollouts(tmp_path / "rollouts"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(server.folder)
    assert [record.truth["success"] for record in records] == [True, True]
    turns = [turn for record in records for turn in record.turns]
    for turn in turns:
        assert len(turn.token_ids) == len(turn.logprobs) == len(turn.mask) == turn.completion_tokens > 0
        assert tokenizer.decode(turn.token_ids, skip_special_tokens=True) == turn.text
        assert max(turn.logprobs) <= 0.0
    assert records[0].turns[0].token_ids != records[1].turns[0].token_ids, "each rollout samples by its own seed"


@pytest.fixture(scope="module")
def model(server: Served) -> Any:
    return transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(server.folder).eval()


def own_logprobs(model: Any, prompt: list[int], sampled: Sequence[int], **seen: Any) -> np.ndarray:
    """Of sampled tokens in transformers, (L,)."""
    ids = torch.tensor([[*prompt, *sampled]])
    kinds = (ids == model.config.image_token_id).int()
    with torch.no_grad():
        logits = model(input_ids=ids, mm_token_type_ids=kinds, **seen).logits[0, len(prompt) - 1 : -1].double()
    own: np.ndarray = torch.log_softmax(logits, -1)[torch.arange(len(sampled)), torch.tensor(sampled)].numpy()
    return own


@pytest.mark.parametrize("guided", [None, "vllm"])
def test_tokens_and_log_probabilities_are_those_of_the_model_in_transformers(
    server: Served, options: Options, schemas: list[dict[str, Any]], model: Any, guided: str | None
) -> None:
    """What a trainer that computes them anew relies on, at any temperature; a grammar changes them."""
    conversation = asked(SPACETOOLS, schemas[:2])
    settings = options(temperature=0.7, logprobs=True, guided=guided, max_tokens=40, seed=5)
    policy = make_policy(server.spec, SPACETOOLS, schemas[:2], settings)
    reply = policy.respond(conversation)
    answer = server.ask(**policy._body(conversation, 40))
    prompt, sampled = answer["prompt_token_ids"], answer["choices"][0]["token_ids"]
    assert tuple(sampled) == reply.token_ids, "the same seed samples the same"
    assert len(prompt) == reply.prompt_tokens
    own, told = own_logprobs(model, prompt, sampled), np.array(reply.logprobs)
    if guided is None:
        assert np.abs(own - told).max() < 1e-3
    else:
        assert (told > own - 1e-3).all(), "the grammar leaves fewer tokens, which are the likelier"
        assert (told > own + 1.0).any()


def test_log_probabilities_after_images_are_those_of_the_model_in_transformers(
    server: Served, options: Options, model: Any, image: np.ndarray
) -> None:
    shown = [image, np.roll(image[:60], 40, axis=1)]
    conversation = [*asked(SPACETOOLS, ()), Message("assistant", "<think>Hm.</think>")]
    conversation += [Message("tool", f"Seen. <image {k}>", "", k, seen) for k, seen in enumerate(shown)]
    policy = make_policy(server.spec, SPACETOOLS, (), options(temperature=0.0, logprobs=True, max_tokens=20))
    reply = policy.respond(conversation)
    prompt = server.ask(**policy._body(conversation, 20))["prompt_token_ids"]
    images = transformers.AutoImageProcessor.from_pretrained(server.folder)
    seen = images(images=shown, return_tensors="pt")
    assert prompt.count(model.config.image_token_id) == int(seen["image_grid_thw"].prod(-1).sum()) // 4 > 0
    told = np.array(reply.logprobs)
    assert np.abs(own_logprobs(model, prompt, reply.token_ids, **seen) - told).max() < 1e-3
    seen["pixel_values"] = torch.zeros_like(seen["pixel_values"])
    blind = own_logprobs(model, prompt, reply.token_ids, **seen)
    assert np.abs(blind - told).max() > 0.1, "what was seen decides what is said"


def test_a_turn_that_nobody_wants_any_more_ends_at_the_server_too(
    server: Served, options: Options, schemas: list[dict[str, Any]]
) -> None:
    stop = threading.Event()
    written = server.metric("vllm:generation_tokens_total")
    for code, settings in (
        (ErrorCode.STOPPED, {"stopped": stop.is_set, "stream": True}),
        (ErrorCode.STOPPED, {"stopped": stop.is_set}),
        (ErrorCode.TIMEOUT, {"deadline_s": 5.0}),
    ):
        stop.clear()
        policy = make_policy(server.spec, SPACETOOLS, (), options(temperature=1.0, max_tokens=12000, **settings))
        with ThreadPoolExecutor(1) as pool:
            turn = pool.submit(policy.respond, asked(SPACETOOLS, ()))
            wait(lambda: server.metric("vllm:num_requests_running") > 0)
            stop.set()
            with pytest.raises(ToolError) as error:
                turn.result()
        assert error.value.code is code
        wait(lambda: server.metric("vllm:num_requests_running") + server.metric("vllm:num_requests_waiting") == 0)
    assert server.metric("vllm:generation_tokens_total") - written < 3 * 12000


def wait(holds: Callable[[], bool], longest_s: float = 300.0) -> None:
    until = time.monotonic() + longest_s
    while not holds():
        assert time.monotonic() < until, "it never came to that"
        time.sleep(0.2)


def test_64_conversations_at_once_get_each_their_own_answer(
    server: Served, options: Options, schemas: list[dict[str, Any]], image: np.ndarray
) -> None:
    tools = schemas[:4]
    settings = options(temperature=0.0, guided="vllm", logprobs=True, max_tokens=32)
    most, over = [0.0], threading.Event()

    def answer(number: int) -> Any:
        shown = np.roll(image, number, axis=1)
        conversation = asked(SPACETOOLS, tools, f"Pick up can {number}")
        conversation[1] = Message("user", f"<image 0>\n{conversation[1].text}", conversation[1].words, 0, shown)
        return make_policy(server.spec, SPACETOOLS, tools, settings).respond(conversation)

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], server.metric("vllm:num_requests_running"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(64) as pool:
            together = list(pool.map(answer, range(64)))
    finally:
        over.set()
        watcher.join()
    assert most[0] > 8
    assert all(len(reply.token_ids) == len(reply.logprobs) > 0 for reply in together)
    for number in (0, 31, 63):
        alone = answer(number)
        assert alone.token_ids == together[number].token_ids
        assert np.allclose(alone.logprobs, together[number].logprobs, atol=1e-3)


def test_a_conversation_that_is_too_long_and_a_grammar_that_is_none_are_told(server: Served, options: Options) -> None:
    policy = make_policy(server.spec, SPACETOOLS, (), options())
    with refused(ErrorCode.TURN_BUDGET, "no room for a conversation this long"):
        policy.respond(asked(SPACETOOLS, (), "can " * 20_000))
    guided = make_policy(server.spec, SPACETOOLS, (), options(guided="vllm"))
    guided._guide.grammar = lambda conversation: "root ::= ("
    with refused(ErrorCode.UNAVAILABLE, "400"):
        guided.respond(asked(SPACETOOLS, ()))
    assert guided.name == "openai:tiny"
