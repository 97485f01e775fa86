"""The few requests that a starting control plane is asked, without a client library or a process for each."""

import contextlib
import http.client
import json
import pathlib
import ssl
from typing import Any

TIMEOUT_SECONDS = 30.0


class RestError(Exception):
    """The API server refused a request."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path} answered {status}: {body[:500]}")
        self.status = status


class Rest:
    """One user's requests to one server."""

    def __init__(self, host: str, port: int, *, ca: pathlib.Path | None = None, token: str = "") -> None:
        self._host = host
        self._port = port
        self._context = ssl.create_default_context(cafile=str(ca)) if ca else None
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ready(self, path: str) -> bool:
        """Whether a health check answers 200; a server that is not there yet is not ready."""
        try:
            return self._send("GET", path, None)[0] == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False

    def request(self, method: str, path: str, body: object = None) -> Any:
        """The decoded answer; raises RestError when it is not a success."""
        status, text = self._send(method, path, body)
        if not 200 <= status < 300:
            raise RestError(method, path, status, text)
        return json.loads(text) if text else None

    def _send(self, method: str, path: str, body: object) -> tuple[int, str]:
        with contextlib.closing(self._connect()) as connection:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {**self._headers, "Content-Type": "application/json"})
            with connection.getresponse() as response:
                return response.status, response.read().decode()

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_SECONDS)
        return http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_SECONDS, context=self._context)
