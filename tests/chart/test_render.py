"""What the chart renders: restricted pods, exact permissions, settings that exist, and values that are checked."""

import base64
import ipaddress
import json
import pathlib
import re
from collections.abc import Collection
from typing import Any

import pytest
import yaml

from tests.chart import charts
from vigil.adapters import settings
from vigil.sidecar import settings as sidecar_settings

pytestmark = pytest.mark.usefixtures("needs_helm")

GOLDEN = pathlib.Path(__file__).parent / "golden"

EVERYTHING: dict[str, Any] = {
    "fullnameOverride": "watcher",
    "image": {"repository": "mirror/vigil", "digest": f"sha256:{'0' * 64}", "pullSecrets": [{"name": "pull"}]},
    "watchNamespaces": ["team-a", "team-b"],
    "secretNamespaces": ["team-a"],
    "kinds": ["http_json", "kubernetes_rollout"],
    "serviceAccount": {"name": "watcher", "annotations": {"acme/owner": "team-a"}},
    "log": {"level": "DEBUG", "format": "console"},
    "network": {
        "allowedAddresses": ["10.20.0.0/16", "fd00::/8"],
        "listenHost": "::",
        "caBundle": {"configMap": "roots"},
    },
    "receivers": {"oncall": {"secretName": "oncall-webhook", "key": "url"}, "ops": {"secretName": "ops", "key": "u"}},
    "operator": {"probeTimeout": "45s", "probeRequests": 80},
    "sidecar": {
        "auth": {
            "existingSecret": "shared",
            "key": "bearer",
            "sessionsSecret": "sessions",
            "tokenReview": {"enabled": True, "operators": ["vigil-system/vigil", "other/vigil.operator"]},
        },
        "publicUrl": "https://vigil.example/wakes",
        "turns": {"inRow": 5, "perDay": 1_000_000, "perDayOfNamespace": 40},
    },
    "service": {"annotations": {"acme/lb": "internal"}, "port": 80},
    "persistence": {"existingClaim": "claim"},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "podAnnotations": {"acme/a": "b"},
    "podLabels": {"acme/l": "m"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "acme", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
}
MATRIX: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": EVERYTHING,
    "namespaced": {"watchNamespaces": ["team-a"], "secretNamespaces": ["team-a"]},
    "secrets in a cluster": {"secretNamespaces": ["team-a", "team-b"]},
    "no workloads": {"kinds": ["http_json"]},
    "token review": {"sidecar": {"auth": {"tokenReview": {"enabled": True, "audience": "vigil-test"}}}},
    "without a volume": {"persistence": {"enabled": False}},
    "stopped": {"replicas": 0},
    "nothing made": {"rbac": {"create": False}, "serviceAccount": {"create": False, "name": "mine"}},
    "no crd": {"crds": {"install": False}},
}
# What each process is told by the chart is checked against what it reads.
PROCESSES: dict[str, type[settings.Common]] = {
    "operator": settings.OperatorSettings,
    "sidecar": sidecar_settings.SidecarSettings,
}
# What no value can change in a cluster, each with its reason.
LEFT_ALONE = {
    "operator": {
        "kubeconfig",  # A Pod has its ServiceAccount.
        # Times that fit each other, the sidecar in the same Pod, and the time that a Pod has to stop.
        "sidecar_timeout",
        "lease_duration",
        "lease_renew_deadline",
        "lease_retry",
        "secret_cache",
        "timer_interval",
        "resync_interval",
        "finalizer_timeout",
        "shutdown_timeout",
    },
    "sidecar": {
        "kubeconfig",  # A Pod has its ServiceAccount.
        "unix_socket",  # Sessions are in other Pods.
        "turn_lease",  # Sessions renew it.
        "turn_pause",  # It keeps a session from being overrun, whoever runs it.
    },
}
in_every_case = pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX.keys())


@in_every_case
def test_helm_lint_finds_nothing(values: dict[str, Any]) -> None:
    assert "0 chart(s) failed" in charts.run("lint", "--strict", str(charts.CHART), values=values)


