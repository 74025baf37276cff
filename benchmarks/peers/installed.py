"""The peers: how each is started, and what it is asked."""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import attrs
import orjson

from horde_benchmarks import bare, load, server_process
from horde_benchmarks.server_process import SERVER_CORE, Server

HERE = Path(__file__).parent
UPSTREAM = 8301
"""The port on which relays find their OpenAI server."""
KEY = "sk-0123456789abcdef0123456789abcdef"
CHAT = orjson.dumps(
    {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Go on. " * 40}]}
)


@attrs.frozen
class Peer:
    """A front: how it starts, and the requests for one event, for paced ones, for a held one."""

    name: str
    short: bytes
    paced: bytes
    held: bytes
    command: Sequence[str]
    port: int
    environment: Mapping[str, str] = attrs.field(factory=dict)
    settle: float = 2.0
    """Seconds from its listening until it is measured."""
    relays: bool = True
    """It asks the upstream; others make their events."""

    def start(self) -> AbstractContextManager[Server]:
        """Runs it on its own port."""
        return _running(self)


@contextmanager
def _running(peer: Peer) -> Iterator[Server]:
    process = subprocess.Popen(
        peer.command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **peer.environment},
        preexec_fn=server_process.pin(SERVER_CORE),
    )
    try:
        give_up = monotonic() + 120
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", peer.port), 1):
                break
            if process.poll() is not None or monotonic() > give_up:
                raise server_process.CannotMeasure(f"{peer.name} didn't start")
            sleep(0.1)
        sleep(peer.settle)
        yield Server(process.pid, peer.port)
    finally:
        server_process.stop(process)


def installed(folder: Path, events: int, gap: float) -> list[Peer]:
    """Those that are in the folder; their paced streams have so many events, `gap` s apart."""
    generator = load.get("/burst/1"), load.get(f"/paced/{events}/{round(gap * 1000)}")
    known = {
        folder / "bin/uvicorn": _uvicorn(folder, *generator),
        folder / "bin/litellm": _litellm(folder),
        folder / "portkey/node_modules/@portkey-ai/gateway/build/start-server.js": _portkey(folder),
        folder / "bin/sglang-router": _sglang(folder),
    }
    return [peer for program, peer in known.items() if program.exists()]


def _uvicorn(folder: Path, short: bytes, paced: bytes) -> Peer:
    event = bare.EVENT.decode().strip()
    script = str(HERE / "uvicorn_generator.py")
    command = [str(folder / "bin/python"), script, "--port", "4002", "--event", event]
    held = load.get("/hold")
    return Peer("uvicorn generator", short, paced, held, command, 4002, relays=False)


def _litellm(folder: Path) -> Peer:
    request = load.post("/v1/chat/completions", CHAT, f"authorization: Bearer {KEY}")
    options = ["--config", str(HERE / "litellm.yaml"), "--port", "4000", "--num_workers", "1"]
    command = [str(folder / "bin/litellm"), *options, "--host", "127.0.0.1"]
    environment = {
        "LITELLM_MASTER_KEY": KEY,
        "LITELLM_LOG": "ERROR",
        "LITELLM_MODE": "PRODUCTION",
        # Streams of one chunk over and over are aborted otherwise.
        "REPEATED_STREAMING_CHUNK_LIMIT": "100000000",
    }
    return Peer("LiteLLM proxy", request, request, request, command, 4000, environment, 5.0)


def _portkey(folder: Path) -> Peer:
    headers = (
        "x-portkey-provider: openai",
        f"x-portkey-custom-host: http://127.0.0.1:{UPSTREAM}/v1",
        "authorization: Bearer x",
    )
    request = load.post("/v1/chat/completions", CHAT, *headers)
    script = folder / "portkey/node_modules/@portkey-ai/gateway/build/start-server.js"
    command = ["node", str(script), "--port=8787", "--headless"]
    return Peer("Portkey gateway", request, request, request, command, 8787)


def _sglang(folder: Path) -> Peer:
    request = load.post("/v1/chat/completions", CHAT)
    options = ["--host", "127.0.0.1", "--port", "4001", "--prometheus-port", "4003"]
    # It starts before its upstream does, and the upstream changes while it runs.
    checks = ["--disable-health-check", "--disable-retries", "--disable-circuit-breaker"]
    command = [
        *(str(folder / "bin/python"), "-m", "sglang_router.launch_router"),
        *("--worker-urls", f"http://127.0.0.1:{UPSTREAM}", "--policy", "round_robin"),
        *options,
        *checks,
        *("--log-level", "error"),
    ]
    return Peer("SGLang gateway", request, request, request, command, 4001, settle=5.0)
