"""The API over HTTP: what it answers, to whom, and what the real clients make of it."""

import asyncio
import contextlib
import dataclasses
import io
import json
import pathlib
import socket
from collections.abc import AsyncGenerator
from typing import Any, ClassVar, TypeAlias

import aiohttp
import pydantic
import pytest

from tests.sidecar import servers, support
from vigil import ports
from vigil.adapters import session, sidecar, wire
from vigil.api import base, ledger, turn
from vigil.api import wake as api_wake
from vigil.model import failures, ids, wakes

IDLE, BUSY = turn.Activity.IDLE, turn.Activity.BUSY
Requests: TypeAlias = tuple[tuple[str, str, dict[str, Any]], ...]
W1 = ids.WakeId("w1")


@pytest.fixture
async def running(tmp_path: pathlib.Path) -> AsyncGenerator[servers.Running]:
    async with servers.running(tmp_path) as made:
        yield made


async def claimed(running: servers.Running, name: str = "supervisor") -> turn.Turn:
    """A turn of an attached session."""
    await running.session(name).attach(3600, IDLE)
    taken = await running.session(name).next(0, "r1")
    assert taken is not None
    return taken


async def until(running: servers.Running, state: wakes.WakeState) -> None:
    """Wait until the background work has brought the wake to this state."""
    while True:
        shown = await running.service.show(W1)
        if shown is not None and shown.held.state is state:
            return
        await asyncio.sleep(0)


