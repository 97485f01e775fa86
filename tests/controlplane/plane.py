"""A control plane on loopback: etcd, the API server, the controller manager, the scheduler and kwok's nodes."""

import base64
import contextlib
import json
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import tempfile
import types
from collections.abc import Callable, Sequence
from typing import Any, Self

from tests.controlplane import assets, certificates, components, processes, rest

START_SECONDS = 60.0
START_ATTEMPTS = 3
COMMAND_SECONDS = 120.0
# user: (name, group); a token rather than a client certificate, so that it also passes a proxy that ends TLS.
USERS = {
    "admin": ("kubernetes-admin", "system:masters"),
    "kwok": ("kwok", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
}


class CommandError(Exception):
    """kubectl or helm failed; its own words are in `stderr`."""

    def __init__(self, command: Sequence[str], code: int, stderr: str) -> None:
        super().__init__(f"`{' '.join(command)}` ended with exit code {code}: {stderr.strip()}")
        self.code = code
        self.stderr = stderr


class NotStartedError(Exception):
    """The control plane is not running."""


class ControlPlane:
    """One control plane, from `start()` to `stop()`; also a context manager.

    Without a folder it makes a temporary one and removes it at the end.
    """

    def __init__(
        self,
        parts: assets.Assets,
        folder: pathlib.Path | None = None,
        *,
        nodes: int = 3,
        api_server_arguments: Sequence[str] = (),
    ) -> None:
        self._parts = parts
        self._given_folder = folder
        self._node_count = nodes
        self._api_server_arguments = tuple(api_server_arguments)
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self._layout: components.Layout | None = None
        self._group: processes.Group | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and return when pods would run; raises ProcessError with the end of the guilty log."""
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                self._start_once()
            except processes.ProcessError as error:
                self.stop()
                # Another process can take a port between our choice of it and its use.
                if attempt == START_ATTEMPTS or "address already in use" not in str(error):
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """Stop what was started and drop the database; may be called twice."""
        layout, self._layout = self._layout, None
        group, self._group = self._group, None
        if group is not None:
            group.stop()
        if layout is not None:
            shutil.rmtree(layout.etcd_data if self._given_folder else layout.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """The API server's address."""
        return self._running.url

    @property
    def ca(self) -> pathlib.Path:
        """The certificate that verifies the API server."""
        return self._running.certificates.ca

    @property
    def loopback_certificate(self) -> tuple[pathlib.Path, pathlib.Path]:
        """A certificate for any loopback port and its key, trusted by every kubeconfig: for a proxy that ends TLS."""
        return self._running.certificates.serving_certificate, self._running.certificates.serving_key

    @property
    def folder(self) -> pathlib.Path:
        """Where the kubeconfigs and `logs/` are."""
        return self._running.folder

    @property
    def admin_token(self) -> str:
        """A bearer token that may do everything."""
        return self._tokens["admin"]

    @property
    def admin_kubeconfig(self) -> pathlib.Path:
        """A kubeconfig that may do everything."""
        return self._running.kubeconfig("admin")

    @property
    def started(self) -> tuple[processes.Process, ...]:
        """What is running, in the order of its start."""
        return self._group.processes if self._group else ()

    @property
    def pinned(self) -> bool:
        """Whether the API server is the pinned one, and not one that KUBEBUILDER_ASSETS gave."""
        return self._parts.pinned

    def kubectl(self, *arguments: str, input: str | None = None, kubeconfig: pathlib.Path | None = None) -> str:  # noqa: A002 - subprocess's word
        """The standard output of one kubectl command; raises CommandError."""
        return self._run("kubectl", arguments, input, kubeconfig)

    def helm(self, *arguments: str, input: str | None = None, kubeconfig: pathlib.Path | None = None) -> str:  # noqa: A002 - subprocess's word
        """The standard output of one helm command; raises CommandError."""
        return self._run("helm", arguments, input, kubeconfig)

    def api(self, method: str, path: str, body: object = None) -> Any:
        """One request as the admin, decoded; cheaper than kubectl in a loop. Raises RestError."""
        return self._rest().request(method, path, body)

    def wait_until(self, ready: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        """Wait for a condition; raises ProcessError when a process ends or the time is over."""
        group = self._group
        if group is None:
            raise NotStartedError(f"Waiting for {what}, but the control plane is not running.")
        group.wait_until(ready, what, seconds, self._process("kube-apiserver"))

    def kubeconfig(
        self, name: str, *, token: str | None = None, server: str | None = None, namespace: str = "default"
    ) -> pathlib.Path:
        """Write `<name>.kubeconfig`: the admin unless a token is given, to another server (a proxy) when one is."""
        return self._write_kubeconfig(name, token or self.admin_token, server or self.url, namespace)

    def service_account_token(self, namespace: str, name: str, audiences: Sequence[str] = ()) -> str:
        """A token of a ServiceAccount from the TokenRequest API, for the API server unless audiences are given."""
        wanted = [f"--audience={audience}" for audience in audiences]
        return self.kubectl("create", "token", name, f"--namespace={namespace}", "--duration=24h", *wanted).strip()

    def service_account_kubeconfig(
        self, namespace: str, name: str, audiences: Sequence[str] = (), server: str | None = None
    ) -> pathlib.Path:
        """A kubeconfig with exactly the rights of one ServiceAccount."""
        token = self.service_account_token(namespace, name, audiences)
        unique = f"{namespace}-{name}-{secrets.token_hex(4)}"
        return self.kubeconfig(unique, token=token, server=server, namespace=namespace)

    @property
    def _running(self) -> components.Layout:
        if self._layout is None:
            raise NotStartedError("The control plane is not running.")
        return self._layout

    def _start_once(self) -> None:
        folder = self._given_folder or pathlib.Path(tempfile.mkdtemp(prefix="control-plane-"))
        logs = folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        self._layout = components.Layout(self._parts, folder, free_ports(), certificates.create(folder / "pki"))
        self._group = processes.Group(logs)
        self._write_users()
        self._start_etcd()
        self._start_api_server()
        self._start_the_rest()
        self._add_nodes()
        self._wait_for_work()

    def _write_users(self) -> None:
        lines = [f'{self._tokens[user]},{name},{user},"{group}"' for user, (name, group) in USERS.items()]
        tokens = self._running.tokens
        tokens.touch(mode=0o600)
        tokens.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for user, token in self._tokens.items():
            self._write_kubeconfig(user, token, self.url, "default")

    def _start_etcd(self) -> None:
        self._launch("etcd", components.etcd(self._running))
        etcd = rest.Rest(components.HOST, self._running.ports.etcd)
        self._wait("etcd", lambda: etcd.ready("/health"), "etcd was not healthy")

    def _start_api_server(self) -> None:
        self._launch("kube-apiserver", components.api_server(self._running, self._api_server_arguments))
        self._wait("kube-apiserver", lambda: self._rest().ready("/readyz"), "the API server was not ready")

    def _start_the_rest(self) -> None:
        layout = self._running
        self._launch("kube-controller-manager", components.controller_manager(layout))
        self._launch("kube-scheduler", components.scheduler(layout))
        self._launch("kwok", components.kwok(layout))

    def _add_nodes(self) -> None:
        for manifest in self._parts.manifests:
            self.kubectl("apply", f"--filename={manifest}")
        for number in range(self._node_count):
            self.api("POST", "/api/v1/nodes", _node(f"node-{number}"))

    def _wait_for_work(self) -> None:
        scheduler = rest.Rest(components.HOST, self._running.ports.scheduler, ca=self.ca)
        self._wait("kwok", self._nodes_are_ready, "the nodes were not ready")
        self._wait("kube-scheduler", lambda: scheduler.ready("/readyz"), "the scheduler was not ready")
        self._wait(
            "kube-controller-manager",
            lambda: self.has_default_service_account("default"),
            "the namespace default had no ServiceAccount",
        )

    def has_default_service_account(self, namespace: str) -> bool:
        """Whether pods can be created in a namespace: admission refuses them before that."""
        return self._rest().ready(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")

    def _nodes_are_ready(self) -> bool:
        nodes = self.api("GET", "/api/v1/nodes")["items"]
        return len(nodes) == self._node_count and all(_is_ready(node) for node in nodes)

    def _launch(self, name: str, command: components.Command) -> None:
        if self._group is not None:
            self._group.start(name, command, self._environment())

    def _wait(self, name: str, ready: Callable[[], bool], failure: str) -> None:
        if self._group is not None:
            self._group.wait_until(ready, failure, START_SECONDS, self._process(name))

    def _process(self, name: str) -> processes.Process:
        return next(process for process in self.started if process.name == name)

    def _rest(self) -> rest.Rest:
        return rest.Rest(components.HOST, self._running.ports.api_server, ca=self.ca, token=self.admin_token)

    def _write_kubeconfig(self, name: str, token: str, server: str, namespace: str) -> pathlib.Path:
        cluster: dict[str, str] = {"server": server}
        if server.startswith("https:"):
            cluster["certificate-authority-data"] = base64.b64encode(self.ca.read_bytes()).decode()
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": namespace}}],
            "current-context": "test",
        }
        file = self._running.kubeconfig(name)
        file.touch(mode=0o600)
        file.write_text(json.dumps(content, indent=2), encoding="utf-8")
        return file

    def _run(
        self, tool: str, arguments: Sequence[str], standard_input: str | None, kubeconfig: pathlib.Path | None
    ) -> str:
        ran = subprocess.run(
            [self._parts.binary(tool), *arguments],
            input=standard_input or "",
            capture_output=True,
            check=False,
            text=True,
            timeout=COMMAND_SECONDS,
            env={**self._environment(), "KUBECONFIG": str(kubeconfig or self.admin_kubeconfig)},
        )
        if ran.returncode != 0:
            raise CommandError((tool, *arguments), ran.returncode, ran.stderr or ran.stdout)
        return ran.stdout

    def _environment(self) -> dict[str, str]:
        # Nothing of the person's own: no proxy, no ETCD_ or HELM_ setting, no configuration in the home folder.
        home = self._running.folder / "home"
        home.mkdir(exist_ok=True)
        return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "TMPDIR": tempfile.gettempdir()}


def free_ports() -> components.Ports:
    """Six different ports that are free now."""
    with contextlib.ExitStack() as stack:
        found: list[int] = []
        for _ in range(6):
            listener = stack.enter_context(socket.socket())
            listener.bind((components.HOST, 0))
            found.append(listener.getsockname()[1])
        return components.Ports(*found)


def _node(name: str) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    metadata = {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = {item["type"]: item["status"] for item in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")
