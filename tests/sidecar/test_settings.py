"""What `vigil sidecar` is told by its environment, and that the process keeps to it."""

import json
import os
import pathlib

import pytest
from aiohttp import web

from tests.adapters import http_servers
from tests.sidecar import processes, support
from vigil.adapters import settings as common
from vigil.model import wakes
from vigil.sidecar import settings


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(common.PREFIX):
            monkeypatch.delenv(name)


def test_an_empty_environment_gives_the_defaults_of_the_design() -> None:
    found = common.load(settings.SidecarSettings)
    assert found.listen_address == common.Address("0.0.0.0", 8090)
    assert found.data_dir == pathlib.Path("/var/lib/vigil")
    assert (found.token_file, found.session_tokens, found.public_url, found.receivers) == (None, None, None, {})
    assert (found.token_review, found.token_audience, found.operators) == (False, "vigil", ())
    rules = found.rules
    assert (rules.lease, rules.pause, rules.row) == (600, 5, 8)
    assert (rules.turns_per_day, rules.turns_per_day_of_namespace) == (None, None)


def test_every_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "LISTEN_ADDRESS": "127.0.0.1:0",
        "UNIX_SOCKET": "/run/vigil.sock",
        "PUBLIC_URL": "https://vigil.example/",
        "RECEIVERS": "oncall=/etc/vigil/receivers/oncall",
        "TOKEN_FILE": "/etc/vigil/token/token",
        "SESSION_TOKENS": "/etc/vigil/sessions",
        "TOKEN_REVIEW": "true",
        "TOKEN_AUDIENCE": "watches",
        "OPERATORS": "vigil-system/vigil, other/vigil.operator",
        "TURNS_PER_DAY_OF_NAMESPACE": "30",
        "CA_FILE": "/etc/vigil/ca/ca.crt",
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"VIGIL_{name}", value)
    found = common.load(settings.SidecarSettings)
    assert found.listen_address == common.Address("127.0.0.1", 0)
    assert found.unix_socket == pathlib.Path("/run/vigil.sock")
    assert found.public_url == "https://vigil.example"
    assert found.receivers == {"oncall": pathlib.Path("/etc/vigil/receivers/oncall")}
    assert found.token_file == pathlib.Path("/etc/vigil/token/token")
    assert found.session_tokens == pathlib.Path("/etc/vigil/sessions")
    assert (found.token_review, found.token_audience) == (True, "watches")
    assert found.operators == ("vigil-system/vigil", "other/vigil.operator")
    assert found.rules.turns_per_day_of_namespace == 30
    assert found.ca_file == pathlib.Path("/etc/vigil/ca/ca.crt")


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("RECEIVERS", "oncall", "'oncall' is no such pair"),
        ("RECEIVERS", "oncall=/a,oncall=/b", "names 'oncall' twice"),
        ("OPERATORS", "vigil-system/vigil,Team_B/x", "must name a ServiceAccount as namespace/name, and 'Team_B/x' is"),
        ("PUBLIC_URL", "https://user:pa55@vigil.example", "without credentials"),
        ("TURNS_IN_ROW", "1001", "less than or equal to 1000"),
        ("TURNS_PER_DAY", "0", "greater than or equal to 1"),
    ],
)
def test_a_bad_value_is_an_error_that_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(f"VIGIL_{variable}", value)
    with pytest.raises(common.SettingsError) as refused:
        common.load(settings.SidecarSettings)
    assert str(refused.value).startswith(f"VIGIL_{variable}: ")
    assert reason in str(refused.value)
    assert "pa55" not in str(refused.value)


async def test_a_notification_goes_to_a_receiver_whose_authority_the_bundle_names_and_tells_the_public_url(
    tmp_path: pathlib.Path,
) -> None:
    async def accept(_request: web.Request) -> web.Response:
        return web.Response()

    authority, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    async with http_servers.serving(accept, tls) as site:
        (tmp_path / "hook").write_text(f"{site.url}/hook")
        told = {
            "VIGIL_CA_FILE": str(authority),
            "VIGIL_RECEIVERS": f"oncall={tmp_path / 'hook'}",
            "VIGIL_ALLOWED_ADDRESSES": "127.0.0.0/8",
            "VIGIL_PUBLIC_URL": "http://vigil.vigil-system.svc:8090",
        }
        async with processes.sidecar_process(tmp_path, **told) as sidecar:
            terminal = support.wake(type=wakes.WakeType.TERMINAL, reason="succeeded", deliver=support.TO_BOTH)
            await sidecar.operator.submit(terminal)
            page = await sidecar.operator.outcomes(0, 20.0)
            assert [each.state for each in page.events] == [wakes.WakeState.NOTIFIED]
    (body,) = site.bodies
    assert json.loads(body)["evidence"] == "http://vigil.vigil-system.svc:8090/v1/wakes/w1/evidence"


async def test_a_bundle_that_cannot_be_used_stops_the_start_and_names_its_variable(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("t")
    process = await processes.vigil(
        *("sidecar", "--listen", "127.0.0.1:0"),
        *("--data-dir", str(tmp_path), "--token-file", str(tmp_path / "token")),
        env=processes.environment(VIGIL_CA_FILE=str(tmp_path / "missing.pem")),
    )
    out, err = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.startswith(b"Error: VIGIL_CA_FILE: the CA bundle")
    assert b"missing.pem" in err
