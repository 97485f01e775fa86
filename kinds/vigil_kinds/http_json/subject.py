"""What an item of `subjects` may hold: the URL of a JSON document, and the one name that all its spellings have."""

import hashlib
import ipaddress
import re
from typing import Annotated, Final, NamedTuple

import pydantic

from vigil.kind import api

IDENTITY_LIMIT: Final = 300
"""Characters of an identity; a longer one ends in a digest, since a status has 50 of them."""

LABEL_LIMIT: Final = 63

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_URL = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?P<query>(?:\?[^#]*)?)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_ALLOWED = re.compile(r"(?:[A-Za-z0-9._~:/?@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


class Place(NamedTuple):
    """A URL that was read, in its one spelling: `host` has its port only where the scheme has another."""

    scheme: str
    host: str
    path: str
    query: str


def place(url: str) -> Place:
    """Read a URL; raises ValueError with the reason for what is not the absolute URL of a document."""
    if "#" in url:
        raise ValueError("has a fragment, which no server sees")
    found = _URL.fullmatch(url)
    if not found:
        raise ValueError("is not an absolute http or https URL")
    if "@" in found["authority"]:
        raise ValueError("holds a user name or password; a credential belongs in a Secret")
    if not _ALLOWED.fullmatch(found["path"] + found["query"]):
        raise ValueError("has a character in its path or query that must be percent-encoded")
    path = _recoded(found["path"]) or "/"
    if {".", ".."} & set(path.split("/")):
        raise ValueError("has a . or .. in its path")
    scheme = found["scheme"].lower()
    return Place(scheme, _host(found["authority"], _DEFAULT_PORTS[scheme]), path, _recoded(found["query"]))


def _host(authority: str, default_port: int) -> str:
    found = _AUTHORITY.fullmatch(authority)
    if not found:
        raise ValueError("has no host, or one that is not a name or an address (xn-- for other scripts)")
    port = int(found["port"] or default_port)
    if not 0 < port < 65536:
        raise ValueError("has a port that is not between 1 and 65535")
    name = _name(found["host"].lower())
    return name if port == default_port else f"{name}:{port}"


def _name(host: str) -> str:
    if host.startswith("["):
        try:
            return f"[{ipaddress.IPv6Address(host[1:-1])}]"
        except ValueError:
            raise ValueError("has a host in brackets that is not an IPv6 address") from None
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise ValueError("has a host that is not a name: labels of letters, digits and hyphens, and no dot at the end")
    return host


def _recoded(part: str) -> str:
    """The one spelling of a part: what need not be encoded is not, the rest in capitals (RFC 3986, 6.2.2)."""

    def one(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if _UNRESERVED.fullmatch(character) else found[0].upper()

    return _ENCODED.sub(one, part)


def _checked(url: str) -> str:
    place(url)
    return url


class DocumentSubject(api.Subject):
    """A JSON document at a URL."""

    url: Annotated[
        str,
        pydantic.Field(min_length=1, max_length=2048, pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://[\x21-\x7e]+$"),
        pydantic.AfterValidator(_checked),
    ] = pydantic.Field(
        description="The absolute http or https URL of the document, without a user name, a password or a fragment. "
        "A credential goes to https only."
    )

    def host(self, scope: api.Scope) -> str:  # noqa: ARG002 - the URL names its host, whatever the Watch's source says
        """The URL's own host, with its port where that is not the scheme's."""
        return place(self.url).host

    def identity(self, scope: api.Scope) -> str:  # noqa: ARG002 - a URL means the same in every namespace
        """`https:/state?part=1`: what of the URL is not the host, in its one spelling."""
        it = place(self.url)
        name = f"{it.scheme}:{it.path}{it.query}"
        if len(name) <= IDENTITY_LIMIT:
            return name
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        return f"{name[: IDENTITY_LIMIT - len(digest) - 1]}~{digest}"

    def label(self) -> str:
        """`api.example.com/state`, with `?…` where the URL has a query, which may hold what is not for a table."""
        it = place(self.url)
        name = f"{it.host}{it.path.rstrip('/')}{'?…' if it.query else ''}"
        return name if len(name) <= LABEL_LIMIT else f"{name[: LABEL_LIMIT - 1]}…"


def of(wanted: api.Wanted) -> DocumentSubject:
    """The subject that is wanted; raises TypeError for one of another kind, which no caller may hand in."""
    if not isinstance(wanted.subject, DocumentSubject):
        raise TypeError(f"not a subject of this kind: {wanted.subject!r}")
    return wanted.subject
