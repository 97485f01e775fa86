"""One read of one namespace and one resource: a list of the workloads, and of pods where those may know more."""

import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any, Final

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.kubernetes_rollout import listing, observe, pods, progress, raw, subject

SHOWN_PODS: Final = 20
"""Pods that are not well, of one workload, that a snapshot holds."""


class Round:
    """What was found so far, and what failed. Nothing but a cancellation is raised."""

    def __init__(self, namespace: str, workload: subject.Workload, wanted: Mapping[ids.SubjectId, api.Wanted]) -> None:
        self.wanted = wanted
        self.found: dict[str, Any] = {}
        self.failure: failures.Failure | None = None
        """Why what was not found may be there all the same."""
        self._namespace = namespace
        self._workload = workload
        self._listed = False
        self._pods_listed = False
        self._pods_failure: failures.Failure | None = None
        self._pods: dict[str, dict[str, _Unwell]] = {}

    async def read(self, client: listing.Client, now: ids.Instant) -> None:
        """Read what there is to read."""
        try:
            await self._read_workloads(client)
        except transport.ReadError as error:
            self.failure = error.failure
        self._listed = True
        try:
            await self._read_pods(client, self._troubled(), now)
        except transport.ReadError as error:
            self._pods_failure = error.failure
        self._pods_listed = True

    def time_out(self, limit: ids.Seconds) -> None:
        """Note that the time was up: what was not read by then is unknown."""
        failure = failures.Failure(failures.Category.TIMEOUT, f"the API server took more than {limit:g} s")
        if not self._listed:
            self.failure = failure
        if not self._pods_listed:
            self._pods_failure = failure

    def pods_of(self, name: str) -> Mapping[str, Any]:
        """The parts `pods` and `podsError` of a workload's payload."""
        if name not in self._troubled():
            return {"pods": None, "podsError": None}
        shown = sorted(self._pods.get(name, {}).values(), key=_Unwell.rank)[:SHOWN_PODS]
        return {"pods": [pod.item for pod in shown], "podsError": _as_json(self._pods_failure)}

    async def _read_workloads(self, client: listing.Client) -> None:
        names = {subject.of(entry).name for entry in self.wanted.values()}
        path = f"{self._workload.group_path}/namespaces/{_quoted(self._namespace)}/{self._workload.resource}"
        selectors = {"fieldSelector": f"metadata.name={next(iter(names))}"} if len(names) == 1 else {}
        async for items in client.pages(path, f"{self._workload}List", selectors):
            self.found.update((name, item) for item in items if (name := _name(item, self._namespace)) in names)
            if self.found.keys() == names:
                return

    def _troubled(self) -> Mapping[str, raw.Object]:
        """The workloads whose pods may know more."""
        parsed = ((name, self._parsed(item)) for name, item in self.found.items())
        return {name: one for name, one in parsed if one is not None and progress.assess(one).asks_for_pods}

    def _parsed(self, item: Any) -> raw.Object | None:
        try:
            return observe.parse(self._workload, item)
        except transport.ReadError:
            return None  # observe says so, and of this one subject only

    async def _read_pods(self, client: listing.Client, troubled: Mapping[str, raw.Object], now: ids.Instant) -> None:
        if not troubled:
            return
        path = f"/api/v1/namespaces/{_quoted(self._namespace)}/pods"
        only = next(iter(troubled.values()))
        labels = pods.label_selector(only.spec.selector) if len(troubled) == 1 else ""
        async for items in client.pages(path, "PodList", {"labelSelector": labels} if labels else {}):
            self._sort_in(items, troubled, now)

    def _sort_in(self, items: Iterable[Any], troubled: Mapping[str, raw.Object], now: ids.Instant) -> None:
        for item in items:
            if pods.is_well(item):
                continue
            unwell = _Unwell(item, now)
            for name, workload in troubled.items():
                if pods.belongs(unwell.pod, workload):
                    self._pods.setdefault(name, {})[unwell.pod.metadata.name] = unwell


class _Unwell:
    """A pod that is not known to be well, as it was read."""

    def __init__(self, item: Any, now: ids.Instant) -> None:
        self.item = item
        self.pod = raw.parse(raw.Pod, item, "a pod")
        self._blocked = bool(pods.blockers(self.pod, now))

    def rank(self) -> tuple[bool, str]:
        """Those with a reason first, then by name."""
        return (not self._blocked, self.pod.metadata.name)


def _as_json(failure: failures.Failure | None) -> Mapping[str, Any] | None:
    if failure is None:
        return None
    return {"category": str(failure.category), "message": failure.message, "retryAfter": failure.retry_after}


def _name(item: Any, namespace: str) -> str:
    metadata = raw.mapping((raw.mapping(item) or {}).get("metadata")) or {}
    return str(metadata.get("name", "")) if metadata.get("namespace") == namespace else ""


def _quoted(namespace: str) -> str:
    return urllib.parse.quote(namespace, safe="")
