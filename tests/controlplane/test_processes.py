"""Processes end with whoever started them."""

import os
import pathlib
import select
import signal
import subprocess
import sys

import pytest

from tests.controlplane import processes

STARTER = """
import pathlib, sys, time
from tests.controlplane import processes
group = processes.Group(pathlib.Path(sys.argv[1]))
group.start("holder", ["sh", "-c", f"exec sleep 600 > {sys.argv[2]}"], {"PATH": "/usr/bin:/bin"})
time.sleep(600)
"""
ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PATH": os.defpath}


def test_a_killed_starter_takes_its_processes_with_it(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", STARTER, str(tmp_path), str(pipe)]
    # The pipe opens for reading when the process that holds its other end runs, and ends when that process has ended.
    with subprocess.Popen(command, cwd=ROOT) as starter, pipe.open("rb") as held:
        assert not select.select([held], [], [], 0)[0]
        starter.send_signal(signal.SIGKILL)
        assert select.select([held], [], [], 10)[0], "the process outlived its starter"
        assert held.read() == b""


def test_a_process_that_ends_early_is_reported_with_the_end_of_its_log(tmp_path: pathlib.Path) -> None:
    group = processes.Group(tmp_path)
    try:
        process = group.start("broken", ["sh", "-c", "echo the disk is on fire; exit 3"], ENVIRONMENT)
        with pytest.raises(processes.ProcessError, match=r"(?s)exit code 3.*the disk is on fire"):
            group.wait_until(lambda: False, "readiness", 10, process)
    finally:
        group.stop()


def test_a_process_that_ignores_the_request_to_end_is_killed(tmp_path: pathlib.Path) -> None:
    group = processes.Group(tmp_path)
    process = group.start("stubborn", ["sh", "-c", "trap '' TERM; echo ready; sleep 600 & wait; wait"], ENVIRONMENT)
    try:
        group.wait_until(lambda: "ready" in process.tail(), "its line", 10, process)
        process.stop(grace=0.2)
        assert not process.running()
    finally:
        group.stop()
