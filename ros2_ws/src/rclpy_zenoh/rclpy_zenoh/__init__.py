"""ROS 2 on machines without ROS 2: interfaces, rmw_zenoh's wire, and a client with rclpy's API (`overlay.install`)."""
