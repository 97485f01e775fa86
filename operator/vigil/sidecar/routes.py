"""The paths of the sidecar's API: each parses, asks the service and answers."""

from typing import Annotated, TypeVar, assert_never

import fastapi
from fastapi import responses

from vigil.api import base, ledger, turn
from vigil.api import wake as wire
from vigil.model import ids, wakes
from vigil.sidecar import access, auth, problems, service, sessions, turns
from vigil.sidecar.store import port

Found = TypeVar("Found", wakes.SubmitResult, turn.Lease)

ROUTER = fastapi.APIRouter(prefix="/v1")


def _service(request: fastapi.Request) -> service.Service:
    found: service.Service = request.app.state.service
    return found


Sidecar = Annotated[service.Service, fastapi.Depends(_service)]
WakePath = Annotated[base.Id, fastapi.Path(alias="id", description="The wake's id.")]
NamespacePath = Annotated[base.Namespace, fastapi.Path(description="The session's namespace.")]
NamePath = Annotated[base.Name, fastapi.Path(description="The session's name.")]
Wait = Annotated[float, fastapi.Query(ge=0, le=base.WAIT_LIMIT, description="Seconds to wait for the first.")]
OPERATOR = fastapi.Depends(access.operator)


@ROUTER.put(
    "/wakes/{id}",
    tags=["operator"],
    summary="Put one version of a wake: an upsert until it is claimed",
    responses=problems.responses(409, 413),
    response_model=wire.Standing,
    response_model_exclude_none=True,
    dependencies=[OPERATOR],
)
async def put_wake(sidecar: Sidecar, wake: WakePath, body: wire.Wake) -> wire.Standing:
    """An older version never replaces a newer one, and the same one again changes nothing.

    409 `settled`: it is claimed or ended, with the state and version that are held. 409 `another-wake-claimed`: another
    wake of this Watch is claimed; put it again later.
    """
    if body.id != wake:
        raise problems.problem(422, "invalid", "the id of the path is not that of the body")
    result = await sidecar.submit(body.value())
    _unsettled(ids.WakeId(wake), result)
    return wire.Standing.of(result)


@ROUTER.delete(
    "/wakes/{id}",
    tags=["operator"],
    summary="Withdraw a wake that is not claimed",
    responses=problems.responses(409),
    response_model=wire.Standing,
    response_model_exclude_none=True,
    dependencies=[OPERATOR],
)
async def delete_wake(sidecar: Sidecar, wake: WakePath) -> wire.Standing:
    """One that is withdrawn already, or is not known, counts as withdrawn.

    409 `settled` when it is claimed or ended.
    """
    result = await sidecar.withdraw(ids.WakeId(wake))
    if result.state is not wakes.WakeState.WITHDRAWN:
        _unsettled(ids.WakeId(wake), result)
    return wire.Standing.of(result)


def _unsettled(wake: ids.WakeId, result: wakes.SubmitResult) -> None:
    """Raises ProblemError for a wake that is claimed or has ended; to record one at once is no conflict."""
    if result.state in {wakes.WakeState.QUEUED, wakes.WakeState.RECORDED}:
        return
    message = f"the wake is {result.state}"
    raise problems.ProblemError(
        409,
        wire.Problem(
            code="settled",
            message=message,
            state=result.state,
            sequence=result.sequence,
            wake=wake,
            outcome=wire.Standing.of(result).outcome,
        ),
    )


@ROUTER.get(
    "/wakes/{id}",
    tags=["operator", "session"],
    summary="Show a wake",
    responses=problems.responses(404),
    response_model=wire.WakeView,
    response_model_exclude_none=True,
)
async def get_wake(sidecar: Sidecar, bearer: access.Bearer, wake: WakePath) -> wire.WakeView:
    """Its state, its version and why it is not delivered yet; for 30 days after its end."""
    shown = await _shown(sidecar, bearer, wake)
    held = shown.held
    return wire.WakeView(
        state=held.state,
        sequence=held.sequence,
        reason=shown.reason,
        id=held.id,
        watch=wire.Watch.of(held.watch),
        type=held.type,
        wake_reason=held.reason,
        entries=held.entries,
        offers=held.offers,
        submitted_at=base.time_of(held.submitted_at),
        evidence_url=sidecar.evidence_url(held.id) if held.evidence else None,
    )


