"""The grammar of the command line, which is that of the ros2 command.

It is argparse and not tyro, because a noun, a verb and optional positional arguments in the middle of options
(`topic echo /chatter std_msgs/msg/String --once`) are what people know from ros2 and what no signature expresses.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NoReturn

from rclpy_zenoh.cli.errors import UsageError

SPIN_TIME_S = 0.5
"""Longest time for discovery, as in ros2."""

WAIT_S = 5.0
"""Longest time for a service or an action server to appear."""

TRUNCATE_LENGTH = 128
HZ_WINDOW = 10000

DESCRIPTION = """The ros2 command for people who have only pip: nodes, topics, services, actions, parameters.

A graph needs a router: `%(prog)s router` starts one. Exit status: 0 done, 1 failed, 2 wrong input, 130 after Ctrl-C."""


class Arguments(argparse.Namespace):
    """The parsed command line; `verb` names the function to run, `prog` the program, the rest are its options."""

    verb: str
    prog: str
    domain: int | None = None
    router: str | None = None
    distro: str | None = None
    spin_time: float = SPIN_TIME_S


class _Parser(argparse.ArgumentParser):
    """Complains in one sentence, without the usage above it."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}; `{self.prog} --help` explains.")


def make_parser(prog: str) -> argparse.ArgumentParser:
    """The parser of all commands; it raises UsageError."""
    parser = _Parser(
        prog=prog,
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[_shared()],
    )
    nouns = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    _nodes(_Verbs(nouns, "node", "list and describe nodes"))
    _topics(_Verbs(nouns, "topic", "list, read, write and time topics"))
    _services(_Verbs(nouns, "service", "list and call services"))
    _actions(_Verbs(nouns, "action", "list actions and send goals"))
    _params(_Verbs(nouns, "param", "list, get and set parameters of nodes"))
    _interfaces(_Verbs(nouns, "interface", "list and show message, service and action types"))
    router = nouns.add_parser("router", help="run the router that nodes find each other through, until Ctrl-C")
    router.add_argument("--port", type=_port, default=7447, help="its TCP port on this machine (default %(default)s)")
    router.set_defaults(verb="routing.router")
    return parser


def _shared() -> argparse.ArgumentParser:
    """Options that every command takes, before or after its name."""
    shared = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("graph")
    group.add_argument("--domain", type=_domain, metavar="N", help="domain to look at (default: ROS_DOMAIN_ID, or 0)")
    group.add_argument("--router", metavar="ENDPOINT", help="router to use (default: tcp/127.0.0.1:7447)")
    group.add_argument("--distro", metavar="NAME", help="standard interfaces: jazzy (default), kilted or lyrical")
    group.add_argument(
        "--spin-time", type=_seconds, metavar="S", help=f"longest time for discovery (default {SPIN_TIME_S} s)"
    )
    return shared


class _Verbs:
    """The verbs of one noun."""

    def __init__(self, nouns: Any, noun: str, text: str) -> None:
        parser = nouns.add_parser(noun, help=text, description=text.capitalize() + ".", parents=[_shared()])
        self._verbs = parser.add_subparsers(metavar="VERB", required=True)
        self._module = f"{noun}s"

    def add(self, name: str, text: str, *, function: str = "") -> argparse.ArgumentParser:
        """A verb; `function` where Python needs another name for it."""
        verb: argparse.ArgumentParser = self._verbs.add_parser(
            name, help=text, description=text[:1].upper() + text[1:] + ".", parents=[_shared()]
        )
        verb.set_defaults(verb=f"{self._module}.{function or name}")
        return verb


def _nodes(verbs: _Verbs) -> None:
    listing = verbs.add("list", "output a list of available nodes", function="list_nodes")
    _flag(listing, "-a", "--all", "display all nodes, even hidden ones")
    _flag(listing, "-c", "--count-nodes", "only display the number of nodes discovered")
    info = verbs.add("info", "output information about a node")
    info.add_argument("node_name", metavar="NAME")
    _flag(info, "--include-hidden", "display hidden topics, services and actions as well")


