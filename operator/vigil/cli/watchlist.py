"""The Watches of a cluster, for the commands that show them."""

import asyncio
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from vigil.adapters import clock
from vigil.cli import manifests


def in_cluster(kubeconfig: pathlib.Path | None, namespace: str | None) -> Sequence[Mapping[str, Any]]:
    """All Watches of a namespace, or of all; a cluster that cannot be asked ends the command with exit code 1."""
    # The library behind it takes long to import, and a state folder needs none.
    from vigil.adapters.kube import client, configuration, errors, watches  # noqa: PLC0415 - see above

    async def listed() -> Sequence[Mapping[str, Any]]:
        async with await client.connect(configuration.source(kubeconfig), clock.SystemClock()) as api:
            return (await watches.Watches(api).list(namespace)).items

    try:
        return asyncio.run(listed())
    except errors.ApiError as error:
        manifests.fail(str(error), code=1)
