"""What several commands begin with: the kinds, the Watches of some files, and a sentence for what is wrong."""

import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

import click

from vigil.api import enrol, manifest, problems, v1alpha1
from vigil.kind import registry
from vigil.tick import enrolment

BAD_INPUT = 2

F = TypeVar("F", bound=Callable[..., object])


def files_option(command: F) -> F:
    """`-f FILE`, as kubectl has it: several times, a folder, or - for standard input."""
    option = click.option(
        "-f",
        "--filename",
        "filenames",
        multiple=True,
        required=True,
        metavar="FILE",
        help="A file with Watches, a folder of such files, or - for standard input. May be given several times.",
    )
    return option(command)


def kinds() -> registry.Registry:
    """The installed kinds; a kind that cannot be loaded ends the command with its name and the reason."""
    try:
        return registry.load()
    except registry.KindLoadError as error:
        fail(str(error))


def load(filenames: Sequence[str], known: registry.Registry) -> list[enrolment.Enrolment]:
    """The valid Watches of these files; the first thing that is wrong ends the command with exit code 2."""
    found = [watch for name in filenames for path in _opened(name) for watch in _read(path, known)]
    names = [(watch.ref.namespace, watch.ref.name) for watch in found]
    twice = sorted({"/".join(name) for name in names if names.count(name) > 1})
    if twice:
        fail(f"the Watch {twice[0]} stands in more than one file")
    return found


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """End the command with a sentence on standard error."""
    click.echo(f"Error: {message}", err=True)
    raise SystemExit(code)


def _opened(name: str) -> list[str]:
    path = pathlib.Path(name)
    if name == "-" or not path.is_dir():
        return [name]
    try:
        found = sorted(str(one) for one in path.iterdir() if one.suffix in {".yaml", ".yml", ".json"})
    except OSError as error:
        fail(f"{name}: {error.strerror}")
    return found or fail(f"{name}: there is no .yaml, .yml or .json file in this folder")


def _read(name: str, known: registry.Registry) -> list[enrolment.Enrolment]:
    try:
        text = sys.stdin.buffer.read() if name == "-" else pathlib.Path(name).read_bytes()
        return [_enrolled(watch, known, name) for watch in manifest.load_manifests(text, name)]
    except OSError as error:
        fail(f"{name}: {error.strerror}")
    except problems.InvalidManifest as error:
        fail(str(error))


def _enrolled(watch: v1alpha1.Watch, known: registry.Registry, source: str) -> enrolment.Enrolment:
    try:
        return enrol.enrol(watch, known)
    except problems.InvalidManifest as error:
        metadata = watch.metadata
        fail(f"{source}: the Watch {metadata.namespace}/{metadata.name}: {error}")
