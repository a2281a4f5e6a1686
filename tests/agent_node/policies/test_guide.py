"""Grammars of turns: what they admit can be run, what a protocol's own teachers write is admitted."""

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.agent_node.policies.grammars import Grammar
from tests.refusals import refused
from tests.saying import Says
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.guide import ArgumentRules, Guide
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.protocol import load_protocol, protocol_names
from toolhand.cli.options import named_station
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rollouts.plan import RolloutPlan
from toolhand.training.tasks.kinds import task_document

PROTOCOLS = [load_protocol(name) for name in protocol_names()]
SPACETOOLS, NATIVE = load_protocol("spacetools"), load_protocol("native")
TURN = '<think>Look.</think>\n<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'


@pytest.fixture(scope="module")
def offered():
    """Schemas of all suites."""
    return named_station("example", suite="all").toolbox.schemas()


def as_text(written, protocol):
    """A turn as the agent reads it: native calls have names that servers take."""
    return written.replace("__", ".") if protocol is NATIVE else written


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_whatever_a_grammar_admits_is_a_turn_whose_calls_have_the_form_of_their_tools(protocol, offered):
    grammar = Grammar(Guide(protocol, offered, 40).grammar([]))
    forms = {schema["function"]["name"]: schema["function"]["parameters"] for schema in offered}
    called = set()
    for seed in range(300):
        written = grammar.draw(seed)
        assert grammar.admits(written)
        if protocol is NATIVE and "<tool_call>" not in written:
            continue  # words alone are the answer
        turn = protocol.parse(as_text(written, protocol))
        assert not turn.problem, written
        assert turn.calls or turn.answer, written
        for call in turn.calls:
            assert not call.problem, written
            called.add(call.name)
            wrong = jsonschema.Draft202012Validator(without_bounds(forms[call.name])).iter_errors(call.arguments)
            assert not list(wrong), call
    assert len(called) > 30, "the draws meet most of the tools"


def without_bounds(schema):
    """A schema without the bounds of numbers, of which a grammar keeps the digits only."""
    if isinstance(schema, dict):
        kept = schema.keys() - {"minimum", "maximum", "exclusiveMinimum"}
        return {key: without_bounds(schema[key]) for key in kept}
    return [without_bounds(part) for part in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_what_a_protocol_writes_itself_is_admitted_and_other_tools_and_arguments_are_not(protocol, offered):
    grammar = Grammar(Guide(protocol, offered, 300).grammar([]))

    def admits(name, **arguments):
        if protocol is NATIVE:
            call = json.dumps({"name": name.replace(".", "__"), "arguments": arguments}).replace("</", "<\\/")
            return grammar.admits(f"<think>So.</think>\n<tool_call>\n{call}\n</tool_call>")
        return grammar.admits(protocol.render_turn("So.", [ToolCall(name, arguments)]).replace("'", '"'))

    assert admits("robot.capture_image")
    assert admits("roborefer.detect_one", obj_name='can \u00e9 "x"', image_index=0) or protocol.syntax == "python"
    assert admits("roborefer.detect_one", obj_name="can", image_index="$seen")
    assert admits("sam2.segment_from_point", x=0.25, y=1.0, image_index=12)
    assert admits("code_executor.eval", expression="</think>") or protocol.syntax == "python"
    assert not admits("robot.fly")
    assert not admits("robot.capture_image", more=1)
    assert not admits("roborefer.detect_one", obj_name="can")
    assert not admits("roborefer.detect_one", obj_name=7, image_index=0)
    assert not admits("roborefer.detect_one", obj_name="", image_index=0)
    assert not admits("sam2.segment_from_point", x=2.5, y=1.0, image_index=12)
    assert not grammar.admits("<think>So.")


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_leader_decides_and_the_thought_alone_is_free(protocol, offered):
    said = protocol.render_turn("I look.", [ToolCall("roborefer.detect_one", {"obj_name": "can", "image_index": 0})])
    grammar = Grammar(Guide(protocol, offered, 40, Says(said)).grammar([]))
    for seed in range(20):
        written = grammar.draw(seed)
        (call,) = protocol.parse(as_text(written, protocol)).calls
        assert (call.name, call.arguments) == ("roborefer.detect_one", {"obj_name": "can", "image_index": 0})
    ended = Grammar(Guide(protocol, offered, 40, Says(protocol.render_turn("", [], "Done."))).grammar([]))
    last = ended.draw(0)
    assert last.endswith("Done.") if protocol is NATIVE else protocol.parse(last).answer == "Done."


def test_a_leader_that_writes_no_turn_is_told(offered):
    guide = Guide(SPACETOOLS, offered, 40, Says("<tool_call>{", name="leader"))
    with refused(ErrorCode.INTERNAL, "policy leader wrote a bad turn: the <tool_call> tag is not closed"):
        guide.grammar([])


@pytest.mark.parametrize(
    ("schema", "fits", "not_so"),
    [
        ({"type": "integer", "minimum": -20, "maximum": 60}, ["-7", "0", "60"], ["7.5", "100", "007", ""]),
        ({"type": "number", "minimum": 0, "maximum": 100}, ["0.5", "99.9", "100", "100.0"], ["-1", "101", "1."]),
        ({"type": "boolean"}, ["true"], ["True", "1"]),
        ({"type": "null"}, ["null"], [""]),
        ({"enum": ["a", 1, None]}, ['"a"', "1", "null"], ["a", "2"]),
        ({"const": "\\ \n"}, [json.dumps("\\ \n")], ['"a"']),
        ({"type": "array", "items": {"type": "boolean"}}, ["[]", "[true, false]"], ["[1]", "[true,]"]),
        ({"type": "array", "maxItems": 0}, ["[]"], ["[1]"]),
        ({"type": "array", "items": {"type": "null"}, "minItems": 2, "maxItems": 2}, ["[null, null]"], ["[null]"]),
        (
            {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}},
            ["{}", '{"a": null}', '{"b": null, "c": null}', '{"a": null, "c": null}'],
            ['{"c": null, "a": null}', '{, "a": null}'],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "required": ["b"]},
            ['{"b": null}', '{"b": null, "a": null}'],
            ["{}", '{"a": null}'],
        ),
    ],
)
def test_values_of_a_schema(schema, fits, not_so):
    rules = ArgumentRules(python=False, longest=20)
    root = rules.value(schema)
    grammar = Grammar("\n".join(f"{name} ::= {body}" for name, body in ({"root": root} | rules.rules).items()))
    assert [text for text in fits if not grammar.admits(text)] == []
    assert [text for text in not_so if grammar.admits(text)] == []