@ROUTER.get(
    "/wakes/{id}/evidence",
    tags=["session"],
    summary="The evidence of a wake",
    responses={
        **problems.beside_text(404),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "The evidence, UTF-8."},
    },
    response_class=responses.PlainTextResponse,
)
async def get_evidence(sidecar: Sidecar, bearer: access.Bearer, wake: WakePath) -> responses.Response:
    """The file as it was written for the version that is held. It quotes text from outside, which is untrusted."""
    shown = await _shown(sidecar, bearer, wake)
    content = await sidecar.evidence_of(shown.held)
    if content is None:
        raise problems.problem(404, "not-found", "the evidence of this wake is gone")
    headers = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
    return responses.Response(content, media_type="text/plain; charset=utf-8", headers=headers)


async def _shown(sidecar: service.Service, bearer: auth.Principal, wake: str) -> port.Shown:
    """A wake that the bearer may see: to others it is not known."""
    shown = await sidecar.show(ids.WakeId(wake))
    if shown is None or not (bearer.operator or bearer.may_be_session_of(shown.held.watch.namespace)):
        raise problems.problem(404, "not-found", "no such wake is known")
    return shown


@ROUTER.get(
    "/outcomes",
    tags=["operator"],
    summary="What became of wakes, in order",
    responses=problems.responses(),
    response_model=wire.Outcomes,
    response_model_exclude_none=True,
    dependencies=[OPERATOR],
)
async def get_outcomes(
    sidecar: Sidecar,
    after: Annotated[int, fastapi.Query(ge=0, le=2**53, description="The cursor of the last answer.")] = 0,
    wait: Wait = 0.0,
) -> wire.Outcomes:
    """At least once:

    keep the cursor only when what it brought is kept. One that is ahead of all starts from the first again.
    """
    return wire.Outcomes.of(await sidecar.outcomes(after, wait))


@ROUTER.put(
    "/sessions/{namespace}/{name}",
    tags=["session"],
    summary="Attach a session, or renew it",
    responses=problems.responses(),
    response_model=turn.Session,
    response_model_exclude_none=True,
)
async def put_session(
    sidecar: Sidecar, bearer: access.Bearer, namespace: NamespacePath, name: NamePath, body: turn.Attach
) -> turn.Session:
    """It lives for its TTL from now. A newer user's turn ends a suspension of its waking."""
    access.session_of(bearer, namespace)
    last = body.last_user_turn
    said = sessions.Attachment(body.ttl_seconds, body.state, None if last is None else last.timestamp())
    return await sidecar.attach(sessions.Address(namespace, name), said)


@ROUTER.delete(
    "/sessions/{namespace}/{name}",
    tags=["session"],
    summary="Detach a session",
    status_code=204,
    responses=problems.responses(),
)
async def delete_session(
    sidecar: Sidecar, bearer: access.Bearer, namespace: NamespacePath, name: NamePath
) -> responses.Response:
    """Its wakes go to the next rung; a turn that it holds keeps its lease."""
    access.session_of(bearer, namespace)
    await sidecar.detach(sessions.Address(namespace, name))
    return responses.Response(status_code=204)


@ROUTER.post(
    "/sessions/{namespace}/{name}/next",
    tags=["session"],
    summary="Claim the next turn",
    responses={**problems.responses(409), 204: {"description": "No turn within the time waited."}},
    response_model=turn.Turn,
    response_model_exclude_none=True,
)
async def post_next(
    *,
    request: fastapi.Request,
    sidecar: Sidecar,
    bearer: access.Bearer,
    namespace: NamespacePath,
    name: NamePath,
    body: turn.Next | None = None,
    wait: Wait = 0.0,
) -> turn.Turn | responses.Response:
    """The turn is the session's for its lease. 409 `not-attached`: it has to attach first."""
    access.session_of(bearer, namespace)
    address = sessions.Address(namespace, name)
    found = await sidecar.next(address, body or turn.Next(), wait, request.is_disconnected)
    match found:
        case turn.Turn():
            return found
        case turns.Hold():
            return responses.Response(status_code=204)
        case port.NotAttached():
            raise problems.problem(409, "not-attached", "the session is not attached")
        case _:
            assert_never(found)


