"""What is wrong with a message."""


class BadMessage(ValueError):
    """What is wrong with a message, in one sentence."""
