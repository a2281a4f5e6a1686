"""ROS 2 interfaces on machines without ROS 2: message classes, type hashes and CDR."""
