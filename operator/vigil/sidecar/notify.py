"""Notifications: a webhook for what no session takes. What is sent is bounded, cleaned and redacted like an envelope.

The URL of a notification is a secret of its own: it is looked up for each try, kept nowhere and never told in an error.
"""

import dataclasses
import datetime
import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from vigil.adapters.http import client
from vigil.kind import transport
from vigil.model import failures, ids, wakes
from vigil.sidecar import sessions, text

ENTRIES_LIMIT: Final = 20
TRY_TIMEOUT: Final[ids.Seconds] = 15.0
FIRST_RETRY: Final[ids.Seconds] = 10.0
LAST_RETRY: Final[ids.Seconds] = 900.0
ANSWER_LIMIT: Final = 64 * 1024

UrlOf: TypeAlias = Callable[[ids.WakeId], str]
"""The URL of a wake's evidence, empty when the sidecar does not know how it is reached."""


class Notifier(Protocol):
    """Posts one JSON document, guarded as any request to an address that a user names."""

    async def post(self, url: str, document: Mapping[str, Any]) -> failures.Failure | None:
        """Post it; None means that it was accepted. Raises nothing of its own."""
        ...


class Receivers(Protocol):
    """Finds out where a notification goes."""

    async def url(self, namespace: str, notify: wakes.Notify) -> str | failures.Failure:
        """The URL for this Watch's namespace, or why there is none."""
        ...


class Secrets(Protocol):
    """Reads a key of a Secret in a Watch's own namespace; a cluster has one, a file has none."""

    async def read(self, namespace: str, source: wakes.SecretKey) -> str | failures.Failure:
        """The value, or why it cannot be read."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Notifications:
    """All that the sidecar needs to send a notification."""

    notifier: Notifier
    receivers: Receivers

    async def send(self, namespace: str, notify: wakes.Notify, document: Mapping[str, Any]) -> failures.Failure | None:
        """Try once; None means that it was accepted."""
        found = await self.receivers.url(namespace, notify)
        if isinstance(found, failures.Failure):
            return found
        return await self.notifier.post(found, document)


class FileReceivers:
    """Receivers that the settings name, each with a file that holds its URL; Secrets where `secrets` reads them."""

    def __init__(self, files: Mapping[str, pathlib.Path], secrets: Secrets | None = None) -> None:
        self._files = dict(files)
        self._secrets = secrets

    async def url(self, namespace: str, notify: wakes.Notify) -> str | failures.Failure:
        """The URL, read anew each time: a rotated one counts at once."""
        if notify.url_from is not None:
            return await self._from_secret(namespace, notify.url_from)
        path = self._files.get(notify.receiver or "")
        if path is None:
            return failures.Failure(failures.Category.CONFIG, f"no receiver is named {notify.receiver!r}")
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = type(error).__name__
            return failures.Failure(failures.Category.CONFIG, f"the URL of {notify.receiver!r} is unreadable: {reason}")

    async def _from_secret(self, namespace: str, source: wakes.SecretKey) -> str | failures.Failure:
        if self._secrets is None:
            return failures.Failure(failures.Category.CONFIG, "this sidecar reads no Secrets: name a receiver instead")
        return await self._secrets.read(namespace, source)


class HttpNotifier:
    """A Notifier over the guarded client."""

    def __init__(self, guarded: client.GuardedClient) -> None:
        self._client = guarded

    async def post(self, url: str, document: Mapping[str, Any]) -> failures.Failure | None:
        """Post it; any 2xx is an acceptance."""
        body = json.dumps(document, ensure_ascii=False).encode(errors="replace")
        try:
            response = await self._client.request(
                "POST",
                url,
                timeout=TRY_TIMEOUT,
                headers={"content-type": "application/json"},
                body=body,
                max_bytes=ANSWER_LIMIT,
            )
        except transport.ReadError as error:
            # An answer that is too long to read was an answer all the same, but says nothing of acceptance.
            return error.failure
        return _failure(response)


def _failure(response: transport.Response) -> failures.Failure | None:
    status = response.status
    if 200 <= status < 300:
        return None
    after = response.headers.get("retry-after", "")
    category = {
        401: failures.Category.AUTH,
        403: failures.Category.FORBIDDEN,
        404: failures.Category.NOT_FOUND,
        410: failures.Category.NOT_FOUND,
        413: failures.Category.TOO_LARGE,
        429: failures.Category.THROTTLED,
    }.get(status, failures.Category.TRANSIENT if status >= 500 else failures.Category.UNKNOWN)
    return failures.Failure(
        category, f"the receiver answered {status}", float(after) if after.isdecimal() and len(after) < 6 else None
    )


def delay(tries: int, failure: failures.Failure) -> ids.Seconds:
    """How long to wait after so many failed tries; a receiver's own word is kept to, within LAST_RETRY."""
    backed_off = min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(tries - 1, 10))
    return min(LAST_RETRY, max(backed_off, failure.retry_after or 0.0))


def of_wake(message: wakes.WakeMessage, evidence_url: str) -> Mapping[str, Any]:
    """The document for a wake; `text` is one line for receivers that show nothing else."""
    watch = message.watch
    brief = text.fit(text.one_line(message.brief), 300)
    return {
        "version": 1,
        "text": text.fit(f"{watch.namespace}/{watch.name}: {message.reason}. {brief}", 500),
        "wake": message.id,
        "watch": {"uid": watch.uid, "namespace": watch.namespace, "name": watch.name, "kind": message.kind},
        "type": message.type.value,
        "reason": message.reason,
        "brief": brief,
        "description": text.fit(text.one_line(message.description), 300),
        "observedAt": _time(message.observed_at),
        "entries": [_entry(each) for each in message.entries[:ENTRIES_LIMIT]],
        "entriesInAll": len(message.entries),
        "evidence": evidence_url or None,
        "untrusted": ["text", "brief", "description", "entries"],
    }


def of_suspension(session: sessions.Session) -> Mapping[str, Any]:
    """The document that says once that a session's waking was suspended."""
    address, row = session.address, session.turns_in_row
    return {
        "version": 1,
        "text": f"The session {address.namespace}/{address.name} took {row} automatic turns in a row without a"
        " turn of a user's: it is woken no more until there is one.",
        "type": "WakingSuspended",
        "session": {"namespace": address.namespace, "name": address.name},
        "turnsInRow": row,
        "suspendedAt": _time(session.suspended_at or 0.0),
    }


def _entry(entry: wakes.WakeEntry) -> Mapping[str, Any]:
    return {
        "subject": text.fit(text.name(entry.subject), 200),
        "key": text.fit(text.name(entry.key), 200),
        "severity": entry.severity.value,
        "outcome": entry.outcome.value if entry.outcome else None,
        "since": _time(entry.since),
        "revision": text.fit(text.name(entry.revision), 100),
        "brief": text.fit(text.one_line(entry.brief), 300),
    }


def _time(instant: ids.Instant) -> str:
    return datetime.datetime.fromtimestamp(instant, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