def _topics(verbs: _Verbs) -> None:
    listing = verbs.add("list", "output a list of available topics", function="list_topics")
    _flag(listing, "-t", "--show-types", "additionally show the topic type")
    _flag(listing, "-c", "--count-topics", "only display the number of topics discovered")
    _flag(listing, "-v", "--verbose", "list full details about each topic")
    _flag(listing, "--include-hidden-topics", "consider hidden topics as well")
    info = verbs.add("info", "print information about a topic")
    info.add_argument("topic", metavar="TOPIC")
    _flag(info, "-v", "--verbose", "also nodes, type hashes and QoS of its publishers and subscriptions")
    _echo(verbs.add("echo", "output messages from a topic"))
    hz = verbs.add("hz", "print the average publishing rate of a topic")
    hz.add_argument("topic", metavar="TOPIC")
    hz.add_argument(
        "-w", "--window", type=_count, default=HZ_WINDOW, metavar="N", help="messages to average over (%(default)s)"
    )
    _pub(verbs.add("pub", "publish messages to a topic"))


def _echo(echo: argparse.ArgumentParser) -> None:
    echo.add_argument("topic", metavar="TOPIC")
    echo.add_argument("type", nargs="?", metavar="TYPE", help="e.g. std_msgs/msg/String; not needed once it has peers")
    _flag(echo, "--once", "print the first message received and exit")
    echo.add_argument("--timeout", type=_seconds, metavar="S", help="exit after this time")
    echo.add_argument("--field", metavar="F", help="only this field; dots select fields of fields: pose.position")
    _flag(echo, "-f", "--full-length", "output arrays and strings in full")
    echo.add_argument(
        "-l",
        "--truncate-length",
        type=_length,
        default=TRUNCATE_LENGTH,
        metavar="N",
        help="items of arrays and characters of strings to output (default %(default)s)",
    )
    _flag(echo, "--no-arr", "say only how long arrays are")
    _flag(echo, "--no-str", "say only how long strings are")
    _flag(echo, "--flow-style", "print lists and messages in one line")
    _qos(echo, "sensor_data")


def _pub(pub: argparse.ArgumentParser) -> None:
    pub.add_argument("topic", metavar="TOPIC")
    pub.add_argument("type", metavar="TYPE", help="e.g. std_msgs/msg/String")
    pub.add_argument("values", nargs="?", default="{}", metavar="YAML", help="fields that are not defaults: 'data: hi'")
    pub.add_argument("-r", "--rate", type=_positive, default=1.0, metavar="HZ", help="messages a second (default 1)")
    pub.add_argument("-p", "--print", type=_length, default=1, metavar="N", help="print only every N-th message")
    often = pub.add_mutually_exclusive_group()
    _flag(often, "-1", "--once", "publish one message and exit")
    often.add_argument("-t", "--times", type=_count, metavar="N", help="publish this number of times and exit")
    pub.add_argument(
        "-w",
        "--wait-matching-subscriptions",
        type=_length,
        metavar="N",
        help="first wait for this many subscriptions (default 1 with --once or --times, else 0)",
    )
    pub.add_argument("--max-wait-time-secs", type=_positive, metavar="S", help="longest such wait (default: endless)")
    pub.add_argument(
        "--keep-alive", type=_seconds, default=0.1, metavar="S", help="stay after the last message (default 0.1)"
    )
    _qos(pub, "default")


def _services(verbs: _Verbs) -> None:
    listing = verbs.add("list", "output a list of available services", function="list_services")
    _flag(listing, "-t", "--show-types", "additionally show the service type")
    _flag(listing, "-c", "--count-services", "only display the number of services discovered")
    _flag(listing, "--include-hidden-services", "consider hidden services as well")
    call = verbs.add("call", "call a service")
    call.add_argument("service", metavar="NAME")
    call.add_argument("type", metavar="TYPE", help="e.g. std_srvs/srv/Trigger")
    call.add_argument("values", nargs="?", default="{}", metavar="YAML", help="request: '{a: 1, b: 2}'")
    call.add_argument("-r", "--rate", type=_positive, metavar="HZ", help="repeat the call at this rate")
    _waiting(call, "the service", WAIT_S)


def _actions(verbs: _Verbs) -> None:
    listing = verbs.add("list", "output a list of action names", function="list_actions")
    _flag(listing, "-t", "--show-types", "additionally show the action type")
    _flag(listing, "-c", "--count-actions", "only display the number of actions discovered")
    info = verbs.add("info", "print information about an action")
    info.add_argument("action", metavar="NAME")
    _flag(info, "-t", "--show-types", "additionally show the action type")
    _flag(info, "-c", "--count", "only display the number of clients and servers")
    send = verbs.add("send_goal", "send a goal; Ctrl-C cancels it")
    send.add_argument("action", metavar="NAME")
    send.add_argument("type", metavar="TYPE", help="e.g. example_interfaces/action/Fibonacci")
    send.add_argument("values", nargs="?", default="{}", metavar="YAML", help="goal: '{order: 10}'")
    _flag(send, "-f", "--feedback", "print the feedback for the goal")
    _waiting(send, "the action server", WAIT_S)


