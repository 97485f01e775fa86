"""Watches of any size, as they are after some time."""

from typing import Final

from vigil.model import ids, observations, states, verdicts, wakes

NOW: Final = 1_800_000_000.123456
UID: Final = ids.WatchUid("6f1c9a52-0d0e-4a53-9a43-0a3c5a8b2c11")
SUBJECT: Final = ids.SubjectId("github_pull_request://github.com/acme/api/42")
REVISION: Final = "f" * 40


def read(count: int) -> observations.ProbeResult:
    """A complete read that shows so many entries, every second of them of the revision."""
    seen = tuple(
        observations.Observation(
            key=f"red:ci/build-{number}",
            severity=observations.Severity.WAKE,
            resets_on=observations.ResetsOn.REVISION if number % 2 else observations.ResetsOn.NEVER,
            brief="the job failed after 12 minutes",
        )
        for number in range(count)
    )
    return observations.ProbeResult(seen, REVISION, activity="a1")


def identities(result: observations.ProbeResult) -> list[verdicts.Identity]:
    """What a read shows."""
    return [verdicts.identify(SUBJECT, result, seen) for seen in result.observations]


def remembered(result: observations.ProbeResult) -> states.State:
    """A Watch that has told everything of this read, half of which is disposed of."""
    named = identities(result)
    memory = states.SubjectState(
        REVISION,
        alerted={one: states.Stamp(NOW - 3600.5, NOW - 120.25) for one in named},
        dispositions={
            one: states.Disposed(wakes.Disposition.DISPATCHED, NOW - 120.25, "unit") for one in named[: len(named) // 2]
        },
        read=True,
    )
    return states.State(
        UID, subjects={SUBJECT: memory}, started=NOW - 86400.0, last_tick=NOW - 120.25, generation=3, purpose="0a1b2c3d"
    )


def waiting(result: observations.ProbeResult) -> states.State:
    """A Watch in whose window everything of this read waits."""
    memory = states.SubjectState(REVISION, read=True)
    window = {one: states.Member(one, NOW - 60.5) for one in identities(result)}
    return states.State(UID, subjects={SUBJECT: memory}, window=window, started=NOW - 86400.0, last_tick=NOW - 60.5)
