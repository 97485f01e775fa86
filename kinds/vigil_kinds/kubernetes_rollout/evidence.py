"""The evidence of a wake: the snapshot as it was read, without what only a machine reads and what may be a secret."""

import json
from typing import Any, Final

from vigil.kind import api
from vigil_kinds.kubernetes_rollout import raw

LEFT_OUT: Final = "(left out)"

_NOISE = frozenset({"managedFields"})
_COPY_OF_THE_OBJECT: Final = "kubectl.kubernetes.io/last-applied-configuration"


def render(snapshot: api.Snapshot) -> str:
    """The payload as indented JSON; literal values of environment variables are left out, their names stay."""
    return json.dumps(_pruned(snapshot.payload), indent=2, sort_keys=True, ensure_ascii=False)


def _pruned(value: Any) -> Any:
    fields = raw.mapping(value)
    if fields is not None:
        return {name: _part(name, part) for name, part in fields.items() if name not in _NOISE}
    items = raw.sequence(value)
    return value if items is None else [_pruned(item) for item in items]


def _part(name: str, part: Any) -> Any:
    if name == _COPY_OF_THE_OBJECT:
        return LEFT_OUT
    variables = raw.sequence(part) if name == "env" else None
    return _pruned(part) if variables is None else [_variable(entry) for entry in variables]


def _variable(entry: Any) -> Any:
    fields = raw.mapping(entry)
    return {**fields, "value": LEFT_OUT} if fields is not None and "value" in fields else _pruned(entry)
