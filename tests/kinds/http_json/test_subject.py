"""What a URL is called. Which spellings mean the same, and which are refused, is in golden.yaml."""

import pydantic
import pytest

from vigil.kind import api
from vigil_kinds.http_json import KIND, subject

SCOPE = api.Scope("team-a", "git.example.com")


def of(url: str) -> subject.DocumentSubject:
    """The subject of a URL."""
    return subject.DocumentSubject(url=url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://API.example.com/state", "api.example.com"),
        ("https://api.example.com:443", "api.example.com"),
        ("http://api.example.com:80", "api.example.com"),
        ("http://api.example.com:443", "api.example.com:443"),
        ("https://[2001:0db8::0001]:8443/", "[2001:db8::1]:8443"),
    ],
)
def test_the_host_is_the_urls_own_with_its_port_where_that_is_not_the_schemes(url: str, host: str) -> None:
    assert of(url).host(SCOPE) == host


def test_the_scheme_is_part_of_the_identity() -> None:
    names = {KIND.subject_id(of(f"{scheme}://api.example.com/state?a=%2f"), SCOPE) for scheme in ("http", "https")}
    assert names == {
        "http_json://api.example.com/http:/state?a=%2F",
        "http_json://api.example.com/https:/state?a=%2F",
    }


def test_a_long_identity_is_bounded_and_still_its_own() -> None:
    one, other = (of(f"https://api.example.com/{'a' * 1900}{end}").identity(SCOPE) for end in ("1", "2"))
    assert one != other
    assert len(one) == len(other) == subject.IDENTITY_LIMIT


def test_a_url_of_more_than_2048_characters_is_refused() -> None:
    start = "https://api.example.com/"
    of(start + "a" * (2048 - len(start)))
    with pytest.raises(pydantic.ValidationError, match="2048"):
        of(start + "a" * (2049 - len(start)))


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://api.example.com", "api.example.com"),
        ("https://api.example.com/state/", "api.example.com/state"),
        ("https://api.example.com:8443/state?token=s3cret", "api.example.com:8443/state?…"),
        ("https://api.example.com/" + "a" * 100, "api.example.com/" + "a" * 46 + "…"),
    ],
)
def test_the_label_is_short_and_shows_no_query(url: str, label: str) -> None:
    assert of(url).label() == label
