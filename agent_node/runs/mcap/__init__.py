"""Runs as MCAP bags: messages without a ROS 2 install, the file's writer and its reader."""

RUN_FILE = "run.mcap"
"""Name of the recording in the folder of a run."""
