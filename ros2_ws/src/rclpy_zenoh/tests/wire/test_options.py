"""Options, the environment, and that nothing listens beyond loopback."""

from __future__ import annotations

import json

import pytest

from rclpy_zenoh.wire import SessionError, SessionOptions
from rclpy_zenoh.wire.config import session_config


def test_an_empty_environment_gives_the_defaults() -> None:
    assert SessionOptions.from_environment({}) == SessionOptions(
        domain=0, router="tcp/127.0.0.1:7447", shared_memory=True, enclave="/"
    )


def test_the_environment_is_read() -> None:
    options = SessionOptions.from_environment(
        {
            "ROS_DOMAIN_ID": "232",
            "RCLPY_ZENOH_ROUTER": "tcp/127.0.0.1:9999",
            "RCLPY_ZENOH_SHM": "0",
            "ZENOH_CONFIG_OVERRIDE": 'mode="client"; queries_default_timeout=5000;',
        }
    )
    assert (options.domain, options.router, options.shared_memory) == (232, "tcp/127.0.0.1:9999", False)
    config = session_config(options)
    assert json.loads(config.get_json("mode")) == "client"
    assert json.loads(config.get_json("queries_default_timeout")) == 5000


@pytest.mark.parametrize("domain", ["-1", "233", "x", "1.0", "9" * 5000, "٣", "²"])
def test_a_wrong_domain_is_refused_with_what_is_allowed(domain: str) -> None:
    with pytest.raises(SessionError, match="between 0 and 232"):
        SessionOptions.from_environment({"ROS_DOMAIN_ID": domain})


@pytest.mark.parametrize("domain", [-1, 233])
def test_a_wrong_domain_is_refused_as_an_argument(domain: int) -> None:
    with pytest.raises(SessionError, match="between 0 and 232"):
        SessionOptions(domain=domain)


@pytest.mark.parametrize("name", ["RCLPY_ZENOH_SHM", "RCLPY_ZENOH_CLIENT", "RCLPY_ZENOH_ALLOW_REMOTE"])
def test_a_flag_is_0_or_1(name: str) -> None:
    with pytest.raises(SessionError, match=f"{name} must be 0 or 1"):
        SessionOptions.from_environment({name: "yes"})


@pytest.mark.parametrize("router", ["tcp/10.0.0.1:7447", "tcp/0.0.0.0:7447", "tcp/example.org:7447", "nonsense"])
def test_a_router_elsewhere_needs_permission(router: str) -> None:
    with pytest.raises(SessionError, match="RCLPY_ZENOH_ALLOW_REMOTE=1"):
        SessionOptions(router=router)
    assert SessionOptions(router=router, allow_remote=True).router == router


@pytest.mark.parametrize(
    "override",
    [
        'listen/endpoints=["tcp/0.0.0.0:0"]',
        'listen/endpoints=["tcp/127.0.0.1:0", "tcp/[::]:0"]',
        'listen/endpoints={peer: ["tcp/192.168.0.1:7000"]}',
        'listen/endpoints={router: ["tcp/[::]:7447"], peer: ["tcp/127.0.0.1:0"]}',
        'listen={endpoints: ["udp/0.0.0.0:0"]}',
        'listen/endpoints=["tcp/example.org:7000"]',
        'listen/endpoints=["tcp/127.0.0.1.example.org:7000"]',
        "scouting/multicast/enabled=true",
        "scouting={multicast: {enabled: true}}",
    ],
)
def test_listening_beyond_loopback_is_refused(override: str) -> None:
    options = SessionOptions.from_environment({"ZENOH_CONFIG_OVERRIDE": override})
    with pytest.raises(SessionError, match=r"^Sessions listen on loopback only"):
        session_config(options)


@pytest.mark.parametrize(
    "override", ['listen/endpoints=["tcp/localhost:0"]', 'listen/endpoints=["tcp/[::1]:0#iface=lo"]']
)
def test_other_ways_to_write_loopback_are_allowed(override: str) -> None:
    session_config(SessionOptions.from_environment({"ZENOH_CONFIG_OVERRIDE": override}))


@pytest.mark.parametrize("override", ["no_such_key=1", "mode=}{", "mode=nonsense", "mode"])
def test_an_override_that_zenoh_does_not_accept_is_named(override: str) -> None:
    with pytest.raises(SessionError, match=r"^ZENOH_CONFIG_OVERRIDE"):
        session_config(SessionOptions.from_environment({"ZENOH_CONFIG_OVERRIDE": override}))


def test_connecting_beyond_loopback_needs_permission_in_an_override_too() -> None:
    elsewhere = {"ZENOH_CONFIG_OVERRIDE": 'connect/endpoints=["tcp/10.0.0.1:7447"]'}
    with pytest.raises(SessionError, match="RCLPY_ZENOH_ALLOW_REMOTE=1"):
        session_config(SessionOptions.from_environment(elsewhere))
    session_config(SessionOptions.from_environment({**elsewhere, "RCLPY_ZENOH_ALLOW_REMOTE": "1"}))
