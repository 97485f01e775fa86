"""`vigil operator`: what ends it before it begins. What it does then is tested end to end."""

import json
import pathlib

import pytest
import yaml

from tests.cli import commands

TOKEN = {"VIGIL_SIDECAR_TOKEN_FILE": "token"}


def kubeconfig(folder: pathlib.Path, server: str = "http://127.0.0.1:1") -> str:
    """A kubeconfig of a server; gives its name."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": server}}],
        "users": [{"name": "a", "user": {"token": "s3cret"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(config))
    return "kubeconfig"


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "VIGIL_SIDECAR_TOKEN_FILE is not set: the sidecar takes no wake without a token"),
        (
            TOKEN | {"VIGIL_PROBE_TIMEOUT": "soon"},
            "VIGIL_PROBE_TIMEOUT: must be a duration such as 500ms, 30s or 1h30m",
        ),
        (TOKEN | {"VIGIL_ALLOWED_ADDRESSES": "10.0.0.1/8"}, "VIGIL_ALLOWED_ADDRESSES: must be ranges such as"),
        (TOKEN | {"VIGIL_KINDS": "ticket"}, "the kind 'ticket' is enabled and not installed; installed are: github_"),
        (TOKEN | {"VIGIL_KUBECONFIG": "none"}, "there is no kubeconfig none"),
        (TOKEN, "there is no kubeconfig, and this is no pod with a ServiceAccount: "),
    ],
    ids=["no token", "no duration", "no range", "no such kind", "no kubeconfig", "no cluster"],
)
async def test_settings_that_are_not_valid_are_exit_code_2(
    shell: commands.Shell, environment: dict[str, str], told: str
) -> None:
    ran = await shell.vigil("operator", **environment)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"Error: {told}")


async def test_a_cluster_that_does_not_answer_is_exit_code_1_and_one_line(shell: commands.Shell) -> None:
    ran = await shell.vigil("operator", VIGIL_KUBECONFIG=kubeconfig(shell.folder), **TOKEN)
    assert (ran.code, ran.out) == (1, "")
    last = json.loads(ran.err.splitlines()[-1])
    assert (last["level"], last["event"]) == ("error", "the operator ends")
    assert "127.0.0.1:1" in last["why"]
    assert "s3cret" not in ran.err


async def test_a_ca_bundle_that_cannot_be_used_is_told_by_its_variable(shell: commands.Shell) -> None:
    ran = await shell.vigil("operator", VIGIL_KUBECONFIG=kubeconfig(shell.folder), VIGIL_CA_FILE="none", **TOKEN)
    assert ran.code == 1
    assert json.loads(ran.err.splitlines()[-1])["why"].startswith("VIGIL_CA_FILE: the CA bundle none cannot be used: ")
