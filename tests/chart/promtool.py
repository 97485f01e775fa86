"""Find promtool, or take it out of Debian's package `prometheus` without installing its service.

Run as a script it prints the file: `python -m tests.chart.promtool`.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGE = "prometheus"
COMMAND_SECONDS = 300.0
LISTS = pathlib.Path("/var/lib/apt/lists")


class PromtoolError(Exception):
    """promtool is not here and cannot be fetched; the message is one sentence for the person who asked."""


def cache() -> pathlib.Path:
    """The folder that promtool is unpacked into, outside the tree."""
    root = os.environ.get("VIGIL_CACHE")
    if root:
        return pathlib.Path(root) / "promtool"
    home = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(home) if home else pathlib.Path.home() / ".cache") / "vigil" / "promtool"


def ensure() -> pathlib.Path:
    """The file of promtool: that on the PATH, else that in the cache, fetched first when it is missing.

    Raises PromtoolError.
    """
    found = shutil.which("promtool")
    if found:
        return pathlib.Path(found)
    target = cache() / "promtool"
    if not target.is_file():
        if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
            raise PromtoolError("promtool is not on the PATH: install it (Debian's package `prometheus` has it).")
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.is_file():
                _fetch(target)
    return target


def _fetch(target: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(prefix="promtool-", dir=target.parent) as work:
        folder = pathlib.Path(work)
        try:
            _run(folder, "apt-get", "download", PACKAGE)
        except PromtoolError:
            _update(folder)
            _run(folder, "apt-get", "download", PACKAGE)
        [package] = folder.glob(f"{PACKAGE}_*.deb")
        _run(folder, "dpkg", "-x", package.name, "unpacked")
        (folder / "unpacked" / "usr" / "bin" / "promtool").replace(target)


def _update(folder: pathlib.Path) -> None:
    if os.geteuid() != 0:
        raise PromtoolError(
            f"promtool is not on the PATH and `apt-get download {PACKAGE}` failed:"
            " run `apt-get update` as root, or install promtool."
        )
    _run(folder, "apt-get", "update")


def _run(folder: pathlib.Path, *command: str) -> None:
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True, timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        raise PromtoolError(f"`{' '.join(command)}` took longer than {COMMAND_SECONDS:.0f} s.") from None
    if ran.returncode != 0:
        last = (ran.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PromtoolError(f"`{' '.join(command)}` ended with exit code {ran.returncode}: {last}")


def main() -> int:
    """Print the file of promtool."""
    try:
        print(ensure())
    except PromtoolError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
