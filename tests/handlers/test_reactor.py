"""kopf in its thread, against a real API server."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.controlplane import plane
from tests.handlers import parts
from vigil.handlers import messages, reactor

WATCHES = "/apis/vigil.dev/v1alpha1"
QUICK = 1.0
TEST = "the-test"
"""The manager of the fields that a test writes."""


class Desk:
    """Takes what the thread hands over, in the test's own loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.got: list[messages.Message] = []
        self._came = asyncio.Event()

    def hand_over(self, message: messages.Message) -> None:
        """Pass it on."""
        self._loop.call_soon_threadsafe(self._take, message)

    def _take(self, message: messages.Message) -> None:
        self.got.append(message)
        self._came.set()

    async def until(self, wanted: Callable[[messages.Message], bool], seconds: float = 30.0) -> messages.Message:
        """The first message that is wanted, once it is there."""
        async with asyncio.timeout(seconds):
            while (found := next(filter(wanted, self.got), None)) is None:
                self._came.clear()
                await self._came.wait()
            return found


@contextlib.asynccontextmanager
async def running(namespace: str, **options: Any) -> AsyncIterator[tuple[Desk, reactor.Reactor]]:
    """kopf over one namespace."""
    desk = Desk()
    made = reactor.Reactor(desk.hand_over, reactor.Options((namespace,), **{"timer_interval": QUICK, **options}))
    made.start()
    try:
        yield desk, made
    finally:
        made.stop()
        await asyncio.wait_for(made.ended(), 30)


def of(kind: type[messages.Message], **facts: Any) -> Callable[[messages.Message], bool]:
    """Whether a message is of this kind, and its Watch has these facts in its spec."""

    def matches(message: messages.Message) -> bool:
        if not isinstance(message, kind) or isinstance(message, messages.Relisted):
            return isinstance(message, kind)
        return all(message.body.get("spec", {}).get(name) == value for name, value in facts.items())

    return matches


def leaves(message: messages.Message) -> bool:
    """Whether a message is of a Watch that goes."""
    return isinstance(message, messages.Seen) and message.leaving


def create(api: plane.ControlPlane, namespace: str, name: str = "api", **spec: Any) -> dict[str, Any]:
    """Make a Watch; gives it as it is stored."""
    body = parts.body(name, **spec)
    body["metadata"] = {"name": name}
    made: dict[str, Any] = api.api("POST", f"{WATCHES}/namespaces/{namespace}/watches?fieldManager={TEST}", body)
    return made


def stored(api: plane.ControlPlane, namespace: str, name: str = "api") -> dict[str, Any]:
    """A Watch as it is stored."""
    found: dict[str, Any] = api.api("GET", f"{WATCHES}/namespaces/{namespace}/watches/{name}")
    return found


async def until_finalized(api: plane.ControlPlane, namespace: str) -> dict[str, Any]:
    """The Watch once kopf has put its finalizer on it."""
    finalized = "--for=jsonpath={.metadata.finalizers[0]}"
    await asyncio.to_thread(api.kubectl, "wait", finalized, "watch/api", "-n", namespace, "--timeout=30s")
    return stored(api, namespace)


# --- without a cluster -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nowhere")
async def test_a_login_that_fails_ends_the_thread_though_nobody_asked_it_to() -> None:
    async with running("default") as (desk, made):
        error = await asyncio.wait_for(made.ended(), 30)
        assert "credentials" in str(error)
        assert not made.ready
        assert desk.got == []


async def test_what_hands_over_may_fail_and_kopf_does_not_hear_of_it(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_message: messages.Message) -> None:
        raise RuntimeError("the loop is closed")

    made = reactor.Reactor(broken, reactor.Options())
    await made._on_timer(body=parts.body(), uid="uid-api")  # type: ignore[arg-type] # kopf's view is a mapping
    assert [record.getMessage().split(",")[0] for record in caplog.records] == ["a message was lost"]


# --- with one --------------------------------------------------------------------------------------------------------


@pytest.mark.e2e
async def test_what_happens_to_a_watch_is_handed_over(as_admin: plane.ControlPlane, namespace: str) -> None:
    async with running(namespace) as (desk, made):
        created = create(as_admin, namespace, description="first")
        seen = await desk.until(of(messages.Seen, description="first"))
        assert isinstance(seen, messages.Seen)
        assert seen.uid == created["metadata"]["uid"]
        assert made.ready
        as_admin.kubectl("patch", "watch", "api", "-n", namespace, "--type=merge", "-p", '{"spec":{"description":"b"}}')
        changed = await desk.until(of(messages.Seen, description="b"))
        assert isinstance(changed, messages.Seen)
        assert changed.body["metadata"]["generation"] == 2
        ticked = await desk.until(of(messages.Ticked, description="b"))
        assert isinstance(ticked, messages.Ticked)
        assert ticked.uid == seen.uid


