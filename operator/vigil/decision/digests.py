"""The one digest of the decision: the name of a wake."""

import hashlib
import json
from collections.abc import Iterable

from vigil.model import ids, states, verdicts

_LENGTH = 32


def wake_id(
    state: states.State, reason: str, identities: Iterable[verdicts.Identity], spell: ids.Instant | None = None
) -> ids.WakeId:
    """Name a wake so that the same news has the same name after any crash, and a repeat has another.

    It is made of the Watch, the reason, the identities with the stamps that they replace, how many wakes have ended
    without a stamp since the last one that stamped, and how many stamps were dropped: news whose stamp is forgotten
    would else have the name of the wake that told it. A wake without entries has the start of its spell in their place.
    """
    told = [
        [*identity, stamp.at if (stamp := state.subject(identity.subject).alerted.get(identity)) else None]
        for identity in sorted(identities, key=sort_key)
    ]
    parts = [state.watch, reason, told or spell, state.unstamped, state.forgotten]
    return ids.WakeId(hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_LENGTH])


def sort_key(identity: verdicts.Identity) -> tuple[str, str, bool, str, str]:
    """An order of identities that does not depend on the order in which they were read."""
    revision = identity.revision
    return (identity.subject, identity.key, revision is not None, revision or "", identity.episode)
