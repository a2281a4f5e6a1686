"""Parameter files, read by the rules of rcl's parser."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy._yaml_params import (
    ParameterFileError,
    load_params,
    matches,
    merge_sources,
    params_for_node,
    parse_scalar,
    parse_value,
)


@pytest.fixture
def params_file(tmp_path):
    def write(text, name="params.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("+7", 7),
        ("010", 8),  # octal, as strtoll reads it
        ("08", 8.0),  # no octal number, but a decimal one
        ("0x1F", 31),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", float(2**63)),
        ("9" * 300, float("9" * 300)),
        ("9" * 5000, "9" * 5000),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-2.5E-1", -0.25),
        ("0x1p3", 8.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", math.inf),
        ("1e999", "1e999"),
        ("true", True),
        ("Yes", True),
        ("y", True),
        ("on", True),
        ("OFF", False),
        ("n", False),
        ("tRue", "tRue"),
        ("null", "null"),
        ("~", "~"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("hello world", "hello world"),
        ("٣", "٣"),  # a digit, but none of ours
    ],
)
def test_a_plain_scalar_has_the_type_that_rcl_gives_it(text, value):
    assert parse_scalar(text) == value
    assert type(parse_scalar(text)) is type(value)


@pytest.mark.parametrize("text", ["'5'", '"yes"', "!!str 5", "!!str yes"])
def test_quoted_and_tagged_scalars_are_strings(text):
    assert isinstance(parse_value(text), str)


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_of_64_bits_come_back(number):
    assert parse_value(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(number):
    value = parse_value(repr(number))
    assert value == number
    assert type(value) is float


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_a_clear_error(text):
    with contextlib.suppress(ParameterFileError):
        parse_value(text)


def test_nested_keys_lists_and_sections(params_file):
    path = params_file(
        """
        /**:
          ros__parameters: {use_sim_time: true}
        arm:
          planner:
            ros__parameters:
              speed: {max: 0.5, min: 1e-2}
              joints: [a, b]
              gains: [1.0, 2.5]
              empty: []
              text: >-
                two
                words
        """
    )
    assert load_params(path) == {
        "/**": {"use_sim_time": True},
        "arm/planner": {
            "speed.max": 0.5,
            "speed.min": 0.01,
            "joints": ["a", "b"],
            "gains": [1.0, 2.5],
            "empty": None,
            "text": "two words",
        },
    }


def test_a_section_may_occur_twice(params_file):
    text = "/**: {ros__parameters: {a: 1}}\n/**: {arm: {ros__parameters: {b: 2}}, ros__parameters: {c: 3}}"
    assert load_params(params_file(text)) == {"/**": {"a": 1, "c": 3}, "/**/arm": {"b": 2}}


