"""A narrator whose steps are heard by a test."""

from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.events import Event, Listener


class Hearing(Narrator):
    """Hands each event on."""

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self._listener = listener

    def hear(self, event: Event) -> None:
        self._listener(event)
