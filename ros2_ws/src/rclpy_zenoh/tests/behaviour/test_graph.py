"""What a node can find out about the graph."""

from __future__ import annotations

import threading

import pytest
from example_interfaces.srv import AddTwoInts
from harness import DEADLINE
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointTypeEnum
from std_msgs.msg import Int32, String

INT32, ADD = "std_msgs/msg/Int32", "example_interfaces/srv/AddTwoInts"
LEASE = 60.0


@pytest.fixture
def observer(ros):
    return ros.node("observer", namespace="/eyes")


@pytest.fixture
def busy(ros, observer):
    """A node with one of everything, which the observer sees."""
    node = ros.node("busy", namespace="/ns")
    node.create_publisher(Int32, "sent", 10)
    node.create_subscription(Int32, "/received", print, 10)
    node.create_service(AddTwoInts, "offered", lambda request, response: response)
    node.create_client(AddTwoInts, "wanted")
    ros.spin_until(
        lambda: (
            observer.count_publishers("/ns/sent")
            and observer.count_subscribers("/received")
            and observer.count_services("/ns/offered")
            and observer.count_clients("/ns/wanted")
        ),
        "the endpoints of the other node",
    )
    return node


@pytest.mark.usefixtures("busy")
def test_names_of_nodes(observer):
    assert {"observer", "busy"} <= set(observer.get_node_names())
    assert {("observer", "/eyes"), ("busy", "/ns")} <= set(observer.get_node_names_and_namespaces())
    assert {"/eyes/observer", "/ns/busy"} <= set(observer.get_fully_qualified_node_names())
    with_enclaves = observer.get_node_names_and_namespaces_with_enclaves()
    assert ("busy", "/ns") in {one[:2] for one in with_enclaves}


@pytest.mark.usefixtures("busy")
def test_topics_and_services(observer):
    topics = dict(observer.get_topic_names_and_types())
    assert topics["/ns/sent"] == [INT32]
    assert topics["/received"] == [INT32]
    services = dict(observer.get_service_names_and_types())
    assert services["/ns/offered"] == [ADD]
    assert not [name for name in topics if name.endswith(("Request", "Reply"))]


@pytest.mark.usefixtures("busy")
def test_topics_and_services_of_one_node(observer):
    assert ("/ns/sent", [INT32]) in observer.get_publisher_names_and_types_by_node("busy", "/ns")
    assert ("/received", [INT32]) in observer.get_subscriber_names_and_types_by_node("busy", "/ns")
    assert ("/ns/offered", [ADD]) in observer.get_service_names_and_types_by_node("busy", "/ns")
    assert ("/ns/wanted", [ADD]) in observer.get_client_names_and_types_by_node("busy", "/ns")
    assert "/ns/sent" not in dict(observer.get_publisher_names_and_types_by_node("observer", "/eyes"))
    assert "/ns/wanted" not in dict(observer.get_service_names_and_types_by_node("busy", "/ns"))


def test_a_topic_of_two_types_has_both(ros, observer):
    node = ros.node()
    node.create_publisher(Int32, "/mixed", 1)
    node.create_publisher(String, "/mixed", 1)
    ros.spin_until(lambda: observer.count_publishers("/mixed") == 2, "both publishers")
    assert sorted(dict(observer.get_topic_names_and_types())["/mixed"]) == [INT32, "std_msgs/msg/String"]


def test_an_unknown_node_is_an_error(observer):
    for query in (
        observer.get_publisher_names_and_types_by_node,
        observer.get_subscriber_names_and_types_by_node,
        observer.get_service_names_and_types_by_node,
        observer.get_client_names_and_types_by_node,
    ):
        with pytest.raises(RuntimeError):
            query("nobody", "/nowhere")


def test_counts_follow_what_is_made_and_destroyed(ros, observer):
    node = ros.node()
    made = [node.create_publisher(Int32, "/counted", 1) for _ in range(3)]
    ros.spin_until(lambda: observer.count_publishers("/counted") == 3, "3 publishers")
    assert observer.count_subscribers("/counted") == 0
    node.destroy_publisher(made[0])
    ros.spin_until(lambda: observer.count_publishers("/counted") == 2, "2 publishers")
    subscription = node.create_subscription(Int32, "/counted", print, 1)
    ros.spin_until(lambda: observer.count_subscribers("/counted") == 1, "a subscription")
    node.destroy_subscription(subscription)
    ros.spin_until(lambda: observer.count_subscribers("/counted") == 0, "no subscription")


def test_counted_names_are_relative_to_the_node(ros, observer):
    observer.create_publisher(Int32, "mine", 1)
    ros.spin_until(lambda: observer.count_publishers("mine") == 1, "the relative name")
    assert observer.count_publishers("/eyes/mine") == 1
    assert observer.count_publishers("/mine") == 0


