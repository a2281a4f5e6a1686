"""What an operator and the robot say to each other over several commands: see docs/architecture.md."""
