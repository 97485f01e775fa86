"""What one tick knows of all live subjects of a Watch."""

from collections.abc import Mapping
from typing import TypeAlias

from vigil.model import ids, observations

Reading: TypeAlias = Mapping[ids.SubjectId, observations.ReadingOf]
"""For each live (not retired) subject its ProbeResult, or the Failure for which it could not be read."""
