"""From launch file to processes: order, scopes, conditions, what becomes of parameters, and every kind of mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rclpy_zenoh.launch import LaunchError, declared_arguments, read_plan

Write = Callable[..., Path]


def commands(path: Path, **arguments: str) -> list[list[str]]:
    return [list(process.command) for process in read_plan(path, arguments).processes]


def test_arguments_defaults_and_variables_reach_the_command(write: Write) -> None:
    path = write(
        """
        - arg: {name: who, default: "world"}
        - let: {name: greeting, value: "hello $(var who)"}
        - executable: {cmd: "echo $(var greeting) $(var who)!"}
        """
    )
    assert commands(path) == [["echo", "hello world", "world!"]]
    assert commands(path, who="a b") == [["echo", "hello a b", "a b!"]]


def test_what_a_substitution_gives_is_never_split_into_words(write: Write) -> None:
    path = write(
        """
        - arg: {name: text, default: "two words; rm"}
        - executable: {cmd: "echo $(var text)"}
        """
    )
    assert commands(path) == [["echo", "two words; rm"]]


def test_conditions_choose(write: Write) -> None:
    path = write(
        """
        - arg: {name: sim, default: "true"}
        - executable: {cmd: "echo sim", if: "$(var sim)"}
        - executable: {cmd: "echo real", unless: "$(var sim)"}
        - executable: {cmd: "echo both", if: "$(not $(and $(var sim) $(equals $(var sim) false)))"}
        """
    )
    assert commands(path) == [["echo", "sim"], ["echo", "both"]]
    assert commands(path, sim="0") == [["echo", "real"], ["echo", "both"]]


def test_a_group_keeps_what_it_sets_to_itself_and_an_include_does_not(write: Write) -> None:
    write(
        """
        - let: {name: colour, value: "$(var shade) red"}
        """,
        "inner.launch.yaml",
    )
    path = write(
        """
        - let: {name: colour, value: "blue"}
        - set_env: {name: LAUNCH_TEST, value: "outer"}
        - group:
            - let: {name: colour, value: "green"}
            - set_env: {name: LAUNCH_TEST, value: "inner"}
            - executable: {cmd: "echo $(var colour) $(env LAUNCH_TEST)"}
        - executable: {cmd: "echo $(var colour) $(env LAUNCH_TEST)"}
        - include: {file: "$(dirname)/inner.launch.yaml", arg: [{name: shade, value: "dark"}]}
        - executable: {cmd: "echo $(var colour)"}
        """
    )
    assert commands(path) == [["echo", "green", "inner"], ["echo", "blue", "outer"], ["echo", "dark red"]]


def test_a_node_becomes_a_command_with_ros_arguments(write: Write, package: Path) -> None:
    (package / "p.yaml").write_text("{}")
    path = write(
        """
        - arg: {name: rate, default: "5"}
        - push_ros_namespace: {namespace: "left"}
        - node:
            pkg: launch_test
            exec: talker
            name: greeter
            namespace: arm
            args: "--fast"
            param:
              - {from: $(find-pkg-share launch_test)/p.yaml}
              - {name: rate, value: $(var rate)}
              - {name: label, value: $(var rate), type: str}
              - {name: text, value: "7"}
              - {name: limits, value: [1.5, 2]}
              - {name: quick, value: true}
            remap: [{from: /a, to: /b}]
        """
    )
    (process,) = read_plan(path, {}).processes
    assert process.node == "/left/arm/greeter"
    ros = process.command.index("--ros-args")
    assert process.command[1:ros] == ("-P", "-m", "rclpy_zenoh.run", "launch_test_nodes.talker", "--fast")
    expected = ["-r", "__node:=greeter", "-r", "__ns:=/left/arm", "--params-file", str(package / "p.yaml")]
    for rule in ("rate:=5", 'label:="5"', 'text:="7"', "limits:=[1.5, 2]", "quick:=true"):
        expected += ["-p", rule]
    assert list(process.command[ros + 1 :]) == [*expected, "-r", "/a:=/b"]


def test_labels_are_unique(write: Write) -> None:
    path = write("- executable: {cmd: echo a}\n" * 3)
    assert [process.label for process in read_plan(path, {}).processes] == ["echo", "echo-2", "echo-3"]


def test_declared_arguments_are_listed_without_values(write: Write) -> None:
    path = write(
        """
        - arg: {name: ip, description: "Address of the arm"}
        - arg: {name: mode, default: "a", choice: [{value: "a"}, {value: "b"}]}
        """
    )
    ip, mode = declared_arguments(path)
    assert (ip.name, ip.default, ip.description) == ("ip", None, "Address of the arm")
    assert (mode.default, mode.choices) == ("a", ("a", "b"))


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("- executable: {cmd: echo, colour: red}", 2, "unknown key 'colour'; allowed: cmd, cwd, env"),
        ("- exec: {cmd: echo}", 2, "no such entity; offered: arg, executable, group"),
        ("- arg: {name: ip}", 2, "'ip' has no default, so give it as ip:=VALUE"),
        ("- arg: {name: n, default: 5}", 2, "'default' must be a string, so put it in quotes"),
        ("- arg: {name: n, default: a, choice: [{value: b}]}", 2, "'n' must be one of b, not 'a'"),
        ("- executable: {name: x}", 2, "'cmd' is missing"),
        ("- executable: {cmd: 'echo $(var x)'}", 2, "there is no variable 'x'; known here: none"),
        ("- executable: {cmd: 'echo $(eval 1+1)'}", 2, r"there is no substitution $(eval); offered: and, dirname"),
        ("- executable: {cmd: 'echo $(var'}", 2, "has no closing parenthesis"),
        ("- executable: {cmd: \"echo '$(env HOME)'\"}", 2, "a substitution is one word without quotation marks"),
        ("- executable: {cmd: 'echo $(var  x)'}", 2, "separated by exactly one space"),
        ("- executable: {cmd: 'echo $(env NOT_SET_ANYWHERE)'}", 2, "NOT_SET_ANYWHERE is not set"),
        ("- executable: {cmd: echo, if: maybe}", 2, "'maybe' must be true or false"),
        ("- executable: {cmd: echo, if: 'true', unless: 'true'}", 2, "exclude each other"),
        ("- executable: {cmd: echo, output: paper}", 2, "'output' must be one of screen, log, both"),
        ("- executable: {cmd: echo, on_exit: cry}", 2, "'on_exit' can only be shutdown"),
        ("- executable: {cmd: echo, respawn_delay: -1}", 2, "'respawn_delay' must be a number of 0 or more"),
        ("- executable:\n    cmd: echo\n    cmd: echo", 4, "'cmd' is given twice"),
        ("- executable: &e {cmd: echo}\n- executable: *e", 3, "aliases are not allowed"),
        ("- executable: {<<: {cmd: echo}}", 2, "merge keys are not allowed"),
        ("- executable: {[a]: echo}", 2, "a key must be text"),
        ("- let: {name: a, value: b}\n- node: {pkg: no_such_package, exec: x}", 3, "no package 'no_such_package'"),
        ("- node: {pkg: launch_test, exec: walker}", 2, "no executable 'walker'; it has: missing, talker"),
        ("- node: {pkg: launch_test, exec: missing}", 2, "is not installed"),
        ("- node: {pkg: launch_test, exec: talker, name: 'a b'}", 2, "a b"),
        ("- node: {pkg: launch_test, exec: talker, param: [{from: /no/such.yaml}]}", 2, "no parameter file"),
        ("- node: {pkg: launch_test, exec: talker, param: [{name: n, value: x, type: int}]}", 2, "'x' is no int"),
        ("- node: {pkg: launch_test, exec: talker, param: {a: 1}}", 2, "'param' must be a list of mappings"),
        ("- include: {file: /no/such.launch.yaml}", 2, "there is no file"),
        ("- include: {file: $(dirname)/x.launch.py}", 2, "only YAML launch files can be included"),
        ("- include: {file: $(filename)}", 2, "includes itself"),
        ("- 5", 2, "an entity is a mapping with one key"),
        ("- {a: [}", 2, "this is no YAML"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_with_file_and_line(
    write: Write, package: Path, text: str, line: int, sentence: str
) -> None:
    with pytest.raises(LaunchError) as caught:
        read_plan(write(text), {})
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message
    if "itself" not in message:
        assert message.startswith(f"test.launch.yaml, line {line}")


def test_an_argument_that_is_not_declared_is_refused(write: Write) -> None:
    with pytest.raises(LaunchError, match=r"has no argument 'scene'; it has: who\."):
        read_plan(write('- arg: {name: who, default: ""}'), {"scene": "3"})


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="cannot be read: No such file"):
        read_plan(tmp_path / "none.launch.yaml", {})


def test_another_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("nodes: []")
    with pytest.raises(LaunchError, match="one root, 'launch:'"):
        read_plan(tmp_path / "a.yaml", {})


def test_a_backslash_takes_the_next_character_as_it_is(write: Write) -> None:
    path = write(r"- let: {name: a, value: '\$(var x)'}" + "\n" + """- executable: {cmd: 'echo $(var a)'}""")
    assert commands(path) == [["echo", "$(var x)"]]


def test_arguments_of_substitutions_may_be_quoted_and_nested(write: Write) -> None:
    path = write(
        """
        - let: {name: a, value: "$(env NOT_SET_ANYWHERE 'two words')"}
        - let: {name: b, value: "$(env NOT_SET_ANYWHERE $(var a))"}
        - executable: {cmd: "echo $(var b)"}
        """
    )
    assert commands(path) == [["echo", "two words"]]
