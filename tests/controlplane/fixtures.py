"""The pytest fixtures: a plug-in that `tests/conftest.py` names in `pytest_plugins`."""

import os
import secrets
import sys
from collections.abc import Generator

import pytest

from tests.controlplane import assets, build, plane

OUTCOME: pytest.StashKey[assets.Assets | Exception] = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Build what is missing before the first test, where no test's timeout runs and progress can be seen."""
    wanted = any("control_plane" in getattr(item, "fixturenames", ()) for item in session.items)
    if wanted and not session.config.option.collectonly and not session.testsfailed:
        session.config.stash[OUTCOME] = _find()


@pytest.fixture(scope="session")
def control_plane_assets(request: pytest.FixtureRequest) -> assets.Assets:
    """The binaries; skips with one sentence when there are none, and fails instead when VIGIL_REQUIRE_E2E is 1."""
    outcome = request.config.stash.get(OUTCOME, None) or _find()
    if isinstance(outcome, assets.NotBuiltError) and os.environ.get("VIGIL_REQUIRE_E2E") != "1":
        pytest.skip(str(outcome))
    if isinstance(outcome, Exception):
        pytest.fail(str(outcome), pytrace=False)
    return outcome


@pytest.fixture(scope="session")
def control_plane(
    control_plane_assets: assets.Assets, tmp_path_factory: pytest.TempPathFactory
) -> Generator[plane.ControlPlane]:
    """The session's control plane; its logs stay in pytest's temporary folder."""
    with plane.ControlPlane(control_plane_assets, tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture
def namespace(control_plane: plane.ControlPlane) -> Generator[str]:
    """A fresh namespace that pods can be created in; its deletion is not waited for."""
    name = f"test-{secrets.token_hex(4)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    control_plane.api("POST", "/api/v1/namespaces", body)
    control_plane.wait_until(lambda: control_plane.has_default_service_account(name), f"a ServiceAccount in {name}")
    yield name
    control_plane.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


def _find() -> assets.Assets | Exception:
    try:
        return assets.find(lambda line: print(line, file=sys.stderr, flush=True))
    except (assets.AssetsError, assets.NotBuiltError, build.BuildError) as error:
        return error
