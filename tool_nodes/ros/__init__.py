"""The tools' side of ROS 2: conversions, calls with deadlines, cameras on topics, tools in other processes."""
