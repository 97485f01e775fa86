"""Which addresses may be reached; pure.

1. What is not known to be a public unicast address is refused, and the reason is named.
2. An address that carries an IPv4 address (mapped, NAT64, 6to4, Teredo and the like) is judged by what it carries,
   and by nothing else: a range that is allowed covers it only if it covers the IPv4 address.
3. Any other address is allowed again by the operator's `allowed_ranges`, and by those alone.

`is_global` of the standard library is not asked: it calls `64:ff9b::a9fe:a9fe` (169.254.169.254) and `2002:7f00:1::1`
(127.0.0.1) global, and its answers change between Python releases.
"""

import ipaddress
import re
from collections.abc import Sequence
from typing import Final, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_REFUSED_V4: Final = tuple(
    (ipaddress.IPv4Network(network), name)
    for network, name in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by carriers (CGNAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "reserved (the old relay of 6to4)"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)

_REFUSED_V6: Final = tuple(
    (ipaddress.IPv6Network(network), name)
    for network, name in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "for documentation"),
        ("3fff::/20", "for documentation"),
        ("fc00::/7", "private (ULA)"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private (site-local)"),
        ("ff00::/8", "multicast"),
    )
)

_UNICAST_V6: Final = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is given out as public unicast."""

_LAST: Final = (12, 13, 14, 15)
_CARRIERS: Final = tuple(
    (ipaddress.IPv6Network(network), places)
    for network, places in (
        ("::/96", (_LAST,)),  # IPv4-compatible
        ("::ffff:0:0/96", (_LAST,)),  # IPv4-mapped
        ("::ffff:0:0:0/96", (_LAST,)),  # IPv4-translated (SIIT)
        ("64:ff9b::/96", (_LAST,)),  # NAT64, well-known prefix
        ("2002::/16", ((2, 3, 4, 5),)),  # 6to4
    )
)
"""Networks that carry an IPv4 address, and the bytes in which it stands."""

_PROPER: Final = ipaddress.IPv6Network("::/127")
"""`::` and `::1` lie among the IPv4-compatible addresses and are none."""
_TEREDO: Final = ipaddress.IPv6Network("2001::/32")
_LOCAL_NAT64: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_RFC6052: Final = ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), _LAST)
"""Where the IPv4 address stands behind a NAT64 prefix of 48, 56, 64 and 96 bits."""
_NOWHERE: Final = ipaddress.IPv4Network("0.0.0.0/8")

_NUMBER: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z", re.IGNORECASE)


def is_allowed(address: Address | str, allowed_ranges: Sequence[Network] = ()) -> bool:
    """Whether a connection to this address may be made; text that is no plain address is not allowed."""
    return not refusal(address, allowed_ranges)


def refusal(address: Address | str, allowed_ranges: Sequence[Network] = ()) -> str:
    """Why this address may not be reached, as the end of "which is …"; empty if it may."""
    known = parse(address) if isinstance(address, str) else address
    if known is None:
        return "no plain address"
    if isinstance(known, ipaddress.IPv6Address):
        if known.scope_id:
            return "scoped to a link"
        if inner := carried(known):
            return next((why for why in (_why_inner(v4, allowed_ranges) for v4 in inner) if why), "")
    return "" if _within(known, allowed_ranges) else _class_of(known)


def is_named(address: Address | str, ranges: Sequence[Network]) -> bool:
    """Whether the address lies in one of the ranges; one that carries IPv4 addresses does if each of those does."""
    known = parse(address) if isinstance(address, str) else address
    if known is None:
        return False
    inner = carried(known) if isinstance(known, ipaddress.IPv6Address) else ()
    return all(_within(one, ranges) for one in inner or (known,))


def parse(text: str) -> Address | None:
    """The address that a plain notation names (dotted quad, or IPv6 without brackets), or None."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def looks_numeric(host: str) -> bool:
    """Whether a host would be taken for an IPv4 address: its last label is a number, decimal, octal or hexadecimal."""
    return _NUMBER.match(host.removesuffix(".").rpartition(".")[2]) is not None


def meaning(host: str) -> ipaddress.IPv4Address | None:
    """The address that the C library reads in a number-like host (`2130706433`, `0x7f.1`, `0177.0.0.1`), or None."""
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4 or not all(_NUMBER.match(part) for part in parts):
        return None
    try:
        *heads, last = [_number(part) for part in parts]
    except ValueError:
        return None
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        return None
    return ipaddress.IPv4Address(last + sum(head << (24 - 8 * place) for place, head in enumerate(heads)))


def carried(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address carries; all of them must be allowed. Empty for one that carries none."""
    raw = address.packed
    if address in _PROPER:
        return ()
    for network, places in _CARRIERS:
        if address in network:
            return tuple(_at(raw, place) for place in places)
    if address in _TEREDO:
        return (_at(raw, (4, 5, 6, 7)), ipaddress.IPv4Address(bytes(byte ^ 0xFF for byte in raw[12:])))
    if address in _LOCAL_NAT64:
        return _behind_local_prefix(raw)
    return ()


def _behind_local_prefix(raw: bytes) -> tuple[ipaddress.IPv4Address, ...]:
    # The length of a local prefix is its network's own affair, so every reading that is a real address must be allowed.
    # Nothing is at 0.0.0.0/8: it is what a shorter or longer prefix looks like when it is read at the wrong length.
    readings = tuple(_at(raw, places) for places in _RFC6052)
    return tuple(reading for reading in readings if reading not in _NOWHERE) or readings


def _at(raw: bytes, places: Sequence[int]) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(bytes(raw[place] for place in places))


def _why_inner(inner: ipaddress.IPv4Address, allowed_ranges: Sequence[Network]) -> str:
    why = refusal(inner, allowed_ranges)
    return f"a way to write {inner}, {why}" if why else ""


def _within(address: Address, ranges: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in ranges)


def _class_of(address: Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return next((name for network, name in _REFUSED_V4 if address in network), "")
    named = next((name for network, name in _REFUSED_V6 if address in network), "")
    return named or ("" if address in _UNICAST_V6 else "reserved")


def _number(text: str) -> int:
    if text.lower().startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") else int(text)