async def http(
    running: servers.Running, method: str, path: str, token: str | None = servers.TOKEN, **given: Any
) -> tuple[int, Any]:
    """One raw request: the status, and the JSON or text of the answer."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession() as client,
        client.request(method, running.url + path, headers=headers, **given) as response,
    ):
        text = await response.text()
        return response.status, json.loads(text) if "json" in response.headers.get("content-type", "") else text


class TestWakes:
    """The operator's side, by its client."""

    async def test_the_whole_way_of_a_wake(self, running: servers.Running) -> None:
        message = support.wake(entries=(support.entry(brief="exit code 1"),))
        submitted = await running.operator.submit(message)
        assert submitted == wakes.SubmitResult(wakes.WakeState.QUEUED, 1, wakes.QueuedReason.NO_RECIPIENT)
        taken = await claimed(running)
        assert taken.main.watch == api_wake.Watch(uid="uid-api-42", namespace="team-a", name="api-42", generation=1)
        assert taken.envelope.startswith("Fix what is red, then confirm.\n")
        assert taken.evidence_url == f"{running.url}/v1/wakes/w1/evidence"
        assert taken.evidence_path == str(running.folder / "evidence/team-a/api-42/w1-1.txt")
        assert b"exit code 1" in await running.session().evidence(taken)
        assert await running.operator.submit(message) == wakes.SubmitResult(wakes.WakeState.CLAIMED, 1)
        assert await running.operator.withdraw(W1) == wakes.SubmitResult(wakes.WakeState.CLAIMED, 1)
        running.clock.advance(400)
        assert (await running.session().renew(taken)).lease_seconds == 600
        said = turn.Report(
            tokens=1200,
            dispositions=(api_wake.DispositionOf(key="red:ci/unit", disposition=wakes.Disposition.DISPATCHED),),
        )
        done = await running.session().complete(taken, said)
        assert done.state is wakes.WakeState.DELIVERED
        assert await running.session().complete(taken, said) == done
        page = await running.operator.outcomes(0, 0)
        assert [(each.wake, each.state, each.tokens) for each in page.events] == [(W1, wakes.WakeState.DELIVERED, 1200)]
        assert page.events[0].dispositions == (wakes.DispositionOf("red:ci/unit", wakes.Disposition.DISPATCHED),)
        assert list((await running.operator.outcomes(page.cursor, 0)).events) == []
        assert running.count("vigil_sidecar_wakes_total", outcome="Delivered") == 1
        assert running.count("vigil_sidecar_tokens_total") == 1200

    async def test_an_amended_wake_keeps_one_file_of_evidence(self, running: servers.Running) -> None:
        for sequence in (1, 2, 3):
            await running.operator.submit(support.wake(sequence=sequence))
        await running.operator.submit(support.wake(sequence=2))
        folder = running.folder / "evidence" / "team-a" / "api-42"
        assert [path.name for path in folder.iterdir()] == ["w1-3.txt"]

    async def test_the_older_wake_of_a_watch_is_withdrawn(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake("w1"))
        await running.operator.submit(support.wake("w2"))
        page = await running.operator.outcomes(0, 0)
        assert [(each.wake, each.state) for each in page.events] == [(W1, wakes.WakeState.WITHDRAWN)]

    async def test_and_one_that_is_claimed_has_the_newer_one_put_again(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake("w1"))
        taken = await claimed(running)
        with pytest.raises(ports.DeliveryError, match="the wake w1 of the same Watch is claimed") as caught:
            await running.operator.submit(support.wake("w2"))
        assert caught.value.failure.category is failures.Category.TRANSIENT
        await running.session().complete(taken, turn.Report())
        assert (await running.operator.submit(support.wake("w2"))).state is wakes.WakeState.QUEUED

    async def test_without_deliver_it_is_recorded(self, running: servers.Running) -> None:
        for _ in range(2):
            found = await running.operator.submit(support.wake(deliver=None))
            assert support.standing(found) == wakes.SubmitResult(wakes.WakeState.RECORDED, 1)

    async def test_withdrawal_is_idempotent_and_unknown_counts_as_withdrawn(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake())
        for _ in range(2):
            withdrawn = await running.operator.withdraw(W1)
            assert support.standing(withdrawn) == wakes.SubmitResult(wakes.WakeState.WITHDRAWN, 1)
        assert await running.operator.withdraw(ids.WakeId("w9")) == wakes.SubmitResult(wakes.WakeState.WITHDRAWN, 0)

    async def test_outcomes_wait_for_the_first(self, running: servers.Running) -> None:
        waiting = asyncio.ensure_future(running.operator.outcomes(0, 30))
        await running.operator.submit(support.wake(deliver=None))
        assert [each.wake for each in (await waiting).events] == [W1]

    async def test_and_come_empty_when_the_time_is_over(self, running: servers.Running) -> None:
        waiting = asyncio.ensure_future(running.operator.outcomes(0, 30))
        while not waiting.done():
            running.clock.advance(10)
            await asyncio.sleep(0)
        assert list((await waiting).events) == []

    async def test_texts_that_are_too_long_are_cut_and_delivered(self, running: servers.Running) -> None:
        long = support.wake(
            brief="b" * 10_000,
            description="d\ud800" * 5000,
            evidence="e" * (3 * 1024 * 1024),
            entries=tuple(support.entry(f"k{number}", brief="x" * 9000) for number in range(1500)),
        )
        await running.operator.submit(long)
        taken = await claimed(running)
        assert taken.main.entries == 1000
        assert len(taken.envelope) <= turn.ENVELOPE_LIMIT
        assert len(await running.session().evidence(taken)) <= 1024 * 1024

    async def test_a_wake_that_no_wire_can_hold_is_malformed_here_and_there(self, running: servers.Running) -> None:
        for delivery in (running.operator, running.service):
            with pytest.raises(ports.DeliveryError, match="the wake cannot be sent: id") as caught:
                await delivery.submit(support.wake("no id"))
            assert caught.value.failure.category is failures.Category.MALFORMED

    async def test_the_ledger_takes_verdicts_and_tells_them(self, running: servers.Running) -> None:
        watch = api_wake.Watch.of(support.wake().watch)
        verdicts = [
            ledger.Verdict(
                id=f"v{number}", watch=watch, at=base.time_of(support.NOW), verdict="Quiet", reason="holding"
            )
            for number in range(250)
        ]
        await running.operator.record(verdicts)
        await running.operator.record(verdicts)
        first = await running.operator.ledger(ids.WatchUid("uid-api-42"), limit=200)
        assert len(first.entries) == 200
        rest = await running.operator.ledger(ids.WatchUid("uid-api-42"), first.next, limit=200)
        assert (len(rest.entries), rest.next) == (50, None)


