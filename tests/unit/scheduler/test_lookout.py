"""A Watch that its credential keeps from being read is read as soon as that changes, and is not read before."""

import asyncio
from typing import Any

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.kind import api
from vigil.model import failures, ids, wakes
from vigil.scheduler import due, lookout
from vigil.tick import enrolment, memory

NO_SECRET = failures.Failure(failures.Category.CONFIG, "there is no Secret of that name")
AWAY = failures.Failure(failures.Category.TRANSIENT, "the API server is away")
MINUTE = lookout.EVERY


class Secrets(gauges.Keys):
    """Secrets that count who asks for them; `gate`, once set, holds every answer back until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.gate: asyncio.Event | None = None

    async def bind(
        self, kind: api.Kind, host: str, namespace: str, credential: wakes.SecretKey | None
    ) -> ports.Bound | failures.Failure:
        """Count, and bind."""
        self.asked.append("" if credential is None else f"{namespace}/{credential.name}")
        if self.gate is not None:
            await self.gate.wait()
        return await super().bind(kind, host, namespace, credential)


@pytest.fixture
def secrets(office: Office) -> Secrets:
    """The Secrets of the office."""
    office.keys = made = Secrets()
    made.providers[gauges.HOST] = office.provider
    office.scheduler = office.another()
    return made


def watch(*names: str, **changes: Any) -> enrolment.Enrolment:
    """A Watch with a credential."""
    return gauges.watch(*names, **{"token": "github", **changes})


@pytest.mark.parametrize("category", ["auth", "auth_sso", "forbidden", "not_found", "config"])
async def test_c064_a_watch_whose_credential_is_dead_is_read_again_within_a_minute_of_another_one(
    office: Office, secrets: Secrets, category: str
) -> None:
    office.provider.show("a", category=category)
    async with office.open():
        await office.enrol(watch())
        await office.clock.advance(200)
        assert len(office.asked()) == 1
        secrets.tokens["github"] = "another"
        office.provider.show("a")
        await office.clock.advance(MINUTE)
        assert len(office.asked()) == 1
        assert office.category("a") is None


async def test_c064_a_dead_credential_costs_one_read_in_ten_minutes_and_no_write(
    office: Office, secrets: Secrets
) -> None:
    office.provider.show("a", category="auth")
    async with office.open():
        await office.enrol(watch())
        office.asked()
        office.log.clear()
        secrets.asked.clear()
        await office.clock.advance(due.SLOW - 1)
        assert (office.asked(), office.names("store")) == ([], [])
        assert secrets.asked == ["team-a/github"] * 9
        await office.clock.advance(1)
        assert len(office.asked()) == 1


async def test_a_credential_that_could_not_be_had_is_missed_until_it_is_there(office: Office, secrets: Secrets) -> None:
    secrets.refuses = NO_SECRET
    async with office.open():
        await office.enrol(watch("a", "b"))
        office.log.clear()
        await office.clock.advance(300)
        assert (office.asked(), office.log) == ([], [])
        secrets.refuses = None
        await office.clock.advance(MINUTE)
        assert office.asked() == [["a", "b"]]
        assert office.category("a") is None


async def test_a_credential_that_cannot_be_had_any_more_is_no_reason_to_read(office: Office, secrets: Secrets) -> None:
    office.provider.show("a", category="auth")
    async with office.open():
        await office.enrol(watch())
        office.asked()
        secrets.refuses = AWAY
        await office.clock.advance(2 * MINUTE)
        secrets.refuses = None
        await office.clock.advance(2 * MINUTE)
        assert office.asked() == []


async def test_another_credential_that_is_as_dead_costs_one_read(office: Office, secrets: Secrets) -> None:
    office.provider.show("a", category="auth")
    async with office.open():
        await office.enrol(watch())
        office.asked()
        secrets.tokens["github"] = "another"
        await office.clock.advance(due.SLOW - 1)
        assert len(office.asked()) == 1


async def test_a_subject_that_came_to_its_end_is_no_other_credential(office: Office, secrets: Secrets) -> None:
    office.provider.show("a", category="auth")
    office.provider.show("b", "done")
    here, there = gauges.target("a", hall="north"), gauges.target("b", hall="south")
    async with office.open():
        await office.enrol(watch(targets=(here, there)))
        assert [one.label for one in office.known().live] == ["gauge/a"]
        office.asked()
        secrets.asked.clear()
        await office.clock.advance(200)
        assert office.asked() == []
        assert len(secrets.asked) == 3


@pytest.mark.parametrize(
    ("shows", "changes"),
    [
        ({"category": "auth"}, {"token": None}),
        ({"category": "transient"}, {}),
        ({"category": "moved"}, {}),
        ({"shows": ["red:unit"]}, {}),
        ({"category": "auth"}, {"suspend": True}),
    ],
)
async def test_no_other_watch_is_looked_at(
    office: Office, secrets: Secrets, shows: dict[str, Any], changes: dict[str, Any]
) -> None:
    office.provider.shows["a"] = shows
    hourly = enrolment.Cadence(3600, 3600)
    async with office.open():
        await office.enrol(watch(cadence=hourly))
        await office.enrol(watch(cadence=hourly, generation=2, **changes))
        secrets.asked.clear()
        await office.clock.advance(200)
        assert secrets.asked == []


async def test_watches_of_one_secret_are_looked_at_together(office: Office, secrets: Secrets) -> None:
    for number, name in enumerate(("x", "y", "x", "y")):
        office.provider.show(f"g{number}", category="auth")
        office.scheduler.enrol(watch(f"g{number}", uid=f"w{number}", token=name), memory.Stored())
    async with office.open():
        await clock.idle()
        secrets.asked.clear()
        await office.clock.advance(MINUTE)
        assert secrets.asked == ["team-a/x", "team-a/x", "team-a/y", "team-a/y"]


@pytest.mark.parametrize("what", ["dropped", "poked"])
async def test_what_happens_to_a_watch_during_the_look_goes_first(office: Office, secrets: Secrets, what: str) -> None:
    office.provider.show("a", category="auth")
    uid = ids.WatchUid("w1")
    async with office.open():
        await office.enrol(watch())
        office.asked()
        secrets.tokens["github"] = "another"
        secrets.gate = asyncio.Event()
        await office.clock.advance(MINUTE)
        if what == "dropped":
            await office.scheduler.drop(uid)
        else:
            office.scheduler.poke(uid)
        await clock.idle()
        secrets.gate.set()
        await clock.idle()
        assert len(office.asked()) == (0 if what == "dropped" else 1)
        assert (uid in office.scheduler) == (what == "poked")
