"""Build the pinned control plane binaries once, into a cache outside the tree.

Run as a script it needs nothing but the standard library and Go: `python tests/controlplane/build.py [--print-dir]`.
"""

import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator

Report = Callable[[str], None]

PINS = pathlib.Path(__file__).resolve().parent
PROGRESS_SECONDS = 20.0
KWOK = "sigs.k8s.io/kwok"
KWOK_STAGES = (
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
    "volume/fast/pv-bind.yaml",
    "volume/fast/pv-delete.yaml",
    "volume/fast/pvc-provision.yaml",
    "volume/fast/pvc-delete.yaml",
)
KWOK_MANIFESTS = ("volume/fast/storage-class.yaml",)


class BuildError(Exception):
    """The binaries cannot be built here; the message is one sentence for the person who asked."""


@dataclasses.dataclass(frozen=True)
class Module:
    """One pinned Go module: a folder beside this file with its go.mod and go.sum."""

    folder: str
    path: str
    packages: tuple[str, ...]
    version_flags: str = ""  # linker flags; {version}, {major} and {minor} are filled in from the pin

    @property
    def version(self) -> str:
        """The pinned version, such as v1.36.3."""
        text = (PINS / self.folder / "go.mod").read_text(encoding="utf-8")
        found = re.search(rf"^(?:require)?\s*{re.escape(self.path)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise BuildError(f"{self.folder}/go.mod does not pin {self.path}.")
        return found[1]

    @property
    def linker_flags(self) -> str:
        """The linker flags with the version in them, without which a binary reports v0.0.0."""
        major, minor = self.version.removeprefix("v").split(".")[:2]
        return f"-s -w {self.version_flags.format(version=self.version, major=major, minor=minor)}".strip()

    @property
    def digest(self) -> str:
        """What the built files depend on: the pins, the flags and the platform."""
        sums = hashlib.sha256()
        for name in ("go.mod", "go.sum"):
            sums.update((PINS / self.folder / name).read_bytes())
        files = (*KWOK_STAGES, *KWOK_MANIFESTS) if self.path == KWOK else ()
        sums.update(repr((self.packages, self.linker_flags, files, _platform())).encode())
        return sums.hexdigest()[:16]

    @property
    def target(self) -> pathlib.Path:
        """The folder in the cache that holds this module's files."""
        return cache() / f"{self.folder}-{self.digest}"


_KUBERNETES_VERSION = " ".join(
    f"-X k8s.io/component-base/version.{name}={value}"
    for name, value in (("gitVersion", "{version}"), ("gitMajor", "{major}"), ("gitMinor", "{minor}"))
)
KUBERNETES = Module(
    folder="kubernetes",
    path="k8s.io/kubernetes",
    packages=(
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
        "k8s.io/kubernetes/cmd/kubectl",
    ),
    version_flags=_KUBERNETES_VERSION,
)
MODULES = (
    KUBERNETES,
    Module(folder="etcd", path="go.etcd.io/etcd/server/v3", packages=("go.etcd.io/etcd/server/v3",)),
    Module(folder="kwok", path=KWOK, packages=(f"{KWOK}/cmd/kwok",)),
    Module(
        folder="helm",
        path="helm.sh/helm/v4",
        packages=("helm.sh/helm/v4/cmd/helm",),
        version_flags="-X helm.sh/helm/v4/internal/version.version={version}",
    ),
)


@dataclasses.dataclass(frozen=True)
class Part:
    """One binary and where it goes."""

    module: Module
    package: str

    @property
    def name(self) -> str:
        """The binary's file name."""
        return self.module.folder if self.package == self.module.path else self.package.rsplit("/", 1)[1]

    @property
    def target(self) -> pathlib.Path:
        """The binary's file in the cache."""
        return self.module.target / self.name


PARTS = tuple(Part(module, package) for module in MODULES for package in module.packages)


def cache() -> pathlib.Path:
    """The folder of all builds, outside the tree."""
    root = os.environ.get("VIGIL_CACHE")
    if root:
        return pathlib.Path(root) / "controlplane"
    home = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(home) if home else pathlib.Path.home() / ".cache") / "vigil" / "controlplane"


def folder() -> pathlib.Path:
    """The one folder that links to every file of the present pins; it is there only when all of them are built."""
    joined = "-".join(module.digest for module in MODULES)
    return cache() / f"set-{hashlib.sha256(joined.encode()).hexdigest()[:16]}"