class TestSessions:
    """A session's side, by its client."""

    async def test_a_session_has_to_attach_first(self, running: servers.Running) -> None:
        with pytest.raises(session.NotAttachedError):
            await running.session().next(0, "r1")

    async def test_next_waits_for_a_wake(self, running: servers.Running) -> None:
        await running.session().attach(3600, IDLE)
        waiting = asyncio.ensure_future(running.session().next(30, "r1"))
        await running.operator.submit(support.wake())
        taken = await waiting
        assert taken is not None
        assert taken.main.wake_id == W1

    async def test_next_waits_for_the_pause_between_turns(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake("w1"))
        await running.operator.submit(support.wake("w2", watch="api-43"))
        await running.session().complete(await claimed(running), turn.Report())
        assert await running.session().next(0, "r2") is None
        waiting = asyncio.ensure_future(running.session().next(30, "r3"))
        while not waiting.done():
            running.clock.advance(1)
            await asyncio.sleep(0.01)
        taken = await waiting
        assert taken is not None
        assert taken.main.wake_id == "w2"

    async def test_next_is_answered_when_the_session_detaches(self, running: servers.Running) -> None:
        await running.session().attach(3600, IDLE)
        waiting = asyncio.ensure_future(running.session().next(30, "r1"))
        await running.service.outcomes(0, 0)
        await running.session().detach()
        with pytest.raises(session.NotAttachedError):
            await waiting

    async def test_nothing_is_claimed_for_one_who_is_gone(self, running: servers.Running) -> None:
        await running.session().attach(3600, IDLE)
        body = json.dumps({"request": "r1"})
        reader, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rsplit(":", 1)[1]))
        writer.write(
            f"POST /v1/sessions/team-a/supervisor/next?wait=30 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer"
            f" {servers.TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
        )
        await writer.drain()
        assert await running.session().next(0, "other") is None
        writer.close()
        await writer.wait_closed()
        assert await reader.read() == b""
        await running.operator.submit(support.wake())
        shown = await running.service.show(W1)
        assert shown is not None
        assert shown.held.state is wakes.WakeState.QUEUED

    async def test_a_lease_that_ran_out_is_offered_again_and_the_first_is_stale(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake())
        first = await claimed(running)
        running.clock.advance(600)
        await until(running, wakes.WakeState.QUEUED)
        running.clock.advance(5)
        second = await running.session().next(0, "r2")
        assert second is not None
        assert second.fence > first.fence
        for late in (running.session().complete(first, turn.Report()), running.session().release(first)):
            with pytest.raises(session.StaleTurnError, match="the wake is Claimed"):
                await late
        await running.session().complete(second, turn.Report())

    async def test_lost_twice_it_is_lost(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake())
        first = await claimed(running)
        await running.session().release(first)
        running.clock.advance(5)
        second = await running.session().next(0, "r2")
        assert second is not None
        assert (await running.session().release(second)).state is wakes.WakeState.LOST
        late = await running.operator.submit(support.wake(sequence=7))
        assert support.standing(late) == wakes.SubmitResult(wakes.WakeState.LOST, 1)
        assert late.event == (await running.operator.outcomes(0, 0)).events[-1], (
            "a memory that is older learns all of it"
        )
        assert running.count("vigil_sidecar_turns_total", result="released") == 2

    async def test_attaching_tells_what_waits_and_whether_waking_goes_on(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake())
        known = await running.session().attach(60, BUSY, support.NOW - 5)
        assert known == turn.Session(
            namespace="team-a",
            name="supervisor",
            state=BUSY,
            expires_at=base.time_of(support.NOW + 60),
            waking=turn.Waking.ACTIVE,
            turns_in_row=0,
            queued=1,
        )

    async def test_a_users_turn_takes_what_rides(self, running: servers.Running) -> None:
        riding = dataclasses.replace(support.TO_SESSION, wake=False)
        await running.operator.submit(support.wake(deliver=riding))
        await running.session().attach(60, IDLE)
        assert await running.session().next(0, "r1") is None
        taken = await running.session().next(0, "r2", user_turn=True)
        assert taken is not None
        assert taken.main.wake_id == W1

    async def test_a_disposition_for_a_watch_that_the_turn_is_not_about_is_refused(
        self, running: servers.Running
    ) -> None:
        await running.operator.submit(support.wake())
        taken = await claimed(running)
        wrong = api_wake.DispositionOf(key="k", disposition=wakes.Disposition.OPEN, watch="other")
        with pytest.raises(ports.DeliveryError, match="the turn is not about a watch 'other'") as caught:
            await running.session().complete(taken, turn.Report(dispositions=(wrong,)))
        assert caught.value.failure.category is failures.Category.MALFORMED


