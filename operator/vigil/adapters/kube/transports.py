"""ports.Transports of an operator in a cluster: the guarded client with Secrets, and the API server."""

from typing import assert_never

from vigil import ports
from vigil.adapters.http import accounts, tokens
from vigil.adapters.http import client as http_client
from vigil.adapters.kube import client, cluster, secrets
from vigil.kind import api as kind_api
from vigil.model import failures, wakes


class ClusterTransports:
    """Binds what the kinds ask for; the clients are closed by whoever made them."""

    def __init__(self, api: client.ApiClient, guarded: http_client.GuardedClient, found: secrets.Secrets) -> None:
        self._accounts = accounts.Accounts(guarded)
        self._secrets = found
        self._cluster = ports.Bound(cluster.ACCOUNT, cluster.ClusterTransport(api))

    async def bind(
        self, kind: kind_api.Kind, host: str, namespace: str, credential: wakes.SecretKey | None
    ) -> ports.Bound | failures.Failure:
        """As ports.Transports says; the same host and the same token give the same transport."""
        match kind.access:
            case kind_api.Access.CLUSTER:
                return self._cluster
            case kind_api.Access.HTTP:
                if credential is None:
                    return self._accounts.anonymous(host)
                return await self._with_secret(host, namespace, credential, kind)
            case _:
                assert_never(kind.access)

    async def _with_secret(
        self, host: str, namespace: str, credential: wakes.SecretKey, kind: kind_api.Kind
    ) -> ports.Bound | failures.Failure:
        async def reread() -> tokens.Token | failures.Failure:
            return await self._secrets.token(namespace, credential, fresh=True)

        token = await self._secrets.token(namespace, credential)
        if isinstance(token, failures.Failure):
            return token
        return self._accounts.bind(host, token, reread, kind)