def missing() -> tuple[Part, ...]:
    """The binaries of the present pins that are not built yet."""
    return tuple(part for part in PARTS if not part.target.is_file())


def complete() -> bool:
    """Whether everything of the present pins is built and linked."""
    return folder().is_dir() and not missing()


def has_go() -> bool:
    """Whether a build could start here."""
    return shutil.which("go") is not None


def ensure(report: Report) -> pathlib.Path:
    """Build what is missing and return `folder()`; safe to run twice at once.

    Raises BuildError when Go is missing or a build fails.
    """
    if complete():
        return folder()
    if not has_go():
        names = ", ".join(part.name for part in missing())
        raise BuildError(f"Go is not on the PATH, and the control plane needs it once to build {names}.")
    cache().mkdir(parents=True, exist_ok=True)
    with _locked(report):
        for part in missing():
            _build(part, report)
        _copy_kwok_files()
        _link_all()
    return folder()


def _platform() -> tuple[str, str]:
    machine = platform.machine().lower()
    return platform.system().lower(), {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def _go_environment() -> dict[str, str]:
    system, machine = _platform()
    # A person's own Go settings (a vendor folder, a workspace, another target) must not change what is built.
    own = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off", "GOOS": system, "GOARCH": machine}
    return {**os.environ, **own}


@contextlib.contextmanager
def _locked(report: Report) -> Generator[None]:
    with (cache() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another build of the control plane is running, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(part: Part, report: Report) -> None:
    label = f"{part.name} ({PARTS.index(part) + 1}/{len(PARTS)})"
    part.module.target.mkdir(parents=True, exist_ok=True)
    partial = part.target.with_name(f"{part.name}.partial")
    flags = ["-trimpath", "-buildvcs=false", "-ldflags", part.module.linker_flags]
    report(f"building {label}")
    started = time.monotonic()
    _run_go(
        ["build", *flags, "-o", str(partial), part.package],
        PINS / part.module.folder,
        lambda seconds: report(f"building {label}, {seconds:.0f} s so far, the first build takes about 13 minutes"),
    )
    partial.replace(part.target)
    report(f"built {label} in {time.monotonic() - started:.0f} s")


def _run_go(arguments: list[str], where: pathlib.Path, progress: Callable[[float], None]) -> str:
    started = time.monotonic()
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(
            ["go", *arguments],
            cwd=where,
            env=_go_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(PROGRESS_SECONDS)
                    break
                progress(time.monotonic() - started)
        except BaseException:
            process.kill()
            raise
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        tail = "\n".join(text.splitlines()[-15:])
        raise BuildError(f"go {arguments[0]} in {where.name} failed with exit code {process.returncode}:\n{tail}")
    return text


def _copy_kwok_files() -> None:
    module = next(module for module in MODULES if module.path == KWOK)
    source: pathlib.Path | None = None
    for kind, names in (("stages", KWOK_STAGES), ("manifests", KWOK_MANIFESTS)):
        target = module.target / kind
        if target.is_dir():
            continue
        if source is None:
            listed = _run_go(["list", "-m", "-f", "{{.Dir}}", KWOK], PINS / module.folder, lambda _: None)
            source = pathlib.Path(listed.strip().splitlines()[-1]) / "kustomize" / "stage"
        with _fresh_folder(target) as partial:
            for name in names:
                shutil.copyfile(source / name, partial / pathlib.PurePath(name).name)


def _link_all() -> None:
    if folder().is_dir():
        return
    with _fresh_folder(folder()) as partial:
        for module in MODULES:
            for file in module.target.iterdir():
                (partial / file.name).symlink_to(pathlib.Path("..") / module.target.name / file.name)


@contextlib.contextmanager
def _fresh_folder(target: pathlib.Path) -> Generator[pathlib.Path]:
    """An empty folder that becomes the target only when all of it is there."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    partial.rename(target)


def main(arguments: list[str] | None = None) -> int:
    """Build what is missing; with --print-dir only the folder goes to the standard output."""
    parser = argparse.ArgumentParser(description="Build the control plane that the tests run against.")
    parser.add_argument("--print-dir", action="store_true", help="print the folder of the binaries, and only that")
    options = parser.parse_args(arguments)
    started = time.monotonic()

    def report(line: str) -> None:
        print(f"{line} [{time.monotonic() - started:.0f} s]", file=sys.stderr, flush=True)

    try:
        where = ensure(report)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print(where if options.print_dir else f"the control plane is ready in {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
