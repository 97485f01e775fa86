"""Which addresses may be reached, in every notation (C128, C130)."""

import ipaddress

import hypothesis
import pytest
from hypothesis import strategies

from vigil.adapters.http import addresses

PUBLIC_V4 = ipaddress.IPv4Address("8.8.8.8")
LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
V4 = strategies.ip_addresses(v=4).map(ipaddress.IPv4Address)
V6 = strategies.ip_addresses(v=6).map(ipaddress.IPv6Address)


def _behind(prefix: str, inner: ipaddress.IPv4Address) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(inner))


def _6to4(inner: ipaddress.IPv4Address) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address((0x2002 << 112) | (int(inner) << 80) | 1)


def _teredo(server: ipaddress.IPv4Address, client: ipaddress.IPv4Address) -> ipaddress.IPv6Address:
    return ipaddress.IPv6Address((0x20010000 << 96) | (int(server) << 64) | (int(client) ^ 0xFFFFFFFF))


def _rfc6052_48(inner: ipaddress.IPv4Address) -> ipaddress.IPv6Address:
    raw = inner.packed
    return ipaddress.IPv6Address(bytes.fromhex("0064ff9b0001") + raw[:2] + b"\0" + raw[2:] + bytes(5))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.1", "private"),
        ("100.64.0.1", "shared by carriers (CGNAT)"),
        ("100.127.255.255", "shared by carriers (CGNAT)"),
        ("127.0.0.1", "loopback"),
        ("169.254.169.254", "link-local"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.0.0.9", "reserved"),
        ("192.168.1.1", "private"),
        ("192.0.2.1", "for documentation"),
        ("198.51.100.1", "for documentation"),
        ("203.0.113.9", "for documentation"),
        ("198.18.0.1", "for benchmarks"),
        ("198.19.255.255", "for benchmarks"),
        ("224.0.0.1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("fd00:ec2::254", "private (ULA)"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "scoped to a link"),
        ("fec0::1", "private (site-local)"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "for documentation"),
        ("3fff::1", "for documentation"),
        ("2001:2::1", "reserved"),
        ("2001:20::1", "reserved"),
        ("100::1", "reserved"),
        ("5f00::1", "reserved"),
        ("4000::1", "reserved"),
        ("::ffff:127.0.0.1", "a way to write 127.0.0.1, loopback"),
        ("::ffff:a9fe:a9fe", "a way to write 169.254.169.254, link-local"),
        ("::7f00:1", "a way to write 127.0.0.1, loopback"),
        ("::ffff:0:7f00:1", "a way to write 127.0.0.1, loopback"),
        ("64:ff9b::a9fe:a9fe", "a way to write 169.254.169.254, link-local"),
        ("64:ff9b:1::a9fe:a9fe", "a way to write 169.254.169.254, link-local"),
        ("64:ff9b:1:a9fe:a9:fe00::", "a way to write 169.254.169.254, link-local"),
        ("2002:7f00:1::1", "a way to write 127.0.0.1, loopback"),
        ("2001:0:7f00:1::", "a way to write 127.0.0.1, loopback"),
        ("2001:0:808:808::f5ff:fffe", "a way to write 10.0.0.1, private"),
        ("no address", "no plain address"),
        ("2130706433", "no plain address"),
        ("0177.0.0.1", "no plain address"),
        ("", "no plain address"),
    ],
)
def test_an_address_that_is_not_public_is_refused_with_its_reason(address: str, why: str) -> None:
    assert addresses.refusal(address) == why
    assert not addresses.is_allowed(address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.0",
        "172.32.0.1",
        "198.17.255.255",
        "223.255.255.255",
        "2606:4700::1111",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "64:ff9b:1::808:808",
        "64:ff9b:1:808:8:800::",
        "2002:808:808::1",
    ],
)
def test_a_public_address_is_allowed_and_so_is_one_that_carries_it(address: str) -> None:
    assert addresses.is_allowed(address)


def test_a_range_of_the_operator_allows_what_lies_in_it_and_nothing_beside_it() -> None:
    allowed = (ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("fd12::/16"))
    assert addresses.is_allowed("10.1.2.3", allowed)
    assert addresses.is_allowed("fd12::1", allowed)
    assert not addresses.is_allowed("10.2.0.1", allowed)
    assert not addresses.is_allowed("fd13::1", allowed)


def test_a_range_of_ipv4_allows_the_ways_to_write_it_in_ipv6() -> None:
    assert addresses.is_allowed("::ffff:127.0.0.1", (LOOPBACK,))
    assert addresses.is_allowed("64:ff9b::7f00:1", (LOOPBACK,))


