"""What was answered is kept, and nothing makes two turns, whenever the process dies."""

import asyncio
import pathlib
import signal

import pytest

from tests.sidecar import processes, servers, support
from vigil import ports
from vigil.adapters import session
from vigil.api import turn
from vigil.model import ids, wakes

IDLE = turn.Activity.IDLE


async def outcomes(sidecar: processes.Sidecar | servers.Running) -> list[tuple[str, str]]:
    page = await sidecar.operator.outcomes(0, 0)
    return [(each.wake, each.state.value) for each in page.events]


async def test_a_wake_survives_every_crash_between_its_submission_and_its_outcome(tmp_path: pathlib.Path) -> None:
    """C146."""
    async with processes.sidecar_process(tmp_path) as sidecar:
        assert (await sidecar.operator.submit(support.wake())).state is wakes.WakeState.QUEUED
        await sidecar.kill()
    async with processes.sidecar_process(tmp_path) as sidecar:
        assert (await sidecar.operator.submit(support.wake())).state is wakes.WakeState.QUEUED
        await sidecar.session.attach(3600, IDLE)
        taken = await sidecar.session.next(0, "r1")
        assert taken is not None
        await sidecar.kill()
    async with processes.sidecar_process(tmp_path) as sidecar:
        assert (await sidecar.operator.submit(support.wake(sequence=2))).state is wakes.WakeState.CLAIMED
        assert await sidecar.session.next(0, "r2") is None
        again = await sidecar.session.next(0, "r1")
        assert again is not None
        assert again.fence == taken.fence
        await sidecar.session.complete(taken, turn.Report(tokens=7))
        await sidecar.kill()
    async with processes.sidecar_process(tmp_path) as sidecar:
        assert (await sidecar.operator.submit(support.wake(sequence=3))).state is wakes.WakeState.DELIVERED
        assert (await sidecar.session.complete(taken, turn.Report(tokens=7))).state is wakes.WakeState.DELIVERED
        assert await sidecar.session.next(0, "r3", user_turn=True) is None
        assert await outcomes(sidecar) == [("w1", "Delivered")]
        sidecar.process.send_signal(signal.SIGTERM)
        assert await sidecar.process.wait() == 0


async def test_a_kill_amid_many_submissions_loses_none_that_was_answered(tmp_path: pathlib.Path) -> None:
    sent = [support.wake(f"w{number}", watch=f"a{number}", deliver=None) for number in range(60)]
    answered: list[ids.WakeId] = []

    async def submit(sidecar: processes.Sidecar, message: wakes.WakeMessage) -> None:
        try:
            await sidecar.operator.submit(message)
        except ports.DeliveryError:
            return
        answered.append(message.id)
        if len(answered) == 20:
            sidecar.process.kill()

    async with processes.sidecar_process(tmp_path) as sidecar:
        await asyncio.gather(*(submit(sidecar, each) for each in sent))
        await sidecar.process.wait()
    async with processes.sidecar_process(tmp_path) as sidecar:
        kept = [wake for wake, _ in await outcomes(sidecar)]
        assert set(answered) <= set(kept)
        for each in sent:
            assert (await sidecar.operator.submit(each)).state is wakes.WakeState.RECORDED
        assert sorted(wake for wake, _ in await outcomes(sidecar)) == sorted(each.id for each in sent)


async def test_a_restart_keeps_sessions_pauses_and_leases(tmp_path: pathlib.Path) -> None:
    clock = support.Clock()
    async with servers.running(tmp_path, clock=clock) as running:
        await running.session().attach(3600, IDLE)
        await running.operator.submit(support.wake())
        first = await running.session().next(0, "r1")
        assert first is not None
    clock.advance(601)
    async with servers.running(tmp_path, clock=clock) as running:
        while (await running.operator.submit(support.wake())).state is wakes.WakeState.CLAIMED:
            await running.operator.outcomes(0, 0)
        with pytest.raises(session.StaleTurnError):
            await running.session().complete(first, turn.Report())
        assert await running.session().next(0, "r2") is None
        clock.advance(5)
        second = await running.session().next(0, "r3")
        assert second is not None
        await running.session().complete(second, turn.Report())
        assert await outcomes(running) == [("w1", "Delivered")]


async def test_a_restart_sends_a_notification_that_was_cut_off(tmp_path: pathlib.Path) -> None:
    clock = support.Clock()
    async with servers.running(tmp_path, clock=clock) as running:
        await running.operator.submit(support.wake(deliver=support.TO_BOTH))
    async with (
        servers.Receiver().serving() as receiver,
        servers.running(tmp_path, clock=clock, hook=receiver.url) as running,
    ):
        told = asyncio.ensure_future(receiver.got.get())
        while not told.done():
            clock.advance(5)
            await running.operator.submit(support.wake(deliver=support.TO_BOTH))
        assert (await told)["wake"] == "w1"
        page = await running.operator.outcomes(0, 5)
        assert [each.state for each in page.events] == [wakes.WakeState.NOTIFIED]


async def test_evidence_that_a_crash_left_behind_is_swept(tmp_path: pathlib.Path) -> None:
    clock = support.Clock()
    orphan = tmp_path / "evidence" / "team-a" / "api-9" / "gone-1.txt"
    orphan.parent.mkdir(parents=True)
    orphan.write_text("left behind")
    clock.advance(1e9)
    async with servers.running(tmp_path, clock=clock):
        assert not orphan.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--listen", "nowhere"), 2, "VIGIL_LISTEN_ADDRESS"),
        (("--listen", "127.0.0.1:0"), 2, "nobody could be let in"),
        (("--listen", "192.0.2.1:1", "--token-file", "/none"), 1, "cannot listen on 192.0.2.1:1"),
    ],
)
async def test_a_start_that_fails_says_why(
    tmp_path: pathlib.Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    process = await processes.vigil("sidecar", "--data-dir", str(tmp_path), *arguments)
    _, errors = await process.communicate()
    assert process.returncode == code
    assert said in errors.decode()
