"""What is typed behind a model's name."""

import pytest

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.models.spec import ModelSpec, Option, ServerSpec, parse_address, parse_model, parse_server
from toolhand.tool_nodes.results import ErrorCode, ToolError

THRESHOLD = {"threshold": Option(0.25, 0.0, 1.0)}


def error_of(parse: object, *arguments: object) -> ToolError:
    with pytest.raises(ToolError) as raised:
        parse(*arguments)  # type: ignore[operator]
    return raised.value


def test_weights_alone_take_every_default() -> None:
    assert parse_model("m", "some/folder", THRESHOLD) == ModelSpec("some/folder", numbers={"threshold": 0.25})


def test_options_stand_behind_a_question_mark() -> None:
    spec = parse_model("m", "owner/name?device=cuda:1&dtype=bfloat16&batch=32&threshold=0.5", THRESHOLD)
    assert spec == ModelSpec("owner/name", "cuda:1", "bfloat16", 32, {"threshold": 0.5})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "needs weights: m:FOLDER or m:OWNER/NAME"),
        ("w?colour=red", "'colour=red' is unknown: m takes device, dtype, batch, threshold"),
        ("w?device", "is unknown"),
        ("w?device=tpu", "must be auto, cpu, cuda, cuda:N or mps"),
        ("w?dtype=int8", "must be auto, float32, bfloat16, float16"),
        ("w?batch=0", "must be a whole number from 1 to 256, not '0'"),
        ("w?batch=2.5", "must be a whole number"),
        ("w?batch=many", "not 'many'"),
        ("w?threshold=nan", "must be a number from 0 to 1"),
        ("w?batch=2&batch=3", "is given twice"),
    ],
)
def test_what_a_model_cannot_be_given_is_said_in_a_sentence(text: str, words: str) -> None:
    error = error_of(parse_model, "m", text, THRESHOLD)
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert words in error.message


def test_a_server_is_a_model_at_a_base_url() -> None:
    spec = parse_server("m", "own/er@http://host:8000/v1/?deadline=3", {"deadline": Option(25.0, 0.1, 600.0)})
    assert spec == ServerSpec("own/er", "http://host:8000/v1", 8, {"deadline": 3.0})


@pytest.mark.parametrize(
    "text", ["model", "@http://host/v1", "m@ftp://host", "m@http://", "m@http://u:p@host", "m@http://h#x"]
)
def test_what_is_no_server_is_refused(text: str) -> None:
    assert "behind a server: m:MODEL@URL" in error_of(parse_server, "m", text).message


def test_an_address_has_a_port_of_its_own_or_the_usual_one() -> None:
    assert parse_address("g", "host", 5556, {})[0] == "host:5556"
    assert parse_address("g", "tcp://10.0.0.2:77", 5556, {})[0] == "10.0.0.2:77"
    for wrong in ("", "host:port", "host:70000", "ho st", "http://host:1"):
        assert "is no address of g" in error_of(parse_address, "g", wrong, 5556, {}).message


@pytest.mark.parametrize(
    ("port", "name"),
    [
        ("pointer", "molmo2"),
        ("pointer", "qwen_vl"),
        ("pointer", "roborefer"),
        ("pointer", "pointing"),
        ("detector", "grounding_dino"),
        ("segmenter", "sam2"),
        ("segmenter", "sam3"),
        ("depth", "depth_pro"),
        ("depth", "depth_anything"),
        ("reader", "paddleocr_vl"),
        ("grasps", "graspgen"),
    ],
)
def test_every_model_is_found_by_name_and_wants_to_know_which_weights(port: str, name: str) -> None:
    assert not {offer.name: offer.missing for offer in registry.offers(port)}[name]
    assert f"{name}:MODEL" in error_of(registry.make, port, name).message
