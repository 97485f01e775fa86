"""The thread of kopf, with a loop of its own: kopf cancels all tasks of its loop when it ends."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import kopf

from vigil.handlers import messages

GROUP: Final = "vigil.dev"
VERSION: Final = "v1alpha1"
PLURAL: Final = "watches"
FINALIZER: Final = "vigil.dev/finalizer"

_LOG = logging.getLogger(__name__)


class ReactorError(Exception):
    """The thread of kopf ended although nobody stopped it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How kopf works; times in seconds. `namespaces` empty means the whole cluster."""

    namespaces: Sequence[str] = ()
    timer_interval: float = 60.0
    finalizer_timeout: float = 10.0


class Reactor:
    """kopf in a thread of its own.

    `hand_over` is called in that thread with each message and must only pass it on. The thread can end by itself: a
    login that fails ends it.
    """

    def __init__(self, hand_over: Callable[[messages.Message], None], options: Options) -> None:
        self._hand_over = hand_over
        self._options = options
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._ended: concurrent.futures.Future[BaseException | None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, name="kopf", daemon=True)

    def start(self) -> None:
        """Start the thread; it is ready some time later."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end, which takes it about two seconds; `ended` tells."""
        self._stop.set()

    async def ended(self) -> BaseException | None:
        """Wait until the thread has ended, for whatever reason, and give the error if it was one."""
        # Whoever gives up waiting must not take the thread its place to say that it ended.
        return await asyncio.shield(asyncio.wrap_future(self._ended))

    @property
    def ready(self) -> bool:
        """Whether kopf has logged in and watches."""
        return self._ready.is_set() and not self._ended.done()

    def _run(self) -> None:
        try:
            asyncio.run(self._operate())
        except BaseException as error:
            # Whatever ended the thread is told to the process: a thread's exception is otherwise nobody's.
            self._ended.set_result(error)
        else:
            self._ended.set_result(None)

    async def _operate(self) -> None:
        asyncio.get_running_loop().set_exception_handler(_left_behind)
        namespaces = list(self._options.namespaces)
        try:
            await kopf.operator(
                registry=self._registry(),
                settings=self._settings(),
                standalone=True,
                clusterwide=not namespaces,
                namespaces=namespaces,
                stop_flag=self._stop,
                ready_flag=self._ready,
            )
        finally:
            # kopf waits for the flag in a thread of the loop's pool, and the loop cannot be closed before that ends.
            self._stop.set()

    def _settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        # Events are Vigil's own to write, and the resources that there are do not change under it: both cost rights.
        settings.posting.enabled = False
        settings.scanning.disabled = True
        settings.persistence.finalizer = FINALIZER
        settings.watching.server_timeout = 5 * 60
        settings.watching.client_timeout = 6 * 60
        settings.watching.connect_timeout = 10.0
        settings.networking.request_timeout = 30.0
        return settings

    def _registry(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()
        # A registry of one's own has no login handler: these are kopf's, for a pod and for a kubeconfig.
        kopf.on.login(registry=registry, id="in-cluster")(kopf.login_with_service_account)
        kopf.on.login(registry=registry, id="kubeconfig")(kopf.login_with_kubeconfig)
        kopf.on.event(GROUP, VERSION, PLURAL, registry=registry, id="seen")(self._on_event)
        kopf.timer(
            GROUP,
            VERSION,
            PLURAL,
            registry=registry,
            id="resync",
            interval=self._options.timer_interval,
            initial_delay=self._initial_delay,
            sharp=False,
        )(self._on_timer)
        return registry

    def _initial_delay(self, uid: str, **_: Any) -> float:
        """A place within the first interval that a Watch keeps, so that a start spreads its timers."""
        place = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4]) / 2**32
        return self._options.timer_interval * place

    async def _on_event(self, event: kopf.RawEvent, **_: Any) -> None:
        if event["type"] is None:
            # Only a listing gives objects without a type of change.
            self._pass_on(messages.Relisted())
        body = messages.frozen(event["object"])
        metadata: Mapping[str, Any] = body.get("metadata") or {}
        leaving = event["type"] == "DELETED" or "deletionTimestamp" in metadata
        if not leaving:
            self._pass_on(messages.Seen(str(metadata.get("uid", "")), body))
            return
        # kopf takes its finalizer away once this handler is done: until then a queued wake can be withdrawn.
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._pass_on(messages.Seen(str(metadata.get("uid", "")), body, leaving=True, done=done))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(done), self._options.finalizer_timeout)

    async def _on_timer(self, body: kopf.Body, uid: str, **_: Any) -> None:
        self._pass_on(messages.Ticked(uid, messages.frozen(body)))

    def _pass_on(self, message: messages.Message) -> None:
        """A handler never raises: kopf would try it again, and store that on the Watch."""
        try:
            self._hand_over(message)
        except Exception:
            _LOG.exception("a message was lost, and its Watch's next timer brings it again: %s", type(message).__name__)


def _left_behind(_loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """What kopf's tasks leave behind when it ends is one line: what ended it is told by `ended`."""
    _LOG.warning("in kopf's loop: %s: %s", context.get("message"), context.get("exception"))
