"""What a URL may look like, and what part of it names the other side; pure.

A URL is read once, strictly, and sent as it was read: two readers that disagree are how a check is passed by.
"""

import dataclasses
import re
import urllib.parse
from typing import Final

import yarl

from vigil.adapters.http import addresses, errors
from vigil.kind import transport
from vigil.model import failures

MAX_LENGTH: Final = 8192
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)")
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ODD: Final = re.compile(r"[\s\\\x00-\x20\x7f-\x9f\ud800-\udfff]")
_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """One other side: it decides who may get a credential. `host` is lower case, an IPv6 address without brackets."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        shown = "" if DEFAULT_PORTS.get(self.scheme) == self.port else f":{self.port}"
        return f"{self.scheme}://{self._bracketed}{shown}"

    @property
    def names(self) -> frozenset[str]:
        """What a list of allowed hosts may call it: `host:port`, and `host` alone on the scheme's own port."""
        full = f"{self._bracketed}:{self.port}"
        return frozenset({full, self._bracketed} if DEFAULT_PORTS.get(self.scheme) == self.port else {full})

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A URL that was read: `rest` is its path and query. `literal` is the address that its host stands for, if any."""

    origin: Origin
    rest: str
    literal: addresses.Address | None = None
    usual: bool = True
    """Whether the host is written in the usual way: a number that only the C library takes for an address is not."""

    def url(self) -> yarl.URL:
        """The URL to send; what is allowed in a URL is sent byte for byte, anything else is quoted."""
        rest = self.rest if self.rest.startswith("/") else f"/{self.rest}"
        return yarl.URL(f"{self.origin}{rest}", encoded=_PLAIN.fullmatch(rest) is not None)

    def __str__(self) -> str:
        return f"{self.origin}{self.rest}"


def parse(text: str) -> Target:
    """Read an absolute URL of any scheme; a fragment is left out.

    Raises ReadError, `config`: not absolute, too long, a user name or password, a host or port that is none, odd
    characters. The message never holds the URL.
    """
    found = _URL.match(text) if len(text) <= MAX_LENGTH and not _ODD.search(text) else None
    if not found:
        raise _bad(f"it is not an absolute URL of at most {MAX_LENGTH} characters without blanks")
    scheme, authority, rest = found.groups()
    if "@" in authority:
        raise _bad("it holds a user name or password; a credential belongs in a Secret")
    parts = _AUTHORITY.fullmatch(authority)
    if not parts:
        raise _bad("it has no host, or one with characters that a host name has not")
    host, port = parts.groups()
    return _target(scheme.lower(), host.lower(), port, rest)


def base(text: str) -> Origin:
    """Read what a transport is bound to: `host`, `host:port`, a base URL without a path. Raises ReadError, `config`."""
    target = parse(text if "://" in text else f"https://{text}")
    if target.rest not in {"", "/"} or target.origin.scheme not in DEFAULT_PORTS:
        raise _bad("a host is wanted here: a name, perhaps a port, and no path")
    return target.origin


def join(current: Target, location: str) -> Target:
    """Read the target of a redirect, absolute or relative to where it came from. Raises ReadError, `malformed`."""
    try:
        if _ODD.search(location):
            raise _bad("it holds blanks")
        return parse(urllib.parse.urljoin(str(current), location))
    except (ValueError, transport.ReadError):
        raise errors.error(failures.Category.MALFORMED, str(current.origin), "it redirects to no usable URL") from None


def _target(scheme: str, host: str, port: str | None, rest: str) -> Target:
    number = DEFAULT_PORTS.get(scheme, 0) if port is None else int(port)
    if port is not None and not 0 < number < 65536:
        raise _bad("its port is not between 1 and 65535")
    if host.startswith("["):
        address = addresses.parse(host[1:-1])
        if address is None or address.version == 4:
            raise _bad("its host is not an IPv6 address")
        return Target(Origin(scheme, str(address), number), rest, address)
    if addresses.looks_numeric(host):
        return _number_like(scheme, host, number, rest)
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise _bad("its host is not a name (labels of letters, digits and hyphens; no dot at the end)")
    return Target(Origin(scheme, host, number), rest)


def _number_like(scheme: str, host: str, port: int, rest: str) -> Target:
    plain = addresses.parse(host)
    if plain is not None:
        return Target(Origin(scheme, str(plain), port), rest, plain)
    meant = addresses.meaning(host)
    if meant is None:
        raise _bad("its host ends in a number and is no address")
    return Target(Origin(scheme, str(meant), port), rest, meant, usual=False)


def _bad(sentence: str) -> transport.ReadError:
    return errors.error(failures.Category.CONFIG, "", f"the URL is refused: {sentence}")