@in_every_case
def test_the_pod_meets_the_restricted_standard(values: dict[str, Any]) -> None:
    manifests = charts.render(values)
    pod = charts.pod(manifests)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not any(pod.get(host) for host in ("hostNetwork", "hostPID", "hostIPC"))
    assert {next(iter(set(each) - {"name"})) for each in pod["volumes"]} <= {
        "secret",
        "emptyDir",
        "persistentVolumeClaim",
        "projected",
        "configMap",
    }
    for container in charts.containers(manifests).values():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not any("hostPort" in port for port in container["ports"])
        assert container["resources"]["limits"]["memory"]


def _variables(process: type[settings.Common], left_out: Collection[str] = ()) -> set[str]:
    return {f"{settings.PREFIX}{field.upper()}" for field in process.model_fields if field not in left_out}


@in_every_case
def test_every_variable_is_a_setting_and_every_value_parses(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = charts.containers(charts.render(values))
    for name, kind in PROCESSES.items():
        variables = charts.environment(found[name])
        assert set(variables) <= _variables(kind)
        with monkeypatch.context() as context:
            for variable, value in variables.items():
                # The downward API fills these in; what stands here is the path of the field.
                context.setenv(variable, "vigil-0" if value.startswith("metadata.") else value)
            settings.load(kind)


@pytest.mark.parametrize("name", PROCESSES)
def test_every_setting_has_a_value_in_the_chart_or_is_left_alone_for_a_reason(name: str) -> None:
    variables = charts.environment(charts.containers(charts.render(EVERYTHING))[name])
    assert set(variables) == _variables(PROCESSES[name], LEFT_ALONE[name])


def test_every_variable_that_the_charts_files_name_exists() -> None:
    known = {variable for process in PROCESSES.values() for variable in _variables(process)}
    for path in (path for path in charts.CHART.rglob("*") if path.is_file()):
        named = set(re.findall(rf"\b{settings.PREFIX}[A-Z_]+\b", path.read_text(encoding="utf-8")))
        assert named <= known, path.name


def test_a_value_that_is_not_given_is_the_settings_own_default(monkeypatch: pytest.MonkeyPatch) -> None:
    found = charts.containers(charts.render())
    given = {"listen_address", "public_url", "token_file", "sidecar_token_file"}
    given |= {"identity", "lease_namespace", "lease_name"}
    for name, kind in PROCESSES.items():
        with monkeypatch.context() as context:
            for variable in _variables(kind):
                context.delenv(variable, raising=False)
            own = settings.load(kind).model_dump(exclude=given)
            for variable, value in charts.environment(found[name]).items():
                context.setenv(variable, "vigil-0" if value.startswith("metadata.") else value)
            assert settings.load(kind).model_dump(exclude=given) == own


@in_every_case
def test_no_rule_has_a_wildcard_and_no_cluster_role_reads_secrets(values: dict[str, Any]) -> None:
    for role in charts.roles(charts.render(values)):
        for rule in role["rules"]:
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
            assert "nonResourceURLs" not in rule
            if "secrets" in rule["resources"]:
                assert (role["kind"], rule["verbs"]) == ("Role", ["get"])
            assert not {"delete", "deletecollection", "bind", "escalate", "impersonate"} & set(rule["verbs"])


@in_every_case
def test_every_role_is_bound_to_the_one_service_account(values: dict[str, Any]) -> None:
    manifests = charts.render(values)
    account = charts.pod(manifests)["serviceAccountName"]
    assert all(role["boundTo"] == [f"{charts.NAMESPACE}/{account}"] for role in charts.roles(manifests))


@in_every_case
def test_only_watches_their_status_and_leases_can_be_written(values: dict[str, Any]) -> None:
    written = {
        (resource, verb)
        for role in charts.roles(charts.render(values))
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in {"get", "list", "watch"}
    }
    assert written <= {
        ("watches", "patch"),
        ("watches/status", "update"),
        ("leases", "create"),
        ("leases", "update"),
        ("tokenreviews", "create"),
    }


@pytest.mark.parametrize("case", ["defaults", "everything", "namespaced", "secrets in a cluster", "token review"])
def test_the_permissions_are_exactly_the_golden_ones(case: str) -> None:
    golden = yaml.safe_load((GOLDEN / f"rbac-{case.replace(' ', '-')}.yaml").read_text(encoding="utf-8"))
    assert charts.roles(charts.render(MATRIX[case])) == golden


def test_with_named_namespaces_nothing_is_granted_on_the_cluster() -> None:
    assert charts.of_kind(charts.render(MATRIX["namespaced"]), "ClusterRole", "ClusterRoleBinding") == []


def test_without_the_rollout_kind_no_workload_can_be_read() -> None:
    resources = {
        resource
        for role in charts.roles(charts.render(MATRIX["no workloads"]))
        for rule in role["rules"]
        for resource in rule["resources"]
    }
    assert not resources & {"pods", "deployments", "statefulsets", "daemonsets", "jobs"}


def test_no_rbac_and_no_service_account_are_made_when_they_are_given() -> None:
    manifests = charts.render(MATRIX["nothing made"])
    assert charts.roles(manifests) == []
    assert charts.of_kind(manifests, "ServiceAccount") == []


def test_the_crd_is_the_generated_one_and_stays_on_uninstall() -> None:
    generated = yaml.safe_load((charts.ROOT / "crds" / "vigil.dev_watches.yaml").read_text(encoding="utf-8"))
    rendered = charts.only(charts.render(), "CustomResourceDefinition")
    assert rendered["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    generated["metadata"].pop("annotations", None)
    assert rendered == generated


def test_the_charts_copy_of_the_crd_is_fresh() -> None:
    name = "vigil.dev_watches.yaml"
    assert (charts.CHART / "files" / "crds" / name).read_bytes() == (charts.ROOT / "crds" / name).read_bytes()


def test_the_crd_can_be_left_out() -> None:
    assert charts.of_kind(charts.render(MATRIX["no crd"]), "CustomResourceDefinition") == []


def test_two_pods_never_share_the_database() -> None:
    deployment = charts.only(charts.render(), "Deployment")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert deployment["spec"]["replicas"] == 1


def test_the_sidecar_is_there_before_the_operator_and_after_it() -> None:
    [sidecar] = charts.pod(charts.render())["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == ("sidecar", "Always")
    assert sidecar["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "sidecar"}


def test_a_token_is_made_and_both_containers_read_the_same_file() -> None:
    manifests = charts.render()
    secret = charts.only(manifests, "Secret")
    assert re.fullmatch(rb"[A-Za-z0-9]{48}", base64.b64decode(secret["data"]["token"]))
    found = charts.containers(manifests)
    assert charts.environment(found["operator"])["VIGIL_SIDECAR_TOKEN_FILE"] == "/etc/vigil/token/token"
    assert charts.environment(found["sidecar"])["VIGIL_TOKEN_FILE"] == "/etc/vigil/token/token"
    assert charts.pod(manifests)["volumes"][0]["secret"]["secretName"] == secret["metadata"]["name"]


def test_a_token_that_is_given_is_mounted_from_its_own_key() -> None:
    manifests = charts.render(EVERYTHING)
    assert charts.of_kind(manifests, "Secret") == []
    secret = charts.pod(manifests)["volumes"][0]["secret"]
    assert (secret["secretName"], secret["items"]) == ("shared", [{"key": "bearer", "path": "token"}])


def test_the_token_is_in_no_variable_and_in_no_other_manifest() -> None:
    manifests = charts.render()
    secret = charts.only(manifests, "Secret")
    others = json.dumps([manifest for manifest in manifests if manifest is not secret])
    assert secret["data"]["token"] not in others
    assert base64.b64decode(secret["data"]["token"]).decode() not in others


def test_a_receiver_is_a_file_that_the_sidecar_alone_is_told_of() -> None:
    manifests = charts.render(EVERYTHING)
    volume = next(each for each in charts.pod(manifests)["volumes"] if each["name"] == "receivers")
    assert volume["projected"]["sources"][0] == {
        "secret": {"name": "oncall-webhook", "items": [{"key": "url", "path": "oncall"}]}
    }
    found = charts.containers(manifests)
    assert charts.environment(found["sidecar"])["VIGIL_RECEIVERS"] == (
        "oncall=/etc/vigil/receivers/oncall,ops=/etc/vigil/receivers/ops"
    )
    assert any(mount["mountPath"] == "/etc/vigil/receivers" for mount in found["sidecar"]["volumeMounts"])
    assert "VIGIL_RECEIVERS" not in charts.environment(found["operator"])
    assert not any(mount["mountPath"] == "/etc/vigil/receivers" for mount in found["operator"]["volumeMounts"])


def test_the_sessions_tokens_are_for_the_sidecar_alone() -> None:
    found = charts.containers(charts.render(EVERYTHING))
    assert charts.environment(found["sidecar"])["VIGIL_SESSION_TOKENS"] == "/etc/vigil/sessions"
    mounted = {name: {mount["name"] for mount in each["volumeMounts"]} for name, each in found.items()}
    assert "sessions" in mounted["sidecar"]
    assert "sessions" not in mounted["operator"]


def test_a_bundle_of_cas_is_a_file_that_both_containers_are_told_of() -> None:
    manifests = charts.render(EVERYTHING)
    volume = next(each for each in charts.pod(manifests)["volumes"] if each["name"] == "ca")
    assert volume["configMap"] == {"name": "roots", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    for container in charts.containers(manifests).values():
        assert charts.environment(container)["VIGIL_CA_FILE"] == "/etc/vigil/ca/ca.crt"


@in_every_case
def test_every_mount_has_its_volume_and_every_volume_is_mounted(values: dict[str, Any]) -> None:
    manifests = charts.render(values)
    mounted = {mount["name"] for each in charts.containers(manifests).values() for mount in each["volumeMounts"]}
    assert mounted == {volume["name"] for volume in charts.pod(manifests)["volumes"]}


def test_in_an_ipv6_cluster_the_operator_finds_its_sidecar_on_the_ipv6_loopback() -> None:
    found = charts.containers(charts.render({"network": {"listenHost": "::"}}))
    assert charts.environment(found["sidecar"])["VIGIL_LISTEN_ADDRESS"] == "[::]:8090"
    assert charts.environment(found["operator"])["VIGIL_SIDECAR_URL"] == "http://[::1]:8090"


@pytest.mark.parametrize(
    ("values", "url"),
    [
        ({}, "http://vigil.vigil-system.svc:8090"),
        ({"fullnameOverride": "watcher", "service": {"port": 80}}, "http://watcher.vigil-system.svc:80"),
        ({"sidecar": {"publicUrl": "https://vigil.example/"}}, "https://vigil.example/"),
    ],
)
def test_the_sidecar_is_told_how_sessions_reach_it(values: dict[str, Any], url: str) -> None:
    manifests = charts.render(values)
    assert charts.environment(charts.containers(manifests)["sidecar"])["VIGIL_PUBLIC_URL"] == url
    service = charts.only(manifests, "Service")
    if "sidecar" not in values:
        port = next(port["port"] for port in service["spec"]["ports"] if port["name"] == "sidecar")
        assert url == f"http://{service['metadata']['name']}.{service['metadata']['namespace']}.svc:{port}"


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ({}, ("8", None, None)),
        ({"inRow": 0}, ("0", None, None)),
        ({"inRow": 1000, "perDay": 1_000_000, "perDayOfNamespace": 1}, ("1000", "1000000", "1")),
    ],
)
def test_the_bounds_of_turns_are_told_as_whole_numbers_and_none_is_not_told(
    turns: dict[str, int], told: tuple[str | None, ...]
) -> None:
    variables = charts.environment(charts.containers(charts.render({"sidecar": {"turns": turns}}))["sidecar"])
    names = ("VIGIL_TURNS_IN_ROW", "VIGIL_TURNS_PER_DAY", "VIGIL_TURNS_PER_DAY_OF_NAMESPACE")
    assert tuple(map(variables.get, names)) == told


def test_operators_without_the_review_that_tells_them_apart_are_refused() -> None:
    with pytest.raises(charts.RenderError, match=r"sidecar\.auth\.tokenReview\.enabled is needed"):
        charts.render({"sidecar": {"auth": {"tokenReview": {"operators": ["vigil-system/vigil"]}}}})


def test_the_claim_is_made_taken_or_left_out() -> None:
    made = charts.only(charts.render({"persistence": {"size": "5Gi", "storageClass": "fast"}}), "PersistentVolumeClaim")
    assert made["spec"]["resources"]["requests"]["storage"] == "5Gi"
    assert made["spec"]["storageClassName"] == "fast"
    for case in ("everything", "without a volume"):
        assert charts.of_kind(charts.render(MATRIX[case]), "PersistentVolumeClaim") == []


def test_the_kinds_of_the_prometheus_operator_are_off_by_default() -> None:
    assert charts.of_kind(charts.render(), "ServiceMonitor", "PrometheusRule") == []


def test_the_alerts_are_the_tested_file() -> None:
    rules = yaml.safe_load((charts.CHART / "files" / "rules.yaml").read_text(encoding="utf-8"))
    assert charts.only(charts.render(EVERYTHING), "PrometheusRule")["spec"] == rules


def test_the_service_monitor_selects_the_service() -> None:
    manifests = charts.render(EVERYTHING)
    monitor, service = charts.only(manifests, "ServiceMonitor"), charts.only(manifests, "Service")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}


def test_the_service_selects_the_pod_and_names_its_ports() -> None:
    manifests = charts.render(EVERYTHING)
    template = charts.only(manifests, "Deployment")["spec"]["template"]
    service = charts.only(manifests, "Service")
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    named = {port["name"] for each in charts.containers(manifests).values() for port in each["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= named


def test_the_pod_has_more_time_to_stop_than_the_operator_takes() -> None:
    longest = settings.OperatorSettings.model_fields["shutdown_timeout"].default
    assert charts.pod(charts.render())["terminationGracePeriodSeconds"] > longest


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"replicas": 2}, "/replicas"),
        ({"replicaCount": 1}, "replicaCount"),
        ({"sidecar": {"auth": {"token": "abc"}}}, "token"),
        ({"network": {"allowedAddresses": ["10.0.0.0"]}}, "/network/allowedAddresses/0"),
        ({"network": {"allowedAddresses": ["10.0.0.0/33"]}}, "/network/allowedAddresses/0"),
        ({"network": {"allowedAddresses": ["300.0.0.0/8"]}}, "/network/allowedAddresses/0"),
        ({"network": {"allowedAddresses": ["fd00::/129"]}}, "/network/allowedAddresses/0"),
        ({"network": {"allowedAddresses": ["intranet"]}}, "/network/allowedAddresses/0"),
        ({"watchNamespaces": ["Team_A"]}, "/watchNamespaces/0"),
        ({"secretNamespaces": ["*"]}, "/secretNamespaces/0"),
        ({"kinds": ["http-json"]}, "/kinds/0"),
        ({"log": {"level": "loud"}}, "/log/level"),
        ({"receivers": {"oncall": {"secretName": "s"}}}, "/receivers/oncall"),
        ({"receivers": {"On Call": {"secretName": "s", "key": "k"}}}, "On Call"),
        ({"persistence": {"size": "big"}}, "/persistence/size"),
        ({"operator": {"probeTimeout": "30"}}, "/operator/probeTimeout"),
        ({"image": {"digest": "sha256:abc"}}, "/image/digest"),
        ({"sidecar": {"publicUrl": "vigil:8090"}}, "/sidecar/publicUrl"),
        ({"sidecar": {"publicUrl": "https://user:pa55@vigil"}}, "/sidecar/publicUrl"),
        ({"sidecar": {"publicUrl": "https://vigil/?a=b"}}, "/sidecar/publicUrl"),
        ({"sidecar": {"publicUrl": f"https://vigil/{'a' * 256}"}}, "/sidecar/publicUrl"),
        ({"sidecar": {"turns": {"inRow": -1}}}, "/sidecar/turns/inRow"),
        ({"sidecar": {"turns": {"inRow": 1001}}}, "/sidecar/turns/inRow"),
        ({"sidecar": {"turns": {"inRow": None}}}, "inRow"),
        ({"sidecar": {"turns": {"perDay": 1_000_001}}}, "/sidecar/turns/perDay"),
        ({"sidecar": {"turns": {"perDayOfNamespace": 2.5}}}, "/sidecar/turns/perDayOfNamespace"),
        ({"sidecar": {"auth": {"tokenReview": {"operators": ["vigil"]}}}}, "/sidecar/auth/tokenReview/operators/0"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(values: dict[str, Any], place: str) -> None:
    with pytest.raises(charts.RenderError, match=re.escape(place)):
        charts.render(values)


@pytest.mark.parametrize("network", ["10.0.0.0/8", "192.168.1.0/24", "0.0.0.0/0", "fd00::/8", "fe80::1/128", "::/0"])
def test_every_notation_of_a_range_passes(network: str) -> None:
    ipaddress.ip_network(network)
    found = charts.containers(charts.render({"network": {"allowedAddresses": [network]}}))
    assert charts.environment(found["operator"])["VIGIL_ALLOWED_ADDRESSES"] == network


def test_secrets_of_a_namespace_that_is_not_watched_are_refused() -> None:
    with pytest.raises(charts.RenderError, match="secretNamespaces has team-b, which watchNamespaces has not"):
        charts.render({"watchNamespaces": ["team-a"], "secretNamespaces": ["team-b"]})


def test_a_service_account_that_is_not_made_has_to_be_named() -> None:
    with pytest.raises(charts.RenderError, match=r"serviceAccount\.name is needed"):
        charts.render({"serviceAccount": {"create": False}})


def test_the_chart_works_as_a_subchart() -> None:
    charts.render({"global": {"anything": True}})


def _leaves(values: dict[str, Any], path: str = "") -> set[str]:
    found: set[str] = set()
    for name, value in values.items():
        inner = isinstance(value, dict) and value and not name.endswith("resources")
        found |= _leaves(value, f"{path}{name}.") if inner else {f"{path}{name}"}
    return found


def test_the_readme_has_a_row_for_every_value_and_for_no_other() -> None:
    values = yaml.safe_load((charts.CHART / "values.yaml").read_text(encoding="utf-8"))
    readme = (charts.CHART / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## Values\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
    assert sorted(rows) == sorted(_leaves(values))


def test_the_schema_refuses_an_unknown_name_at_every_level_of_the_values() -> None:
    schema = json.loads((charts.CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((charts.CHART / "values.yaml").read_text(encoding="utf-8"))

    def check(schema: dict[str, Any], values: dict[str, Any]) -> None:
        assert schema["additionalProperties"] is False
        assert set(values) <= set(schema["properties"])
        for name, value in values.items():
            if isinstance(value, dict) and value and not name.endswith("resources"):
                check(schema["properties"][name], value)

    check(schema, values)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "It may read no Secret"),
        ({"replicas": 0}, "It is stopped"),
        ({"secretNamespaces": ["team-a"]}, "It may read the Secrets of team-a."),
        ({"persistence": {"enabled": False}}, "lost whenever the pod is replaced"),
        ({}, "Sessions attach at http://vigil.x.svc:8090 with:"),
        ({"sidecar": {"publicUrl": "https://vigil.example"}}, "at https://vigil.example with:"),
        ({}, "After 8 automatic turns in a row the waking of a session is suspended"),
        ({"sidecar": {"turns": {"inRow": 0}}}, "The waking of a session is never suspended"),
        ({"sidecar": {"turns": {"perDay": 1_000_000}}}, "at most 1000000 automatic turns"),
    ],
)
def test_the_notes_say_what_the_values_mean(values: dict[str, Any], said: str) -> None:
    told = charts.run("install", "vigil", str(charts.CHART), "--dry-run=client", "--namespace=x", values=values)
    assert said in told
