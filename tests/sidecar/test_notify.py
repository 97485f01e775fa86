"""Notifications: the document is harmless, the receiver's answer is classified, and a retry waits."""

import asyncio
import json
import pathlib
from collections.abc import AsyncGenerator

import pytest

from tests.sidecar import servers, support
from vigil.adapters.http import client
from vigil.api import turn
from vigil.model import failures, wakes
from vigil.sidecar import notify, sessions, turns

SECRET_URL = wakes.Notify(url_from=wakes.SecretKey("alerts", "url"))


@pytest.fixture
async def receiver() -> AsyncGenerator[servers.Receiver]:
    async with servers.Receiver().serving() as running:
        yield running


@pytest.fixture
async def guarded() -> AsyncGenerator[client.GuardedClient]:
    async with client.GuardedClient(servers.ALLOWED) as made:
        yield made


@pytest.mark.parametrize(
    ("status", "headers", "category", "retry_after"),
    [
        (200, {}, None, None),
        (204, {}, None, None),
        (429, {"retry-after": "120"}, failures.Category.THROTTLED, 120.0),
        (503, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, failures.Category.TRANSIENT, None),
        (401, {}, failures.Category.AUTH, None),
        (403, {}, failures.Category.FORBIDDEN, None),
        (404, {}, failures.Category.NOT_FOUND, None),
        (400, {}, failures.Category.UNKNOWN, None),
    ],
)
async def test_the_receivers_answer_is_classified(
    receiver: servers.Receiver,
    guarded: client.GuardedClient,
    status: int,
    headers: dict[str, str],
    category: failures.Category | None,
    retry_after: float | None,
) -> None:
    receiver.status, receiver.headers = status, headers
    failure = await notify.HttpNotifier(guarded).post(receiver.url, {"version": 1})
    assert await receiver.got.get() == {"version": 1}
    assert (failure.category if failure else None, failure.retry_after if failure else None) == (category, retry_after)


async def test_a_private_address_is_never_reached(receiver: servers.Receiver) -> None:
    async with client.GuardedClient(client.Settings()) as strict:
        failure = await notify.HttpNotifier(strict).post(receiver.url, {})
    assert failure is not None
    assert failure.category is failures.Category.BLOCKED_ADDRESS
    assert receiver.got.empty()


class Secrets:
    """A cluster with one Secret."""

    async def read(self, namespace: str, source: wakes.SecretKey) -> str | failures.Failure:
        if (namespace, source.name) == ("team-a", "alerts"):
            return "https://hooks.test/T0"
        return failures.Failure(failures.Category.CONFIG, f"no Secret {source.name}")


async def test_a_receiver_is_a_file_that_the_settings_name(tmp_path: pathlib.Path) -> None:
    (tmp_path / "oncall").write_text("https://hooks.test/one\n")
    files = notify.FileReceivers({"oncall": tmp_path / "oncall", "gone": tmp_path / "gone"})
    assert await files.url("team-a", support.HOOK) == "https://hooks.test/one"
    for notification in (wakes.Notify(receiver="gone"), wakes.Notify(receiver="unknown"), SECRET_URL):
        found = await files.url("team-a", notification)
        assert isinstance(found, failures.Failure)
        assert found.category is failures.Category.CONFIG


async def test_a_secret_is_read_in_the_namespace_of_the_watch() -> None:
    files = notify.FileReceivers({}, Secrets())
    assert await files.url("team-a", SECRET_URL) == "https://hooks.test/T0"
    assert isinstance(await files.url("team-b", SECRET_URL), failures.Failure)


def test_the_document_quotes_nothing_raw() -> None:
    entries = tuple(
        support.entry(f"red:ci/{number}", brief="a\x1b[31m\nb token=0123456789abcdef", subject="x\u202ey")
        for number in range(30)
    )
    document = notify.of_wake(support.wake(entries=entries, brief="one\ntwo"), "http://sidecar.test/e")
    told = json.dumps(document, ensure_ascii=False)
    assert len(document["entries"]) == 20
    assert document["entriesInAll"] == 30
    assert document["entries"][0]["brief"] == "a␤b token=[redacted]"
    assert document["entries"][0]["subject"] == "xy"
    assert document["text"] == "team-a/api-42: converged. one␤two"
    assert document["evidence"] == "http://sidecar.test/e"
    assert "\x1b" not in told
    assert len(told) < 20_000


