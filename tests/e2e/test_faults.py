"""Faults of the API server and of its watch stream: no Watch is forgotten or kept too long, no news is told twice."""

import time

import pytest

from tests.e2e import proxy, scene

pytestmark = pytest.mark.e2e


def test_a_status_that_is_refused_once_is_written_again_and_its_wake_is_one_turn(attended: scene.Scene) -> None:
    since = time.monotonic()
    refused = proxy.answer(422, "Invalid", "Watch.vigil.dev is invalid: status: injected")
    attended.api.fail_next(proxy.Fault(proxy.of_status("api"), 422, refused))
    attended.apply("api")
    attended.wait_for_turns("api", 1)
    attended.settle("api")
    assert attended.writes("api", since)[:2] == [422, 200]
    assert len(attended.turns("api")) == 1


def test_a_throttled_write_waits_as_long_as_it_is_told_and_its_wake_is_one_turn(attended: scene.Scene) -> None:
    since = time.monotonic()
    throttled = proxy.answer(429, "TooManyRequests", "injected")
    attended.api.fail_next(proxy.Fault(proxy.of_status("api"), 429, throttled, {"Retry-After": "3"}))
    attended.apply("api")
    attended.wait_for_turns("api", 1)
    attended.settle("api")
    first, second, *_ = [one for one in attended.api.writes(since) if one.path.endswith("/watches/api/status")]
    assert first.status == 429
    assert 3.0 <= second.at - first.at < 6.0
    assert len(attended.turns("api")) == 1


def test_a_watch_that_is_said_not_to_exist_once_is_not_forgotten(attended: scene.Scene) -> None:
    missing = proxy.answer(404, "NotFound", "injected")
    attended.api.fail_next(proxy.Fault(proxy.of_status("api"), 404, missing))
    attended.apply("api")
    attended.wait_for_turns("api", 1)
    attended.settle("api")
    assert attended.api.pending_faults() == 0
    assert len(attended.turns("api")) == 1


def test_a_watch_that_changes_between_read_and_write_gets_the_same_result_once(attended: scene.Scene) -> None:
    since = time.monotonic()
    conflict = proxy.answer(409, "Conflict", "the object has been modified; injected")
    with attended.api.held(proxy.of_status("api")) as gate:
        attended.apply("api")
        gate.wait()
        attended.kubectl("label", "watch/api", "team=a")
        attended.api.fail_next(proxy.Fault(proxy.of_status("api"), 409, conflict))
    attended.wait_for_turns("api", 1)
    attended.settle("api")
    assert attended.writes("api", since)[:3] == [409, 409, 200]
    assert len(attended.turns("api")) == 1
    stored = attended.stack.watch(attended.namespace, "api")
    assert stored["metadata"]["labels"] == {"team": "a"}
    assert stored["status"]["budget"]["turns"] == 1


def test_a_watch_stream_that_lags_5_seconds_delays_and_repeats_nothing(attended: scene.Scene) -> None:
    with attended.api.lagging(5.0):
        attended.apply("api")
        attended.apply("gone", session=None)
        attended.wait_for_turns("api", 1)
        attended.settle("api", reads=1)
        attended.kubectl("delete", "watch/gone", "--wait=false")
        attended.stack.wait("gone is gone", lambda: attended.stack.gone(attended.namespace, "gone"), 5.0 + 15.0)
    attended.settle("api")
    assert len(attended.turns("api")) == 1


def test_c151_a_stream_that_expires_forgets_no_watch_and_finds_the_new_one(attended: scene.Scene) -> None:
    attended.apply("before")
    attended.wait_for_turns("before", 1)
    with attended.api.held(proxy.lists_of_kopf) as gate:
        attended.api.expire_streams()
        gate.wait()
        attended.apply("inside")
    attended.wait_for_turns("inside", 1)
    attended.complete("before")
    attended.settle("before")
    attended.wait_for_turns("before", 2)
    attended.settle("inside")
    assert [turn["reason"] for turn in attended.turns("before")] == ["undelayed", "succeeded"]
    assert len(attended.turns("inside")) == 1


def test_a_watch_deleted_inside_a_410_is_dropped_and_its_queued_wake_is_withdrawn(alone: scene.Scene) -> None:
    alone.apply("kept")
    alone.apply("gone")
    kept, gone = alone.wake("kept"), alone.wake("gone")
    with alone.api.held(proxy.lists_of_kopf) as gate:
        alone.api.expire_streams()
        gate.wait()
        alone.delete_untold("gone")
    alone.stack.wait("its wake is withdrawn", lambda: alone.stack.wake_state(gone) == "Withdrawn", 20.0)
    assert alone.stack.wake_state(kept) == "Queued"
    since = time.monotonic()
    # Its timer lives on in kopf, which was never told: this is more than two of its periods.
    time.sleep(5.0)
    about = [
        one
        for one in alone.api.seen(since)
        if one.path.startswith(f"{proxy.WATCHES}/namespaces/{alone.namespace}/watches/gone")
    ]
    assert about == []
    alone.attach()
    alone.wait_for_turns("kept", 1)
    assert alone.turns("gone") == []


def test_an_api_server_that_is_gone_for_a_minute_costs_no_watch_and_no_wake(attended: scene.Scene) -> None:
    attended.apply("before")
    attended.apply("gone", deliver={"session": "nobody"})
    attended.wait_for_turns("before", 1)
    withdrawn = attended.wake("gone")
    with attended.api.gone():
        began = time.monotonic()
        attended.complete("before")
        attended.apply("inside")
        attended.delete_untold("gone")
        time.sleep(60.0 - (time.monotonic() - began))
        assert attended.stack.operator is not None
        assert attended.stack.operator.running()
    attended.wait_for_turns("inside", 1, 40.0)
    attended.wait_for_turns("before", 2, 40.0)
    attended.stack.wait("the wake is withdrawn", lambda: attended.stack.wake_state(withdrawn) == "Withdrawn", 30.0)
    attended.settle("inside")
    assert [turn["reason"] for turn in attended.turns("before")] == ["undelayed", "succeeded"]
    assert len(attended.turns("inside")) == 1
