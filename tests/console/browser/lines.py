"""A bad line between browser and console: another loopback address that passes everything on, late, or not at all."""

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator, Sequence

FAR = "127.0.0.2"
"""Address at which browsers reach the console over the line; the console itself listens on 127.0.0.1."""
STALL_S = 1.0
"""What the loss of a piece costs [s]: TCP sends it again after about so long where a round trip takes 0.6 s, and what
comes behind it waits, too."""
_PIECE = 1448
"""Bytes that are passed on at a time: what a packet of Ethernet holds."""


class Line:
    """Passes on what comes to some ports of FAR.

    Args:
        ports: The ports, the same on both sides.
        delay_s: Everything takes so long [s], in each direction.
        loss: Share of the pieces that take longer by STALL_S.
    """

    def __init__(self, ports: Sequence[int], delay_s: float, loss: float) -> None:
        self._ports, self._delay_s, self._loss = ports, delay_s, loss
        self._random = random.Random(0)
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._is_cut = False
        self.pieces = self.lost = 0

    async def listen(self) -> None:
        """Begin."""
        for port in self._ports:
            await asyncio.start_server(lambda r, w, port=port: self._pass_on(r, w, port), FAR, port)

    def run(self, ready: threading.Event) -> None:
        """Pass on until `end`."""
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self.listen())
        ready.set()
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    def end(self) -> None:
        """Pass on nothing more."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def cut(self) -> None:
        """End all connections, and refuse further ones until `mend`."""
        self._is_cut = True
        self._loop.call_soon_threadsafe(lambda: [writer.transport.abort() for writer in tuple(self._open)])

    def mend(self) -> None:
        """Pass on again."""
        self._is_cut = False

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", port)
        self._open |= {writer, back}
        await asyncio.gather(self._way(reader, back), self._way(there, writer))
        self._open -= {writer, back}

    async def _way(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction: pieces are written in their order, each once its time has come."""
        due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            last_s = 0.0
            with contextlib.suppress(OSError):
                while piece := await reader.read(_PIECE):
                    lost = self._random.random() < self._loss
                    self.pieces, self.lost = self.pieces + 1, self.lost + lost
                    last_s = max(last_s, self._loop.time() + self._delay_s + STALL_S * lost)
                    due.put_nowait((last_s, piece))
            due.put_nowait((last_s, b""))

        reading = asyncio.create_task(read())
        with contextlib.suppress(OSError):
            while True:
                at_s, piece = await due.get()
                await asyncio.sleep(max(0.0, at_s - self._loop.time()))
                if not piece:
                    break
                writer.write(piece)
                await writer.drain()
        writer.close()
        reading.cancel()


@contextlib.contextmanager
def line(ports: Sequence[int], delay_s: float = 0.0, loss: float = 0.0) -> Iterator[Line]:
    """A line until the block ends."""
    made, ready = Line(ports, delay_s, loss), threading.Event()
    thread = threading.Thread(target=made.run, args=(ready,), daemon=True)
    thread.start()
    assert ready.wait(10.0)
    yield made
    made.cut()
    made.end()
    thread.join(10.0)
