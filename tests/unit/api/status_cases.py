"""Watches after a tick, by name, each with the status that it has: `status/<name>.yaml`.

`python -m tests.unit.api.status_cases` writes the files anew.
"""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Any

import yaml

from tests.unit.api import table, toys
from vigil.api import enrol, manifest, status, times
from vigil.model import failures, ids, observations, states, verdicts, wakes
from vigil.state import codec
from vigil.tick import checkpoint, enrolment

FOLDER = pathlib.Path(__file__).with_name("status")
T0 = times.parse("2026-03-01T10:00:00Z")
MINUTE = 60.0
NOW = T0 + 30 * MINUTE


@dataclasses.dataclass(frozen=True)
class Case:
    """What is rendered at `now`, over which status."""

    name: str
    claim: str
    left: checkpoint.Checkpoint
    prior: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    now: ids.Instant = NOW

    def rendered(self) -> dict[str, Any]:
        """The status."""
        return status.render(self.left, self.prior, self.now)

    def shown(self) -> dict[str, Any]:
        """The status without the engine's document, whose form is the codec's."""
        rendered = self.rendered()
        return {**rendered, "engine": {**rendered["engine"], "document": "…"}}

    @property
    def golden(self) -> pathlib.Path:
        """The file of the status."""
        return FOLDER / f"{self.name}.yaml"


def watch(*names: str, generation: int = 3, **spec: Any) -> enrolment.Enrolment:
    """A Watch of toys with these names."""
    body: dict[str, Any] = {
        **table.BASE,
        "metadata": {"name": "api", "namespace": "team-a", "uid": "0b1c", "generation": generation},
        "spec": {"kind": "toy", "objective": "done", "subjects": [{"name": name} for name in names or ["api"]], **spec},
    }
    return enrol.enrol(manifest.parse_watch(body), toys.KINDS)


def subject(name: str) -> ids.SubjectId:
    """The id of a toy."""
    return ids.SubjectId(f"toy://toys.example.com/team-a/{name}")


def identity(name: str, key: str, revision: str | None = "r1", episode: str = "") -> verdicts.Identity:
    """What makes an entry of a toy the same one."""
    return verdicts.Identity(subject(name), key, revision, episode)


def red(key: str, brief: str = "it is red", **more: Any) -> observations.Observation:
    """An entry that wakes and belongs to the revision."""
    return observations.Observation(key, observations.Severity.WAKE, observations.ResetsOn.REVISION, brief, **more)


def read(*seen: observations.Observation, revision: str = "r1", **more: Any) -> observations.ProbeResult:
    """A read that shows these entries."""
    return observations.ProbeResult(seen, revision, **more)


def failed(category: failures.Category, message: str = "no answer", **more: Any) -> failures.Failure:
    """A read that failed."""
    return failures.Failure(category, message, **more)


def state(**changes: Any) -> states.State:
    """The bookkeeping of a Watch that runs since T0."""
    fields: dict[str, Any] = {"watch": ids.WatchUid("0b1c"), "started": T0, "last_tick": NOW, "generation": 3}
    return states.State(**{**fields, **changes})


def flight(*sent: verdicts.Identity, claimed: int | None = None, reason: str = "converged") -> states.InFlight:
    """A wake in flight with these entries."""
    return states.InFlight(
        id=ids.WakeId("wake-2"),
        decided_at=NOW,
        versions=(states.Version(1, wakes.WakeType.WAKE, reason),),
        sent=tuple(states.Sent(one, since=T0, at=NOW, joined=1) for one in sent),
        claimed=claimed,
    )


def record(number: int, state_of: wakes.WakeState, *keys: str) -> checkpoint.WakeRecord:
    """One of the last wakes."""
    return checkpoint.WakeRecord(
        ids.WakeId(f"wake-{number}"),
        wakes.WakeType.WAKE,
        "converged",
        state_of,
        keys or ("red:build",),
        T0 + number * MINUTE,
    )


def left(*names: str, spec: Mapping[str, Any] | None = None, **fields: Any) -> checkpoint.Checkpoint:
    """The Watch of toys after a tick; its first toy was read and shows nothing, unless told otherwise."""
    of = watch(*names, **(spec or {}))
    defaults: dict[str, Any] = {
        "state": state(subjects={target.id: states.SubjectState("r1") for target in of.targets}),
        "verdict": verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN),
        "reading": {target.id: read() for target in of.targets},
    }
    return checkpoint.Checkpoint(of, **{**defaults, **fields})


