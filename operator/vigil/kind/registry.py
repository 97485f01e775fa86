"""Which kinds there are: found as data, in the entry-point group `vigil.kinds`, and loaded all or not at all."""

import importlib.metadata
from collections.abc import Collection, Iterator, Mapping

from vigil.kind import api

GROUP = "vigil.kinds"


class KindLoadError(Exception):
    """An enabled kind cannot be loaded; the message names it and says why. It stops the start-up."""


class Registry(Mapping[str, api.Kind]):
    """The enabled kinds by name."""

    def __init__(self, kinds: Collection[api.Kind]) -> None:
        self._kinds = {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name)}

    def __getitem__(self, name: str) -> api.Kind:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


def load(enabled: Collection[str] | None = None) -> Registry:
    """Load the enabled kinds, or all that are installed when None.

    Raises KindLoadError for a kind that is enabled and not installed, is declared twice, cannot be imported, or is
    not a Kind of the name under which it is declared.
    """
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise KindLoadError(f"the kind {point.name!r} is declared twice: as {other.value} and as {point.value}")
    missing = sorted(set(enabled or ()) - set(found))
    if missing:
        installed = ", ".join(sorted(found)) or "none"
        raise KindLoadError(f"the kind {missing[0]!r} is enabled and not installed; installed are: {installed}")
    return Registry([_load(point) for name, point in found.items() if enabled is None or name in enabled])


def _load(point: importlib.metadata.EntryPoint) -> api.Kind:
    try:
        kind = point.load()
    except Exception as error:
        raise KindLoadError(f"the kind {point.name!r} ({point.value}) cannot be loaded: {error}") from error
    if not isinstance(kind, api.Kind) or kind.name != point.name:
        raise KindLoadError(f"the kind {point.name!r} ({point.value}) is not a Kind of that name")
    return kind
