"""What is wrong with a message."""


class BadMessage(ValueError):
    """What is wrong with a message, in one sentence."""


class NotRegistered(BadMessage):
    """Depth that is not of the colour image's pixels."""
