"""A kind of our own: gauges of a provider that the test is. One request reads as many of them as are asked for."""

import asyncio
import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

from vigil import ports
from vigil.kind import api, transport
from vigil.model import failures, ids, limits, observations, wakes
from vigil.tick import enrolment

HOST = "gauges.example.com"


class GaugeSubject(api.Subject):
    """A gauge in its hall."""

    name: str
    hall: str = ""

    def identity(self, scope: api.Scope) -> str:
        """The name of the gauge."""
        if self.name == "nameless":
            raise ValueError("it lost its name")
        return self.name

    def label(self) -> str:
        """`gauge/<name>`."""
        return f"gauge/{self.name}"


class GaugeReader:
    """The IO half: one request for all that is asked for."""

    def __init__(self, through: transport.Transport) -> None:
        if isinstance(through, Provider) and through.refuses_readers:
            raise RuntimeError("no reader for you")
        self._transport = through

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, api.Snapshot | failures.Failure]:
        """Every gauge that the provider answers for."""
        names = {id_: str(getattr(one.subject, "name", "")) for id_, one in wanted.items()}
        path = f"/gauges?names={','.join(names.values())}"
        response = await self._transport.request("GET", path, timeout=budget.timeout)
        answer: dict[str, Any] = json.loads(response.body)
        if "quota" in answer:
            budget.meter.report(api.Quota(**answer.pop("quota")))
        return {id_: _answer(answer[name]) for id_, name in names.items() if name in answer}


def _answer(raw: dict[str, Any]) -> api.Snapshot | failures.Failure:
    if "category" in raw:
        return failures.Failure(failures.Category(raw["category"]), "no reading", raw.get("retryAfter"))
    return api.Snapshot(raw, anchor=raw.get("anchor", ""))


def observe(snapshot: api.Snapshot, objective: str, options: Any, now: ids.Instant) -> observations.ProbeResult:
    """The pure half."""
    raw = snapshot.payload
    if raw.get("unreadable"):
        raise ZeroDivisionError("a gauge without a scale")
    if raw.get("misread"):
        raise transport.ReadError(failures.Failure(failures.Category.MALFORMED, "no gauge"))
    return observations.ProbeResult(
        observations=tuple(_entry(key) for key in raw.get("shows", [])),
        revision=raw.get("revision", "r1"),
        complete=raw.get("complete", True),
        pending=raw.get("pending", 0),
        activity=raw.get("activity", ""),
        recheck_after=raw.get("recheck"),
        waiting=raw.get("waiting", ""),
    )


def _entry(key: str) -> observations.Observation:
    """`red:…` and `held:…` are of the revision, `comment:…` of the gauge; `now:…` is urgent, `done` and `lost` end."""
    severity, resets_on = observations.Severity.WAKE, observations.ResetsOn.REVISION
    if key in {"done", "lost"}:
        outcome = observations.Outcome.SUCCEEDED if key == "done" else observations.Outcome.FAILED
        return observations.Observation(key, observations.Severity.TERMINAL, resets_on, f"it is {key}", outcome)
    if key.startswith("now:"):
        severity = observations.Severity.IMMEDIATE
    if key.startswith("comment:"):
        resets_on = observations.ResetsOn.NEVER
    hold: observations.Hold = observations.SETTLE if key.startswith("held:") else 0
    return observations.Observation(key, severity, resets_on, f"{key} is lit", hold=hold)


def _partition(subject: GaugeSubject, scope: api.Scope) -> str:
    if subject.hall == "nowhere":
        raise LookupError("there is no such hall")
    return subject.hall


def _evidence(snapshot: api.Snapshot) -> str:
    if snapshot.payload.get("unprintable"):
        raise ValueError("the needle is gone")
    return json.dumps(snapshot.payload, sort_keys=True)


KIND = api.Kind(
    name="gauge",
    summary="A gauge.",
    subject=GaugeSubject,
    objectives={"done": api.Objective("It is done."), "watched": api.Objective("It is read.", finite=False)},
    keys=(),
    reader=GaugeReader,
    observe=observe,
    chunk=4,
    default_host=HOST,
    partition=_partition,
    evidence=_evidence,
)


class Provider:
    """transport.Transport over a provider in memory: it shows what the test set, and logs what it was asked for.

    `gate`, once set, holds every answer back until it is opened. `fails` is asked before each answer and may give the
    failure of the whole request. `quota` gives what an answer says of the allowance.
    """

    def __init__(self) -> None:
        self.shows: dict[str, dict[str, Any]] = {}
        self.requests: list[list[str]] = []
        self.open = 0
        self.most_open = 0
        self.gate: asyncio.Event | None = None
        self.fails: Callable[[list[str]], failures.Failure | Exception | None] = lambda names: None
        self.refuses_readers = False
        self.quota: Callable[[list[str]], dict[str, Any]] | None = None

    def show(self, name: str, *shows: str, **more: Any) -> None:
        """What a gauge shows from now on."""
        self.shows[name] = {"shows": list(shows), **more}

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: ids.Seconds,  # noqa: ASYNC109 - the signature of the port
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = transport.DEFAULT_MAX_BYTES,
    ) -> transport.Response:
        """One answer about all the gauges that the URL names."""
        names = url.partition("names=")[2].split(",")
        self.requests.append(names)
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        try:
            answer = {name: self.shows[name] for name in names if name in self.shows}
            answer |= {"quota": self.quota(names)} if self.quota else {}
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
            failure = self.fails(names)
        finally:
            self.open -= 1
        if isinstance(failure, failures.Failure):
            raise transport.ReadError(failure)
        if failure is not None:
            raise failure
        return transport.Response(200, {}, json.dumps(answer).encode(), url)


class Keys:
    """ports.Transports: a provider for each host, and an account for each token."""

    def __init__(self) -> None:
        self.providers: dict[str, Provider] = {HOST: Provider()}
        self.tokens: dict[str, str] = {}
        self.refuses: failures.Failure | None = None

    async def bind(
        self, kind: api.Kind, host: str, namespace: str, credential: wakes.SecretKey | None
    ) -> ports.Bound | failures.Failure:
        """The provider of the host, in the name of the token that the Secret holds."""
        await asyncio.sleep(0)
        if self.refuses is not None:
            return self.refuses
        name = credential.name if credential is not None else ""
        return ports.Bound(self.tokens.get(name, name), self.providers[host])


def target(name: str, namespace: str = "team-a", host: str = HOST, hall: str = "") -> enrolment.Target:
    """A gauge as a Watch holds it."""
    subject, scope = GaugeSubject(name=name, hall=hall), api.Scope(namespace, host)
    return enrolment.Target(ids.SubjectId(f"gauge://{host}/{name}"), subject, scope, subject.label())


def watch(*names: str, uid: str = "w1", generation: int = 1, **changes: Any) -> enrolment.Enrolment:
    """A Watch of some gauges; `hall` and `token` are theirs."""
    hall, token = changes.pop("hall", ""), changes.pop("token", None)
    made = enrolment.Enrolment(
        ref=wakes.WatchRef(ids.WatchUid(uid), "team-a", uid, generation),
        kind=KIND,
        host=HOST,
        targets=tuple(target(name, hall=hall) for name in names or ("a",)),
        objective="done",
        options=api.NoOptions(),
        limits=limits.Limits(),
        credential=None if token is None else wakes.SecretKey(token, "token"),
        deliver=wakes.Deliver(session="supervisor"),
    )
    return dataclasses.replace(made, **changes)


def subject_id(name: str) -> ids.SubjectId:
    """The name of a gauge among all subjects."""
    return target(name).id
