"""The store of `vigil run`: one file a Watch, whole or not at all, under a lock.

`<state-dir>/<digest of kind, subject identities and watch>.json` holds the status that a cluster would hold. It names
its Watch: one whose subjects changed is found by that name and renamed.
"""

import asyncio
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import logging
import os
import pathlib
from collections.abc import Collection, Generator, Mapping
from typing import Any, Final

from vigil import ports
from vigil.api import convert, restore, status, yamljson
from vigil.model import ids, states
from vigil.state import codec
from vigil.tick import checkpoint, enrolment, memory

FORMAT: Final = 1
_ARCHIVE: Final = "archive"

_LOG = logging.getLogger(__name__)


class StateDirError(Exception):
    """The state folder cannot be used; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Archived:
    """A Watch that is in no file any more: its namespace and name, and the wake that was in flight, if one was."""

    name: str
    wake: ids.WakeId | None


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """One file: where it is, whose it is, and the status in it (None where it could not be read)."""

    path: pathlib.Path
    name: str
    status: Mapping[str, Any] | None


class FileStore:
    """ports.StateStore over a folder that one process has at a time."""

    def __init__(self, folder: pathlib.Path, clock: ports.Clock, signals: ports.Signals) -> None:
        self._folder = folder
        self._clock = clock
        self._signals = signals
        self._kept: dict[ids.WatchUid, _Kept] = {}
        self._statuses: dict[ids.WatchUid, Mapping[str, Any]] = {}
        self._unstored: set[ids.WatchUid] = set()

    @classmethod
    @contextlib.contextmanager
    def opened(cls, folder: pathlib.Path, clock: ports.Clock, signals: ports.Signals) -> Generator["FileStore"]:
        """Make and lock the folder, and index what is in it; raises StateDirError."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateDirError(f"the state folder {folder} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(lock)
            raise StateDirError(f"the state folder {folder} is in use by another vigil run") from error
        try:
            store = cls(folder, clock, signals)
            with _usable(folder):
                store._index()
            yield store
        finally:
            os.close(lock)

    def load(self, watch: enrolment.Enrolment) -> memory.Stored:
        """What an earlier run left; a file that cannot be read is set aside, one from a future version stays.

        Raises StateDirError.
        """
        kept = self._kept.get(watch.ref.uid) or self._unnamed(watch)
        if kept is None:
            return memory.Stored()
        if kept.status is None:
            with _usable(self._folder):
                return memory.Stored(state=self._quarantined(kept.path))
        self._statuses[watch.ref.uid] = kept.status
        return restore.restore(kept.status, watch)

    def status_of(self, uid: ids.WatchUid) -> Mapping[str, Any]:
        """The status as it was last stored."""
        return self._statuses.get(uid, {})

    def archive_others(self, present: Collection[ids.WatchUid]) -> list[Archived]:
        """Move the state of all Watches but these to `archive/`, and say which they were. Raises StateDirError."""
        gone = {uid: kept for uid, kept in self._kept.items() if uid not in present}
        for uid, kept in gone.items():
            with _usable(self._folder):
                self._set_aside(kept.path)
            del self._kept[uid]
        return [Archived(kept.name, _in_flight(kept.status, uid)) for uid, kept in gone.items()]

    async def save(self, checkpoint: checkpoint.Checkpoint) -> ports.SaveResult:
        """Store the Watch as a whole; never raises."""
        uid = checkpoint.watch.ref.uid
        rendered = status.render(checkpoint, self._statuses.get(uid), self._clock.now())
        if checkpoint.quarantined == codec.QuarantineReason.VERSION_UNKNOWN:
            self._statuses[uid] = rendered
            return ports.SaveResult.SAVED
        path = self._path(checkpoint.watch)
        body = _body(checkpoint.watch, rendered)
        before = self._kept.get(uid)
        try:
            # In ASCII, since a text of a stranger's can hold half of a surrogate pair, which has no UTF-8.
            await asyncio.to_thread(write_atomically, path, json.dumps(body, indent=1))
            if before is not None and before.path != path:
                before.path.unlink(missing_ok=True)
        except OSError as error:
            return self._failed(checkpoint.watch, error)
        self._kept[uid] = _Kept(path, _name(checkpoint.watch), rendered)
        self._statuses[uid] = rendered
        if uid in self._unstored:
            self._unstored.discard(uid)
            _LOG.warning("the state of %s is stored again", _name(checkpoint.watch))
        return ports.SaveResult.SAVED

    def _failed(self, watch: enrolment.Enrolment, error: OSError) -> ports.SaveResult:
        self._signals.emit(ports.StatusWriteFailed(ports.StatusWriteError.UNKNOWN))
        if watch.ref.uid not in self._unstored:
            self._unstored.add(watch.ref.uid)
            _LOG.warning("the state of %s cannot be stored, and nothing is delivered: %s", _name(watch), error.strerror)
        return ports.SaveResult.FAILED

    def _path(self, watch: enrolment.Enrolment) -> pathlib.Path:
        names = [watch.kind.name, *sorted(target.id for target in watch.targets), watch.ref.uid]
        return self._folder / f"{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:32]}.json"

    def _index(self) -> None:
        """Note whose the files are; of two for one Watch, which a crash amid a renaming leaves, the newer counts."""
        for path in sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns):
            found = _read(path)
            if not isinstance(found, dict):
                continue
            watch = found["watch"]
            older = self._kept.get(uid := ids.WatchUid(watch["uid"]))
            if older is not None:
                self._set_aside(older.path)
            self._kept[uid] = _Kept(path, f"{watch['namespace']}/{watch['name']}", found["status"])

    def _unnamed(self, watch: enrolment.Enrolment) -> _Kept | None:
        """The file that has the name of this Watch and could not be indexed."""
        path = self._path(watch)
        return _Kept(path, _name(watch), None) if path.exists() else None

    def _quarantined(self, path: pathlib.Path) -> codec.Quarantined:
        """A file from a future version stays where it is; one that does not parse is set aside."""
        found, text = _read(path), _text(path)
        if isinstance(found, int):
            detail = f"the file has format {found}, this Vigil reads {FORMAT}"
            return codec.Quarantined(codec.QuarantineReason.VERSION_UNKNOWN, detail, text)
        self._set_aside(path)
        detail = f"{path.name} does not parse and was moved to {_ARCHIVE}/"
        return codec.Quarantined(codec.QuarantineReason.UNREADABLE, detail, text)

    def _set_aside(self, path: pathlib.Path) -> None:
        archive = self._folder / _ARCHIVE
        archive.mkdir(mode=0o700, exist_ok=True)
        path.replace(archive / f"{int(self._clock.now())}-{path.name}")


