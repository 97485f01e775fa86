"""`vigil probe`: one read, shown and not remembered."""

import pytest

from tests.cli import commands


async def test_it_shows_the_entries_of_each_subject_and_leaves_nothing(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    before = set(shell.folder.iterdir())
    name = shell.write("w.yaml", commands.watch(service.url, suspend=True))
    ran = await shell.vigil("probe", "-f", name, *commands.LOOPBACK)
    label = service.url.removeprefix("http://")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"team-a/api  {label}  revision -, settled",
        "  matched:red  (Wake, resets on Never)  it is red",
    ]
    assert set(shell.folder.iterdir()) == before | {shell.folder / "w.yaml"}


async def test_as_json_it_is_one_object_a_subject(shell: commands.Shell, service: commands.Service) -> None:
    service.state = "succeeded"
    watch = commands.watch(service.url)
    watch["spec"]["subjects"].append({"url": f"{service.url}?part=2"})
    ran = await shell.vigil("probe", "-f", shell.write("w.yaml", watch), *commands.LOOPBACK, "--json")
    assert ran.code == 0
    first, second = ran.objects
    label = service.url.removeprefix("http://")
    assert first == {
        "watch": "team-a/api",
        "subject": label,
        "id": f"http_json://{label.partition('/')[0]}/http:/state",
        "revision": "",
        "complete": True,
        "pending": 0,
        "error": None,
        "observations": [
            {
                "key": "matched:done",
                "severity": "Terminal",
                "resetsOn": "Never",
                "outcome": "Succeeded",
                "claim": False,
                "hold": 0,
                "episode": "",
                "brief": "",
            }
        ],
    }
    assert second["subject"] == f"{label}?…"


async def test_a_private_address_is_blocked_unless_it_is_allowed(
    shell: commands.Shell, service: commands.Service
) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    ran = await shell.vigil("probe", "-f", name, "--json")
    assert (ran.code, service.asked) == (1, 0)
    assert ran.objects[0]["error"]["category"] == "blocked_address"
    ran = await shell.vigil("probe", "-f", name, VIGIL_ALLOWED_ADDRESSES="10.0.0.0/8, 127.0.0.0/8")
    assert (ran.code, service.asked) == (0, 1)
    assert ran.out.splitlines()[1] == "  nothing open"


async def test_a_subject_that_cannot_be_read_is_exit_code_1_and_the_others_are_shown(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.status = 503
    async with commands.Service().serving() as other:
        name = shell.write("w.yaml", commands.watch(service.url), commands.watch(other.url, "web"))
        ran = await shell.vigil("probe", "-f", name, *commands.LOOPBACK)
    assert ran.code == 1
    assert "could not be read: transient: " in ran.out
    assert f"team-a/web  {other.url.removeprefix('http://')}  revision -, pending 1" in ran.out


async def test_what_an_answer_does_not_say_is_told_as_incomplete(
    shell: commands.Shell, service: commands.Service
) -> None:
    rules = [{"name": "red", "when": "body.missing > 1", "severity": "Terminal", "outcome": "Failed"}]
    watch = commands.watch(service.url, options={"rules": rules})
    ran = await shell.vigil("probe", "-f", shell.write("w.yaml", watch), *commands.LOOPBACK)
    assert ran.code == 0
    assert ", incomplete: " in ran.out


async def test_what_a_stranger_writes_does_not_reach_the_terminal_as_a_command(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "\x1b]0;owned\x07\nred"
    rules = [
        {"name": "any", "when": "true", "briefFrom": "body.state", "severity": "Terminal", "outcome": "Failed"},
    ]
    watch = commands.watch(service.url, options={"revision": "body.state", "rules": rules})
    name = shell.write("w.yaml", watch)
    for ran in (
        await shell.vigil("probe", "-f", name, *commands.LOOPBACK),
        await shell.run(name, "--once"),
    ):
        assert "matched:any" in ran.out
        assert not {"\x1b", "\x07"} & set(ran.out)


async def test_a_cluster_that_cannot_be_found_is_told(shell: commands.Shell) -> None:
    inside = commands.watch("", kind="kubernetes_rollout", objective="rolled_out", options={})
    inside["spec"]["subjects"] = [{"workload": "Deployment", "name": "api"}]
    ran = await shell.vigil("probe", "-f", shell.write("w.yaml", inside), "--kubeconfig", "none")
    assert (ran.code, ran.out, ran.err) == (1, "", "Error: there is no kubeconfig none\n")


async def test_a_kubeconfig_that_is_not_needed_is_not_read(shell: commands.Shell, service: commands.Service) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    ran = await shell.vigil("probe", "-f", name, *commands.LOOPBACK, KUBECONFIG="/none/a:/none/b")
    assert ran.code == 0


@pytest.mark.parametrize("token", ["s3cret", None])
async def test_a_credential_comes_from_a_folder(
    shell: commands.Shell, service: commands.Service, token: str | None
) -> None:
    source = {"credentialRef": {"name": "queues", "key": "token"}}
    folder = shell.folder / "credentials" / "queues"
    folder.mkdir(parents=True)
    (folder / "allowed-hosts").write_text(service.url.removeprefix("http://").removesuffix("/state"))
    if token is not None:
        (folder / "token").write_text(token)
    name = shell.write("w.yaml", commands.watch(service.url, source=source))
    ran = await shell.vigil("probe", "-f", name, *commands.LOOPBACK, "--credentials", "credentials", "--json")
    if token is None:
        assert ran.code == 1
        assert ran.objects[0]["error"]["category"] == "config"
    else:
        assert ran.code == 0
    assert "s3cret" not in ran.out + ran.err
