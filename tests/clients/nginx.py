"""nginx as a reverse proxy before the front, with its default buffering, on a free port."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clients.dev_server import LONGEST, wait_for

_CONFIGURATION = """\
daemon off;
pid {home}/nginx.pid;
error_log {home}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {upstream};
        }}
    }}
}}
"""


@contextmanager
def proxying(nginx: str, upstream: str, home: Path) -> Iterator[str]:
    """The URL of an nginx before `upstream`, while the block lasts."""
    port = _free_port()
    configuration = home / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(home=home, port=port, upstream=upstream))
    with subprocess.Popen(
        [nginx, "-p", home, "-e", home / "error.log", "-c", configuration],
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            wait_for(lambda: process.poll() is not None or _answers(port))
            assert process.poll() is None, (home / "error.log").read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(LONGEST)


def _free_port() -> int:
    # nginx can't be asked which port it took, so one that was free an instant ago is named.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
