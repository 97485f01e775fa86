"""The kubelet and Prometheus get true answers."""

import aiohttp
import prometheus_client
import pytest
import structlog.testing

from vigil.adapters import health, settings
from vigil.model import ids

LOOPBACK = settings.Address("127.0.0.1", 0)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> ids.Instant:
        return self.time

    def monotonic(self) -> ids.Seconds:
        return self.time

    async def sleep(self, delay: ids.Seconds) -> None:
        self.time += delay


def well() -> str | None:
    return None


def broken() -> str | None:
    raise RuntimeError("token=abc123")


async def get(address: settings.Address, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}", headers=headers) as answer:
        return answer.status, await answer.text()


def app(live: health.Check = well, ready: health.Check = well) -> aiohttp.web.Application:
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.Counter("vigil_things", "Things.", registry=registry).inc()
    return health.application(registry, live=live, ready=ready)


async def test_a_healthy_process_says_ok_on_both_paths() -> None:
    async with health.serve(app(), LOOPBACK) as address:
        assert await get(address, "/healthz") == (200, "ok\n")
        assert await get(address, "/readyz") == (200, "ok\n")


async def test_a_process_can_be_live_and_not_ready_with_its_reason() -> None:
    async with health.serve(app(ready=lambda: "this replica is the standby"), LOOPBACK) as address:
        assert await get(address, "/healthz") == (200, "ok\n")
        assert await get(address, "/readyz") == (503, "this replica is the standby\n")


async def test_a_check_that_raises_is_not_well_and_its_text_stays_inside() -> None:
    with structlog.testing.capture_logs() as logged:
        async with health.serve(app(live=broken), LOOPBACK) as address:
            assert await get(address, "/healthz") == (503, "the live check itself failed\n")
    assert [line["event"] for line in logged] == ["health check failed"]


async def test_the_metrics_are_served_in_the_text_format_and_as_openmetrics() -> None:
    async with health.serve(app(), LOOPBACK) as address:
        status, text = await get(address, "/metrics")
        assert (status, "vigil_things_total 1.0" in text) == (200, True)
        _, text = await get(address, "/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"})
        assert text.endswith("# EOF\n")


async def test_any_other_path_is_not_found() -> None:
    async with health.serve(app(), LOOPBACK) as address:
        assert (await get(address, "/debug"))[0] == 404


async def test_a_port_that_is_taken_is_an_error_that_names_it() -> None:
    async with health.serve(app(), LOOPBACK) as taken:
        with pytest.raises(health.AddressError, match=rf"^cannot listen on 127\.0\.0\.1:{taken.port}: "):
            async with health.serve(app(), taken):
                pass


async def test_the_port_is_free_again_afterwards() -> None:
    async with health.serve(app(), LOOPBACK) as first:
        pass
    async with health.serve(app(), first) as second:
        assert second == first


def test_a_heartbeat_is_silent_only_after_its_limit() -> None:
    clock = Clock()
    heart = health.Heartbeat(clock, "the scheduler", 30.0)
    clock.time += 30.0
    assert heart.check() is None
    clock.time += 1.0
    assert heart.check() == "the scheduler has been silent for 31 s"
    heart.beat()
    assert heart.check() is None


def test_the_first_reason_of_several_checks_is_told() -> None:
    assert health.all_of(well, well)() is None
    assert health.all_of(well, lambda: "second", lambda: "third")() == "second"