@pytest.mark.parametrize(
    ("network", "address"),
    [
        ("::ffff:0:0/96", "::ffff:127.0.0.1"),
        ("2002::/16", "2002:7f00:1::1"),
        ("64:ff9b::/96", "64:ff9b::a9fe:a9fe"),
        ("64:ff9b:1::/48", "64:ff9b:1::a9fe:a9fe"),
        ("2001::/32", "2001:0:7f00:1::"),
        ("::/0", "::ffff:10.0.0.1"),
    ],
)
def test_an_allowed_carrier_does_not_allow_what_it_carries(network: str, address: str) -> None:
    assert not addresses.is_allowed(address, (ipaddress.ip_network(network),))


def test_loopback_of_ipv6_is_allowed_by_its_own_range_alone() -> None:
    assert addresses.is_allowed("::1", (ipaddress.ip_network("::1/128"),))
    assert not addresses.is_allowed("::1", (LOOPBACK, ipaddress.ip_network("0.0.0.0/8")))


def test_a_scoped_address_is_refused_even_in_an_allowed_range() -> None:
    assert not addresses.is_allowed("fe80::1%eth0", (ipaddress.ip_network("fe80::/10"),))


@pytest.mark.parametrize(
    ("host", "meant"),
    [
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0x7F000001", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0x", "0.0.0.0"),
        ("127.1.", "127.0.0.1"),
        ("0xa9fea9fe", "169.254.169.254"),
    ],
)
def test_a_number_like_host_is_read_as_the_c_library_reads_it(host: str, meant: str) -> None:
    assert addresses.looks_numeric(host)
    assert addresses.meaning(host) == ipaddress.IPv4Address(meant)


@pytest.mark.parametrize("host", ["4294967296", "1.2.3.4.5", "256.1", "1.2.3.256", "08.8.8.8", "a.1", "1.2.65536"])
def test_a_number_like_host_that_is_no_address_has_no_meaning(host: str) -> None:
    assert addresses.looks_numeric(host)
    assert addresses.meaning(host) is None


@hypothesis.given(V4)
def test_ipv4_is_judged_alike_in_every_wrapping(inner: ipaddress.IPv4Address) -> None:
    expected = addresses.is_allowed(inner)
    for prefix in ("::ffff:0:0", "64:ff9b::", "::ffff:0:0:0"):
        assert addresses.is_allowed(_behind(prefix, inner)) == expected
    assert addresses.is_allowed(_6to4(inner)) == expected
    assert addresses.is_allowed(_teredo(PUBLIC_V4, inner)) == expected
    assert addresses.is_allowed(_teredo(inner, PUBLIC_V4)) == expected


@hypothesis.given(V4)
def test_a_local_nat64_prefix_never_lets_a_refused_address_through(inner: ipaddress.IPv4Address) -> None:
    hypothesis.assume(not addresses.is_allowed(inner) and inner not in ipaddress.ip_network("0.0.0.0/8"))
    assert not addresses.is_allowed(_behind("64:ff9b:1::", inner))
    assert not addresses.is_allowed(_rfc6052_48(inner))


@hypothesis.given(V4)
def test_what_the_standard_library_calls_special_is_refused(address: ipaddress.IPv4Address) -> None:
    special = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    hypothesis.assume(special or address.is_reserved or address.is_unspecified)
    assert not addresses.is_allowed(address)


@hypothesis.given(strategies.one_of(V6, V4.map(_6to4), V4.map(lambda inner: _behind("64:ff9b::", inner))))
@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.filter_too_much])
def test_ipv6_is_allowed_only_as_public_unicast_or_for_what_it_carries(address: ipaddress.IPv6Address) -> None:
    hypothesis.assume(addresses.is_allowed(address))
    inner = addresses.carried(address)
    assert address in ipaddress.ip_network("2000::/3") or inner
    assert all(addresses.is_allowed(one) for one in inner)


@hypothesis.given(strategies.one_of(V4, V6))
def test_the_default_route_allows_all_but_refused_carriers(address: addresses.Address) -> None:
    everything = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
    assert addresses.is_allowed(address, everything)
    assert addresses.is_named(address, everything)


@hypothesis.given(V4)
def test_a_number_means_the_address_it_stands_for(address: ipaddress.IPv4Address) -> None:
    assert addresses.meaning(str(int(address))) == address
    assert addresses.meaning(hex(int(address))) == address
    assert addresses.meaning(f"0{int(address):o}") == address
