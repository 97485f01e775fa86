"""The status that was last written, read with what it takes to compare a new one with it."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

import pydantic

from vigil.api import v1alpha1_status as shape

_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclasses.dataclass(frozen=True, slots=True)
class Prior:
    """The parts of the last status, by what identifies them."""

    status: shape.WatchStatus
    conditions: Mapping[str, shape.Condition]
    subjects: Mapping[str, shape.SubjectStatus]
    observations: Mapping[tuple[str, str, str | None, str | None], shape.ObservationStatus]


def read(status: Mapping[str, Any]) -> Prior:
    """Read a status; a part of another shape, as another version may have written it, counts as not there."""
    known = _read(status)
    return Prior(
        status=known,
        conditions={one.type: one for one in known.conditions},
        subjects={one.id: one for one in known.subjects},
        observations={(one.subject, one.key, one.revision, one.episode): one for one in known.observations},
    )


def _read(status: Mapping[str, Any]) -> shape.WatchStatus:
    try:
        return shape.WatchStatus.model_validate(dict(status))
    except pydantic.ValidationError as error:
        bad = {detail["loc"][0] for detail in error.errors(include_url=False) if detail["loc"]}
        good = {name: part for name, part in status.items() if name not in bad}
        return shape.WatchStatus.model_validate(good)


def cut(text: str, limit: int) -> str:
    """The text on one line, without what a terminal acts on, at most so long; what was cut ends with an ellipsis."""
    plain = _UNPRINTABLE.sub(" ", text)
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