class TestAccess:
    """Who may ask for what."""

    OPERATORS: ClassVar[Requests] = (
        ("PUT", "/v1/wakes/w1", {"json": {}}),
        ("DELETE", "/v1/wakes/w1", {}),
        ("GET", "/v1/outcomes", {}),
        ("GET", "/v1/ledger?watch=u", {}),
        ("POST", "/v1/ledger", {"json": {}}),
    )
    SESSIONS: ClassVar[Requests] = (
        ("PUT", "/v1/sessions/team-b/s", {"json": {}}),
        ("DELETE", "/v1/sessions/team-b/s", {}),
        ("POST", "/v1/sessions/team-b/s/next", {}),
    )

    @pytest.mark.parametrize(("method", "path", "given"), OPERATORS + SESSIONS)
    async def test_nobody_without_a_token(
        self, running: servers.Running, method: str, path: str, given: dict[str, Any]
    ) -> None:
        for token in (None, "wrong"):
            status, problem = await http(running, method, path, token, **given)
            assert (status, problem["code"]) == (401, "unauthenticated")

    @pytest.mark.parametrize(("method", "path", "given"), OPERATORS + SESSIONS)
    async def test_a_session_does_nothing_of_the_operators_or_of_another_namespace(
        self, running: servers.Running, method: str, path: str, given: dict[str, Any]
    ) -> None:
        status, problem = await http(running, method, path, servers.SESSION_TOKEN, **given)
        assert (status, problem["code"]) == (403, "forbidden")

    @pytest.mark.parametrize("what", ["", "/evidence"])
    async def test_a_session_sees_only_wakes_of_its_namespace(self, running: servers.Running, what: str) -> None:
        other = dataclasses.replace(support.wake().watch, namespace="team-b")
        await running.operator.submit(support.wake("w1"))
        await running.operator.submit(dataclasses.replace(support.wake("w2", watch="b"), watch=other))
        assert (await http(running, "GET", f"/v1/wakes/w1{what}", servers.SESSION_TOKEN))[0] == 200
        assert (await http(running, "GET", f"/v1/wakes/w2{what}", servers.SESSION_TOKEN))[0] == 404
        assert (await http(running, "GET", f"/v1/wakes/w9{what}"))[0] == 404
        body = {"fence": 1}
        assert (await http(running, "POST", "/v1/wakes/w2/renew", servers.SESSION_TOKEN, json=body))[0] == 404

    async def test_health_and_metrics_are_open(self, running: servers.Running) -> None:
        assert await http(running, "GET", "/healthz", None) == (200, "ok\n")
        assert await http(running, "GET", "/readyz", None) == (200, "ok\n")
        status, text = await http(running, "GET", "/metrics", None)
        assert status == 200
        assert "vigil_sidecar_wakes_total" in text
        assert "api-42" not in text


