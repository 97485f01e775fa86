"""The settings have sane defaults, and a bad value is an error that names its variable."""

import ipaddress
import os
import pathlib

import pytest

from vigil.adapters import settings


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(settings.PREFIX):
            monkeypatch.delenv(name)


def load(monkeypatch: pytest.MonkeyPatch, **variables: str) -> settings.OperatorSettings:
    for name, value in variables.items():
        monkeypatch.setenv(f"VIGIL_{name}", value)
    return settings.load(settings.OperatorSettings)


def refusal(monkeypatch: pytest.MonkeyPatch, **variables: str) -> str:
    with pytest.raises(settings.SettingsError) as refused:
        load(monkeypatch, **variables)
    return str(refused.value)


def test_an_empty_environment_gives_the_defaults_of_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load(monkeypatch)
    assert (found.kinds, found.namespaces, found.allowed_addresses) == ((), (), ())
    assert (found.probe_timeout, found.timer_interval, found.secret_cache) == (30.0, 60.0, 60.0)
    assert (found.finalizer_timeout, found.shutdown_timeout) == (10.0, 20.0)
    assert found.kubeconfig is None
    assert found.lease_namespace is None
    assert found.identity


def test_every_variable_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load(
        monkeypatch,
        KINDS="http_json, kubernetes_rollout",
        NAMESPACES="team-a,team-b",
        ALLOWED_ADDRESSES="10.0.0.0/8,fd00::/8",
        METRICS_ADDRESS="[::1]:9090",
        SIDECAR_URL="http://vigil.vigil-system:8090/",
        SIDECAR_TOKEN_FILE="/etc/vigil/token/token",
        KUBECONFIG="/etc/kubeconfig",
        CA_FILE="/etc/vigil/ca/ca.crt",
        LEASE_NAMESPACE="vigil-system",
        LOG_LEVEL="debug",
        LOG_FORMAT="console",
        TIMER_INTERVAL="500ms",
        PROBE_REQUESTS="7",
    )
    assert found.kinds == ("http_json", "kubernetes_rollout")
    assert found.namespaces == ("team-a", "team-b")
    assert found.allowed_addresses == (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8"))
    assert found.metrics_address == settings.Address("::1", 9090)
    assert str(found.metrics_address) == "[::1]:9090"
    assert found.sidecar_url == "http://vigil.vigil-system:8090"
    assert found.sidecar_token_file == pathlib.Path("/etc/vigil/token/token")
    assert found.kubeconfig == pathlib.Path("/etc/kubeconfig")
    assert found.ca_file == pathlib.Path("/etc/vigil/ca/ca.crt")
    assert found.lease_namespace == "vigil-system"
    assert (found.log_level, found.log_format) == ("DEBUG", "console")
    assert (found.timer_interval, found.probe_requests) == (0.5, 7)


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = load(monkeypatch, KINDS="", LEASE_NAMESPACE="", KUBECONFIG="", PROBE_TIMEOUT="")
    assert (found.kinds, found.lease_namespace, found.kubeconfig, found.probe_timeout) == ((), None, None, 30.0)


def test_a_variable_of_another_program_is_no_business_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(monkeypatch, PORT="tcp://10.0.0.1:80", CACHE="/tmp/x").kinds == ()


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("KINDS", "http_json,Http-Json", "must name a kind, and 'Http-Json' is none"),
        ("NAMESPACES", "team-a,Team_B", "must name a namespace, and 'Team_B' is none"),
        ("ALLOWED_ADDRESSES", "10.0.0.1/8", "10.0.0.1/8 has host bits set"),
        ("ALLOWED_ADDRESSES", "intranet", "must be ranges such as 10.0.0.0/8 or fd00::/8"),
        ("METRICS_ADDRESS", "8080", "must be host:port such as 0.0.0.0:8080 or [::]:8080, not '8080'"),
        ("METRICS_ADDRESS", "0.0.0.0:99999", "must be host:port"),
        ("SIDECAR_URL", "vigil:8090", "must be a URL such as http://127.0.0.1:8090"),
        ("SIDECAR_URL", "http://user:pa55@vigil", "without credentials"),
        ("PROBE_TIMEOUT", "30", "must be a duration such as 500ms, 30s or 1h30m, not '30'"),
        ("PROBE_TIMEOUT", "0s", "greater than 0"),
        ("PROBE_TIMEOUT", "1s junk", "must be a duration"),
        ("PROBE_REQUESTS", "many", "should be a valid integer"),
        ("LOG_LEVEL", "loud", "'DEBUG', 'INFO', 'WARNING' or 'ERROR'"),
        ("LOG_FORMAT", "xml", "'json' or 'console'"),
        ("LEASE_NAME", "Not A Name", "must name a Lease"),
    ],
)
def test_a_bad_value_is_an_error_that_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, reason: str
) -> None:
    message = refusal(monkeypatch, **{variable: value})
    assert message.startswith(f"VIGIL_{variable}: ")
    assert reason in message
    assert "\n" not in message


def test_all_bad_values_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, LOG_LEVEL="loud", PROBE_REQUESTS="0")
    assert [line.partition(":")[0] for line in message.splitlines()] == ["VIGIL_LOG_LEVEL", "VIGIL_PROBE_REQUESTS"]


def test_credentials_in_a_url_are_not_repeated_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pa55" not in refusal(monkeypatch, SIDECAR_URL="http://user:pa55@vigil")


def test_lease_times_that_would_allow_two_active_replicas_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refusal(monkeypatch, LEASE_DURATION="5s")
    assert "VIGIL_LEASE_RENEW_DEADLINE" in message
    assert "two replicas are active at once" in message
