"""`make demo`: with no cluster, in under a minute, it does what it says."""

import asyncio
import os
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
TURN = re.compile(r"^    agent: woken for '(\S+)'; the evidence is \d+ bytes$", re.MULTILINE)
EVIDENCE = re.compile(r"^evidence (\S+), mode (\d+), (\d+) bytes$", re.MULTILINE)


async def test_the_demo_delivers_exactly_two_turns_and_ends_well(tmp_path: pathlib.Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VIGIL_", "KUBE"))}
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "demo"),
        cwd=ROOT,
        env=kept | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(process.communicate(), 120)
    out = output.decode()
    assert process.returncode == 0, out + errors.decode()
    assert errors.decode() == ""
    assert time.monotonic() - began < 90
    assert TURN.findall(out) == ["undelayed", "succeeded"]
    assert "WAKE, undelayed: matched:job-failed" in out
    assert "matched:job-failed  failed: test\n" in out
    assert "its wake was delivered to session supervisor, 1 turn so far" in out
    assert "END, succeeded: matched:pipeline-succeeded" in out
    assert out.endswith("the pipeline succeeded, and the Watch with it\n")
    evidence = EVIDENCE.findall(out)
    assert [mode for _, mode, _ in evidence] == ["0600", "0600"]
    assert all(int(size) > 100 for _, _, size in evidence)
