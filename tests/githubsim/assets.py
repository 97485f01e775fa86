"""What GitHub publishes of its own interfaces: fetched by npm into the cache, pinned, never committed."""

import contextlib
import fcntl
import functools
import hashlib
import pathlib
import shutil
import subprocess
import tempfile

from tests.controlplane import build

PINS = pathlib.Path(__file__).resolve().parent
FILES = ("package.json", "package-lock.json")


class NotFetchedError(Exception):
    """The packages cannot be had here; the message says why."""


@functools.cache
def modules() -> pathlib.Path:
    """The folder `node_modules` with the pinned packages, fetched once. Raises NotFetchedError."""
    digest = hashlib.sha256(b"".join((PINS / name).read_bytes() for name in FILES)).hexdigest()[:16]
    target = build.cache().parent / f"githubsim-{digest}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _fetch(target)
    return target / "node_modules"


def _fetch(target: pathlib.Path) -> None:
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=target.parent))
    try:
        for name in FILES:
            shutil.copy(PINS / name, folder)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        if ran.returncode != 0:
            raise NotFetchedError(f"npm ci failed: {ran.stderr.strip()[-500:]}")
        folder.rename(target)
    except FileNotFoundError as error:
        raise NotFetchedError("npm is not on the PATH: install Node.js") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)


def rest_description() -> str:
    """GitHub's description of its REST interface (OpenAPI 3.0)."""
    return (modules() / "@octokit" / "openapi" / "generated" / "api.github.com.json").read_text(encoding="utf-8")


def graphql_schema() -> str:
    """GitHub's public GraphQL schema."""
    return (modules() / "@octokit" / "graphql-schema" / "schema.graphql").read_text(encoding="utf-8")
