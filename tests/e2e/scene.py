"""One namespace of a running stack: what a test makes there, and what comes of it."""

import contextlib
import json
import pathlib
from collections.abc import Generator
from typing import Any

from tests.e2e import manifests, proxy, stack

TOLD_SECONDS = 20.0
"""How long news may take to reach the session when nothing is in its way any more."""


class Scene:
    """One namespace of the shared stack with a session of its own."""

    def __init__(self, running: stack.Stack, api: proxy.Proxy, namespace: str) -> None:
        self.stack, self.api, self.namespace = running, api, namespace
        self._log: pathlib.Path | None = None

    def attach(self) -> None:
        """Attach the session."""
        self._log = self.stack.start_session(self.namespace)

    @contextlib.contextmanager
    def turns_held(self) -> Generator[None]:
        """Meanwhile no turn comes to its end."""
        assert self._log is not None
        hold = self._log.with_name(f"{self._log.name}.hold")
        hold.touch()
        try:
            yield
        finally:
            hold.unlink()

    def turns(self, name: str) -> list[dict[str, Any]]:
        """The turns about one Watch."""
        assert self._log is not None
        return [turn for turn in stack.turns(self._log) if turn["watch"] == f"{self.namespace}/{name}"]

    def apply(self, name: str, *, session: str | None = "supervisor", **spec: Any) -> None:
        """A suspended Job, which is news, and its Watch."""
        watch = manifests.job_watch(name, session=session, **spec)
        self.stack.apply(self.namespace, manifests.job(name), watch)

    def complete(self, name: str) -> None:
        """Let the Job run to its end."""
        patch = '{"spec":{"suspend":false}}'
        self.kubectl("patch", "job", name, "--patch", patch)

    def wait_for_turns(self, name: str, count: int, seconds: float = TOLD_SECONDS) -> list[dict[str, Any]]:
        """Wait until a Watch has had so many turns."""
        what = f"{count} turns about {name}"
        self.stack.wait(what, lambda: len(self.turns(name)) >= count, seconds)
        return self.turns(name)

    def settle(self, name: str, reads: int = 2) -> None:
        """Let the Watch be read so many times more."""
        self.stack.settle(self.api, self.namespace, name, reads)

    def wake(self, name: str) -> str:
        """Wait until a Watch has a wake in its status, and the sidecar has it too: its id."""
        self.stack.wait(f"a wake of {name}", lambda: bool(self.stack.wakes(self.namespace, name)))
        wake = str(self.stack.wakes(self.namespace, name)[0]["id"])
        self.stack.wait(f"the wake of {name} is posted", lambda: self.stack.wake_state(wake) is not None)
        return wake

    def wait_for_turns_charged(self, name: str, count: int) -> None:
        """Wait until the status of a Watch counts so many turns: the outcome has come back."""
        what = f"{count} turns of {name} are charged"
        self.stack.wait(what, lambda: self.watch(name)["status"]["budget"]["turns"] == count, TOLD_SECONDS)

    def watch(self, name: str) -> dict[str, Any]:
        """A Watch as the API server has it."""
        return self.stack.watch(self.namespace, name)

    def verdict(self, name: str) -> tuple[str, str] | None:
        """Type and reason of the verdict in the status of a Watch, None where there is none yet."""
        verdict = self.watch(name).get("status", {}).get("verdict")
        return None if verdict is None else (verdict["type"], verdict["reason"])

    def engine(self, name: str) -> dict[str, Any]:
        """The state document of a Watch as the API server has it."""
        document: dict[str, Any] = json.loads(self.watch(name)["status"]["engine"]["document"])
        return document

    def kubectl(self, *arguments: str) -> str:
        """kubectl in this namespace, as the admin."""
        return self.stack.control_plane.kubectl(*arguments, "--namespace", self.namespace)

    def writes(self, name: str, since: float) -> list[int]:
        """What the API server answered to the writes of a status."""
        path = f"{proxy.WATCHES}/namespaces/{self.namespace}/watches/{name}/status"
        return [one.status for one in self.api.writes(since) if one.path == path]

    def delete_untold(self, name: str) -> None:
        """Delete a Watch for good, though kopf has not taken its finalizer away."""
        self.kubectl("delete", f"watch/{name}", "--wait=false")
        self.kubectl("patch", f"watch/{name}", "--type=merge", "--patch", '{"metadata":{"finalizers":null}}')
        assert self.stack.gone(self.namespace, name)
