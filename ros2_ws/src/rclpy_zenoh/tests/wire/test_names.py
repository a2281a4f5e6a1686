"""Names: what ROS 2 allows, with rcl's and rmw's words and positions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rclpy_zenoh.wire import (
    InvalidNameError,
    check_full_name,
    check_namespace,
    check_node_name,
    check_topic_name,
    expand_name,
)


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("/a/b", "/a/b"),
        ("chatter", "/robot/arm/chatter"),
        ("a/b", "/robot/arm/a/b"),
        ("~", "/robot/arm/camera"),
        ("~/image", "/robot/arm/camera/image"),
        ("{node}/image", "/robot/arm/camera/image"),
        ("/{node}/image", "/camera/image"),
        ("{ns}/image", "/robot/arm/image"),
        ("{namespace}/image", "/robot/arm/image"),
        ("~/{node}", "/robot/arm/camera/camera"),
        ("_hidden/_x", "/robot/arm/_hidden/_x"),
    ],
)
def test_a_name_is_expanded_as_rcl_does(name: str, full: str) -> None:
    assert expand_name(name, "camera", "/robot/arm") == full


@pytest.mark.parametrize(
    ("name", "full"), [("chatter", "/chatter"), ("~", "/camera"), ("~/image", "/camera/image"), ("/x", "/x")]
)
def test_a_name_is_expanded_in_the_root_namespace(name: str, full: str) -> None:
    assert expand_name(name, "camera", "/") == full


@pytest.mark.parametrize(
    ("name", "index", "message"),
    [
        ("", 0, "topic name must not be empty string"),
        ("7up", 0, "topic name token must not start with a number"),
        ("a/7up", 2, "topic name token must not start with a number"),
        ("/", 0, "topic name must not end with a forward slash"),
        ("a/", 1, "topic name must not end with a forward slash"),
        ("a b", 1, "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'"),
        ("a-b", 1, "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'"),
        ("é", 0, "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'"),
        ("a²", 1, "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'"),
        ("a/**", 2, "topic name must not contain characters other than alphanumerics, '_', '~', '{', or '}'"),
        ("a/{node", 2, "topic name must not have unmatched (unbalanced) curly braces '{}'"),
        ("a}", 1, "topic name must not have unmatched (unbalanced) curly braces '{}'"),
        ("a/~", 2, "topic name must not have tilde '~' unless it is the first character"),
        ("~a", 1, "topic name must not have a tilde '~' that is not followed by a forward slash '/'"),
        ("{a-b}", 2, "substitution name must not contain characters other than alphanumerics or '_'"),
        ("{a/b}", 2, "substitution name must not contain characters other than alphanumerics or '_'"),
        ("{{a}}", 1, "substitution name must not contain characters other than alphanumerics or '_'"),
        ("{1a}", 1, "substitution name must not start with a number"),
    ],
)
def test_a_wrong_name_says_what_is_wrong_and_where(name: str, index: int, message: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        check_topic_name(name)
    assert (caught.value.kind, caught.value.name) == ("topic", name)
    assert (caught.value.index, caught.value.message) == (index, message)


def test_a_service_name_is_called_so() -> None:
    with pytest.raises(InvalidNameError) as caught:
        check_topic_name("a/", is_service=True)
    assert caught.value.kind == "service"
    assert caught.value.message == "service name must not end with a forward slash"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a//b", "topic name must not contain repeated '/'"),
        ("{unknown}/x", "unknown substitution: {unknown}"),
        ("/" + "x" * 247, "topic length should not exceed '247'"),
    ],
)
def test_what_only_the_full_name_shows_is_refused_too(name: str, message: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        expand_name(name, "camera", "/")
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("check", "name", "index", "message"),
    [
        (check_node_name, "", 0, "node name must not be empty"),
        (check_node_name, "a/b", 1, "node name must not contain characters other than alphanumerics or '_'"),
        (check_node_name, "1a", 0, "node name must not start with a number"),
        (check_node_name, "n" * 256, 254, "node name length should not exceed '255'"),
        (check_namespace, "", 0, "namespace must not be empty"),
        (check_namespace, "a", 0, "namespace must be absolute, it must lead with a '/'"),
        (check_namespace, "/a/", 2, "namespace must not end with a '/', unless only a '/'"),
        (check_namespace, "/a//b", 3, "namespace must not contain repeated '/'"),
        (check_namespace, "/1", 1, "namespace must not have a token that starts with a number"),
        (check_namespace, "/a b", 2, "namespace must not contain characters other than alphanumerics, '_', or '/'"),
        (check_namespace, "/" + "n" * 245, 244, "namespace should not exceed '245'"),
        (check_full_name, "/", 0, "topic name must not end with a '/'"),
        (check_full_name, "a", 0, "topic name must be absolute, it must lead with a '/'"),
        (check_full_name, "/a/1/b//c", 3, "topic name must not have a token that starts with a number"),
    ],
)
def test_nodes_and_namespaces_have_rmws_rules(
    check: Callable[[str], None], name: str, index: int, message: str
) -> None:
    with pytest.raises(InvalidNameError) as caught:
        check(name)
    assert (caught.value.index, caught.value.message) == (index, message)


def test_right_names_pass() -> None:
    check_node_name("n" * 255)
    check_namespace("/")
    check_namespace("/" + "n" * 244)
    check_full_name("/" + "x" * 246)