@pytest.mark.parametrize("name", ["42", "a b", "a?"])
def test_counting_a_bad_name_is_an_error(observer, name):
    for count in (
        observer.count_publishers,
        observer.count_subscribers,
        observer.count_services,
        observer.count_clients,
    ):
        with pytest.raises(ValueError, match=r"(?i)invalid"):
            count(name)


def test_counting_something_else_is_a_type_error(observer):
    with pytest.raises(TypeError):
        observer.count_publishers(1)


def test_counts_of_services_and_clients(ros, observer):
    node = ros.node()
    service = node.create_service(AddTwoInts, "/add", lambda request, response: response)
    client = node.create_client(AddTwoInts, "/add")
    ros.spin_until(lambda: observer.count_services("/add") == observer.count_clients("/add") == 1, "both ends")
    node.destroy_client(client)
    node.destroy_service(service)
    ros.spin_until(lambda: observer.count_services("/add") == observer.count_clients("/add") == 0, "none")


def test_endpoint_info(ros, observer):
    node = ros.node("talker", namespace="/ns")
    profile = QoSProfile(
        depth=7,
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
        deadline=Duration(seconds=1, nanoseconds=12345),
        lifespan=Duration(seconds=20, nanoseconds=9887665),
        liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
        liveliness_lease_duration=Duration(seconds=5, nanoseconds=23456),
    )
    node.create_publisher(Int32, "/topic", profile)
    ros.spin_until(lambda: observer.get_publishers_info_by_topic("/topic"), "the publisher")
    (info,) = observer.get_publishers_info_by_topic("/topic")
    assert (info.node_name, info.node_namespace, info.topic_type) == ("talker", "/ns", INT32)
    assert info.endpoint_type == TopicEndpointTypeEnum.PUBLISHER
    assert any(info.endpoint_gid)
    assert str(info.topic_type_hash).startswith("RIHS01_")
    found = info.qos_profile
    assert found.reliability == profile.reliability
    assert found.durability == profile.durability
    assert found.deadline == profile.deadline
    assert found.lifespan == profile.lifespan
    assert found.liveliness == profile.liveliness
    assert found.liveliness_lease_duration == profile.liveliness_lease_duration
    assert observer.get_subscriptions_info_by_topic("/topic") == []


def test_endpoint_info_of_subscriptions(ros, observer):
    for name in ("one", "two"):
        ros.node(name).create_subscription(Int32, "/topic", print, 10)
    ros.spin_until(lambda: len(observer.get_subscriptions_info_by_topic("/topic")) == 2, "both subscriptions")
    infos = observer.get_subscriptions_info_by_topic("/topic")
    assert {info.node_name for info in infos} == {"one", "two"}
    assert {info.endpoint_type for info in infos} == {TopicEndpointTypeEnum.SUBSCRIPTION}
    assert len({bytes(info.endpoint_gid) for info in infos}) == 2
    assert infos[0].qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert infos[0].qos_profile.durability == DurabilityPolicy.VOLATILE


def test_info_about_a_bad_name_is_an_error(observer):
    with pytest.raises(ValueError, match=r"(?i)invalid"):
        observer.get_publishers_info_by_topic("13")
    with pytest.raises(TypeError):
        observer.get_subscriptions_info_by_topic(1)


def test_a_node_that_is_destroyed_leaves_the_graph(ros, observer):
    node = ros.node("leaving")
    node.create_publisher(Int32, "/left", 1)
    ros.spin_until(lambda: "leaving" in observer.get_node_names(), "the node")
    ros.executor.remove_node(node)
    node.destroy_node()
    ros.spin_until(lambda: "leaving" not in observer.get_node_names(), "the node to be gone")
    ros.spin_until(lambda: observer.count_publishers("/left") == 0, "its publisher to be gone")


def test_wait_for_node(ros, observer):
    timer = threading.Timer(0.2, ros.node, args=["awaited"])
    timer.start()
    assert observer.wait_for_node("/awaited", DEADLINE)
    timer.join(DEADLINE)
    assert observer.wait_for_node("awaited", DEADLINE)
    assert not observer.wait_for_node("/nobody", 0.1)


def test_a_node_in_another_process(ros, observer, peer):
    server = peer("server.py", "0")
    ros.spin_until(lambda: "server" in observer.get_node_names(), "the other process's node")
    ros.spin_until(lambda: observer.count_services("/add") == 1, "its service")
    assert ("/add", [ADD]) in observer.get_service_names_and_types_by_node("server", "/")
    server.kill()
    ros.spin_until(lambda: "server" not in observer.get_node_names(), "the killed process's node to be gone", LEASE)
    ros.spin_until(lambda: observer.count_services("/add") == 0, "its service to be gone", LEASE)
