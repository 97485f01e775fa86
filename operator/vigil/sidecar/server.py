"""The sidecar on a socket, in the event loop of whoever starts it."""

import asyncio
import contextlib
import pathlib
import signal
import socket
import stat
from collections.abc import AsyncGenerator, Generator
from typing import Final

import fastapi
import uvicorn

from vigil.sidecar import service

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
CLOSE_SECONDS: Final = 10
"""How long requests may take to end when the server stops; long polls are answered at once."""


class ListenError(Exception):
    """The address cannot be listened on; the message names it and says why."""


class Server(uvicorn.Server):
    """uvicorn, with long polls that end when it stops, and signals only where the process is its own."""

    def __init__(self, config: uvicorn.Config, sidecar: service.Service, *, signals: bool) -> None:
        super().__init__(config)
        self._sidecar = sidecar
        self._signals = signals

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what waits, then close."""
        self._sidecar.drain()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on SIGTERM and SIGINT, unless the process is somebody else's.

        uvicorn raises the signal again when it has stopped, which would end the process before the rest of it could.
        """
        loop, numbers = asyncio.get_running_loop(), SIGNALS if self._signals else ()
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def make(app: fastapi.FastAPI, sidecar: service.Service, *, signals: bool) -> Server:
    """A server of this application, to be run with `serve(sockets=[…])`; `should_exit` ends it."""
    config = uvicorn.Config(
        app,
        loop="none",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSE_SECONDS,
    )
    return Server(config, sidecar, signals=signals)


@contextlib.asynccontextmanager
async def serving(app: fastapi.FastAPI, sidecar: service.Service, listening: socket.socket) -> AsyncGenerator[None]:
    """Serve beside other work until the context ends; the service has to be running.

    Raises what ended the server early.
    """
    server = make(app, sidecar, signals=False)
    task = asyncio.create_task(server.serve(sockets=[listening]), name="sidecar-server")
    try:
        yield
    finally:
        server.should_exit = True
        await task


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises ListenError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise ListenError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error


def listen_unix(path: pathlib.Path) -> socket.socket:
    """A listening socket at a path, for its owner alone; one that a crash left there gives way. Raises ListenError."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
            path.unlink()
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise ListenError(f"cannot listen on {path}: {error.strerror or error}") from error
    return listening
