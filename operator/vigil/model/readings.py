"""What one tick knows of all live subjects of a Watch."""

from collections.abc import Mapping
from typing import TypeAlias

from vigil.model import ids, observations, verdicts

Reading: TypeAlias = Mapping[ids.SubjectId, observations.ReadingOf]
"""For each live (not retired) subject its ProbeResult, or the Failure for which it could not be read."""


def shown(reading: Reading) -> dict[verdicts.Identity, observations.Observation]:
    """The entries that a reading shows; a subject that was not read shows none."""
    return {
        verdicts.identify(name, of, seen): seen
        for name, of in reading.items()
        if isinstance(of, observations.ProbeResult)
        for seen in of.observations
    }
