"""The command lines of the five processes: pure, nothing here starts anything."""

import dataclasses
import pathlib
from collections.abc import Sequence

from tests.controlplane import assets, certificates

HOST = "127.0.0.1"
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclasses.dataclass(frozen=True)
class Ports:
    """A free loopback port for each listener."""

    etcd: int
    etcd_peer: int
    api_server: int
    controller_manager: int
    scheduler: int
    kwok: int


@dataclasses.dataclass(frozen=True)
class Layout:
    """What the command lines are made from."""

    parts: assets.Assets
    folder: pathlib.Path
    ports: Ports
    certificates: certificates.Certificates

    @property
    def url(self) -> str:
        """The API server's address."""
        return f"https://{HOST}:{self.ports.api_server}"

    @property
    def etcd_data(self) -> pathlib.Path:
        """The folder of etcd's database."""
        return self.folder / "etcd"

    @property
    def tokens(self) -> pathlib.Path:
        """The API server's file of static tokens."""
        return self.folder / "tokens.csv"

    def kubeconfig(self, user: str) -> pathlib.Path:
        """The kubeconfig of one user."""
        return self.folder / f"{user}.kubeconfig"


Command = list[str | pathlib.Path]


def etcd(layout: Layout) -> Command:
    """A database that does not wait for the disk: it is thrown away with the control plane."""
    client, peer = (f"http://{HOST}:{port}" for port in (layout.ports.etcd, layout.ports.etcd_peer))
    return [
        layout.parts.binary("etcd"),
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server(layout: Layout, extra: Sequence[str]) -> Command:
    """RBAC, ServiceAccount tokens and the admission plug-ins of a default cluster."""
    files = layout.certificates
    return [
        layout.parts.binary("kube-apiserver"),
        f"--etcd-servers=http://{HOST}:{layout.ports.etcd}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={layout.ports.api_server}",
        f"--tls-cert-file={files.serving_certificate}",
        f"--tls-private-key-file={files.serving_key}",
        f"--cert-dir={layout.folder}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--token-auth-file={layout.tokens}",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={files.service_account_key}",
        f"--service-account-signing-key-file={files.service_account_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--allow-privileged=true",
        # The Service `kubernetes` may not have a loopback endpoint, and nothing here would connect to one.
        "--endpoint-reconciler-type=none",
        *extra,
    ]


def controller_manager(layout: Layout) -> Command:
    """Every controller of a default cluster, each with its own ServiceAccount's rights."""
    return [
        layout.parts.binary("kube-controller-manager"),
        *_secure_listener(layout, layout.ports.controller_manager),
        f"--kubeconfig={layout.kubeconfig('controller-manager')}",
        f"--root-ca-file={layout.certificates.ca}",
        f"--service-account-private-key-file={layout.certificates.service_account_key}",
        "--use-service-account-credentials=true",
        # At the default of 20 requests a second it takes 5 s before the last controller has its token.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--leader-elect=false",
    ]


def scheduler(layout: Layout) -> Command:
    """The default scheduler."""
    return [
        layout.parts.binary("kube-scheduler"),
        *_secure_listener(layout, layout.ports.scheduler),
        f"--kubeconfig={layout.kubeconfig('scheduler')}",
        "--leader-elect=false",
    ]


def kwok(layout: Layout) -> Command:
    """What stands in for the kubelets: it plays the stages, and runs nothing."""
    return [
        layout.parts.binary("kwok"),
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--server-address={HOST}:{layout.ports.kwok}",
        "--manage-all-nodes",
        f"--node-ip={HOST}",
        *(f"--config={stage}" for stage in layout.parts.stages),
    ]


def _secure_listener(layout: Layout, port: int) -> list[str]:
    return [
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={layout.certificates.serving_certificate}",
        f"--tls-private-key-file={layout.certificates.serving_key}",
    ]
