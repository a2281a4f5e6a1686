"""One loader of YAML for the whole project: what it refuses, and that what it reads is plain."""

import pytest
import yaml

from toolhand.tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load

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


def test_mappings_know_their_lines_where_that_is_wanted() -> None:
    assert load("a:\n  - {b: 1, here: 7}\n  -\n    c: 2", line_key="here") == {
        "a": [{"b": 1, "here": 2}, {"c": 2, "here": 4}],
        "here": 1,
    }


def test_limits_are_the_callers() -> None:
    assert load("[[1]]", YamlLimits(size=5, depth=2, nodes=3)) == [[1]]
    for limits in (
        YamlLimits(size=4, depth=2, nodes=3),
        YamlLimits(size=5, depth=1, nodes=3),
        YamlLimits(size=5, depth=2, nodes=2),
    ):
        with pytest.raises(PlainYamlError):
            load("[[1]]", limits)
