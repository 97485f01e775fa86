"""The election of the active replica: one at a time, over crashes, releases and a silent API server."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tests.adapters.kube import conftest, objects, servers
from tests.controlplane import plane
from vigil import ports
from vigil.adapters import clock
from vigil.adapters.kube import client, errors, lease
from vigil.model import ids

pytestmark = pytest.mark.e2e

TIMES = {"duration": 3.0, "renew_deadline": 1.5, "retry": 0.2}


@dataclasses.dataclass
class Candidate:
    """One replica, with the time at which it became the active one."""

    election: lease.Election
    signals: objects.Signals
    since: ids.Seconds | None = None

    async def lead(self) -> None:
        """Wait to become the active one."""
        await self.election.acquire()
        self.since = clock.SystemClock().monotonic()

    def crash(self) -> None:
        """End without a word, as a killed process does."""
        assert self.election._renewing is not None
        self.election._renewing.cancel()


def candidate(api: client.ApiClient, namespace: str, name: str = "vigil", **times: float) -> Candidate:
    """One replica of an operator in this namespace."""
    settings = lease.Settings(namespace, "vigil-operator", name, **{**TIMES, **times})
    signals = objects.Signals()
    return Candidate(lease.Election(api, clock.SystemClock(), signals, settings), signals)


def stored(control_plane: plane.ControlPlane, namespace: str) -> Any:
    """The Lease."""
    return control_plane.api("GET", path(namespace))


def path(namespace: str) -> str:
    """The path of the Lease."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/vigil-operator"


@contextlib.asynccontextmanager
async def standing_by(one: Candidate) -> AsyncIterator[asyncio.Task[None]]:
    """A replica that waits for its turn, for as long as it does."""
    task = asyncio.create_task(one.lead())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await one.election.release()