def test_a_schema_that_says_nothing_admits_any_value():
    rules = ArgumentRules(python=True, longest=20)
    assert rules.value({"description": "whatever"}) == "anything"
    assert "anything" in rules.rules["anything"]
    assert "True" in rules.rules["anything"]


@pytest.mark.parametrize(
    ("kind", "read"),
    [
        ("vllm", lambda request: request["structured_outputs"]["grammar"]),
        ("sglang", lambda request: request["ebnf"]),
        ("llama.cpp", lambda request: request["grammar"]),
    ],
)
def test_a_guided_policy_sends_the_grammar_by_the_name_that_its_server_knows(
    kind, read, server, quick, schemas, conversation
):
    server.will(server.completion(TURN))
    options = replace(quick, guided=kind, max_tokens=100)
    make_policy(f"openai:m@{server.url}/v1", SPACETOOLS, schemas, options).respond(conversation)
    grammar = read(server.requests[0])
    assert grammar == Guide(SPACETOOLS, schemas, 50).grammar(conversation)
    assert Grammar(grammar).admits(TURN)


def test_an_unguided_policy_sends_none(server, quick, schemas, conversation):
    server.will(server.completion(TURN))
    make_policy(f"openai:m@{server.url}/v1", SPACETOOLS, schemas, quick).respond(conversation)
    assert not {"structured_outputs", "ebnf", "grammar"} & server.requests[0].keys()


def test_a_led_policy_admits_what_the_scripted_one_would_call(server, quick, schemas, conversation):
    server.will(server.completion(TURN))
    options = replace(quick, guided="vllm", led_by="scripted")
    make_policy(f"openai:m@{server.url}/v1", NATIVE, schemas, options).respond(conversation[:2])
    grammar = server.requests[0]["structured_outputs"]["grammar"]
    assert '\\"name\\": \\"robot__capture_image\\"' in grammar
    assert "roborefer" not in grammar
    assert server.requests[0]["tools"]


def test_a_server_that_refuses_the_grammar_is_not_asked_without_it(server, quick, schemas, conversation):
    server.will(server.json({"error": {"message": "structured_outputs is not supported", "param": None}}, 400))
    policy = make_policy(f"openai:m@{server.url}/v1", SPACETOOLS, schemas, replace(quick, guided="vllm"))
    with refused(ErrorCode.UNAVAILABLE, "structured_outputs is not supported"):
        policy.respond(conversation)
    assert len(server.requests) == 1


def test_wrong_settings_are_told(quick, schemas):
    with pytest.raises(ToolError, match=r"guided by vllm, sglang, llama\.cpp, not 'tgi'"):
        PolicyOptions(guided="tgi")
    with pytest.raises(ToolError, match="needs `guided`"):
        PolicyOptions(led_by="scripted")
    with pytest.raises(ToolError, match="takes no grammar beside tools"):
        make_policy("openai:m@http://localhost:1/v1", NATIVE, schemas, replace(quick, guided="llama.cpp"))
    with pytest.raises(ToolError, match="There is no policy 'nobody'"):
        RolloutPlan((task_document("pick", 1),), settings={"guided": "vllm", "led_by": "nobody"})
