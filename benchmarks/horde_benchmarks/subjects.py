"""What `horde-front bench` runs, in this order: each a function named for what it measures."""

from collections.abc import Callable, Iterable, Mapping

from horde_benchmarks import (
    calls,
    connections,
    exchange,
    memory,
    polling,
    relaying,
    request_translation,
    requests,
    sse_encoding,
    start_up,
    streams,
    worker_processes,
    world,
)
from horde_benchmarks.figures import Figure

Subject = Callable[[], Iterable[Figure]]

SUBJECTS: Mapping[str, Subject] = {
    subject.__name__: subject
    for subject in (
        request_translation.request_translation,
        sse_encoding.sse_encoding,
        exchange.exchange,
        world.world,
        calls.calls,
        relaying.relaying,
        polling.polling,
        requests.short_requests,
        streams.paced_streams,
        streams.open_streams,
        streams.throughput,
        worker_processes.worker_processes,
        memory.memory,
        start_up.start_up,
        connections.many_connections,
        connections.stalled_reader,
    )
}
