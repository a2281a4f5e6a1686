"""Constants of time."""

S_TO_NS = 1000 * 1000 * 1000
"""Nanoseconds in a second."""
