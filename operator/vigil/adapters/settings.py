"""What a process is told by its environment: variables with the prefix VIGIL_, each error naming its variable."""

import dataclasses
import datetime
import ipaddress
import pathlib
import re
import socket
import urllib.parse
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self, TypeAlias, TypeVar

import durationpy
import pydantic
import pydantic_core
import pydantic_settings

PREFIX: Final = "VIGIL_"

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_ACCOUNT = re.compile(rf"{_LABEL.pattern}/{_SUBDOMAIN.pattern}")
_KIND = re.compile(r"[a-z][a-z0-9_]{0,62}")
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]\s]+)):(?P<port>\d{1,5})")


class SettingsError(Exception):
    """The environment is wrong; the message has one line a variable, each starting with its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 takes a free one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _items(value: object) -> object:
    """A comma separated list as a tuple; what is no text is left to pydantic."""
    return tuple(item.strip() for item in value.split(",") if item.strip()) if isinstance(value, str) else value


def _pairs(value: object) -> object:
    """`name=value,name=value` as a mapping."""
    if not isinstance(value, str):
        return value
    found: dict[str, str] = {}
    for item in value.split(","):
        if not item.strip():
            continue
        name, equals, text = (part.strip() for part in item.partition("="))
        if not equals or not name or not text:
            raise ValueError(f"must be a list such as oncall=/path,ops=/path, and {item.strip()!r} is no such pair")
        if name in found:
            raise ValueError(f"names {name!r} twice")
        found[name] = text
    return found


def _seconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        length: datetime.timedelta = durationpy.from_str(value)
    except durationpy.DurationError:
        raise ValueError(f"must be a duration such as 500ms, 30s or 1h30m, not {value!r}") from None
    return length.total_seconds()


def _address(value: object) -> object:
    if not isinstance(value, str):
        return value
    found = _ADDRESS.fullmatch(value)
    if found is None or int(found["port"]) > 65535:
        raise ValueError(f"must be host:port such as 0.0.0.0:8080 or [::]:8080, not {value!r}")
    return Address(found["six"] or found["host"], int(found["port"]))


def _network(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return ipaddress.ip_network(value)
    except ValueError as error:
        raise ValueError(f"must be ranges such as 10.0.0.0/8 or fd00::/8: {error}") from None


def _named(pattern: re.Pattern[str], what: str) -> pydantic.AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"must name {what}, and {value!r} is none")
        return value

    return pydantic.AfterValidator(check)


def _url(value: str) -> str:
    parts = urllib.parse.urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("must be a URL such as http://127.0.0.1:8090, without credentials and query")
    return value.rstrip("/")


Duration = Annotated[float, pydantic.BeforeValidator(_seconds), pydantic.Field(gt=0, le=7 * 24 * 3600)]
Namespace = Annotated[str, _named(_LABEL, "a namespace")]
KindName = Annotated[str, _named(_KIND, "a kind")]
Names = Annotated[tuple[Namespace, ...], pydantic_settings.NoDecode, pydantic.BeforeValidator(_items)]
Accounts = Annotated[
    tuple[Annotated[str, _named(_ACCOUNT, "a ServiceAccount as namespace/name")], ...],
    pydantic_settings.NoDecode,
    pydantic.BeforeValidator(_items),
]
KindNames = Annotated[tuple[KindName, ...], pydantic_settings.NoDecode, pydantic.BeforeValidator(_items)]
Ranges = Annotated[
    tuple[Annotated[Network, pydantic.BeforeValidator(_network)], ...],
    pydantic_settings.NoDecode,
    pydantic.BeforeValidator(_items),
]
Files = Annotated[Mapping[str, pathlib.Path], pydantic_settings.NoDecode, pydantic.BeforeValidator(_pairs)]
ListenOn = Annotated[Address, pydantic_settings.NoDecode, pydantic.BeforeValidator(_address)]
Url = Annotated[str, pydantic.AfterValidator(_url)]
LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LogFormat: TypeAlias = Literal["json", "console"]


class Common(pydantic_settings.BaseSettings):
    """What every process of Vigil is told. An empty variable is as good as none.

    `allowed_addresses` are the ranges that the guard lets through although they are private; `ca_file` is a bundle
    that is trusted beside the system's. `kubeconfig` is None inside a pod.
    """

    model_config = pydantic_settings.SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True, arbitrary_types_allowed=True
    )

    log_level: LogLevel = "INFO"
    log_format: LogFormat = "json"
    allowed_addresses: Ranges = ()
    ca_file: pathlib.Path | None = None
    kubeconfig: pathlib.Path | None = None

    @pydantic.field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: object) -> object:
        return value.upper() if isinstance(value, str) else value


class OperatorSettings(Common):
    """What `vigil operator` is told. Times in seconds; a variable takes them as 500ms, 30s, 1h30m.

    `kinds` empty: all that are installed. `namespaces` empty: the whole cluster, otherwise these, and no permission is
    needed beyond them. `lease_namespace` None: no election, as this is the only process.
    """

    kinds: KindNames = ()
    namespaces: Names = ()
    metrics_address: ListenOn = Address("0.0.0.0", 8080)  # noqa: S104 - the kubelet and Prometheus come from outside the pod

    sidecar_url: Url = "http://127.0.0.1:8090"
    sidecar_token_file: pathlib.Path | None = None
    sidecar_timeout: Duration = 10.0

    identity: Annotated[str, pydantic.Field(min_length=1, max_length=253)] = pydantic.Field(
        default_factory=socket.gethostname
    )
    lease_namespace: Namespace | None = None
    lease_name: Annotated[str, _named(_SUBDOMAIN, "a Lease")] = "vigil-operator"
    lease_duration: Duration = 15.0
    lease_renew_deadline: Duration = 10.0
    lease_retry: Duration = 2.0

    probe_timeout: Duration = 30.0
    probe_requests: Annotated[int, pydantic.Field(ge=1, le=10_000)] = 50
    secret_cache: Duration = 60.0

    timer_interval: Duration = 60.0
    resync_interval: Duration = 600.0
    finalizer_timeout: Duration = 10.0
    shutdown_timeout: Duration = 20.0

    @pydantic.model_validator(mode="after")
    def _lease_times_fit(self) -> Self:
        if not self.lease_retry < self.lease_renew_deadline < self.lease_duration:
            raise ValueError(
                f"{PREFIX}LEASE_RETRY must be shorter than {PREFIX}LEASE_RENEW_DEADLINE,"
                f" and that shorter than {PREFIX}LEASE_DURATION: otherwise two replicas are active at once"
            )
        return self


Loaded = TypeVar("Loaded", bound=Common)


def load(what: type[Loaded]) -> Loaded:
    """Read one process's settings from the environment. Raises SettingsError."""
    try:
        return what()
    except pydantic.ValidationError as error:
        raise SettingsError("\n".join(sorted({_line(each) for each in error.errors()}))) from None


def _line(error: pydantic_core.ErrorDetails) -> str:
    message = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return message
    # Only pydantic's own messages lack the value; a validator of ours knows what may be repeated.
    shown = f", not {error['input']!r}" if error["type"] != "value_error" else ""
    return f"{PREFIX}{str(error['loc'][0]).upper()}: {message}{shown}"
