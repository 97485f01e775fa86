"""The file in which a `vigil run` says where its sidecar is: the run writes it, `vigil attach --state-dir` reads it."""

import json
import pathlib
import secrets
from typing import Final

from vigil.adapters import files

_PLACE: Final = pathlib.PurePath("sidecar", "attach.json")


def publish(state_dir: pathlib.Path, url: str) -> str:
    """Write the URL and a token for this run, in a file that only this user can read; gives the token."""
    token = secrets.token_urlsafe(32)
    path = state_dir / _PLACE
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.write_atomically(path, json.dumps({"url": url, "token": token}))
    return token


def find(state_dir: pathlib.Path) -> tuple[str, str]:
    """The URL and the token of the run whose state this is; raises LookupError where none has been."""
    path = state_dir / _PLACE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return str(found["url"]), str(found["token"])
    except (OSError, ValueError, KeyError, TypeError):
        raise LookupError(f"no vigil run has its address in {path}") from None