@ROUTER.post(
    "/wakes/{id}/renew",
    tags=["session"],
    summary="Keep a turn for another lease",
    responses=problems.responses(404, 409),
    response_model=turn.Lease,
    response_model_exclude_none=True,
)
async def post_renew(sidecar: Sidecar, bearer: access.Bearer, wake: WakePath, body: turn.Held) -> turn.Lease:
    """409 `stale`: the turn is not the asker's any more."""
    await _shown(sidecar, bearer, wake)
    return _fresh(await sidecar.renew(ids.WakeId(wake), body.fence))


@ROUTER.post(
    "/wakes/{id}/release",
    tags=["session"],
    summary="Give a turn back",
    responses=problems.responses(404, 409),
    response_model=wire.Standing,
    response_model_exclude_none=True,
)
async def post_release(sidecar: Sidecar, bearer: access.Bearer, wake: WakePath, body: turn.Held) -> wire.Standing:
    """As if its lease had run out: its wakes are offered once again, and are Lost the second time."""
    await _shown(sidecar, bearer, wake)
    return wire.Standing.of(_fresh(await sidecar.release(ids.WakeId(wake), body.fence)))


@ROUTER.post(
    "/wakes/{id}/complete",
    tags=["session"],
    summary="Complete a turn",
    responses=problems.responses(404, 409),
    response_model=wire.Standing,
    response_model_exclude_none=True,
)
async def post_complete(sidecar: Sidecar, bearer: access.Bearer, wake: WakePath, body: turn.Complete) -> wire.Standing:
    """All wakes of the turn are Delivered; the id is that of its first. The same completion again changes nothing.

    409 `stale`: the fence, the Watch's uid or its generation is not that of the turn, or the turn is over; nothing
    changed.
    """
    await _shown(sidecar, bearer, wake)
    found = await sidecar.complete(ids.WakeId(wake), _completion(body))
    if isinstance(found, port.NotInTurn):
        raise problems.problem(422, "invalid", f"the turn is not about a watch {found.watch!r}")
    return wire.Standing.of(_fresh(found))


def _completion(body: turn.Complete) -> port.Completion:
    by_watch: dict[str, tuple[wakes.DispositionOf, ...]] = {}
    for each in body.dispositions:
        by_watch[each.watch] = (*by_watch.get(each.watch, ()), each.value())
    return port.Completion(body.fence, ids.WatchUid(body.watch_uid), body.generation, body.tokens, by_watch)


def _fresh(found: Found | port.Stale) -> Found:
    if not isinstance(found, port.Stale):
        return found
    if found.held is None:
        raise problems.problem(404, "not-found", "no such wake is known")
    raise problems.about(found.held, "stale", f"the turn is not the asker's any more; the wake is {found.held.state}")


@ROUTER.get(
    "/ledger",
    tags=["operator"],
    summary="Why a Watch woke, and why it was quiet",
    responses=problems.responses(),
    response_model=ledger.Page,
    response_model_exclude_none=True,
    dependencies=[OPERATOR],
)
async def get_ledger(
    sidecar: Sidecar,
    watch: Annotated[base.Id, fastapi.Query(description="The Watch's uid.")],
    before: Annotated[int | None, fastapi.Query(ge=0, le=2**53, description="`next` of the last page.")] = None,
    limit: Annotated[int, fastapi.Query(ge=1, le=ledger.PAGE_LIMIT)] = 50,
) -> ledger.Page:
    """The newest first."""
    return await sidecar.ledger(ids.WatchUid(watch), before, limit)


@ROUTER.post(
    "/ledger",
    tags=["operator"],
    summary="Append changes of verdicts",
    status_code=204,
    responses=problems.responses(413),
    dependencies=[OPERATOR],
)
async def post_ledger(sidecar: Sidecar, body: ledger.Verdicts) -> responses.Response:
    """Each is kept once, by its id, however often it is reported."""
    await sidecar.record(body.entries)
    return responses.Response(status_code=204)