def stored(folder: pathlib.Path) -> list[Mapping[str, Any]]:
    """The Watches in a state folder, as objects with metadata, status and what is kept of the spec; needs no lock."""
    found = [one for path in sorted(folder.glob("*.json")) if isinstance(one := _read(path), dict)]
    return [
        {
            "metadata": {
                "namespace": one["watch"]["namespace"],
                "name": one["watch"]["name"],
                "uid": one["watch"]["uid"],
            },
            "spec": {"kind": one["watch"].get("kind", ""), **_object(one.get("spec"))},
            "status": one["status"],
        }
        for one in found
    ]


@contextlib.contextmanager
def _usable(folder: pathlib.Path) -> Generator[None]:
    """Raises StateDirError where the folder fails."""
    try:
        yield
    except OSError as error:
        raise StateDirError(f"the state folder {folder} cannot be used: {error.strerror}") from error


def _name(watch: enrolment.Enrolment) -> str:
    return f"{watch.ref.namespace}/{watch.ref.name}"


def _in_flight(status: Mapping[str, Any] | None, uid: ids.WatchUid) -> ids.WakeId | None:
    state = restore.state_of(status or {}, uid)
    return state.in_flight.id if isinstance(state, states.State) and state.in_flight is not None else None


def _body(watch: enrolment.Enrolment, status: Mapping[str, Any]) -> dict[str, Any]:
    names = {"uid": watch.ref.uid, "namespace": watch.ref.namespace, "name": watch.ref.name, "kind": watch.kind.name}
    spec = convert.spec_of(watch.limits, watch.objective)
    return {"version": FORMAT, "watch": names, "spec": spec, "status": status}


def _object(value: Any) -> Mapping[str, Any]:
    return value if yamljson.is_object(value) else {}


def _read(path: pathlib.Path) -> dict[str, Any] | int | None:
    """The file, the number of a format that this Vigil does not know, or None for what is no state file at all."""
    try:
        found = json.loads(path.read_bytes())
        version = found["version"]
        if isinstance(version, int) and version != FORMAT:
            return version
        watch, kept = found["watch"], found["status"]
        named = all(isinstance(watch[name], str) for name in ("uid", "namespace", "name"))
        usable = named and isinstance(kept, dict)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if usable else None


def _text(path: pathlib.Path) -> str:
    """What stands in a file that is to be set aside, as far as it can be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def write_atomically(path: pathlib.Path, text: str) -> None:
    """Write a file of mode 0600 whole or not at all: to a temporary file, fsynced, renamed, the folder fsynced.

    Raises OSError, and leaves what was there.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    # What a crash left is made anew: its mode would be kept otherwise.
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