class TestRequests:
    """What is refused before it reaches anything."""

    @pytest.mark.parametrize(
        ("method", "path", "given", "where"),
        [
            ("PUT", "/v1/sessions/team-a/s", {"json": {"ttlSeconds": 30, "extra": 1}}, "body.extra"),
            ("PUT", "/v1/sessions/team-a/s", {"json": {"ttlSeconds": 1}}, "body.ttlSeconds"),
            ("PUT", "/v1/sessions/team-a/s", {"json": {"lastUserTurn": "2026-03-01T12:00:00"}}, "body.lastUserTurn"),
            ("PUT", "/v1/sessions/Team/s", {"json": {}}, "path.namespace"),
            ("POST", "/v1/sessions/team-a/s/next?wait=999", {}, "query.wait"),
            ("POST", "/v1/wakes/w1/complete", {"json": {"fence": 0}}, "body.fence"),
            ("POST", "/v1/wakes/w1/complete", {"data": b"{"}, "body"),
            ("GET", "/v1/outcomes?after=-1", {}, "query.after"),
            ("GET", "/v1/wakes/%20", {}, "path.id"),
        ],
    )
    async def test_what_is_not_valid_is_refused_with_its_place(
        self, running: servers.Running, method: str, path: str, given: dict[str, Any], where: str
    ) -> None:
        given = {"headers": {"content-type": "application/json"}, **given} if "data" in given else given
        headers = {"authorization": f"Bearer {servers.TOKEN}", **given.pop("headers", {})}
        async with (
            aiohttp.ClientSession() as client,
            client.request(method, running.url + path, headers=headers, **given) as response,
        ):
            problem = await response.json()
        assert (response.status, problem["code"]) == (422, "invalid")
        assert where in problem["message"]

    async def test_the_operator_may_be_newer_than_the_sidecar(self, running: servers.Running) -> None:
        body = json.loads(api_wake.Wake.of(support.wake()).to_json()) | {"somethingNew": 1}
        assert (await http(running, "PUT", "/v1/wakes/w1", json=body))[0] == 200

    async def test_the_id_of_the_path_is_that_of_the_body(self, running: servers.Running) -> None:
        body = json.loads(api_wake.Wake.of(support.wake()).to_json())
        assert (await http(running, "PUT", "/v1/wakes/w2", json=body))[0] == 422

    @pytest.mark.parametrize("chunked", [False, True])
    async def test_a_body_that_is_too_long_is_refused(self, running: servers.Running, chunked: bool) -> None:
        async def parts() -> AsyncGenerator[bytes]:
            for _ in range(17):
                yield b" " * 1024 * 1024

        data = parts() if chunked else io.BytesIO(b" " * (17 * 1024 * 1024))
        with contextlib.suppress(aiohttp.ClientConnectionError):  # it may end before all was sent
            status, problem = await http(running, "PUT", "/v1/wakes/w1", data=data)
            assert (status, problem["code"]) == (413, "too-large")
        assert await running.service.show(W1) is None

    async def test_unknown_paths_and_methods_are_problems_too(self, running: servers.Running) -> None:
        assert (await http(running, "GET", "/v1/nothing"))[1]["code"] == "not-found"
        assert (await http(running, "PATCH", "/v1/outcomes"))[0] == 405

    async def test_evidence_is_text_and_nothing_else(self, running: servers.Running) -> None:
        await running.operator.submit(support.wake(evidence="<script>alert(1)</script>"))
        headers = {"authorization": f"Bearer {servers.TOKEN}"}
        async with (
            aiohttp.ClientSession() as client,
            client.get(running.url + "/v1/wakes/w1/evidence", headers=headers) as response,
        ):
            assert response.headers["content-type"] == "text/plain; charset=utf-8"
            assert response.headers["x-content-type-options"] == "nosniff"
            assert "<script>" in await response.text()

    async def test_the_description_is_complete(self, running: servers.Running) -> None:
        _, described = await http(running, "GET", "/v1/openapi.json", None)
        for path, methods in described["paths"].items():
            for method, operation in methods.items():
                assert operation["summary"], (method, path)
                if path.startswith("/v1/"):
                    assert operation["security"] == [{"HTTPBearer": []}], (method, path)
                    for status in ("401", "403", "422", "503"):
                        schema = operation["responses"][status]["content"]["application/json"]["schema"]
                        assert schema == {"$ref": "#/components/schemas/Problem"}, (method, path, status)
        assert "HTTPValidationError" not in described["components"]["schemas"]
        assert set(described["paths"]) >= {"/v1/wakes/{id}", "/v1/outcomes", "/v1/sessions/{namespace}/{name}/next"}


