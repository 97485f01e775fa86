"""The Watches of the cluster, or of some namespaces: listed, got one by one, and whether their CRD is there."""

import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from vigil.adapters.kube import client, errors
from vigil.api import v1alpha1
from vigil.model import failures, ids

PLURAL: Final = "watches"
PAGE: Final = 500
MAX_PAGES: Final = 400
"""200,000 Watches: far more than the store of a cluster holds."""
LIST_TIMEOUT: Final[ids.Seconds] = 60.0

_API: Final = client.path("apis", v1alpha1.GROUP, v1alpha1.VERSION)
_METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """All Watches of one namespace, or of the cluster, as they were at `resource_version`."""

    items: Sequence[Mapping[str, Any]]
    resource_version: str


def path(namespace: str | None, *rest: str) -> str:
    """The path of the Watches of a namespace (None: of the cluster), or of what is below it."""
    within = () if namespace is None else ("namespaces", namespace)
    return _API + client.path(*within, PLURAL, *rest)


class Watches:
    """The Watches in these namespaces, or with none in the whole cluster; a list is read in pages of `page` items."""

    def __init__(self, api: client.ApiClient, namespaces: Sequence[str] = (), page: int = PAGE) -> None:
        self._api = api
        self._page = page
        self._namespaces: Sequence[str | None] = tuple(namespaces) or (None,)

    async def all(self) -> Sequence[Mapping[str, Any]]:
        """All Watches. Raises ApiError."""
        return [item for namespace in self._namespaces for item in (await self.list(namespace)).items]

    async def list(self, namespace: str | None = None) -> Listing:
        """The Watches of one namespace, or of the cluster. Raises ApiError."""
        return await self._listed(namespace, "application/json")

    async def uids(self) -> frozenset[ids.WatchUid]:
        """Which Watches there are, read without their contents. Raises ApiError."""
        found: set[ids.WatchUid] = set()
        for namespace in self._namespaces:
            items = (await self._listed(namespace, _METADATA_ONLY)).items
            found.update(ids.WatchUid(item["metadata"]["uid"]) for item in items)
        return frozenset(found)

    async def get(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """One Watch, None if there is none. Raises ApiError."""
        try:
            found: Mapping[str, Any] = await self._api.request("GET", path(namespace, name))
        except errors.NotFoundError:
            return None
        return found

    async def crd_installed(self) -> bool:
        """Whether the API server serves Watches with a status of their own. Raises ApiError."""
        try:
            served = await self._api.request("GET", _API)
        except errors.NotFoundError:
            return False
        return {PLURAL, f"{PLURAL}/status"} <= {item.get("name") for item in served.get("resources") or ()}

    async def _listed(self, namespace: str | None, accept: str) -> Listing:
        try:
            return await self._whole(namespace, accept)
        except errors.ExpiredError:
            # The pages outlived the version that they are of; what was read of it is thrown away.
            return await self._whole(namespace, accept)

    async def _whole(self, namespace: str | None, accept: str) -> Listing:
        items: list[Mapping[str, Any]] = []
        version = ""
        async for page in self._pages(namespace, accept):
            items += page.items
            version = page.resource_version
        return Listing(items, version)

    async def _pages(self, namespace: str | None, accept: str) -> AsyncIterator[Listing]:
        where, query = path(namespace), {"limit": str(self._page)}
        for _ in range(MAX_PAGES):
            page = await self._api.request("GET", where, query=query, timeout=LIST_TIMEOUT, accept=accept)
            metadata: Mapping[str, str] = page.get("metadata") or {}
            yield Listing(page.get("items") or [], metadata.get("resourceVersion", ""))
            token = metadata.get("continue", "")
            if not token:
                return
            query = {"limit": str(self._page), "continue": token}
        message = f"GET {where} did not end after {MAX_PAGES} pages of {self._page}"
        raise errors.ApiError(failures.Failure(failures.Category.TOO_LARGE, message))
