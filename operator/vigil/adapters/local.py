"""The transports of `vigil run` and `vigil probe`: credentials from a folder, and a cluster only if there is one."""

import pathlib

from vigil import ports
from vigil.adapters.http import accounts, client, tokens
from vigil.kind import api as kind_api
from vigil.model import failures, wakes

ALLOWED_HOSTS = "allowed-hosts"


class Folder:
    """Credentials as mounted Secrets lie in a folder: `<name>/<key>`, read anew each time.

    `<name>/allowed-hosts` names the hosts that may see them, separated by commas or white space.
    """

    def __init__(self, folder: pathlib.Path | None) -> None:
        self._folder = folder

    async def read(
        self,
        namespace: str,  # noqa: ARG002 - a folder has no namespaces
        source: wakes.SecretKey,
    ) -> str | failures.Failure:
        """The value of a key without white space around it; every namespace sees the same folder."""
        found = self.token(source)
        return found if isinstance(found, failures.Failure) else found.value

    def token(self, source: wakes.SecretKey) -> tokens.Token | failures.Failure:
        """The value of a key with the hosts that may see it."""
        name = f"{source.name}/{source.key}"
        if self._folder is None:
            return _config(f"the Watch names the credential {name}: give --credentials FOLDER")
        try:
            value = (self._folder / source.name / source.key).read_text().strip()
        except (OSError, UnicodeError) as error:
            return _config(f"the credential {name} cannot be read: {getattr(error, 'strerror', None) or error}")
        where = f"the file {source.name}/{ALLOWED_HOSTS}"
        return tokens.Token(f"the credential {name}", value, self._allowed(source), where)

    def _allowed(self, source: wakes.SecretKey) -> frozenset[str]:
        try:
            text = ((self._folder or pathlib.Path()) / source.name / ALLOWED_HOSTS).read_text()
        except (OSError, UnicodeError):
            return frozenset()
        return frozenset(text.replace(",", " ").split())


class LocalTransports:
    """ports.Transports without a cluster, or beside one (`cluster`, bound to its API server)."""

    def __init__(self, guarded: client.GuardedClient, folder: Folder, cluster: ports.Bound | None) -> None:
        self._accounts = accounts.Accounts(guarded)
        self._folder = folder
        self._cluster = cluster

    async def bind(
        self,
        kind: kind_api.Kind,
        host: str,
        namespace: str,  # noqa: ARG002 - a folder has no namespaces
        credential: wakes.SecretKey | None,
    ) -> ports.Bound | failures.Failure:
        """Bind a kind to a host; never raises."""
        if kind.access is kind_api.Access.CLUSTER:
            missing = f"the kind {kind.name} reads a cluster, and there is none: give --kubeconfig"
            return self._cluster or _config(missing)
        if credential is None:
            return self._accounts.anonymous(host)
        token = self._folder.token(credential)
        if isinstance(token, failures.Failure):
            return token

        async def reread() -> tokens.Token | failures.Failure:
            return self._folder.token(credential)

        return self._accounts.bind(host, token, reread, kind)


def _config(message: str) -> failures.Failure:
    return failures.Failure(failures.Category.CONFIG, message)
