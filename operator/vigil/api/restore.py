"""From a stored status back to what an earlier process remembered of a Watch."""

from collections.abc import Iterator, Mapping
from typing import Any

from vigil.api import status_prior, times, yamljson
from vigil.api import v1alpha1_status as shape
from vigil.model import ids, verdicts
from vigil.state import codec
from vigil.tick import checkpoint, enrolment, memory


def restore(status: Mapping[str, Any] | None, watch: enrolment.Enrolment) -> memory.Stored:
    """What is remembered of this Watch; nothing of a status that was never written.

    A part that cannot be read costs what it held and no more: a time of first showing begins anew. The engine's
    document is judged by its codec.
    """
    if not status:
        return memory.Stored()
    prior = status_prior.read(status).status
    return memory.Stored(
        state=state_of(status, watch.ref.uid),
        since=dict(_since(prior, watch)),
        anchors=dict(_anchors(prior, watch)),
        wakes=tuple(_wakes(prior)),
    )


def state_of(status: Mapping[str, Any], uid: ids.WatchUid) -> codec.Decoded | None:
    """The state in the engine's document; what stands there and is no text is handed on, to be quarantined."""
    engine = status.get("engine")
    if engine is None:
        return None
    document = engine.get("document") if yamljson.is_object(engine) else engine
    return codec.decode(document if isinstance(document, str) else repr(document), uid)


def _since(prior: shape.WatchStatus, watch: enrolment.Enrolment) -> Iterator[tuple[verdicts.Identity, ids.Instant]]:
    labels = {status_prior.cut(target.label, shape.LABEL_LIMIT): target.id for target in watch.targets}
    for one in prior.observations:
        subject, since = labels.get(one.subject), _instant(one.since)
        if subject is not None and since is not None:
            yield verdicts.Identity(subject, one.key, one.revision, one.episode or ""), since


def _anchors(prior: shape.WatchStatus, watch: enrolment.Enrolment) -> Iterator[tuple[ids.SubjectId, str]]:
    names = {status_prior.cut(target.id, shape.ID_LIMIT): target.id for target in watch.targets}
    for one in prior.subjects:
        if one.anchor and one.id in names:
            yield names[one.id], one.anchor


def _wakes(prior: shape.WatchStatus) -> Iterator[checkpoint.WakeRecord]:
    for one in prior.wakes:
        if (at := _instant(one.at)) is not None:
            yield checkpoint.WakeRecord(ids.WakeId(one.id), one.type, one.reason, one.state, one.keys, at)


def _instant(text: str) -> ids.Instant | None:
    try:
        return times.parse(text)
    except ValueError:
        return None
