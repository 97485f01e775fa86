"""From each version of the document to the next: every version bump ships one function here, with a test."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Document: TypeAlias = dict[str, Any]
Migration: TypeAlias = Callable[[Document], Document]

VERSION: Final = 1
"""The version that is written."""

MIGRATIONS: Final[Mapping[int, Migration]] = {}
"""By the version that they start from."""


def migrate(document: Document, version: int, steps: Mapping[int, Migration] = MIGRATIONS) -> tuple[Document, int]:
    """Bring a document as far as the migrations lead, one version at a time, and give the version that was reached."""
    while version in steps:
        document = steps[version](document)
        version += 1
    return document, version
