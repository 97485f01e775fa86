"""Crashes of the operator and of the sidecar at the worst moments: one turn for each news, counted by its session."""

import pathlib
import signal
import sys

import pytest

from tests.e2e import manifests, proxy, scene

pytestmark = pytest.mark.e2e

STOP_SECONDS = 20.0


def posts(asked: proxy.Asked) -> bool:
    """The operator's posts of wakes."""
    return asked.method == "PUT" and asked.path.startswith("/v1/wakes/")


def outcomes(asked: proxy.Asked) -> bool:
    """The operator's polls for what became of wakes."""
    return asked.path.startswith("/v1/outcomes")


def one_turn(attended: scene.Scene, name: str = "api") -> None:
    """Assert that a Watch has had one turn, and is charged for one, whatever is read again."""
    attended.wait_for_turns(name, 1)
    attended.wait_for_turns_charged(name, 1)
    attended.settle(name)
    assert len(attended.turns(name)) == 1
    assert attended.watch(name)["status"]["budget"]["turns"] == 1


def test_an_operator_killed_between_its_claim_and_its_post_posts_once_after_its_restart(attended: scene.Scene) -> None:
    with attended.stack.delivery.held(posts, drop=True) as gate:
        attended.apply("api")
        gate.wait()
        claimed = attended.stack.wakes(attended.namespace, "api")
        attended.stack.kill_operator()
    assert [one["state"] for one in claimed] == ["Queued"]
    assert attended.stack.wake_state(claimed[0]["id"]) is None
    assert attended.turns("api") == []
    attended.stack.start_operator()
    one_turn(attended)
    assert attended.turns("api")[0]["wake"] == claimed[0]["id"]


def test_an_operator_killed_before_it_hears_that_its_post_was_taken_wakes_once(attended: scene.Scene) -> None:
    with attended.stack.delivery.held(posts, answers=True, drop=True) as gate:
        attended.apply("api")
        gate.wait()
        attended.stack.kill_operator()
    attended.wait_for_turns("api", 1)
    attended.stack.start_operator()
    one_turn(attended)


def test_an_operator_killed_between_its_post_and_the_outcome_wakes_once(attended: scene.Scene) -> None:
    with attended.stack.delivery.held(outcomes, answers=True, drop=True) as gate:
        attended.apply("api")
        attended.wait_for_turns("api", 1)
        gate.wait()
        assert attended.watch("api")["status"]["budget"]["turns"] == 0
        attended.stack.kill_operator()
    attended.stack.start_operator()
    one_turn(attended)


def test_a_post_of_a_dead_operator_that_arrives_late_is_the_same_wake(attended: scene.Scene) -> None:
    with attended.stack.delivery.held(posts) as gate:
        attended.apply("api")
        gate.wait()
        attended.stack.kill_operator()
    attended.wait_for_turns("api", 1)
    attended.stack.start_operator()
    one_turn(attended)


def test_a_wake_waits_in_flight_while_the_sidecar_is_down(attended: scene.Scene) -> None:
    attended.stack.kill_sidecar()
    attended.apply("api")
    attended.stack.wait(
        "the wake is undeliverable",
        lambda: attended.stack.condition(attended.namespace, "api", "Delivered")[:2] == ("False", "Unreachable"),
    )
    engine = attended.engine("api")
    assert engine["inFlight"] is not None
    assert ["alerted" in memory for memory in engine["subjects"]] == [False]
    assert attended.stack.measured('vigil_undelivered_wakes{reason="Unreachable"}') >= 1
    attended.stack.start_sidecar()
    attended.wait_for_turns("api", 1, 40.0)
    one_turn(attended)
    assert attended.turns("api")[0]["wake"] == engine["inFlight"]["id"]
    assert [len(memory["alerted"]) for memory in attended.engine("api")["subjects"]] == [1]
    assert attended.stack.measured('vigil_undelivered_wakes{reason="Unreachable"}') == 0


def test_a_sidecar_killed_after_it_took_a_wake_delivers_it_once(alone: scene.Scene) -> None:
    alone.apply("api")
    wake = alone.wake("api")
    alone.stack.kill_sidecar()
    alone.stack.start_sidecar()
    assert alone.stack.wake_state(wake) == "Queued"
    alone.attach()
    one_turn(alone)
    assert alone.turns("api")[0]["wake"] == wake


def test_a_turn_under_way_survives_a_crash_of_everything_else(attended: scene.Scene) -> None:
    with attended.turns_held():
        attended.apply("api")
        attended.wait_for_turns("api", 1)
        attended.stack.kill_sidecar()
        attended.stack.kill_operator()
        attended.stack.ensure()
    one_turn(attended)


def test_a_watch_deleted_while_the_operator_is_down_goes_and_takes_its_wake_along(alone: scene.Scene) -> None:
    alone.apply("api")
    wake = alone.wake("api")
    alone.stack.kill_operator()
    alone.kubectl("delete", "watch/api", "--wait=false")
    assert not alone.stack.gone(alone.namespace, "api")
    alone.stack.start_operator()
    alone.stack.wait("the Watch is gone", lambda: alone.stack.gone(alone.namespace, "api"), 15.0)
    assert alone.stack.wake_state(wake) == "Withdrawn"


def test_a_timer_that_dies_is_noticed_and_its_watch_is_read_all_the_same(
    attended: scene.Scene, tmp_path: pathlib.Path
) -> None:
    attended.stack.kill_operator()
    victim = tmp_path / "victim"
    attended.stack.start_operator(
        launcher=(sys.executable, "-m", "tests.e2e.dying_timer", str(victim)), VIGIL_TIMER_INTERVAL="1s"
    )
    attended.stack.apply(attended.namespace, manifests.job("api"), manifests.job_watch("api"))
    attended.wait_for_turns("api", 1)
    assert attended.stack.measured("vigil_timers_lost_total") == 0
    written = tmp_path / "uid"
    written.write_text(attended.watch("api")["metadata"]["uid"])
    written.rename(victim)
    attended.stack.wait("the loss is counted", lambda: attended.stack.measured("vigil_timers_lost_total") == 1)
    attended.complete("api")
    attended.wait_for_turns("api", 2)
    assert [turn["reason"] for turn in attended.turns("api")] == ["undelayed", "succeeded"]
    assert attended.stack.measured("vigil_timers_lost_total") == 1
    attended.stack.kill_operator()


def test_an_operator_told_to_stop_ends_in_time_whatever_is_under_way(alone: scene.Scene) -> None:
    operator = alone.stack.operator
    assert operator is not None
    jobs = f"/apis/batch/v1/namespaces/{alone.namespace}/jobs"
    with alone.api.held(lambda asked: asked.path.startswith(jobs), answers=True) as gate:
        alone.apply("api")
        gate.wait()
        operator.popen.send_signal(signal.SIGTERM)
        assert operator.popen.wait(STOP_SECONDS) == 0
    assert "the operator stopped" in operator.tail()
    alone.stack.operator = None
