"""What the forms of the sidecar's wire are made of: their bounds, their words and their bases.

Names are camelCase, times are RFC 3339 in UTC. Every string and list has a bound. What a session sends may hold no
unknown field; what the operator sends and what either of them is answered may, so that the two can be of different
versions. A text that is too long is cut on the way out, visibly, and never refused: a wake that cannot be sent would be
worse than one that is cut.
"""

import datetime
from typing import Annotated, ClassVar, Final, TypeAlias

import pydantic
from pydantic import alias_generators

from vigil.model import ids

EVIDENCE_LIMIT: Final = 2 * 1024 * 1024
"""Characters of evidence that are sent; the sidecar keeps less."""
BODY_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of a request's body: the longest wake there is, with its evidence escaped."""
ENTRIES_LIMIT: Final = 1000
DISPOSITIONS_LIMIT: Final = 200
OUTCOMES_LIMIT: Final = 200
"""Outcomes of one page."""
WAIT_LIMIT: Final = 60.0
"""Seconds that one long poll may wait."""

CUT: Final = "…[cut]"

_NAME = r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"

Id = Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Namespace = Annotated[str, pydantic.StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Name = Annotated[str, pydantic.StringConstraints(pattern=_NAME)]
Word = Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9_-]{0,64}$")]
Short = Annotated[str, pydantic.StringConstraints(max_length=300)]
Text = Annotated[str, pydantic.StringConstraints(max_length=4000)]
Count = Annotated[int, pydantic.Field(ge=0, le=2**53)]
Time: TypeAlias = pydantic.AwareDatetime


def fit(text: str, limit: int) -> str:
    """The text as valid UTF-8 of at most so many characters; what was cut ends with CUT."""
    text = text.encode(errors="replace").decode()
    return text if len(text) <= limit else text[: limit - len(CUT)] + CUT


def time_of(instant: ids.Instant) -> datetime.datetime:
    """An instant as it is told."""
    return datetime.datetime.fromtimestamp(instant, datetime.UTC)


class Answer(pydantic.BaseModel):
    """The base of what may hold fields that this version does not know."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(
        extra="ignore", frozen=True, alias_generator=alias_generators.to_camel, populate_by_name=True
    )

    def to_json(self) -> str:
        """The JSON of the wire, without what is None."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


class Asked(Answer):
    """The base of what a session sends: an unknown field is an error of its author's."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(extra="forbid")