async def test_the_first_candidate_makes_the_lease_and_holds_it(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    one = candidate(api, namespace)
    await one.election.acquire()
    spec = stored(control_plane, namespace)["spec"]
    assert spec["holderIdentity"] == one.election.identity == one.election.holder
    assert one.election.identity.startswith("vigil_")
    assert (spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (3, 0)
    assert spec["renewTime"].endswith("Z")
    assert one.election.leading
    assert one.signals.records == [ports.LeadershipChanged(leading=True)]
    await one.election.release()


async def test_a_holder_renews_for_as_long_as_it_lives(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    one, other = candidate(api, namespace), candidate(api, namespace)
    await one.lead()
    async with standing_by(other) as waiting:
        # Longer than the Lease is good for without a renewal.
        await asyncio.sleep(TIMES["duration"] + 0.5)
        assert not waiting.done()
        assert one.election.leading
        assert not other.election.leading
        assert other.election.holder == one.election.identity
        await one.election.release()


async def test_a_released_lease_is_taken_over_at_the_next_look(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    one, other = candidate(api, namespace), candidate(api, namespace)
    await one.lead()
    async with standing_by(other) as waiting:
        await asyncio.sleep(0.3)
        released_at = clock.SystemClock().monotonic()
        await one.election.release()
        assert not one.election.leading
        assert not one.election.lost.is_set()
        await asyncio.wait_for(waiting, 5)
        assert other.since is not None
        assert other.since - released_at < 1.0
        spec = stored(control_plane, namespace)["spec"]
        assert (spec["holderIdentity"], spec["leaseTransitions"]) == (other.election.identity, 1)
    assert one.signals.records == [ports.LeadershipChanged(leading=True), ports.LeadershipChanged(leading=False)]
    assert stored(control_plane, namespace)["spec"]["holderIdentity"] == ""


async def test_a_crashed_holder_is_followed_once_its_lease_is_over_and_not_before(
    api: client.ApiClient, namespace: str
) -> None:
    one, other = candidate(api, namespace), candidate(api, namespace)
    await one.lead()
    async with standing_by(other) as waiting:
        await asyncio.sleep(0.5)
        one.crash()
        crashed_at = clock.SystemClock().monotonic()
        await asyncio.wait_for(waiting, 10)
        assert other.since is not None
        assert TIMES["duration"] - TIMES["retry"] - 0.1 <= other.since - crashed_at < TIMES["duration"] + 1.5


async def test_of_many_candidates_exactly_one_holds_the_lease_at_any_time(
    api: client.ApiClient, namespace: str
) -> None:
    candidates = [candidate(api, namespace, f"vigil-{number}") for number in range(5)]
    most = 0
    async with contextlib.AsyncExitStack() as stack:
        for one in candidates:
            await stack.enter_async_context(standing_by(one))
        for _ in range(3):
            leader = await _leader(candidates)
            for _ in range(20):
                most = max(most, sum(1 for one in candidates if one.election.leading))
                await asyncio.sleep(0.02)
            await leader.election.release()
            candidates.remove(leader)
    assert most == 1


async def _leader(candidates: list[Candidate]) -> Candidate:
    for _ in range(500):
        for one in candidates:
            if one.election.leading:
                return one
        await asyncio.sleep(0.01)
    raise AssertionError("nobody leads")


async def test_a_silent_api_server_ends_leadership_before_the_lease_is_over(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    other = candidate(api, namespace, "other")
    async with servers.wired(control_plane) as wire:
        kubeconfig = control_plane.kubeconfig("wired", server=f"https://127.0.0.1:{wire.port}")
        async with await conftest.connected(kubeconfig) as cut_off:
            one = candidate(cut_off, namespace, "cut-off")
            await one.lead()
            async with standing_by(other) as waiting:
                await asyncio.sleep(0.5)
                wire.cut()
                await asyncio.wait_for(one.election.lost.wait(), 5)
                assert not waiting.done()
                assert not one.election.leading
                assert "could not be renewed within 1.5 s" in one.election.why_lost
                await asyncio.wait_for(waiting, 10)
                wire.mend()
                # What waited in the wire names a version that is gone.
                await asyncio.sleep(0.5)
                assert other.election.leading
                assert stored(control_plane, namespace)["spec"]["holderIdentity"] == other.election.identity
    assert one.signals.records == [ports.LeadershipChanged(leading=True), ports.LeadershipChanged(leading=False)]


async def test_a_short_silence_is_survived(
    control_plane: plane.ControlPlane, through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    one = candidate(through, namespace)
    await one.lead()
    failed = asyncio.Event()

    async def fail(_request: web.Request) -> web.StreamResponse | None:
        failed.set()
        return servers.refusal(503, "ServiceUnavailable")

    proxy.fault = fail
    await failed.wait()
    proxy.fault = servers.no_fault
    before = stored(control_plane, namespace)["spec"]["renewTime"]
    await _until(lambda: stored(control_plane, namespace)["spec"]["renewTime"] != before)
    assert one.election.leading
    await one.election.release()


async def test_a_renewal_whose_answer_was_lost_is_no_loss_of_the_lease(
    control_plane: plane.ControlPlane, through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    one = candidate(through, namespace)
    await one.lead()
    lost: list[str] = []

    async def lose(request: web.Request) -> web.StreamResponse | None:
        if request.method != "PUT" or lost:
            return None
        answer = await asyncio.to_thread(control_plane.api, "PUT", request.path, await request.json())
        lost.append(answer["metadata"]["resourceVersion"])
        return servers.refusal(504, "Timeout")

    proxy.fault = lose
    await _until(lambda: bool(lost) and stored(control_plane, namespace)["metadata"]["resourceVersion"] != lost[0])
    assert one.election.leading
    await one.election.release()


async def test_a_note_in_the_lease_is_no_loss_of_it(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    one = candidate(api, namespace)
    await one.lead()
    control_plane.kubectl("annotate", "lease", "-n", namespace, "vigil-operator", "note=by-somebody")
    before = stored(control_plane, namespace)["spec"]["renewTime"]
    await _until(lambda: stored(control_plane, namespace)["spec"]["renewTime"] != before)
    assert one.election.leading
    await one.election.release()


async def test_a_lease_that_another_took_is_lost_at_once(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    one = candidate(api, namespace)
    await one.lead()
    patch = '{"spec": {"holderIdentity": "a-usurper"}}'
    control_plane.kubectl("patch", "lease", "-n", namespace, "vigil-operator", "--type=merge", "-p", patch)
    await asyncio.wait_for(one.election.lost.wait(), 1)
    assert one.election.why_lost == "the Lease is held by a-usurper"
    await one.election.release()
    assert stored(control_plane, namespace)["spec"]["holderIdentity"] == "a-usurper"


async def test_a_lease_that_was_deleted_is_lost_at_once(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    one = candidate(api, namespace)
    await one.lead()
    control_plane.kubectl("delete", "lease", "-n", namespace, "vigil-operator")
    await asyncio.wait_for(one.election.lost.wait(), 1)
    assert one.election.why_lost == "the Lease was deleted"


async def test_a_standby_does_not_believe_the_others_clock(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    """A renewal that claims to be of last year is as good as any: how long it lasts is seen, not read."""
    past = "2020-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 2, "renewTime": past, "acquireTime": past}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "vigil-operator"}}
    control_plane.api("POST", path(namespace).rpartition("/")[0], {**body, "spec": spec})
    began = clock.SystemClock().monotonic()
    one = candidate(api, namespace)
    await asyncio.wait_for(one.lead(), 10)
    assert clock.SystemClock().monotonic() - began >= 2.0
    assert stored(control_plane, namespace)["spec"]["leaseTransitions"] == 1
    await one.election.release()


async def test_an_election_that_is_not_allowed_fails_and_says_why(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    kubeconfig = control_plane.service_account_kubeconfig(namespace, "default")
    async with await conftest.connected(kubeconfig) as nobody:
        with pytest.raises(errors.DeniedError, match="leases"):
            await candidate(nobody, namespace).election.acquire()
    with pytest.raises(errors.NotFoundError):
        await candidate(api, "there-is-no-such-namespace").election.acquire()


async def test_a_standby_waits_for_an_api_server_that_is_not_there_yet(
    through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    async def fail(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(503, "ServiceUnavailable") if len(proxy.requests) < 3 else None

    proxy.fault = fail
    one = candidate(through, namespace)
    await asyncio.wait_for(one.lead(), 5)
    await one.election.release()


async def test_leadership_ends_at_the_deadline_even_where_the_loop_did_not_run(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    now = conftest.TurningClock()
    settings = lease.Settings(namespace, "vigil-operator", "frozen", 15.0, 10.0, 2.0)
    one = lease.Election(api, now, objects.Signals(), settings)
    await one.acquire()
    now.turn(9.0)
    assert one.leading
    now.turn(1.5)
    assert not one.leading
    assert not one.lost.is_set()
    await one.release()


def test_times_that_let_two_be_active_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        lease.Settings("team-a", "vigil-operator", "vigil", duration=10.0, renew_deadline=10.0)


async def _until(true: Any) -> None:
    for _ in range(200):
        if await asyncio.to_thread(true):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not happen within 4 s")
