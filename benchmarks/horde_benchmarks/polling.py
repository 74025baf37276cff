"""What one status read costs, however many are in flight.

    python -m horde_benchmarks.polling

The baseline is h11 over a trio socket by hand: a kept connection, no pool, no timeouts.
"""

from collections.abc import Awaitable, Callable, Iterator
from time import process_time

import h11
import trio

from horde_adapters.horde import Caller, HordeClient
from horde_benchmarks import server_process
from horde_benchmarks.figures import Figure, of_samples

ROUNDS = 5
READS = 1500
REQUEST_ID = "00000000-0000-4000-8000-000000000000"
TARGET = f"/api/v2/generate/chat/status/{REQUEST_ID}?content_from=0&reasoning_from=0"

Reader = Callable[[], Awaitable[None]]


async def _in_flight(connect: Callable[[], Awaitable[Reader]], readers: int, reads: int) -> float:
    """Microseconds of CPU a read, by so many tasks at once."""
    each = max(2, reads // readers)
    opened = [await connect() for _ in range(readers)]

    async def read_all(read: Reader) -> None:
        for _ in range(each):
            await read()

    async def all_at_once() -> None:
        async with trio.open_nursery() as nursery:
            for read in opened:
                nursery.start_soon(read_all, read)

    await all_at_once()  # connections are made, caches are warm
    began = process_time()
    await all_at_once()
    return (process_time() - began) / (each * readers) * 1e6


def h11_by_hand(port: int, readers: int, reads: int = READS) -> float:
    """The baseline."""
    headers = [("host", "127.0.0.1"), ("apikey", "0000000000"), ("accept", "application/json")]

    opened: list[trio.SocketStream] = []

    async def connect() -> Reader:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        opened.append(stream)
        connection = h11.Connection(h11.CLIENT)

        async def read() -> None:
            request = h11.Request(method="GET", target=TARGET, headers=headers)
            await stream.send_all(connection.send(request) + connection.send(h11.EndOfMessage()))
            body = b""
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await stream.receive_some(65536))
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    break
            connection.start_next_cycle()

        return read

    async def main() -> float:
        spent = await _in_flight(connect, readers, reads)
        for stream in opened:
            await stream.aclose()
        return spent

    return trio.run(main)


def horde_client(port: int, readers: int, reads: int = READS) -> float:
    """The front's own client."""

    async def main() -> float:
        client = HordeClient(f"http://127.0.0.1:{port}", agent="bench:1:none")
        caller = Caller("0000000000", "bench:1:none")

        async def read() -> None:
            answer = await client.status(REQUEST_ID, "content_from=0&reasoning_from=0", caller)
            assert answer.status == 200

        async def connect() -> Reader:
            return read

        spent = await _in_flight(connect, readers, reads)
        await client.aclose()
        return spent

    return trio.run(main)


def polling() -> Iterator[Figure]:
    """Targets 8 and 9."""
    counts = (1, 50, 500)
    by_hand: dict[int, list[float]] = {count: [] for count in counts}
    ours: dict[int, list[float]] = {count: [] for count in counts}
    script = ("--seconds", "1e9", "--characters", "0")
    with server_process.running(
        "horde_benchmarks.scripted_horde", *script, core=server_process.CLIENT_CORE
    ) as horde:
        for _ in range(ROUNDS):
            for count in counts:
                by_hand[count].append(h11_by_hand(horde.port, count))
                ours[count].append(horde_client(horde.port, count))
    for count in counts:
        yield of_samples(f"h11 by hand, {count} in flight", by_hand[count], "µs")
        yield of_samples(f"the front's client, {count} in flight", ours[count], "µs")
    ratios = [ours / hand for ours, hand in zip(ours[50], by_hand[50], strict=True)]
    yield of_samples("a poll ÷ h11 by hand, 50 in flight", ratios, "×", goal=3.0, target=8)
    growth = [many / some for many, some in zip(ours[500], ours[50], strict=True)]
    yield of_samples("a poll at 500 in flight ÷ at 50", growth, "×", goal=1.3, target=9)


if __name__ == "__main__":
    for figure in polling():
        print(figure.line())
