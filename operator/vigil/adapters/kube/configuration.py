"""Which API server, and as whom: a kubeconfig, or the ServiceAccount of the pod; `kubernetes` reads both."""

import dataclasses
import os
import pathlib
from collections.abc import Mapping
from typing import Any, Final, Protocol

import aiohttp
from kubernetes.aio import client as library
from kubernetes.aio import config as library_config
from kubernetes.aio.client import rest
from kubernetes.aio.config import incluster_config

from vigil.adapters.kube import errors
from vigil.model import ids

SERVICE_ACCOUNT: Final = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
ROTATION: Final[ids.Seconds] = 60.0
"""A mounted token is read this often: the kubelet renews it when a fifth of its life is left, which is minutes."""

# The library says of itself that it is typed, and its functions are not.
_KUBECONFIG: Final[Any] = library_config
_IN_CLUSTER: Final[Any] = incluster_config


class Source(Protocol):
    """Where a configuration comes from; `reread` is how often its token is read again, None for after a 401 only."""

    @property
    def reread(self) -> ids.Seconds | None:
        """Seconds between two reads of the token."""
        ...

    async def load(self) -> library.Configuration:
        """Read it. Raises ConfigurationError."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The current context of a kubeconfig; a token that a file or a plug-in gives is asked for again after a 401."""

    path: pathlib.Path
    reread: ids.Seconds | None = None

    async def load(self) -> library.Configuration:
        """Read the file, and run its plug-in if it names one. Raises ConfigurationError."""
        if not self.path.is_file():
            raise errors.ConfigurationError(f"there is no kubeconfig {self.path}")
        configuration = _bare()
        try:
            await _KUBECONFIG.load_kube_config(
                config_file=str(self.path), client_configuration=configuration, persist_config=False
            )
        except library_config.ConfigException as raised:
            raise errors.ConfigurationError(f"the kubeconfig {self.path} cannot be used: {raised}") from None
        except Exception as raised:
            # A bad file ends in whatever the line raises that stumbles over it, and the text may show a token.
            raise errors.ConfigurationError(
                f"the kubeconfig {self.path} cannot be read ({type(raised).__name__})"
            ) from None
        return configuration


@dataclasses.dataclass(frozen=True, slots=True)
class InCluster:
    """The ServiceAccount of the pod: the mounted `token` and `ca.crt`, and the address in the environment."""

    folder: pathlib.Path = SERVICE_ACCOUNT
    environment: Mapping[str, str] = dataclasses.field(default_factory=lambda: os.environ)
    reread: ids.Seconds | None = ROTATION

    async def load(self) -> library.Configuration:
        """Read the mounted files. Raises ConfigurationError."""
        configuration = _bare()
        loader = _IN_CLUSTER.InClusterConfigLoader(
            token_filename=str(self.folder / "token"),
            cert_filename=str(self.folder / "ca.crt"),
            try_refresh_token=False,
            environ=self.environment,
        )
        try:
            loader.load_and_set(configuration)
        except (library_config.ConfigException, OSError, ValueError) as raised:
            raise errors.ConfigurationError(
                f"there is no kubeconfig, and this is no pod with a ServiceAccount: {raised}"
            ) from None
        return configuration


def source(kubeconfig: pathlib.Path | None) -> Source:
    """The kubeconfig, or without one the pod's ServiceAccount."""
    return InCluster() if kubeconfig is None else Kubeconfig(kubeconfig)


def authorization(configuration: library.Configuration) -> str:
    """The value of the header Authorization, empty for none (a client certificate)."""
    keys: Mapping[str, Any] = configuration.api_key
    return str(keys.get("BearerToken") or "").strip()


class Pool(rest.RESTClientObject):
    """The library's connection pool: its TLS and its proxy, with a session whose requests are not its own.

    Its own requests follow redirects, read bodies without a bound and take a proxy from the environment. Raises
    ConfigurationError for certificates that cannot be used.
    """

    def __init__(self, configuration: library.Configuration, session: Mapping[str, Any], connections: int) -> None:
        configuration.client_session_kwargs = dict(session)
        configuration.connection_pool_maxsize = connections
        # Python 3.13 began to refuse authorities without a key identifier; clusters have made such ones for years.
        configuration.disable_strict_ssl_verification = True
        try:
            super().__init__(configuration)
        except (OSError, ValueError) as raised:
            raise errors.ConfigurationError(f"the certificates of the API server cannot be used: {raised}") from None
        self.base: str = str(configuration.host).rstrip("/")
        self.options: Mapping[str, Any] = _options(configuration)

    def session(self) -> aiohttp.ClientSession:
        """A new session, inside a running event loop; the caller closes it."""
        return self._create_pool_manager()


def _bare() -> library.Configuration:
    """A configuration that shares nothing with the library's default one."""
    return library.Configuration()


def _options(configuration: library.Configuration) -> Mapping[str, Any]:
    wanted: Mapping[str, Any] = {
        "proxy": configuration.proxy,
        "proxy_headers": configuration.proxy_headers,
        "server_hostname": configuration.tls_server_name,
    }
    return {name: value for name, value in wanted.items() if value}
