"""From what kopf saw to what the scheduler holds."""

import asyncio
import concurrent.futures
import contextlib
import copy
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.handlers import parts
from vigil import ports
from vigil.api import status, v1alpha1
from vigil.handlers import intake, messages
from vigil.model import failures, ids, states, verdicts

INVALID: dict[str, Any] = {"subjects": [{"name": "UPPER"}]}


@contextlib.asynccontextmanager
async def running(door: intake.Intake) -> AsyncIterator["asyncio.Task[None]"]:
    """The intake at work."""
    task = asyncio.create_task(door.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def through(door: intake.Intake, *told: messages.Message) -> None:
    """Hand messages over, and wait until all of them were acted on."""
    last: concurrent.futures.Future[None] = concurrent.futures.Future()
    for message in (*told, messages.Seen("uid-nobody", {}, leaving=True, done=last)):
        door.put(message)
    await asyncio.wait_for(asyncio.wrap_future(last), 10)


def listing(*watches: dict[str, Any]) -> Callable[[], Awaitable[list[dict[str, Any]]]]:
    """A list of all Watches that there are."""

    async def listed() -> list[dict[str, Any]]:
        return list(watches)

    return listed


def leaving(watch: dict[str, Any]) -> tuple[messages.Seen, "concurrent.futures.Future[None]"]:
    """The message of a Watch that goes, and what tells that it was acted on."""
    done: concurrent.futures.Future[None] = concurrent.futures.Future()
    gone = parts.with_metadata(watch, deletionTimestamp="2026-03-01T10:00:00Z")
    return messages.Seen(watch["metadata"]["uid"], gone, leaving=True, done=done), done


# --- enrolling -------------------------------------------------------------------------------------------------------


async def test_a_watch_that_is_new_is_enrolled(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    assert one.enrolled() == {"uid-api"}
    assert one.memory_of("api").watch.ref.name == "api"
    assert one.cluster.seen == [parts.body()]


async def test_a_watch_that_was_known_before_goes_on_where_its_status_left_it(
    one: parts.Parts, door: intake.Intake
) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    left = one.memory_of("api").current
    again = parts.Parts()
    second = intake.Intake(again.queue, again.kinds, again.cluster)
    await second.reconcile("uid-api", {**parts.body(), "status": status.render(left, None, 0.0)})
    assert again.memory_of("api").state == left.state
    assert left.state.in_flight is not None


async def test_a_newer_generation_is_enrolled_again_with_its_memory(one: parts.Parts, door: intake.Intake) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    flown = one.memory_of("api").state.in_flight
    await door.reconcile("uid-api", parts.body(generation=2, description="newer"))
    assert one.memory_of("api").watch.description == "newer"
    assert one.memory_of("api").state.generation == 2
    assert one.memory_of("api").state.in_flight == flown


@pytest.mark.parametrize(
    ("annotation", "value", "field", "wanted"),
    [
        (v1alpha1.POKE, "1", "poke", "1"),
        (v1alpha1.RESET, "1", "reset", "1"),
        (v1alpha1.SILENCE_UNTIL, "2026-03-01T10:00:00Z", "silence_until", 1772359200.0),
    ],
)
async def test_an_annotation_of_ours_counts_without_a_newer_generation(
    one: parts.Parts, door: intake.Intake, annotation: str, value: str, field: str, wanted: object
) -> None:
    await door.reconcile("uid-api", parts.body())
    await door.reconcile("uid-api", parts.with_metadata(parts.body(), annotations={annotation: value}))
    assert getattr(one.memory_of("api").watch, field) == wanted
    await door.reconcile("uid-api", parts.body())
    assert getattr(one.memory_of("api").watch, field) in {"", None}


# C133: the first three are handled, the last refreshes the version that is known and nothing else.


async def test_a_deletion_timestamp_alone_is_acted_on(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    await door.reconcile("uid-api", parts.with_metadata(parts.body(), deletionTimestamp="2026-03-01T10:00:00Z"))
    assert one.enrolled() == set()
    assert one.cluster.forgotten == ["uid-api"]


async def test_a_suspension_is_acted_on(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    await door.reconcile("uid-api", parts.body(generation=2, suspend=True))
    await one.queue.round()
    assert one.memory_of("api").current.verdict == verdicts.Quiet(verdicts.QuietReason.SUSPENDED)
    assert one.provider.reads == []


async def test_a_poke_is_a_read_at_once(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    await one.queue.round()
    assert one.provider.reads == ["api"]
    await door.reconcile("uid-api", parts.with_metadata(parts.body(), annotations={v1alpha1.POKE: "now"}))
    await one.queue.round()
    assert one.provider.reads == ["api", "api"]


async def test_a_change_of_the_status_alone_refreshes_what_is_known_and_is_nothing_new(
    one: parts.Parts, door: intake.Intake
) -> None:
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    before = one.memory_of("api")
    newer = {**parts.with_metadata(parts.body(), resourceVersion="2", labels={"a": "b"}), "status": {"phase": "Failed"}}
    await door.reconcile("uid-api", newer)
    await one.queue.round()
    assert one.memory_of("api") is before
    assert one.provider.reads == ["api"]
    assert one.cluster.seen[-1] == newer


# --- specs that are not valid ----------------------------------------------------------------------------------------


async def test_a_watch_that_is_invalid_is_told_so_and_not_enrolled(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body(**INVALID))
    assert one.enrolled() == set()
    assert one.cluster.said == [("api", "spec.subjects[0].name", "must match ^[a-z-]+$")]


async def test_a_watch_that_becomes_invalid_is_not_read_any_more(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    await door.reconcile("uid-api", parts.body(generation=2, **INVALID))
    assert one.enrolled() == set()
    assert len(one.cluster.said) == 1


async def test_a_watch_that_is_repaired_is_enrolled(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body(**INVALID))
    await door.reconcile("uid-api", parts.body(generation=2))
    assert one.enrolled() == {"uid-api"}


async def test_an_annotation_that_is_not_valid_is_told_and_its_repair_counts(
    one: parts.Parts, door: intake.Intake
) -> None:
    await door.reconcile("uid-api", parts.with_metadata(parts.body(), annotations={v1alpha1.SILENCE_UNTIL: "tomorrow"}))
    assert one.cluster.said[0][1] == "metadata.annotations[vigil.dev/silence-until]"
    await door.reconcile("uid-api", parts.body())
    assert one.enrolled() == {"uid-api"}


async def test_what_is_invalid_is_told_once(one: parts.Parts, door: intake.Intake) -> None:
    for _ in range(3):
        await door.reconcile("uid-api", parts.body(**INVALID))
    assert len(one.cluster.said) == 1


async def test_what_could_not_be_told_is_told_with_the_next_timer(one: parts.Parts, door: intake.Intake) -> None:
    one.cluster.answers = [ports.SaveResult.FAILED]
    for _ in range(3):
        await door.reconcile("uid-api", parts.body(**INVALID))
    assert len(one.cluster.said) == 2


@pytest.mark.parametrize("answer", [ports.SaveResult.STALE, ports.SaveResult.GONE, ports.SaveResult.PRUNED])
async def test_what_was_overtaken_is_not_told_again(
    one: parts.Parts, door: intake.Intake, answer: ports.SaveResult
) -> None:
    one.cluster.answers = [answer]
    for _ in range(2):
        await door.reconcile("uid-api", parts.body(**INVALID))
    assert len(one.cluster.said) == 1


async def test_a_watch_that_becomes_invalid_has_its_wake_taken_back(one: parts.Parts, door: intake.Intake) -> None:
    wake = await with_a_wake(one, door)
    await door.reconcile("uid-api", parts.body(generation=2, **INVALID))
    assert one.enrolled() == set()
    await one.queue.drop(ids.WatchUid("uid-api"))
    assert one.inbox.withdrawn == [wake]


async def test_nobody_waits_for_the_sidecar_when_a_watch_becomes_invalid(one: parts.Parts, door: intake.Intake) -> None:
    await with_a_wake(one, door)
    one.inbox.hangs = True
    async with running(door):
        broken = messages.Seen("uid-api", parts.body(generation=2, **INVALID))
        await through(door, broken, messages.Seen("uid-web", parts.body("web")))
        await asyncio.wait_for(one.inbox.asked.wait(), 10)
        assert one.enrolled() == {"uid-web"}
        assert [name for name, _, _ in one.cluster.said] == ["api"]


async def test_a_watch_that_is_repaired_while_the_sidecar_hangs_is_held_with_its_wake(
    one: parts.Parts, door: intake.Intake
) -> None:
    wake = await with_a_wake(one, door)
    stored = status.render(one.memory_of("api").current, None, 0.0)
    one.inbox.hangs = True
    repaired = {**parts.body(generation=3), "status": stored}
    async with running(door):
        broken = messages.Seen("uid-api", parts.body(generation=2, **INVALID))
        await through(door, broken, messages.Seen("uid-api", repaired))
    assert len(one.cluster.said) == 1
    flown = one.memory_of("api").state.in_flight
    assert flown is not None
    assert flown.id == wake


@pytest.mark.parametrize("how", ["timer", "list"])
async def test_nobody_waits_for_the_sidecar_when_a_deletion_is_seen_elsewhere_but_the_deletion_itself(
    one: parts.Parts, door: intake.Intake, how: str
) -> None:
    wake = await with_a_wake(one, door)
    one.inbox.hangs = True
    message, done = leaving(parts.body())
    async with running(door):
        if how == "timer":
            await through(door, messages.Ticked("uid-api", message.body), messages.Seen("uid-web", parts.body("web")))
        else:
            await door.resync(listing())
            await through(door, messages.Seen("uid-web", parts.body("web")))
        assert one.enrolled() == {"uid-web"}
        door.put(message)
        await asyncio.wait_for(one.inbox.asked.wait(), 10)
        await through(door)
        assert not done.done()
        one.inbox.answer()
        await asyncio.wait_for(asyncio.wrap_future(done), 10)
    assert one.inbox.withdrawn == [wake]


async def with_a_wake(one: parts.Parts, door: intake.Intake) -> ids.WakeId:
    """Hold a Watch whose wake is queued."""
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    (wake,) = one.inbox.queued
    return wake


# --- comparing with a list -------------------------------------------------------------------------------------------


async def test_a_list_drops_what_is_gone_and_takes_what_is_new(one: parts.Parts, door: intake.Intake) -> None:
    for name in ("api", "web"):
        await door.reconcile(f"uid-{name}", parts.body(name))
    await door.resync(listing(parts.body("web"), parts.body("new")))
    assert one.enrolled() == {"uid-web", "uid-new"}
    assert one.cluster.forgotten == ["uid-api"]


async def test_a_list_takes_the_newer_spec_of_what_is_known(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    await door.resync(listing(parts.body(generation=2, description="newer")))
    assert one.memory_of("api").watch.description == "newer"


async def test_a_watch_made_anew_under_its_old_name_is_another_one(one: parts.Parts, door: intake.Intake) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    await door.resync(listing(parts.body(uid="uid-second")))
    await one.queue.drop(ids.WatchUid("uid-api"))
    assert one.enrolled() == {"uid-second"}
    assert len(one.inbox.withdrawn) == 1


async def test_a_watch_of_a_list_that_is_going_is_dropped(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())
    await door.resync(listing(parts.with_metadata(parts.body(), deletionTimestamp="2026-03-01T10:00:00Z")))
    assert one.enrolled() == set()


async def test_what_comes_in_while_a_list_is_made_is_newer_than_the_list(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", parts.body())

    async def listed() -> list[dict[str, Any]]:
        newest = parts.body(generation=2, description="newer")
        await door.reconcile("uid-api", parts.with_metadata(newest, resourceVersion="5"))
        await door.reconcile("uid-new", parts.body("new"))
        return [parts.body()]

    await door.resync(listed)
    assert one.memory_of("api").watch.description == "newer"
    assert one.enrolled() == {"uid-api", "uid-new"}


async def test_an_older_version_than_the_one_that_is_known_changes_nothing(
    one: parts.Parts, door: intake.Intake
) -> None:
    newest = parts.body(generation=2, description="newer")
    await door.reconcile("uid-api", parts.with_metadata(newest, resourceVersion="10"))
    await door.reconcile("uid-api", parts.with_metadata(parts.body(), resourceVersion="9"))
    assert one.memory_of("api").watch.description == "newer"


async def test_a_list_of_a_cluster_that_was_restored_counts_though_it_is_older(
    one: parts.Parts, door: intake.Intake
) -> None:
    newest = parts.body(generation=2, description="newer")
    await door.reconcile("uid-api", parts.with_metadata(newest, resourceVersion="10"))
    await door.resync(listing(parts.body()))
    assert one.memory_of("api").watch.description == ""


# --- the consumer of messages ----------------------------------------------------------------------------------------


async def test_messages_are_taken_in_their_order(one: parts.Parts, door: intake.Intake) -> None:
    async with running(door):
        newest = parts.body(generation=2, description="newer")
        await through(door, messages.Seen("uid-api", parts.body()), messages.Ticked("uid-api", newest))
    assert one.memory_of("api").watch.description == "newer"


async def test_a_listing_that_began_anew_asks_for_a_comparison(door: intake.Intake) -> None:
    async with running(door):
        await through(door, messages.Relisted())
    assert door.relisted.is_set()


async def test_a_timer_is_a_sign_of_life_of_its_watch(one: parts.Parts, door: intake.Intake) -> None:
    async with running(door):
        await through(door, messages.Ticked("uid-api", parts.body()), messages.Ticked("uid-unknown", {}))
    assert one.enrolled() == {"uid-api"}


async def test_a_leaving_watch_takes_its_wake_along_and_says_when(one: parts.Parts, door: intake.Intake) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    (wake,) = one.inbox.queued
    message, done = leaving(parts.body())
    async with running(door):
        door.put(message)
        await asyncio.wait_for(asyncio.wrap_future(done), 10)
    assert one.inbox.withdrawn == [wake]
    assert one.enrolled() == set()


@pytest.mark.parametrize(
    "error",
    [ports.DeliveryError(failures.Failure(failures.Category.TRANSIENT, "down")), RuntimeError("nobody foresaw this")],
)
async def test_a_leaving_watch_goes_even_when_its_wake_cannot_be_taken_back(
    one: parts.Parts, door: intake.Intake, error: Exception
) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    one.inbox.fails = error
    message, done = leaving(parts.body())
    async with running(door) as intake_of:
        door.put(message)
        await asyncio.wait_for(asyncio.wrap_future(done), 10)
        await through(door, messages.Seen("uid-web", parts.body("web")))
        assert not intake_of.done()
    assert one.enrolled() == {"uid-web"}


async def test_the_other_watches_do_not_wait_for_one_that_leaves(one: parts.Parts, door: intake.Intake) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    one.inbox.hangs = True
    message, done = leaving(parts.body())
    async with running(door):
        await through(door, message, messages.Seen("uid-web", parts.body("web")))
        assert not done.done()
    assert one.enrolled() == {"uid-web"}


async def test_whoever_waited_long_enough_and_left_does_not_end_the_intake(door: intake.Intake) -> None:
    message, done = leaving(parts.body())
    done.cancel()
    async with running(door) as intake_of:
        await through(door, message)
        assert not intake_of.done()


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"metadata": None},
        {"metadata": {"uid": "uid-bad"}},
        {**parts.body("bad"), "spec": 7},
        {**parts.body("bad"), "kind": "Other"},
    ],
)
async def test_one_bad_object_does_not_stop_the_intake(
    one: parts.Parts, door: intake.Intake, bad: dict[str, Any]
) -> None:
    async with running(door) as intake_of:
        told: list[messages.Message] = [
            messages.Seen("uid-bad", bad),
            messages.Ticked("uid-bad", bad),
            messages.Seen("uid-api", parts.body()),
        ]
        await through(door, *told)
        assert not intake_of.done()
    assert one.enrolled() == {"uid-api"}


async def test_a_timer_that_goes_on_after_the_deletion_brings_nothing_back(
    one: parts.Parts, door: intake.Intake
) -> None:
    message, _done = leaving(parts.body())
    async with running(door):
        await through(door, messages.Seen("uid-api", parts.body()), message, messages.Ticked("uid-api", parts.body()))
    assert one.enrolled() == set()


async def test_a_watch_that_this_process_never_held_takes_its_wake_along_too(
    one: parts.Parts, door: intake.Intake
) -> None:
    one.provider.shown["api"] = "red"
    await door.reconcile("uid-api", parts.body())
    await one.queue.round()
    (wake,) = one.inbox.queued
    stored = {**parts.body(), "status": status.render(one.memory_of("api").current, None, 0.0)}
    again = parts.Parts()
    second = intake.Intake(again.queue, again.kinds, again.cluster)
    message, done = leaving(stored)
    async with running(second):
        second.put(message)
        await asyncio.wait_for(asyncio.wrap_future(done), 10)
    assert again.inbox.withdrawn == [wake]
    assert again.enrolled() == set()


async def test_a_status_that_nobody_can_read_does_not_keep_a_watch_out(one: parts.Parts, door: intake.Intake) -> None:
    await door.reconcile("uid-api", {**parts.body(), "status": {"engine": "?", "observations": "?"}})
    assert one.memory_of("api").current.quarantined == "StateUnreadable"
    assert isinstance(one.memory_of("api").state, states.State)


def test_a_message_does_not_change_with_what_it_was_made_of() -> None:
    watch = parts.body()
    frozen = messages.frozen(watch)
    before = copy.deepcopy(watch)
    watch["metadata"]["annotations"] = {"a": "b"}
    assert frozen == before
