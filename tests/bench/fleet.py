"""`python -m tests.bench.fleet`: a thousand pull requests under one credential of 5,000 points an hour, for two hours.

The real scheduler, reader and engine at a GitHub that counts points as GitHub does, in virtual time. Twice: all of them
green, so that only the first stage is read; and all of them with a check that still runs, so that each is read whole.
"""

import asyncio
import dataclasses
import itertools
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from tests import githubsim
from tests.githubsim import times
from tests.kinds.github_pull_request import pulls
from tests.unit import clock, world
from vigil import ports
from vigil.api import enrol, manifest
from vigil.kind import api, registry, transport
from vigil.model import failures, wakes
from vigil.scheduler import scheduler
from vigil.tick import enrolment, memory, tick

COUNT = 1000
HOURS = 2
STEP = 30.0


class Transports:
    """ports.Transports, and the one transport there is: one credential, at the time of the scheduler's clock."""

    def __init__(self, github: githubsim.GitHub, system: clock.VirtualClock) -> None:
        self._github = github
        self._clock = system
        self._bound = ports.Bound("account", self)

    async def bind(
        self, kind: api.Kind, host: str, namespace: str, credential: wakes.SecretKey | None
    ) -> ports.Bound | failures.Failure:
        """The one account."""
        return self._bound

    async def request(self, method: str, url: str, **more: Any) -> transport.Response:
        """Hand a request in."""
        self._github.clock.set(self._clock.now())
        return await self._github.transport().request(method, url, **more)


def watches() -> Iterator[enrolment.Enrolment]:
    """A Watch for each pull request, all with one cadence."""
    kinds = registry.load(["github_pull_request"])
    for number in range(1, COUNT + 1):
        body = {
            "apiVersion": "vigil.dev/v1alpha1",
            "kind": "Watch",
            "metadata": {"name": f"w{number}", "namespace": "team-a", "uid": f"w{number}"},
            "spec": {
                "kind": "github_pull_request",
                "objective": "merged",
                "subjects": [{"repository": "acme/api", "number": number}],
                "cadence": {"interval": "2m", "quietInterval": "2m"},
            },
        }
        yield enrol.enrol(manifest.parse_watch(body), kinds)


@dataclasses.dataclass
class Seen:
    """What a run showed."""

    first_stage: int
    points: list[int]
    least: int
    gaps: list[float]
    read: int


async def run(changed: dict[str, Any]) -> Seen:
    """Watch them for two hours."""
    found = pulls.world(pulls.pull(), now=times.text(clock.START))
    found["repositories"]["acme/api"]["pullRequests"] = {
        str(number): pulls.pull(headRefName=f"thing-{number}", **changed) for number in range(1, COUNT + 1)
    }
    github, system, log = githubsim.GitHub(found), clock.VirtualClock(), world.Log()
    store, sidecar, signals = world.Store(log), world.Sidecar(log, system), world.Signals()
    made = scheduler.Scheduler(
        clock=system,
        transports=Transports(github, system),
        ticker=tick.Ticker(store, sidecar, signals),
        store=store,
        delivery=sidecar,
        signals=signals,
        options=scheduler.Options(),
        ticked=lambda known: None,
    )
    reads: dict[str, list[float]] = {}
    task = asyncio.create_task(made.run())
    for one in watches():
        made.enrol(one, memory.Stored())
    points, first_stage = [0] * HOURS, 0
    try:
        for step in range(int(HOURS * 3600 / STEP)):
            await system.advance(STEP)
            asked, github.requests = github.requests, []
            points[min(int(step * STEP // 3600), HOURS - 1)] += sum(one.cost for one in asked)
            first_stage = max(first_stage, sum(one.operation == "Overview" for one in asked))
            for known in (made.memory_of(uid) for uid in made.uids()):
                if known is not None and known.state.last_tick is not None:
                    seen = reads.setdefault(known.watch.ref.name, [])
                    if not seen or seen[-1] != known.state.last_tick:
                        seen.append(known.state.last_tick)
            print(".", end="", file=sys.stderr, flush=True)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    left = [one.remaining for one in signals.records if isinstance(one, ports.RateLimit)]
    gaps = [after - before for seen in reads.values() for before, after in itertools.pairwise(seen)]
    return Seen(first_stage, points, min(left), gaps, len(reads))


def main() -> None:
    """Print both runs."""
    running = pulls.rollup(pulls.check("unit", None, started="10:00"), state="PENDING")
    print(
        "| pull requests | first-stage queries a tick | points an hour | least left of 5,000 | time between two reads |"
    )
    print("| --- | --- | --- | --- | --- |")
    for name, changed in (("green", {}), ("running", {**running, "mergeStateStatus": "BLOCKED"})):
        seen = asyncio.run(run(changed))
        print(file=sys.stderr)
        between = f"{statistics.median(seen.gaps):.0f} s, at most {max(seen.gaps):.0f} s"
        spent = ", ".join(f"{one:,}" for one in seen.points)
        print(f"| {seen.read:,} {name} | {seen.first_stage} | {spent} | {seen.least:,} | {between} |", flush=True)


if __name__ == "__main__":
    main()
