"""What a request passes before its path: the bound on its body, and who its bearer is."""

from typing import Annotated, Any, Final

import fastapi
import fastapi.security
from starlette import types

from vigil.api import base
from vigil.api import wake as wire
from vigil.model import failures
from vigil.sidecar import auth, problems

BEARER = fastapi.security.HTTPBearer(auto_error=False, description="The operator's token, or one of a session's.")

TOO_LARGE: Final = f"a body has at most {base.BODY_LIMIT} bytes"

Credentials = Annotated[fastapi.security.HTTPAuthorizationCredentials | None, fastapi.Depends(BEARER)]


async def principal(request: fastapi.Request, credentials: Credentials) -> auth.Principal:
    """Who bears the request's token. Raises ProblemError."""
    authenticator: auth.Authenticator = request.app.state.authenticator
    if credentials is None or not credentials.credentials:
        raise problems.problem(401, "unauthenticated", "a bearer token is needed")
    found = await authenticator.principal(credentials.credentials)
    if isinstance(found, failures.Failure):
        raise problems.problem(503, "unavailable", f"the token cannot be checked now: {found.message}")
    if found is None:
        raise problems.problem(401, "unauthenticated", "the token is not known")
    return found


Bearer = Annotated[auth.Principal, fastapi.Depends(principal)]


def operator(bearer: Bearer) -> None:
    """Raises ProblemError unless the bearer is the operator."""
    if not bearer.operator:
        raise problems.problem(403, "forbidden", "this is the operator's to ask")


def session_of(bearer: auth.Principal, namespace: str) -> None:
    """Raises ProblemError unless the bearer speaks for sessions of this namespace."""
    if not bearer.may_be_session_of(namespace):
        raise problems.problem(403, "forbidden", f"the bearer speaks for no session of {namespace}")


class BodyLimit:
    """An ASGI application that refuses a body of more than BODY_LIMIT bytes, announced or not."""

    def __init__(self, app: types.ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        """Count what is received."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > base.BODY_LIMIT:
            await _refuse(send)
            return
        received = 0

        async def counted() -> types.Message:
            nonlocal received
            message: dict[str, Any] = dict(await receive())
            received += len(message.get("body", b""))
            if received > base.BODY_LIMIT:
                # FastAPI makes a 400 of every other exception that comes while it reads the body.
                raise fastapi.HTTPException(413, TOO_LARGE)
            return message

        await self._app(scope, counted, send)


async def _refuse(send: types.Send) -> None:
    answer = wire.Problem(code="too-large", message=TOO_LARGE).to_json().encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    # What is left of the body would be taken for the next request.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
