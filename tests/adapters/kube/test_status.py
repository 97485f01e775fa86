"""The status as the checkpoint: conditional, compared with what came back, and quiet when there is nothing to say."""

import asyncio
import copy
import hashlib
from typing import Any

import pytest
import yaml
from aiohttp import web

from tests.adapters.kube import conftest, objects, servers
from tests.controlplane import plane
from vigil import ports
from vigil.adapters import clock
from vigil.adapters.kube import client, status
from vigil.model import ids, states

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("crd")]


@pytest.fixture
def writer(through: client.ApiClient, signals: objects.Signals) -> status.StatusWriter:
    """A writer through the proxy."""
    return status.StatusWriter(through, clock.SystemClock(), signals)


def reasons(signals: objects.Signals) -> list[ports.StatusWriteError]:
    """Why statuses were not written."""
    return [record.reason for record in signals.records if isinstance(record, ports.StatusWriteFailed)]


async def test_a_checkpoint_is_stored_whole_with_the_version_that_an_event_brought(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED
    stored = objects.stored(control_plane, namespace)["status"]
    assert (stored["phase"], stored["observedGeneration"]) == ("Watching", 1)
    assert [one["key"] for one in stored["observations"]] == ["progressing"]
    assert stored["engine"]["document"]
    assert [one.split("?")[0] for one in proxy.requests] == [
        f"PUT /apis/vigil.dev/v1alpha1/namespaces/{namespace}/watches/{objects.NAME}/status"
    ]


async def test_a_watch_that_no_event_brought_is_read_first(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED
    assert [one.split()[0] for one in proxy.requests] == ["GET", "PUT"]


async def test_an_equal_status_is_not_written(
    control_plane: plane.ControlPlane, through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer = status.StatusWriter(through, clock.SystemClock(), objects.Signals())
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED
    assert proxy.asked("PUT") == 1
    # The next process has it from the stored object alone.
    other = status.StatusWriter(through, clock.SystemClock(), objects.Signals())
    assert await other.save(objects.left(watch)) is ports.SaveResult.SAVED
    assert proxy.asked("PUT") == 1


async def test_several_saves_need_no_event_in_between(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    for key in ("one", "two", "three"):
        assert await writer.save(objects.left(watch, key)) is ports.SaveResult.SAVED
    assert (proxy.asked("GET"), proxy.asked("PUT")) == (0, 3)


async def test_an_event_that_comes_late_does_not_take_the_place_of_an_own_write(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    """C137: a stale read after a write neither repeats a conflict nor brings old bookkeeping back."""
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    await writer.save(objects.left(watch, "one"))
    writer.observe(watch)
    assert await writer.save(objects.left(watch, "two")) is ports.SaveResult.SAVED
    assert (proxy.asked("GET"), proxy.asked("PUT")) == (0, 2)


async def test_a_conflict_with_an_unchanged_generation_applies_the_same_result_to_the_fresh_object(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    objects.change(control_plane, namespace, annotation="by somebody else")
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED
    stored = objects.stored(control_plane, namespace)
    assert stored["status"]["phase"] == "Watching"
    assert stored["metadata"]["annotations"]["note"] == "by somebody else"
    assert [one.split()[0] for one in proxy.requests] == ["PUT", "GET", "PUT"]


async def test_a_conflict_with_a_newer_generation_is_stale_and_writes_nothing(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, signals: objects.Signals, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    objects.change(control_plane, namespace, suspend=True)
    assert await writer.save(objects.left(watch)) is ports.SaveResult.STALE
    assert "status" not in objects.stored(control_plane, namespace)
    assert reasons(signals) == []


async def test_a_result_of_an_older_generation_is_not_even_sent(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(objects.change(control_plane, namespace, suspend=True))
    assert await writer.save(objects.left(watch)) is ports.SaveResult.STALE
    assert proxy.requests == []


async def test_a_deleted_watch_is_gone_quietly_and_for_good(
    control_plane: plane.ControlPlane,
    writer: status.StatusWriter,
    signals: objects.Signals,
    proxy: servers.Proxy,
    namespace: str,
) -> None:
    """C154: the answer 404 is final."""
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    control_plane.kubectl("delete", "watch.vigil.dev", "-n", namespace, objects.NAME)
    assert await writer.save(objects.left(watch)) is ports.SaveResult.GONE
    assert (reasons(signals), len(proxy.requests)) == ([], 1)


async def test_a_stranger_under_the_old_name_is_not_written_to(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    control_plane.kubectl("delete", "watch.vigil.dev", "-n", namespace, objects.NAME)
    objects.create(control_plane, namespace)
    assert await writer.save(objects.left(watch)) is ports.SaveResult.GONE
    assert "status" not in objects.stored(control_plane, namespace)


async def test_a_watch_that_is_being_deleted_is_gone(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    kept = copy.deepcopy(watch)
    kept["metadata"]["finalizers"] = ["vigil.dev/test"]
    where = f"/apis/vigil.dev/v1alpha1/namespaces/{namespace}/watches/{objects.NAME}"
    control_plane.api("PUT", where, kept)
    writer.observe(watch)
    control_plane.kubectl("delete", "watch.vigil.dev", "-n", namespace, objects.NAME, "--wait=false")
    assert await writer.save(objects.left(watch)) is ports.SaveResult.GONE
    left = objects.stored(control_plane, namespace)
    assert "status" not in left
    control_plane.api("PUT", where, {**left, "metadata": {**left["metadata"], "finalizers": []}})


async def test_endless_conflicts_end_as_a_failure(
    control_plane: plane.ControlPlane,
    writer: status.StatusWriter,
    signals: objects.Signals,
    proxy: servers.Proxy,
    namespace: str,
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)

    async def interfere(request: web.Request) -> web.StreamResponse | None:
        if request.method == "PUT":
            note = f"change {len(proxy.requests)}"
            await asyncio.to_thread(objects.change, control_plane, namespace, annotation=note)
        return None

    proxy.fault = interfere
    assert await writer.save(objects.left(watch)) is ports.SaveResult.FAILED
    assert reasons(signals) == [ports.StatusWriteError.CONFLICT]
    assert proxy.asked("PUT", "/status") == status.TRIES


async def test_a_write_whose_answer_was_lost_is_found_and_not_repeated(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    lost: list[Any] = []

    async def lose(request: web.Request) -> web.StreamResponse | None:
        if request.method != "PUT" or lost:
            return None
        lost.append(await asyncio.to_thread(control_plane.api, "PUT", request.path, await request.json()))
        return servers.refusal(504, "Timeout")

    proxy.fault = lose
    checkpoint = objects.left(watch)
    assert await writer.save(checkpoint) is ports.SaveResult.FAILED
    assert await writer.save(checkpoint) is ports.SaveResult.SAVED
    stored = objects.stored(control_plane, namespace)
    assert stored["metadata"]["resourceVersion"] == lost[0]["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (500, ports.StatusWriteError.UNAVAILABLE),
        (403, ports.StatusWriteError.FORBIDDEN),
        (422, ports.StatusWriteError.INVALID),
        (418, ports.StatusWriteError.UNKNOWN),
    ],
)
async def test_a_failed_write_is_told_with_its_reason_and_succeeds_later(
    control_plane: plane.ControlPlane,
    writer: status.StatusWriter,
    signals: objects.Signals,
    proxy: servers.Proxy,
    namespace: str,
    answer: int,
    reason: ports.StatusWriteError,
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)

    async def fail(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(answer, "Whatever")

    proxy.fault = fail
    assert await writer.save(objects.left(watch)) is ports.SaveResult.FAILED
    assert (reasons(signals), len(proxy.requests)) == ([reason], 1)
    proxy.fault = servers.no_fault
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED


async def test_a_status_that_is_too_long_for_the_schema_is_invalid_and_overwrites_nothing(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, signals: objects.Signals, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    await writer.save(objects.left(watch))
    before = objects.stored(control_plane, namespace)
    # Texts that no packing makes short.
    names = [hashlib.sha512(str(number).encode()).hexdigest() for number in range(600)]
    subjects = {ids.SubjectId(name): states.SubjectState(revision="r") for name in names}
    state = states.State(ids.WatchUid(watch["metadata"]["uid"]), subjects=subjects, generation=1)
    assert await writer.save(objects.left(watch, state=state)) is ports.SaveResult.FAILED
    assert reasons(signals) == [ports.StatusWriteError.INVALID]
    assert objects.stored(control_plane, namespace) == before


async def test_a_throttle_is_waited_for_and_then_written(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)

    async def throttle_once(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(429, "TooManyRequests", retry_after=1) if len(proxy.requests) == 1 else None

    proxy.fault = throttle_once
    before = clock.SystemClock().monotonic()
    assert await writer.save(objects.left(watch)) is ports.SaveResult.SAVED
    assert clock.SystemClock().monotonic() - before >= 1.0
    assert len(proxy.requests) == 2


async def test_a_long_throttle_holds_every_write_and_nothing_is_sent_meanwhile(
    control_plane: plane.ControlPlane,
    through: client.ApiClient,
    signals: objects.Signals,
    proxy: servers.Proxy,
    namespace: str,
) -> None:
    now = conftest.TurningClock()
    writer = status.StatusWriter(through, now, signals)
    first = objects.create(control_plane, namespace)
    other = objects.create(control_plane, namespace, "other")
    writer.observe(first)
    writer.observe(other)

    async def throttle(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(429, "TooManyRequests", retry_after=300)

    proxy.fault = throttle
    assert await writer.save(objects.left(first)) is ports.SaveResult.FAILED
    assert await writer.save(objects.left(other)) is ports.SaveResult.FAILED
    assert reasons(signals) == [ports.StatusWriteError.UNAVAILABLE] * 2
    assert len(proxy.requests) == 1
    proxy.fault = servers.no_fault
    now.turn(301)
    assert await writer.save(objects.left(other)) is ports.SaveResult.SAVED


async def test_less_came_back_than_was_sent(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, signals: objects.Signals, namespace: str
) -> None:
    """C134: a CRD whose status knows less than we write drops the rest without a word."""
    crd = yaml.safe_load(conftest.CRD.read_text())
    older = copy.deepcopy(crd)
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["engine"]
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    _replace(control_plane, older)
    try:
        await _until_pruned(control_plane, namespace)
        writer.observe(objects.stored(control_plane, namespace))
        assert await writer.save(objects.left(watch)) is ports.SaveResult.PRUNED
        assert reasons(signals) == [ports.StatusWriteError.PRUNED]
    finally:
        _replace(control_plane, crd)
    for _ in range(100):
        if await writer.save(objects.left(watch)) is ports.SaveResult.SAVED:
            break
        await asyncio.sleep(0.1)
    assert objects.stored(control_plane, namespace)["status"]["engine"]["document"]


def _replace(control_plane: plane.ControlPlane, crd: Any) -> None:
    where = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
    version = control_plane.api("GET", where)["metadata"]["resourceVersion"]
    control_plane.api("PUT", where, {**crd, "metadata": {**crd["metadata"], "resourceVersion": version}})


async def _until_pruned(control_plane: plane.ControlPlane, namespace: str) -> None:
    """The API server serves a changed schema a moment after the change."""
    where = f"/apis/vigil.dev/v1alpha1/namespaces/{namespace}/watches/{objects.NAME}"
    for number in range(100):
        watch = objects.stored(control_plane, namespace)
        watch["status"] = {"engine": {"version": number + 1, "document": "{}"}}
        if "engine" not in control_plane.api("PUT", f"{where}/status", watch).get("status", {}):
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the older schema is not served")


def test_defaults_that_are_added_are_no_loss() -> None:
    assert status.holds({"a": 1, "b": [{"c": 1, "d": 2}]}, {"b": [{"c": 1}]})
    assert not status.holds({"b": [{"c": 1}]}, {"b": [{"c": 1}, {"c": 2}]})
    assert not status.holds({"b": [{"d": 2}]}, {"b": [{"c": 1}]})
    assert not status.holds({"b": 2}, {"b": 1})
    assert not status.holds(None, {"b": 1})


async def test_an_invalid_watch_says_why_and_says_it_once(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    message = ("spec.subjects[0].name", "names nothing")
    assert await writer.write_invalid(watch, *message) is ports.SaveResult.SAVED
    stored = objects.stored(control_plane, namespace)
    ready = next(one for one in stored["status"]["conditions"] if one["type"] == "Ready")
    assert (stored["status"]["phase"], ready["status"], ready["reason"]) == ("Invalid", "False", "InvalidSpec")
    assert ready["message"] == "spec.subjects[0].name: names nothing"
    assert await writer.write_invalid(stored, *message) is ports.SaveResult.SAVED
    assert proxy.asked("PUT") == 1


async def test_writes_are_bounded_in_number_at_one_time(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    made = [objects.create(control_plane, namespace, f"w-{number}") for number in range(status.CONCURRENT + 4)]
    under_way, most = 0, 0
    all_in = asyncio.Event()

    async def count(_request: web.Request) -> web.StreamResponse | None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == status.CONCURRENT:
            all_in.set()
        await all_in.wait()
        await asyncio.sleep(0.05)
        under_way -= 1
        return None

    proxy.fault = count
    for one in made:
        writer.observe(one)
    results = await asyncio.gather(*(writer.save(objects.left(one)) for one in made))
    assert set(results) == {ports.SaveResult.SAVED}
    assert most == status.CONCURRENT


async def test_what_is_not_kept_is_forgotten(
    control_plane: plane.ControlPlane, writer: status.StatusWriter, proxy: servers.Proxy, namespace: str
) -> None:
    watch = objects.create(control_plane, namespace)
    writer.observe(watch)
    writer.keep_only([])
    await writer.save(objects.left(watch))
    assert proxy.asked("GET") == 1
    writer.forget(watch["metadata"]["uid"])
    await writer.save(objects.left(watch))
    assert proxy.asked("GET") == 2