class TestClients:
    """What the clients make of a sidecar that does not answer as it should."""

    @pytest.mark.enable_socket  # the guard of the tests knows hosts only, and a Unix socket has none
    async def test_a_unix_socket_is_reached(self, tmp_path: pathlib.Path) -> None:
        async with servers.running(tmp_path, unix=True) as running:
            assert (await running.operator.submit(support.wake())).state is wakes.WakeState.QUEUED
            taken = await claimed(running)
            assert taken.evidence_url is None
            assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600

    async def test_a_wrong_token_is_auth_and_a_session_is_forbidden(self, running: servers.Running) -> None:
        for token, category in (("x", failures.Category.AUTH), (servers.SESSION_TOKEN, failures.Category.FORBIDDEN)):
            async with wire.Wire(running.url, lambda token=token: token) as connection:  # type: ignore[misc]  # bound
                with pytest.raises(ports.DeliveryError) as caught:
                    await sidecar.SidecarClient(connection).submit(support.wake())
                assert caught.value.failure.category is category

    @pytest.mark.parametrize("content", [None, "", "a\nb", "ü"])
    async def test_no_token_is_config_and_nothing_is_sent(self, tmp_path: pathlib.Path, content: str | None) -> None:
        if content is not None:
            (tmp_path / "token").write_text(content)
        async with wire.Wire("http://127.0.0.1:1", wire.file_token(tmp_path / "token")) as connection:
            with pytest.raises(ports.DeliveryError) as caught:
                await connection.ask("GET", "/")
            assert caught.value.failure.category is failures.Category.CONFIG

    async def test_nobody_there_is_transient(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            gone = free.getsockname()[1]
        async with wire.Wire(f"http://127.0.0.1:{gone}", lambda: "t") as connection:
            with pytest.raises(ports.DeliveryError) as caught:
                await sidecar.SidecarClient(connection).withdraw(W1)
            assert caught.value.failure.category is failures.Category.TRANSIENT

    async def test_one_that_is_silent_is_a_timeout(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            async with wire.Wire(url, lambda: "t", timeout=0.2) as connection:
                with pytest.raises(ports.DeliveryError) as caught:
                    await sidecar.SidecarClient(connection).withdraw(W1)
                assert caught.value.failure.category is failures.Category.TIMEOUT

    @pytest.mark.parametrize(
        ("status", "body", "category"),
        [
            (200, b"<html>", failures.Category.MALFORMED),
            (200, b'{"state": "New", "sequence": 1}', failures.Category.MALFORMED),
            (302, b"", failures.Category.UNKNOWN),
            (404, b"no sidecar", failures.Category.NOT_FOUND),
            (409, b"no sidecar", failures.Category.UNKNOWN),
            (429, b"", failures.Category.THROTTLED),
            (502, b"bad gateway", failures.Category.TRANSIENT),
            (504, b"", failures.Category.TIMEOUT),
        ],
    )
    async def test_other_answers_are_classified(self, status: int, body: bytes, category: failures.Category) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 {status} X\r\nlocation: /\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server, wire.Wire(url, lambda: "t") as connection:
            with pytest.raises(ports.DeliveryError) as caught:
                await sidecar.SidecarClient(connection).withdraw(W1)
        assert caught.value.failure.category is category

    async def test_a_url_that_is_none_is_refused(self) -> None:
        with pytest.raises(ValueError, match="must be http://"):
            wire.Wire("ftp://sidecar", lambda: "t")


class TestWire:
    """Values go through the wire unchanged, within its bounds."""

    def test_a_wake_comes_back(self) -> None:
        message = support.wake(deliver=support.TO_BOTH)
        assert api_wake.Wake.model_validate_json(api_wake.Wake.of(message).to_json()).value() == message

    def test_what_a_session_sends_has_no_unknown_field_and_what_it_is_answered_may(self) -> None:
        with pytest.raises(pydantic.ValidationError):
            turn.Complete.model_validate({"fence": 1, "watchUid": "u", "generation": 1, "more": 1})
        assert api_wake.Standing.model_validate({"state": "Queued", "sequence": 1, "more": 1}).sequence == 1
        event = {"cursor": 1, "wake": "w", "watch": "u", "state": "Lost", "sequence": 1, "at": "2026-03-01T12:00:00Z"}
        told = {"key": "k", "disposition": "open", "more": 1}
        assert api_wake.Outcome.model_validate(event | {"dispositions": [told]}).value().dispositions[0].key == "k"

    def test_a_cut_shows_and_is_valid_text(self) -> None:
        assert base.fit("a" * 10, 8) == "aa" + base.CUT
        assert base.fit("\ud800", 8) == "?"


async def test_a_stopped_sidecar_answers_its_long_polls(tmp_path: pathlib.Path) -> None:
    async with servers.running(tmp_path) as running:
        await running.session().attach(3600, IDLE)
        polls = [
            asyncio.ensure_future(running.operator.outcomes(0, 60)),
            asyncio.ensure_future(running.session().next(60, "r1")),
        ]
        await running.session("other").attach(60, IDLE)
        await running.session("other").next(0, "r2")
        running.service.drain()
        page, taken = await asyncio.gather(*polls)
        assert isinstance(page, ports.OutcomePage)
        assert list(page.events) == []
        assert taken is None
        assert (await http(running, "GET", "/readyz", None))[0] == 503