def ended(how: states.Ended, **fields: Any) -> checkpoint.Checkpoint:
    """A Watch that has ended."""
    verdict = verdicts.Stop(how) if isinstance(how, verdicts.StopReason) else verdicts.Terminal((), how)
    retired = None if isinstance(how, verdicts.StopReason) else how
    subjects = {subject("api"): states.SubjectState("r1", retired=retired)}
    return left(
        state=state(subjects=subjects, ended=how, **fields),
        verdict=verdict,
        wakes=(record(1, wakes.WakeState.RECORDED),),
    )


def _every_standing() -> checkpoint.Checkpoint:
    """One entry for each thing that can have become of it."""
    keys = ("alerted", "claimed", "coalescing", "dispatched", "holding", "open", "parked", "sent")
    api = {key: identity("api", key) for key in keys}
    stamp = states.Stamp(T0, NOW)
    said = {api[key]: states.Disposed(wakes.Disposition(key), NOW) for key in keys if key in {"claimed", "dispatched"}}
    memory = states.SubjectState(
        "r1",
        alerted={api["alerted"]: stamp, api["sent"]: stamp, api["dispatched"]: stamp},
        held={api["holding"]: states.Held(T0, "a"), identity("api", "ready"): states.Held(T0, "a")},
        dispositions=said,
        parked={api["parked"]: states.Parked("q1", "")},
    )
    ready = red("ready", claim=True, outcome=observations.Outcome.SUCCEEDED, hold=observations.SETTLE)
    seen = [red(key, hold=300.0 if key == "holding" else 0) for key in keys]
    return left(
        "api",
        "store",
        "web",
        spec={"budgets": {"turns": 8}},
        state=state(
            subjects={subject("api"): memory, subject("store"): states.SubjectState("r7")},
            window={api["coalescing"]: states.Member(api["coalescing"], T0)},
            in_flight=flight(api["sent"]),
            spent=states.Spent(turns=3, tokens=41_000, active_time=777.7),
        ),
        verdict=verdicts.Wake((verdicts.Entry(api["sent"], seen[-1]),), "one", verdicts.WakeReason.CONVERGED),
        reading={
            subject("api"): read(*seen, ready),
            subject("store"): read(
                observations.Observation(
                    "comment:7", observations.Severity.IMMEDIATE, observations.ResetsOn.NEVER, "please", episode="e2"
                ),
                revision="r7",
                complete=False,
                error=failed(failures.Category.FORBIDDEN, "checks are not readable"),
            ),
            subject("web"): failed(failures.Category.TIMEOUT, "no answer in 10 s"),
        },
        since=dict.fromkeys(api.values(), T0),
        anchors={subject("api"): "id-1"},
        wakes=(record(2, wakes.WakeState.QUEUED, "sent"), record(1, wakes.WakeState.DELIVERED)),
        trouble=checkpoint.DeliveryTrouble(wakes.QueuedReason.BUSY, ""),
    )


def _unreadable() -> Case:
    """A provider that fails after it was read once."""
    before = left(
        reading={subject("api"): read(red("red:build", "2 minutes"))}, since={identity("api", "red:build"): T0}
    )
    down = dataclasses.replace(
        before,
        verdict=verdicts.Quiet(verdicts.QuietReason.UNREADABLE),
        reading={subject("api"): failed(failures.Category.TRANSIENT, "502 for request 17")},
    )
    prior = status.render(before, None, T0)
    return Case("unreadable", "A Watch whose provider is down keeps what it knew, and is ready.", down, prior)