def test_a_retry_waits_longer_each_time_and_keeps_to_the_receivers_word() -> None:
    down = failures.Failure(failures.Category.TRANSIENT, "down")
    assert [notify.delay(tries, down) for tries in (1, 2, 3, 8, 500)] == [10, 20, 40, 900, 900]
    assert notify.delay(1, failures.Failure(failures.Category.THROTTLED, "slow", 120.0)) == 120
    assert notify.delay(1, failures.Failure(failures.Category.THROTTLED, "slow", 1e9)) == 900


def test_a_suspension_names_the_session_and_its_row() -> None:
    known = sessions.attached(None, support.SUPERVISOR, support.idle(), support.NOW)
    document = notify.of_suspension(known)
    assert document["session"] == {"namespace": "team-a", "name": "supervisor"}
    assert "took 0 automatic turns in a row" in document["text"]


class TestBackground:
    """What a served sidecar sends by itself."""

    async def test_a_wake_whose_session_is_gone_is_notified_and_never_delivered(
        self, receiver: servers.Receiver, tmp_path: pathlib.Path
    ) -> None:
        """C149."""
        async with servers.running(tmp_path, hook=receiver.url) as sidecar:
            terminal = support.wake(type=wakes.WakeType.TERMINAL, reason="succeeded", deliver=support.TO_BOTH)
            await sidecar.operator.submit(terminal)
            document = await receiver.got.get()
            assert (document["wake"], document["reason"]) == ("w1", "succeeded")
            page = await sidecar.operator.outcomes(0, 5.0)
            assert [each.state for each in page.events] == [wakes.WakeState.NOTIFIED]
            assert sidecar.count("vigil_sidecar_notifications_total", result="accepted") == 1

    async def test_a_receiver_that_fails_is_tried_until_it_accepts(
        self, receiver: servers.Receiver, tmp_path: pathlib.Path
    ) -> None:
        receiver.status = 503
        async with servers.running(tmp_path, hook=receiver.url) as sidecar:
            await sidecar.operator.submit(support.wake(deliver=support.TO_BOTH))
            await receiver.got.get()
            receiver.status = 200
            again = asyncio.ensure_future(receiver.got.get())
            while not again.done():
                # The time of the next try is written a moment after the answer came.
                sidecar.clock.advance(1)
                await sidecar.operator.submit(support.wake(deliver=support.TO_BOTH))
            page = await sidecar.operator.outcomes(0, 5.0)
            assert [each.state for each in page.events] == [wakes.WakeState.NOTIFIED]

    async def test_the_end_of_a_session_sends_what_waited_for_it(
        self, receiver: servers.Receiver, tmp_path: pathlib.Path
    ) -> None:
        async with servers.running(tmp_path, hook=receiver.url) as sidecar:
            await sidecar.session().attach(30, turn.Activity.BUSY)
            await sidecar.operator.submit(support.wake(deliver=support.TO_BOTH))
            assert receiver.got.empty()
            await sidecar.session().detach()
            assert (await receiver.got.get())["wake"] == "w1"

    async def test_a_suspension_is_said_once(self, receiver: servers.Receiver, tmp_path: pathlib.Path) -> None:
        async with servers.running(tmp_path, hook=receiver.url, rules=turns.Rules(row=1)) as sidecar:
            session = sidecar.session()
            await session.attach(3600, turn.Activity.IDLE)
            await sidecar.operator.submit(support.wake(deliver=support.TO_BOTH))
            taken = await session.next(0, "r1")
            assert taken is not None
            await session.complete(taken, turn.Report())
            document = await receiver.got.get()
            assert document["type"] == "WakingSuspended"
            await sidecar.operator.submit(support.wake("w2", deliver=support.TO_BOTH))
            standing = await sidecar.operator.submit(support.wake("w2", deliver=support.TO_BOTH))
            assert standing.reason is wakes.QueuedReason.WAKING_SUSPENDED
            assert receiver.got.empty()
