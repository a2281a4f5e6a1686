"""Fixtures of the command line."""

from tests.toolhand.test_cli import cli as cli
