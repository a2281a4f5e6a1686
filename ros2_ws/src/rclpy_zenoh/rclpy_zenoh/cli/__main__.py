"""`python -m rclpy_zenoh.cli topic list`."""

import sys

from rclpy_zenoh.cli.app import main

sys.exit(main(sys.argv[1:]))
