"""Operator, sidecar and sessions as real processes, and what a test asks of them."""

import json
import os
import pathlib
import secrets
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.controlplane import plane, processes, rest
from tests.e2e import proxy

VIGIL = (sys.executable, "-m", "vigil")
READY_SECONDS = 40.0
_QUICK = {
    "VIGIL_TIMER_INTERVAL": "2s",
    "VIGIL_LOG_LEVEL": "INFO",
    "VIGIL_LOG_FORMAT": "console",
}

AGENT = """
import json, os, sys, time
text = sys.stdin.read()
evidence = os.environ["VIGIL_EVIDENCE"]
entry = {
    "wake": os.environ["VIGIL_WAKE_ID"],
    "watch": os.environ["VIGIL_WATCH"],
    "reason": os.environ["VIGIL_REASON"],
    "evidence": evidence,
    "mode": oct(os.stat(evidence).st_mode & 0o777),
    "text": text,
}
with open(sys.argv[1], "a") as log:
    log.write(json.dumps(entry) + "\\n")
while os.path.exists(sys.argv[1] + ".hold"):
    time.sleep(0.05)
print(json.dumps({"tokens": 10, "dispositions": []}))
"""


class Stack:
    """One operator, one sidecar and their sessions, in a folder of their own.

    The operator asks the sidecar through `delivery`, sessions and tests ask it directly.
    """

    def __init__(self, control_plane: plane.ControlPlane, kubeconfig: pathlib.Path, folder: pathlib.Path) -> None:
        self.control_plane = control_plane
        self.folder = folder
        self.kubeconfig = kubeconfig
        self.sidecar_port, self.metrics_port = free_port(), free_port()
        self.delivery = proxy.Proxy(f"http://127.0.0.1:{self.sidecar_port}")
        self.delivery.start()
        self.token = folder / "token"
        self.token.write_text(secrets.token_urlsafe(32))
        (folder / "agent.py").write_text(AGENT)
        (folder / "logs").mkdir()
        self._group = processes.Group(folder / "logs")
        self._count = 0
        self._sessions: dict[str, processes.Process] = {}
        self.operator: processes.Process | None = None
        self.sidecar: processes.Process | None = None

    @property
    def sidecar_url(self) -> str:
        """Where the sidecar listens."""
        return f"http://127.0.0.1:{self.sidecar_port}"

    def start_sidecar(self, **environment: str) -> None:
        """Start the sidecar over the same data, and wait until it is ready."""
        own = {
            "VIGIL_LISTEN_ADDRESS": f"127.0.0.1:{self.sidecar_port}",
            "VIGIL_DATA_DIR": str(self.folder / "data"),
            "VIGIL_TOKEN_FILE": str(self.token),
            "VIGIL_TURN_PAUSE": "100ms",
        }
        self.sidecar = self._start("sidecar", ["sidecar"], own | environment)
        self._ready(self.sidecar, f"{self.sidecar_url}/readyz")

    def start_operator(self, launcher: tuple[str, ...] = VIGIL, **environment: str) -> None:
        """Start the operator, and wait until kopf watches."""
        self.operator = self.launch_operator(launcher, **environment)
        self._ready(self.operator, f"http://127.0.0.1:{self.metrics_port}/readyz")

    def launch_operator(self, launcher: tuple[str, ...] = VIGIL, **environment: str) -> processes.Process:
        """Start the operator, and wait for nothing."""
        own = {
            "VIGIL_KUBECONFIG": str(self.kubeconfig),
            "VIGIL_SIDECAR_URL": self.delivery.url,
            "VIGIL_SIDECAR_TOKEN_FILE": str(self.token),
            "VIGIL_METRICS_ADDRESS": f"127.0.0.1:{self.metrics_port}",
        }
        return self._start("operator", ["operator"], own | _QUICK | environment, launcher)

    def start_session(self, namespace: str, name: str = "supervisor") -> pathlib.Path:
        """Attach a session whose agent notes each of its turns; gives the log of turns.

        A turn is under way as long as there is a file of the log's name with `.hold` at its end.
        """
        log = self.folder / f"turns-{namespace}-{name}.jsonl"
        command = ["attach", name, "--namespace", namespace, "--url", self.sidecar_url, "--token-file", str(self.token)]
        agent = [sys.executable, str(self.folder / "agent.py"), str(log)]
        self._sessions[namespace] = self._start("session", [*command, "--", *agent], {})
        return log

    def end_session(self, namespace: str) -> None:
        """End the session of a namespace, if it has one."""
        if (session := self._sessions.pop(namespace, None)) is not None:
            session.stop()

    def stop(self) -> None:
        """End everything."""
        self._group.stop()
        self.delivery.stop()

    def kill_operator(self) -> None:
        """End the operator without a warning, as a crash does."""
        _kill(self.operator)
        self.operator = None

    def kill_sidecar(self) -> None:
        """End the sidecar without a warning, as a crash does."""
        _kill(self.sidecar)
        self.sidecar = None

    def ensure(self) -> None:
        """Start what an earlier test of the same stack left dead."""
        if self.sidecar is None or not self.sidecar.running():
            self.start_sidecar()
        if self.operator is None or not self.operator.running():
            self.start_operator()

    def ask_sidecar(self, path: str) -> Any:
        """What the sidecar answers to a GET, None for 404."""
        headers = {"Authorization": f"Bearer {self.token.read_text()}"}
        request = urllib.request.Request(f"{self.sidecar_url}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                return None
            raise

    def wake_state(self, wake: str) -> str | None:
        """The state of a wake as the sidecar has it, None when it does not know it."""
        shown = self.ask_sidecar(f"/v1/wakes/{wake}")
        return None if shown is None else str(shown["state"])

    def metrics(self) -> str:
        """What Prometheus would read from the operator."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    def tail(self) -> str:
        """The ends of all logs, for a failure's message."""
        logs = sorted((self.folder / "logs").glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()[-3000:]}" for log in logs)

    def measured(self, name: str) -> float:
        """The sum of all series of one metric of the operator."""
        lines = [line for line in self.metrics().splitlines() if line.startswith((f"{name} ", f"{name}{{"))]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def apply(self, namespace: str, *manifests: dict[str, Any]) -> None:
        """kubectl apply."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.control_plane.kubectl("apply", "--namespace", namespace, "--filename", "-", input=json.dumps(items))

    def watch(self, namespace: str, name: str) -> dict[str, Any]:
        """A Watch as the API server has it."""
        found = self.control_plane.api("GET", f"/apis/vigil.dev/v1alpha1/namespaces/{namespace}/watches/{name}")
        assert isinstance(found, dict)
        return found

    def gone(self, namespace: str, name: str) -> bool:
        """Whether the API server has no such Watch any more."""
        try:
            self.watch(namespace, name)
        except rest.RestError as error:
            return error.status == 404
        return False

    def condition(self, namespace: str, name: str, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of one condition of a Watch; empty texts where there is none yet."""
        conditions = self.watch(namespace, name).get("status", {}).get("conditions", ())
        found = [(one["status"], one["reason"], one.get("message", "")) for one in conditions if one["type"] == kind]
        return found[0] if found else ("", "", "")

    def wakes(self, namespace: str, name: str) -> list[dict[str, Any]]:
        """The last wakes of a Watch, as its status shows them."""
        found: list[dict[str, Any]] = self.watch(namespace, name).get("status", {}).get("wakes", [])
        return found

    def poke(self, namespace: str, name: str) -> None:
        """Bring the next read of a Watch forward."""
        value = f"vigil.dev/poke={time.monotonic()}"
        self.control_plane.kubectl("annotate", "--overwrite", f"watch/{name}", value, "--namespace", namespace)

    def settle(self, through: proxy.Proxy, namespace: str, name: str, reads: int = 2) -> None:
        """Let a Watch be read so many times more: what it wanted to do again, it has done by then."""
        for _ in range(reads):
            since = time.monotonic()
            self.poke(namespace, name)
            self.wait_for_read(through, namespace, since)
        time.sleep(0.5)

    def wait_for_read(self, through: proxy.Proxy, namespace: str, since: float) -> None:
        """Wait until the workloads of a namespace were listed since a time of the monotonic clock."""
        self.wait(f"{namespace} is read", lambda: bool(through.lists(namespace, since)))

    def wait(self, what: str, reached: Callable[[], bool], seconds: float = 40.0) -> None:
        """Wait for something that the processes bring about."""
        deadline = time.monotonic() + seconds
        while not reached():
            if self.operator is not None and not self.operator.running():
                raise AssertionError(f"{what}: the operator ended\n{self.tail()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds:.0f} s\n{self.tail()}")
            time.sleep(0.1)

    def hurry_to_phase(self, namespace: str, name: str, phase: str, seconds: float = 60.0) -> dict[str, Any]:
        """Have a Watch read again and again until it has a phase."""
        deadline = time.monotonic() + seconds
        while self.watch(namespace, name).get("status", {}).get("phase") != phase:
            assert time.monotonic() < deadline, f"{name} is not {phase}:\n{self.tail()}"
            self.poke(namespace, name)
            time.sleep(0.5)
        return self.watch(namespace, name)

    def wait_for_phase(self, namespace: str, name: str, phase: str, seconds: float = 40.0) -> dict[str, Any]:
        """Wait until a Watch has a phase."""
        self.wait(
            f"{namespace}/{name} {phase}",
            lambda: self.watch(namespace, name).get("status", {}).get("phase") == phase,
            seconds,
        )
        return self.watch(namespace, name)

    def _start(
        self, name: str, arguments: list[str], environment: dict[str, str], launcher: tuple[str, ...] = VIGIL
    ) -> processes.Process:
        self._count += 1
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("VIGIL_", "KUBE"))}
        return self._group.start(f"{self._count:02d}-{name}", [*launcher, *arguments], kept | environment)

    def _ready(self, process: processes.Process, url: str) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while not answers(url):
            assert process.running(), f"{process.name} ended:\n{process.tail()}"
            assert time.monotonic() < deadline, f"{process.name} is not ready:\n{process.tail()}"
            time.sleep(0.1)


def _kill(process: processes.Process | None) -> None:
    assert process is not None
    process.popen.kill()
    process.popen.wait(10)


def turns(log: pathlib.Path) -> list[dict[str, Any]]:
    """The turns that a session took, in their order: the only witness of an effect."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def answers(url: str) -> bool:
    """Whether a URL answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
