"""What a URL may look like, and where a redirect may lead."""

import contextlib

import hypothesis
import pytest
from hypothesis import strategies

from vigil.adapters.http import redirects, urls
from vigil.kind import transport
from vigil.model import failures

HERE = urls.parse("https://api.example.test/v1/state?q=1")


def _failure(text: str) -> failures.Failure:
    with pytest.raises(transport.ReadError) as raised:
        urls.parse(text)
    return raised.value.failure


@pytest.mark.parametrize(
    ("text", "origin", "rest"),
    [
        ("https://api.example.test", "https://api.example.test", ""),
        ("HTTPS://API.Example.TEST/A", "https://api.example.test", "/A"),
        ("https://api.example.test:443/a?b=c#d", "https://api.example.test", "/a?b=c"),
        ("http://api.example.test:8080?x", "http://api.example.test:8080", "?x"),
        ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]", "/"),
        ("https://my_host.example.test/", "https://my_host.example.test", "/"),
        ("https://8.8.8.8/", "https://8.8.8.8", "/"),
        ("https://xn--bcher-kva.example.test/", "https://xn--bcher-kva.example.test", "/"),
    ],
)
def test_a_url_is_read_as_its_origin_and_the_rest(text: str, origin: str, rest: str) -> None:
    target = urls.parse(text)
    assert (str(target.origin), target.rest) == (origin, rest)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api.example.test/a",
        "//api.example.test/a",
        "https:///a",
        "https://user:word@api.example.test/",
        "https://token@api.example.test/",
        "https://api.example.test\\@evil.example.test/",
        "https://api.example.test%2f@evil/",
        "https://api example.test/",
        " https://api.example.test/",
        "https://api.example.test/\r\nX: y",
        "https://api.example.test/a b",
        "https://127%2e0.0.1/",
        "https://127\u30020.0.1/",
        "https://\u2460.example.test/",
        "https://b\u00fccher.example.test/",
        "https://api.example.test./",
        "https://api..example.test/",
        "https://-api.example.test/",
        "https://[::1/",
        "https://[::zz]/",
        "https://[127.0.0.1]/",
        "https://::1/",
        "https://api.example.test:0/",
        "https://api.example.test:65536/",
        "https://api.example.test:/",
        "https://api.example.test:8a/",
        "https://1.2.3.4.5/",
        "https://4294967296/",
        "https://" + "a" * 64 + ".test/",
        "https://" + ".".join(["a" * 60] * 5) + "/",
        "https://api.example.test/" + "a" * 9000,
    ],
)
def test_an_odd_url_is_refused_as_config_without_repeating_it(text: str) -> None:
    failure = _failure(text)
    assert failure.category is failures.Category.CONFIG
    assert "example" not in failure.message
    assert "word" not in failure.message.replace("password", "")


@hypothesis.given(strategies.text(max_size=40))
def test_no_text_at_all_breaks_the_reader(tail: str) -> None:
    for text in (tail, f"https://{tail}", f"https://api.example.test{tail}"):
        with contextlib.suppress(transport.ReadError):
            origin, sent = urls.parse(text).origin, urls.parse(text).url()
            assert (sent.scheme, sent.raw_host, sent.port or 0) == (origin.scheme, origin.host, origin.port)
            assert sent.user is None


def test_what_may_stand_in_a_url_is_sent_byte_for_byte_and_the_rest_is_quoted() -> None:
    signed = urls.parse("https://api.example.test/a%2fb/../c?sig=a%2Bb%3d&x=1+2")
    assert str(signed.url()) == "https://api.example.test/a%2fb/../c?sig=a%2Bb%3d&x=1+2"
    assert str(urls.parse('https://api.example.test/{a}?q="\u00fc"').url()).endswith("/%7Ba%7D?q=%22%C3%BC%22")


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("api.example.test", "https://api.example.test"),
        ("api.example.test:8443", "https://api.example.test:8443"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("https://10.96.0.1:443/", "https://10.96.0.1"),
        ("[::1]:8080", "https://[::1]:8080"),
    ],
)
def test_a_base_is_a_host_or_a_url_without_a_path(text: str, origin: str) -> None:
    assert str(urls.base(text)) == origin


@pytest.mark.parametrize("text", ["", "https://api.example.test/v1", "ftp://api.example.test", "a@b", "a?b"])
def test_a_base_that_is_more_or_less_than_a_host_is_refused(text: str) -> None:
    with pytest.raises(transport.ReadError, match="config"):
        urls.base(text)


@pytest.mark.parametrize(
    ("location", "to"),
    [
        ("/v2/state", "https://api.example.test/v2/state"),
        ("other?x=1", "https://api.example.test/v1/other?x=1"),
        ("//other.example.test/x", "https://other.example.test/x"),
        ("https://api.example.test:443/y#part", "https://api.example.test/y"),
    ],
)
def test_a_redirect_is_read_relative_to_where_it_came_from(location: str, to: str) -> None:
    assert str(redirects.follow("GET", 302, location, HERE)) == to


@pytest.mark.parametrize(
    ("location", "category"),
    [
        ("http://api.example.test/", failures.Category.CONFIG),
        ("http://other.example.test/", failures.Category.CONFIG),
        ("ftp://other.example.test/", failures.Category.MALFORMED),
        ("file:///etc/passwd", failures.Category.MALFORMED),
        ("javascript:alert(1)", failures.Category.MALFORMED),
        ("https://user@other.example.test/", failures.Category.MALFORMED),
        ("https://other.example.test/a b", failures.Category.MALFORMED),
        ("https://[::1", failures.Category.MALFORMED),
    ],
)
def test_a_redirect_to_what_may_not_be_followed_is_a_failure(location: str, category: failures.Category) -> None:
    with pytest.raises(transport.ReadError) as raised:
        redirects.follow("GET", 302, location, HERE)
    assert raised.value.failure.category is category


@pytest.mark.parametrize("status", [200, 300, 304, 305, 306, 404])
def test_other_statuses_lead_nowhere(status: int) -> None:
    assert redirects.follow("GET", status, "/x", HERE) is None


def test_a_redirect_without_a_location_is_an_answer() -> None:
    assert redirects.follow("GET", 302, None, HERE) is None
    assert redirects.follow("GET", 302, "", HERE) is None


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_request_that_acts_is_repeated_only_where_it_went_and_only_as_it_was(method: str) -> None:
    assert redirects.follow(method, 307, "/x", HERE) is not None
    assert redirects.follow(method, 308, "/x", HERE) is not None
    assert redirects.follow(method, 302, "/x", HERE) is None
    assert redirects.follow(method, 303, "/x", HERE) is None
    assert redirects.follow(method, 307, "https://other.example.test/x", HERE) is None


@pytest.mark.parametrize("other", ["http://api.example.test", "https://api.example.test:444", "https://b.example.test"])
def test_scheme_host_and_port_make_another_origin_to_which_only_harmless_headers_go(other: str) -> None:
    headers = {
        "accept": "application/json",
        "if-none-match": '"1"',
        "authorization": "Bearer t",
        "cookie": "a=b",
        "proxy-authorization": "Basic t",
        "private-token": "t",
        "content-type": "application/json",
    }
    kept = redirects.headers_for(urls.base(other), HERE.origin, headers)
    assert kept == {"accept": "application/json", "if-none-match": '"1"'}
    assert redirects.headers_for(HERE.origin, HERE.origin, headers) == headers
