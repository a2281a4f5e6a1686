"""Why there is no transform."""


class TransformException(Exception):
    """Base of all errors of tf2."""


class ConnectivityException(TransformException):
    """The frames are in different trees."""


class LookupException(TransformException):
    """A frame does not exist, or the tree has a loop."""


class ExtrapolationException(TransformException):
    """The time is outside of the known data."""


class InvalidArgumentException(TransformException):
    """A frame's name is empty or begins with a slash."""


class TimeoutException(TransformException):
    """It took too long."""
