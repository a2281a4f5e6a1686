"""The reader of YAML: what it refuses, and that what it reads is plain."""

import pytest
import yaml

from rclpy_zenoh.plain_yaml import Limits, PlainYamlError, compose, load, value

LEVELS = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12))

REFUSED = [
    ("a0: &a0 [1]\n" + LEVELS, "aliases are not allowed", 2),
    ("a: &a [*a]", "aliases are not allowed", 1),
    ("{<<: {a: 1}}", "merge keys are not allowed", 1),
    ("{!!merge x: {a: 1}}", "merge keys are not allowed", 1),
    ("[" * 40 + "]" * 40, "nested deeper than 32 levels", 1),
    ("{a: " * 40 + "1" + "}" * 40, "nested deeper than 32 levels", 1),
    ("? " * 5000, "nested deeper than 32 levels", 1),
    ("- " * 5000, "nested deeper than 32 levels", 1),
    ("[" * 100_000, "nested deeper than 32 levels", 1),
    ("[" + "a," * 20_001 + "]", "more than 20,000 values", 1),
    ("#" * 200_001, "longer than 200,000 bytes", None),
    ("ü" * 150_000, "longer than 200,000 bytes", None),
    ("9" * 501, "a number may have 500 characters", 1),
    ("0x" + "f" * 900, "a number may have 500 characters", 1),
    ("!!float '" + "9" * 501 + "'", "a number may have 500 characters", 1),
    ("1" + ":00" * 300, "a number may have 500 characters", 1),
    ("a: 1\nb: 2\na: 3", "the key 'a' is given twice", 3),
    ("{1: 2}", "a key must be text", 1),
    ("{[1]: 2}", "a key must be text", 1),
    ("{{a: 1}: 2}", "a key must be text", 1),
    ("a: 1\n--- \nb: 2", "expected a single document", 2),
    ("!!python/object/apply:os.getcwd []", "could not determine a constructor", 1),
    ("!!int five", "cannot read", None),
    ("!!timestamp x", "cannot read", None),
    ("2026-13-45", "cannot read", None),
    ("a: \x01", "characters that YAML does not allow", None),
    (b"\xff\xfe\x00", "UTF-8", None),
    ("a: [1}", "expected", 1),
]


@pytest.mark.parametrize(("text", "said", "line"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_plain_is_refused_in_one_short_sentence(text: str | bytes, said: str, line: int | None) -> None:
    with pytest.raises(PlainYamlError) as caught:
        load(text)
    assert said in caught.value.problem
    assert caught.value.line == line
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", [text for text, _, line in REFUSED[:12]] + ["{[1]: 2}", "{a: 1, a: 2}"])
def test_a_node_tree_is_held_to_the_same(text: str) -> None:
    with pytest.raises(PlainYamlError):
        compose(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "5",
        "-",
        "[]",
        "{}",
        "[1, 0x1f, 0o7, 1.5, .nan, .inf, 1_000, on, ~, '<<', \"1\"]",
        "&a {a: &b 1}",
    ],
)
def test_plain_data_is_read_as_yaml_reads_it(text: str) -> None:
    assert repr(load(text)) == repr(load(text.encode())) == repr(yaml.safe_load(text))
    node = compose(text)
    assert node is None or repr(value(node)) == repr(yaml.safe_load(text))


def test_limits_are_the_callers() -> None:
    assert load("[[1]]", Limits(size=5, depth=2, nodes=3)) == [[1]]
    for limits in (
        Limits(size=4, depth=2, nodes=3),
        Limits(size=5, depth=1, nodes=3),
        Limits(size=5, depth=2, nodes=2),
    ):
        with pytest.raises(PlainYamlError):
            load("[[1]]", limits)
