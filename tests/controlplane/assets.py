"""Find the control plane's binaries: KUBEBUILDER_ASSETS when set, otherwise the cache of `build`."""

import dataclasses
import os
import pathlib

from tests.controlplane import build

OWN_STAGES = pathlib.Path(__file__).resolve().parent / "stages"
ENVTEST = ("kube-apiserver", "etcd", "kubectl")


class AssetsError(Exception):
    """KUBEBUILDER_ASSETS is set and something is missing; the message names it."""


class NotBuiltError(Exception):
    """Nothing is built and nothing can be built here."""


@dataclasses.dataclass(frozen=True)
class Assets:
    """Every file a control plane is started from."""

    binaries: dict[str, pathlib.Path]
    stages: tuple[pathlib.Path, ...]
    manifests: tuple[pathlib.Path, ...]
    pinned: bool  # whether the API server is the one this folder pins

    def binary(self, name: str) -> pathlib.Path:
        """The file of one binary, such as kubectl."""
        return self.binaries[name]


def find(report: build.Report) -> Assets:
    """The files, built first when they are missing and Go is there.

    Raises AssetsError, NotBuiltError, or build.BuildError.
    """
    given = os.environ.get("KUBEBUILDER_ASSETS")
    if given:
        return _beside_envtest(pathlib.Path(given))
    if not build.complete() and not build.has_go():
        raise NotBuiltError(
            "The control plane is not built and Go is not on the PATH: install Go and run `make control-plane`."
        )
    where = build.ensure(report)
    return _assets({part.name: where / part.name for part in build.PARTS}, pinned=True)


def _beside_envtest(given: pathlib.Path) -> Assets:
    """The API server, etcd and kubectl of an envtest folder; the parts envtest has not are taken from our cache."""
    binaries = {part.name: part.target for part in build.PARTS}
    binaries |= {name: given / name for name in binaries if name in ENVTEST or (given / name).is_file()}
    absent = [name for name, file in binaries.items() if not file.is_file()]
    if not _kwok_files("stages"):
        absent.append("kwok's stages")
    if absent:
        raise AssetsError(
            f"KUBEBUILDER_ASSETS is {given}, and {', '.join(absent)} is neither there nor in the cache:"
            " unset it, or run `make control-plane` for the parts that envtest does not have."
        )
    return _assets(binaries, pinned=False)


def _assets(binaries: dict[str, pathlib.Path], *, pinned: bool) -> Assets:
    stages = (*_kwok_files("stages"), *sorted(OWN_STAGES.glob("*.yaml")))
    return Assets(binaries, stages, _kwok_files("manifests"), pinned)


def _kwok_files(kind: str) -> tuple[pathlib.Path, ...]:
    kwok = next(part.module.target for part in build.PARTS if part.name == "kwok")
    return tuple(sorted((kwok / kind).glob("*.yaml")))
