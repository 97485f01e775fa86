"""Why a subject could not be read, in a closed list that is also the metric's label."""

import dataclasses
import enum

from vigil.model import ids

MESSAGE_LIMIT = 500
"""Characters of a failure's message that are kept: a provider's error page is not a message."""


class Category(enum.StrEnum):
    """The class of a failure, decided once, in the layer where it arises."""

    THROTTLED = "throttled"
    TRANSIENT = "transient"
    TIMEOUT = "timeout"
    AUTH = "auth"
    AUTH_SSO = "auth_sso"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    MOVED = "moved"
    MALFORMED = "malformed"
    TOO_LARGE = "too_large"
    BLOCKED_ADDRESS = "blocked_address"
    TLS = "tls"
    CONFIG = "config"
    UNKNOWN = "unknown"


NON_HEALING = frozenset(
    {
        Category.AUTH,
        Category.AUTH_SSO,
        Category.FORBIDDEN,
        Category.NOT_FOUND,
        Category.MOVED,
        Category.CONFIG,
    }
)
"""What retrying does not heal: the Watch is Blocked and probed slowly until its Secret or spec changes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """One classified failure of a read.

    `message` holds no secret and at most MESSAGE_LIMIT characters. `retry_after` is in seconds from the failure, None
    where the provider named no time. `shared` says that a whole group of several Watches failed together.
    """

    category: Category
    message: str
    retry_after: ids.Seconds | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        if len(self.message) > MESSAGE_LIMIT:
            object.__setattr__(self, "message", self.message[: MESSAGE_LIMIT - 1] + "…")

    @property
    def heals(self) -> bool:
        """Whether trying again can help."""
        return self.category not in NON_HEALING

    @property
    def counts(self) -> bool:
        """Whether it counts as a provider error: a throttle is no fault, a shared outage is the group's."""
        return self.heals and not self.shared and self.category is not Category.THROTTLED