def test_an_empty_file_has_no_sections(params_file):
    assert load_params(params_file("# nothing\n")) == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("n:\n  ros_parameters: {a: 1}", 2, "unknown key 'ros_parameters'"),
        ("n:\n  ros__parameters: {a: 1}\n  extra: 1", 3, "unknown key 'extra'"),
        ("n: 5", 1, "unknown key 'n'"),
        ("n: {}", 1, "must hold 'ros__parameters'"),
        ("n:\n  ros__parameters:", 2, "must hold names and values"),
        ("ros__parameters: {a: 1}", 1, "a node name must come before"),
        ("n:\n  ros__parameters:\n    a: 1\n    a: 2", 4, "the parameter 'a' is a duplicate"),
        ("n:\n  ros__parameters:\n    a.b: 1\n    a: {b: 2}", 4, "the parameter 'a.b' is a duplicate"),
        ("n: {ros__parameters: {a: 1}}\nn: {ros__parameters: {a: 1}}", 2, "the parameter 'a' is a duplicate"),
        ("n:\n  ros__parameters:\n    a: [1, 2.5]", 3, "one type, not integer and double"),
        ("n:\n  ros__parameters:\n    a: [1, true]", 3, "one type, not integer and bool"),
        ("n:\n  ros__parameters:\n    a: [[1]]", 3, "neither lists nor mappings"),
        ("n:\n  ros__parameters:\n    a: [{b: 1}]", 3, "neither lists nor mappings"),
        ("n:\n  ros__parameters:\n    a:", 3, "has no value"),
        ("n:\n  ros__parameters:\n    a: &x 1\n    b: *x", 4, "aliases are not allowed"),
        ("n:\n  ros__parameters:\n    [1]: 2", 3, "a key must be a name"),
        ("a b:\n  ros__parameters: {a: 1}", 2, "no name of a node"),
        ("a//b:\n  ros__parameters: {a: 1}", 2, "no name of a node"),
        ("n:\n  ros__parameters:\n  - a", 2, "must hold names and values"),
        ("- 1", 1, "must hold node names"),
        ("n: {ros__parameters: {a: 1}}\n---\nm: {}", 2, "only one YAML document"),
        ("n: {ros__parameters: {a: 'x}}", 1, "no valid YAML"),
        ("n:\n\tros__parameters: 1", 2, "no valid YAML"),
        ("n: {ros__parameters: {a: " + "[" * 200 + "]" * 200 + "}}", 1, "nested deeper"),
    ],
)
def test_a_malformed_file_names_file_line_and_key(params_file, text, line, words):
    path = params_file(text)
    with pytest.raises(ParameterFileError) as error:
        load_params(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert words in str(error.value)


def test_a_character_that_yaml_forbids_is_an_error_of_one_line(params_file):
    with pytest.raises(ParameterFileError, match="no valid YAML") as error:
        load_params(params_file("n: {ros__parameters: {a: \x01}}"))
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ParameterFileError, match=r"absent\.yaml: the parameter file cannot be read"):
        load_params(tmp_path / "absent.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterFileError, match="cannot be read"):
        load_params(binary)


@given(st.binary(max_size=60))
def test_any_bytes_are_sections_or_a_clear_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    path.write_bytes(b"n: {ros__parameters: {a: " + data + b"}}")
    with contextlib.suppress(ParameterFileError):
        load_params(path)


@pytest.mark.parametrize(
    ("section", "node", "expected"),
    [
        ("/**", "/a", True),
        ("/**", "/ns/sub/a", True),
        ("**", "/ns/a", True),
        ("/*", "/a", True),
        ("/*", "/ns/a", False),
        ("*", "/a", True),
        ("a", "/a", True),
        ("/a", "/a", True),
        ("a", "/ns/a", False),
        ("/ns/*", "/ns/a", True),
        ("/ns/**", "/ns/x/a", True),
        ("/**/a", "/a", True),
        ("/**/a", "/x/y/a", True),
        ("/*/a", "/x/a", True),
        ("/*/a", "/a", False),
        ("/a", "/ab", False),
    ],
)
def test_sections_match_nodes_as_in_ros(section, node, expected):
    assert matches(section, node) is expected


def test_later_sections_override_earlier_ones(params_file):
    path = params_file("/**: {ros__parameters: {x: 1, y: 1}}\n/n: {ros__parameters: {x: 2}}")
    assert params_for_node([("file", path)], "/n") == {"x": 2, "y": 1}
    assert params_for_node([("file", path)], "/m") == {"x": 1, "y": 1}
    # As in rcl: the command line adds to the section /**, which comes before /n.
    assert params_for_node([("file", path), ("value", "", "x", "3")], "/n") == {"x": 2, "y": 1}
    assert params_for_node([("file", path), ("value", "/n", "x", "3")], "/n") == {"x": 3, "y": 1}
    other = params_file("/n: {ros__parameters: {x: 4}}", "other.yaml")
    assert params_for_node([("file", path), ("file", other)], "/n")["x"] == 4


def test_a_malformed_value_on_the_command_line_names_the_parameter():
    with pytest.raises(ParameterFileError, match=r"parameter 'gain' on the command line.*one type"):
        merge_sources([("value", "", "gain", "[1, x]")])


def test_a_file_without_a_section_for_the_node_is_silently_ignored(params_file):
    assert params_for_node([("file", params_file("/other: {ros__parameters: {x: 1}}"))], "/n") == {}
