"""A log line is one event in UTC, at the level asked for, without secrets."""

import datetime
import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from vigil.adapters import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    levels = {name: logging.getLogger(name).level for name in logs.QUIET_LIBRARIES}
    yield io.StringIO()
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()
    root.handlers = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def configure(stream: io.StringIO, level: str = "INFO") -> None:
    logs.configure(level, "json", stream=stream, cache=False)


def refuse() -> None:
    raise RuntimeError("refused: Bearer abcdefgh12345678")


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_line_with_its_level_its_logger_and_a_utc_time(stream: io.StringIO) -> None:
    configure(stream)
    structlog.get_logger("vigil.scheduler").info("group held", kind="http_json", watches=3)
    [line] = lines(stream)
    when = datetime.datetime.fromisoformat(line.pop("time"))
    assert when.utcoffset() == datetime.timedelta(0)
    assert line == {
        "event": "group held",
        "kind": "http_json",
        "watches": 3,
        "level": "info",
        "logger": "vigil.scheduler",
    }


def test_a_line_of_the_standard_library_looks_the_same(stream: io.StringIO) -> None:
    configure(stream)
    logging.getLogger("aiohttp.client").warning("slow answer of %s", "status.example")
    [line] = lines(stream)
    assert (line["event"], line["level"], line["logger"]) == (
        "slow answer of status.example",
        "warning",
        "aiohttp.client",
    )
    assert line["time"].endswith("Z")


def test_what_is_below_the_level_is_not_written(stream: io.StringIO) -> None:
    configure(stream, "WARNING")
    structlog.get_logger("vigil").info("quiet")
    logging.getLogger("vigil").info("quiet")
    assert stream.getvalue() == ""


def test_a_timer_that_succeeded_and_the_bodies_of_answers_are_never_written(stream: io.StringIO) -> None:
    configure(stream, "DEBUG")
    logging.getLogger("kopf.objects").info("Timer 'reconcile' succeeded.")
    logging.getLogger("kubernetes.client.rest").debug("response body: a Secret")
    logging.getLogger("urllib3.connectionpool").debug("GET /?token=abc")
    assert stream.getvalue() == ""


def test_a_library_follows_a_level_above_its_own(stream: io.StringIO) -> None:
    configure(stream, "ERROR")
    logging.getLogger("kopf.objects").warning("retrying")
    assert stream.getvalue() == ""


def test_a_value_under_a_secrets_name_is_blanked_at_any_depth(stream: io.StringIO) -> None:
    configure(stream)
    structlog.get_logger("vigil").info(
        "request",
        token="abc",
        headers={"Authorization": "abc", "accept": "json"},
        items=[{"api_key": "abc"}],
        tokens=12,
    )
    [line] = lines(stream)
    assert "abc" not in stream.getvalue()
    assert line["headers"] == {"Authorization": logs.REDACTED, "accept": "json"}
    assert line["tokens"] == 12


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("sent Bearer abcdefgh12345678", "sent Bearer [redacted]"),
        ("to https://user:pa55@status.example/x", "to https://[redacted]@status.example/x"),
        ("GET /v1?api_token=abc&page=2", "GET /v1?api_token=[redacted]&page=2"),
        ("ghp_abcdefghij0123456789 leaked", "[redacted] leaked"),
        ("jwt eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln", "jwt [redacted]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend", "[redacted]\nend"),
        ("acme/api#42 is ready, 12 tokens spent", "acme/api#42 is ready, 12 tokens spent"),
        ("mail team-a@acme.example", "mail team-a@acme.example"),
    ],
)
def test_what_looks_like_a_credential_is_taken_out_of_any_text(text: str, clean: str) -> None:
    assert logs.redact(text) == clean


def test_a_traceback_holds_no_secret(stream: io.StringIO) -> None:
    configure(stream)
    try:
        refuse()
    except RuntimeError as error:
        structlog.get_logger("vigil").exception("probe failed", error=error)
        logging.getLogger("other").exception("probe failed")
    assert "abcdefgh12345678" not in stream.getvalue()
    assert [line["exception"].splitlines()[-1] for line in lines(stream)] == [
        "RuntimeError: refused: Bearer [redacted]"
    ] * 2


def test_an_object_without_a_json_form_is_its_text_without_secrets(stream: io.StringIO) -> None:
    class Request:
        def __repr__(self) -> str:
            return "<GET https://u:p@status.example>"

    configure(stream)
    structlog.get_logger("vigil").info("asked", request=Request())
    assert lines(stream)[0]["request"] == "<GET https://[redacted]@status.example>"


def test_a_warning_is_a_line_of_the_log(stream: io.StringIO) -> None:
    configure(stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old option", DeprecationWarning, stacklevel=1)
    assert [(line["logger"], "old option" in line["event"]) for line in lines(stream)] == [("py.warnings", True)]


def test_the_console_form_is_plain_text(stream: io.StringIO) -> None:
    logs.configure("INFO", "console", stream=stream, cache=False)
    structlog.get_logger("vigil").info("ready", token="abc", kind="http_json")
    assert "ready" in stream.getvalue()
    assert "kind=http_json" in stream.getvalue()
    assert "abc" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
