"""`node list` and `node info`, as ros2 prints them."""

from __future__ import annotations

from typing import Any

NODE_SERVICES = [
    "describe_parameters: rcl_interfaces/srv/DescribeParameters",
    "get_parameter_types: rcl_interfaces/srv/GetParameterTypes",
    "get_parameters: rcl_interfaces/srv/GetParameters",
    "get_type_description: type_description_interfaces/srv/GetTypeDescription",
    "list_parameters: rcl_interfaces/srv/ListParameters",
    "set_parameters: rcl_interfaces/srv/SetParameters",
    "set_parameters_atomically: rcl_interfaces/srv/SetParametersAtomically",
]


def test_nodes_are_listed_by_full_name_without_hidden_ones(ros: Any) -> None:
    outcome = ros("node", "list")
    assert outcome.status == 0
    assert outcome.lines == ["/robot/talker", "/twin", "/twin"]
    assert "WARNING: Be aware that there are nodes in the graph that share an exact name" in outcome.err


def test_hidden_nodes_are_listed_where_asked_for_and_one_of_them_is_the_command(ros: Any) -> None:
    lines = ros("node", "list", "-a").lines
    assert "/_hidden" in lines
    assert [line for line in lines if line.startswith("/_ros2cli_")]


def test_nodes_are_counted(ros: Any) -> None:
    assert ros("node", "list", "-c").out == "3\n"


def test_a_node_is_described_by_its_topics_services_and_actions(ros: Any) -> None:
    outcome = ros("node", "info", "/robot/talker")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.lines == [
        "/robot/talker",
        "  Subscribers:",
        "    /robot/orders: std_msgs/msg/String",
        "  Publishers:",
        "    /parameter_events: rcl_interfaces/msg/ParameterEvent",
        "    /robot/chatter: std_msgs/msg/String",
        "    /robot/description: std_msgs/msg/String",
        "    /robot/joints: sensor_msgs/msg/JointState",
        "    /robot/mixed: std_msgs/msg/String",
        "    /robot/picture: sensor_msgs/msg/Image",
        "    /rosout: rcl_interfaces/msg/Log",
        "  Service Servers:",
        "    /robot/add: example_interfaces/srv/AddTwoInts",
        *(f"    /robot/talker/{service}" for service in NODE_SERVICES),
        "  Service Clients:",
        "",
        "  Action Servers:",
        "    /robot/fibonacci: example_interfaces/action/Fibonacci",
        "  Action Clients:",
        "    /robot/elsewhere: example_interfaces/action/Fibonacci",
    ]


def test_hidden_topics_and_services_of_a_node_are_shown_where_asked_for(ros: Any) -> None:
    lines = ros("node", "info", "robot/talker", "--include-hidden").lines
    assert "    /robot/_secret: std_msgs/msg/String" in lines
    assert "    /robot/_inner: std_srvs/srv/Trigger" in lines
    assert "    /robot/fibonacci/_action/send_goal: example_interfaces/action/Fibonacci_SendGoal" in lines
    assert "    /robot/fibonacci/_action/status: action_msgs/msg/GoalStatusArray" in lines


def test_two_nodes_of_one_name_give_a_warning(ros: Any) -> None:
    outcome = ros("node", "info", "/twin")
    assert outcome.lines[0] == "/twin"
    assert 'There are 2 nodes in the graph with the exact name "/twin".' in outcome.err


def test_an_unknown_node_is_answered_with_those_that_there_are(ros: Any) -> None:
    outcome = ros("node", "info", "/robot/taker")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "Unable to find node '/robot/taker'; the nodes are /robot/talker, /twin.\n"
