"""Which cluster a command means: as kubectl has it, the file of --kubeconfig, of KUBECONFIG, or ~/.kube/config."""

import pathlib
from collections.abc import Callable
from typing import Any

import click


def option(text: str) -> Callable[[Any], Any]:
    """The option --kubeconfig, None where there is no file to be found; `text` says what the cluster is for."""
    return click.option(
        "--kubeconfig",
        type=click.Path(path_type=pathlib.Path, dir_okay=False),
        envvar="KUBECONFIG",
        default=_usual,
        show_default="~/.kube/config",
        help=text,
    )


def _usual() -> pathlib.Path | None:
    try:
        path = pathlib.Path.home() / ".kube" / "config"
    except RuntimeError:
        # A user without a home folder has no kubeconfig in it.
        return None
    return path if path.is_file() else None
