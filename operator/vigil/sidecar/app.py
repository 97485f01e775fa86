"""The sidecar over HTTP: the API, its errors in one form, and what the kubelet and Prometheus ask."""

from collections.abc import Mapping
from typing import Any, Final

import fastapi
import fastapi.exceptions
import prometheus_client
from fastapi import responses
from starlette import exceptions

from vigil import ports
from vigil.api import wake as wire
from vigil.model import failures
from vigil.sidecar import access, auth, problems, routes, service

DESCRIPTION = """The inbox between the operator and the sessions that take its turns.

The operator puts wakes and reads what became of them. A session attaches itself, claims a turn, keeps it while it
works, and completes it. Errors are a `Problem`, whose `code` says which of a closed list it is."""

_CODES: Final[Mapping[int, wire.ProblemCode]] = {404: "not-found", 413: "too-large"}


def create_app(
    sidecar: service.Service, authenticator: auth.Authenticator, registry: prometheus_client.CollectorRegistry
) -> fastapi.FastAPI:
    """The application over a service that whoever serves it keeps running (`Service.running`)."""
    app = fastapi.FastAPI(
        title="Vigil sidecar",
        version="1",
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = sidecar
    app.state.authenticator = authenticator
    app.include_router(routes.ROUTER)
    app.add_middleware(access.BodyLimit)
    _errors(app)
    _health(app, sidecar, registry)
    return app


def _errors(app: fastapi.FastAPI) -> None:
    @app.exception_handler(problems.ProblemError)
    async def _problem(_request: fastapi.Request, error: problems.ProblemError) -> responses.Response:
        return _answer(error.status, error.problem)

    @app.exception_handler(service.OtherClaimedError)
    async def _claimed(_request: fastapi.Request, error: service.OtherClaimedError) -> responses.Response:
        conflict = problems.about(error.held, "another-wake-claimed", error.failure.message)
        return _answer(409, conflict.problem)

    @app.exception_handler(ports.DeliveryError)
    async def _failed(_request: fastapi.Request, error: ports.DeliveryError) -> responses.Response:
        malformed = error.failure.category is failures.Category.MALFORMED
        code: wire.ProblemCode = "invalid" if malformed else "unavailable"
        return _answer(422 if malformed else 503, wire.Problem(code=code, message=error.failure.message))

    @app.exception_handler(fastapi.exceptions.RequestValidationError)
    async def _invalid(
        _request: fastapi.Request, error: fastapi.exceptions.RequestValidationError
    ) -> responses.Response:
        return _answer(422, wire.Problem(code="invalid", message=_told(error)))

    @app.exception_handler(exceptions.HTTPException)
    async def _http(_request: fastapi.Request, error: exceptions.HTTPException) -> responses.Response:
        code: wire.ProblemCode = _CODES.get(error.status_code, "invalid")
        return _answer(error.status_code, wire.Problem(code=code, message=str(error.detail)[:1000]))


def _answer(status: int, problem: wire.Problem) -> responses.Response:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return responses.Response(problem.to_json(), status, headers, "application/json")


def _told(error: fastapi.exceptions.RequestValidationError) -> str:
    """The places and reasons, never the values: these may be a wake's."""
    found: list[dict[str, Any]] = list(error.errors())
    told = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in found[:5]]
    return "; ".join(told)[:1000]


def _health(app: fastapi.FastAPI, sidecar: service.Service, registry: prometheus_client.CollectorRegistry) -> None:
    unhealthy: dict[int | str, dict[str, Any]] = {503: {"description": "The reason, as text."}}
    text = responses.PlainTextResponse

    @app.get("/healthz", tags=["health"], summary="Whether it lives", response_class=text, responses=unhealthy)
    async def _healthz() -> responses.Response:
        return _reason(sidecar.dead())

    @app.get("/readyz", tags=["health"], summary="Whether it can answer", response_class=text, responses=unhealthy)
    async def _readyz() -> responses.Response:
        return _reason(await sidecar.ready())

    @app.get("/metrics", tags=["health"], summary="Prometheus metrics", response_class=text)
    async def _metrics() -> responses.Response:
        return responses.Response(
            prometheus_client.generate_latest(registry), media_type=prometheus_client.CONTENT_TYPE_LATEST
        )


def _reason(reason: str | None) -> responses.Response:
    return responses.PlainTextResponse(f"{reason or 'ok'}\n", 200 if reason is None else 503)