def _params(verbs: _Verbs) -> None:
    listing = verbs.add("list", "output a list of parameters of one node, or of all", function="list_params")
    listing.add_argument("node_name", nargs="?", metavar="NODE")
    listing.add_argument("--filter", type=_regex, metavar="REGEX", help="only names that begin like this expression")
    listing.add_argument("--param-prefixes", nargs="+", default=[], metavar="PREFIX", help="only names below these")
    _flag(listing, "--param-type", "print the types too")
    get = verbs.add("get", "get a parameter", function="get_param")
    _param(get)
    _flag(get, "--hide-type", "print only the value")
    set_ = verbs.add("set", "set a parameter", function="set_param")
    _param(set_)
    set_.add_argument("value", metavar="VALUE", help="in YAML: 1, 1.0, true, text, '[1, 2]'")
    describe = verbs.add("describe", "show what is known about parameters")
    describe.add_argument("node_name", metavar="NODE")
    describe.add_argument("param", nargs="+", metavar="NAME")
    dump = verbs.add("dump", "show all parameters of a node in YAML")
    dump.add_argument("node_name", metavar="NODE")
    for verb in (listing, get, set_, describe, dump):
        _flag(verb, "--include-hidden-nodes", "consider hidden nodes as well")
        _waiting(verb, "the node", 1.0)


def _param(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("node_name", metavar="NODE")
    verb.add_argument("param", metavar="NAME")


def _interfaces(verbs: _Verbs) -> None:
    listing = verbs.add("list", "list all interface types available", function="list_interfaces")
    _flag(listing, "-m", "--only-msgs", "only the message types")
    _flag(listing, "-s", "--only-srvs", "only the service types")
    _flag(listing, "-a", "--only-actions", "only the action types")
    show = verbs.add("show", "output the definition of an interface")
    show.add_argument("type", metavar="TYPE", help="e.g. sensor_msgs/msg/Image")
    comments = show.add_mutually_exclusive_group()
    _flag(comments, "--all-comments", "show the comments of nested types too")
    _flag(comments, "--no-comments", "show no comments and no empty lines")


def _qos(verb: argparse.ArgumentParser, profile: str) -> None:
    system = "system_default"
    for name, choices in (
        ("profile", (system, "default", "sensor_data", "services_default", "parameters")),
        ("reliability", (system, "reliable", "best_effort")),
        ("durability", (system, "transient_local", "volatile")),
        ("history", (system, "keep_last", "keep_all")),
    ):
        verb.add_argument(f"--qos-{name}", choices=choices, help=f"{name} of the quality of service")
    verb.set_defaults(qos_default_profile=profile)
    verb.add_argument("--qos-depth", type=_count, metavar="N", help="depth of its queue")


def _waiting(verb: argparse.ArgumentParser, what: str, seconds: float) -> None:
    verb.add_argument(
        "--timeout", type=_seconds, default=seconds, metavar="S", help=f"longest wait for {what} (default %(default)s)"
    )


def _flag(parser: Any, *names_and_help: str) -> None:
    *names, text = names_and_help
    parser.add_argument(*names, action="store_true", help=text)


def _number(kind: type[float] | type[int], allowed: Callable[[float], bool], words: str) -> Callable[[str], Any]:
    """Parses one number of an option; `words` say what is allowed."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not allowed(value):
            raise argparse.ArgumentTypeError(f"must be {words}, got {text!r}")
        return value

    return parse


_domain = _number(int, lambda n: 0 <= n <= 232, "an integer from 0 to 232")
_port = _number(int, lambda n: 0 <= n <= 65535, "an integer from 0 to 65535")
_count = _number(int, lambda n: n >= 1, "an integer of 1 or more")
_length = _number(int, lambda n: n >= 0, "an integer of 0 or more")
_seconds = _number(float, lambda s: 0 <= s < math.inf, "a number of seconds of 0 or more")
_positive = _number(float, lambda x: 0 < x < math.inf, "a number greater than 0")


def _regex(text: str) -> Any:
    import re

    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"must be a regular expression: {error}") from error
