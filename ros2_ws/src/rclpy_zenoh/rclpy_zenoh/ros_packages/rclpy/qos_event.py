"""The old name of `rclpy.event_handler`."""

from rclpy.event_handler import PublisherEventCallbacks as PublisherEventCallbacks
from rclpy.event_handler import SubscriptionEventCallbacks as SubscriptionEventCallbacks