def _end_not_told() -> checkpoint.Checkpoint:
    """A subject that came to its end, of which nobody was told yet."""
    end = states.Sent(
        identity("api", "merged", None), T0, NOW, 1, outcome=observations.Outcome.SUCCEEDED, brief="merged by octo"
    )
    flown = dataclasses.replace(
        flight(), sent=(end,), versions=(states.Version(1, wakes.WakeType.TERMINAL, "succeeded"),)
    )
    subjects = {subject("api"): states.SubjectState("r1", retired=observations.Outcome.SUCCEEDED)}
    return left(
        state=state(subjects=subjects, ended=observations.Outcome.SUCCEEDED, in_flight=flown),
        verdict=verdicts.Terminal((), observations.Outcome.SUCCEEDED),
        reading={},
        wakes=(record(2, wakes.WakeState.QUEUED, "merged"),),
        trouble=checkpoint.DeliveryTrouble(wakes.QueuedReason.NO_RECIPIENT, ""),
    )


def cases() -> list[Case]:
    """All cases."""
    quiet = verdicts.QuietReason
    category = failures.Category
    stop = verdicts.StopReason
    outcome = observations.Outcome
    auth = {subject("api"): failed(category.AUTH, "the token was refused")}
    newer: dict[str, Any] = {
        "quarantined": codec.QuarantineReason.VERSION_UNKNOWN.value,
        "quarantined_document": '{"version":99}',
    }
    broken: dict[str, Any] = {"quarantined": codec.QuarantineReason.UNREADABLE.value, "quarantined_document": "[]"}
    pruned = failed(category.CONFIG, "StatusPruned: the API server dropped a part of the status")
    return [
        Case(
            "pending",
            "A Watch that was not read yet is pending.",
            left(state=state(started=None, last_tick=None), verdict=None, reading={}),
        ),
        Case("watching", "A Watch that is read is ready, with nothing open.", left()),
        Case("paced", "A Watch that is read more seldom for its allowance says so.", left(paced=810.0)),
        Case("several-subjects", "Each entry says what became of it.", _every_standing()),
        _unreadable(),
        Case(
            "throttled",
            "A throttle is no fault of the Watch.",
            left(
                reading={subject("api"): failed(category.THROTTLED, "rate limit", retry_after=60.0)},
                verdict=verdicts.Quiet(quiet.THROTTLED),
            ),
        ),
        Case(
            "incomplete",
            "A part that was not read is not observed.",
            left(reading={subject("api"): read(complete=False)}, verdict=verdicts.Quiet(quiet.INCOMPLETE)),
        ),
        Case(
            "blocked",
            "What retrying does not heal blocks the Watch.",
            left(reading=auth, verdict=verdicts.Quiet(quiet.UNREADABLE)),
        ),
        Case(
            "suspended",
            "A suspended Watch is ready.",
            left(spec={"suspend": True}, verdict=verdicts.Quiet(quiet.SUSPENDED)),
        ),
        Case("succeeded", "A good end is told by the phase.", ended(outcome.SUCCEEDED)),
        Case("failed", "A bad end is told by the phase.", ended(outcome.FAILED)),
        Case("end-not-told", "An end that nobody was told of is still shown.", _end_not_told()),
        Case("expired", "A lifetime that is over is told.", ended(stop.LIFETIME)),
        Case("exhausted", "A spent budget is told, with what goes on.", ended(stop.TURNS, spent=states.Spent(turns=8))),
        Case("superseded", "A superseded Watch is ready.", ended(stop.SUPERSEDED)),
        Case("stalled", "A stall is no success.", ended(stop.STALLED)),
        Case("version-unknown", "A newer document is kept and nothing is decided.", left(**newer)),
        Case("state-unreadable", "A document that does not parse is put aside.", left(**broken)),
        Case("status-pruned", "A status that is not kept blocks the Watch.", left(blocked=pruned)),
        Case(
            "claimed",
            "A wake that a session has taken is neither delivered nor not.",
            left(
                state=state(in_flight=flight(identity("api", "red:build"), claimed=1)),
                verdict=verdicts.Quiet(quiet.IN_FLIGHT),
                wakes=(record(2, wakes.WakeState.CLAIMED),),
            ),
        ),
        Case(
            "lost",
            "A wake that was lost is not delivered.",
            left(wakes=(record(2, wakes.WakeState.WITHDRAWN), record(1, wakes.WakeState.LOST))),
        ),
    ]


def main() -> None:
    """Write every golden file."""
    FOLDER.mkdir(exist_ok=True)
    for case in cases():
        text = yaml.safe_dump(case.shown(), sort_keys=False, allow_unicode=True, width=120)
        case.golden.write_text(f"# {case.claim}\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