@pytest.mark.e2e
async def test_watches_that_are_there_already_come_with_a_listing(as_admin: plane.ControlPlane, namespace: str) -> None:
    create(as_admin, namespace)
    async with running(namespace) as (desk, _):
        await desk.until(of(messages.Seen))
        assert isinstance(desk.got[0], messages.Relisted)


@pytest.mark.e2e
async def test_a_deletion_waits_for_what_was_handed_over_and_then_goes_on(
    as_admin: plane.ControlPlane, namespace: str
) -> None:
    async with running(namespace) as (desk, _):
        create(as_admin, namespace)
        found = await until_finalized(as_admin, namespace)
        assert found["metadata"]["finalizers"] == [reactor.FINALIZER]
        as_admin.kubectl("delete", "watch", "api", "-n", namespace, "--wait=false")
        leaving = await desk.until(leaves)
        assert isinstance(leaving, messages.Seen)
        assert leaving.done is not None
        assert stored(as_admin, namespace)["metadata"]["finalizers"] == [reactor.FINALIZER]
        leaving.done.set_result(None)
        as_admin.kubectl("wait", "--for=delete", "watch/api", "-n", namespace, "--timeout=20s")


@pytest.mark.e2e
async def test_a_deletion_waits_no_longer_than_it_may(as_admin: plane.ControlPlane, namespace: str) -> None:
    async with running(namespace, finalizer_timeout=1.0) as (desk, _):
        create(as_admin, namespace)
        await until_finalized(as_admin, namespace)
        began = time.monotonic()
        as_admin.kubectl("delete", "watch", "api", "-n", namespace, "--timeout=20s")
        assert time.monotonic() - began < 10
        leaving = await desk.until(leaves)
        assert isinstance(leaving, messages.Seen)
        assert leaving.done is not None
        assert leaving.done.cancelled()


@pytest.mark.e2e
async def test_kopf_writes_nothing_of_a_watch_but_its_finalizer(as_admin: plane.ControlPlane, namespace: str) -> None:
    async with running(namespace) as (desk, _):
        create(as_admin, namespace)
        await until_finalized(as_admin, namespace)
        await desk.until(of(messages.Ticked))
        change = ["patch", "watch", "api", "-n", namespace, f"--field-manager={TEST}", "--type=merge"]
        as_admin.kubectl(*change, "--patch", '{"spec":{"suspend":true}}')
        await desk.until(of(messages.Ticked, suspend=True))
        watch = stored(as_admin, namespace)
    assert "status" not in watch
    assert not {"annotations", "labels"} & watch["metadata"].keys()
    ours = [one["fieldsV1"] for one in watch["metadata"]["managedFields"] if one["manager"] != TEST]
    assert ours == [{"f:metadata": {"f:finalizers": {".": {}, f'v:"{reactor.FINALIZER}"': {}}}}]
    events = as_admin.api("GET", f"/api/v1/namespaces/{namespace}/events")["items"]
    assert [one for one in events if one["involvedObject"]["kind"] == "Watch"] == []


@pytest.mark.e2e
async def test_the_thread_ends_soon_after_it_is_asked_to(as_admin: plane.ControlPlane, namespace: str) -> None:
    async with running(namespace) as (desk, made):
        create(as_admin, namespace)
        await desk.until(of(messages.Seen))
        began = time.monotonic()
        made.stop()
        assert await asyncio.wait_for(made.ended(), 15) is None
        assert time.monotonic() - began < 8
        assert not made.ready


@pytest.mark.e2e
async def test_only_the_namespaces_that_are_named_are_watched(as_admin: plane.ControlPlane, namespace: str) -> None:
    create(as_admin, "default", "elsewhere")
    try:
        async with running(namespace) as (desk, _):
            create(as_admin, namespace)
            await desk.until(of(messages.Ticked))
            names = {one.body["metadata"]["name"] for one in desk.got if not isinstance(one, messages.Relisted)}
            assert names == {"api"}
    finally:
        as_admin.kubectl("delete", "watch", "elsewhere", "-n", "default", "--timeout=20s")
