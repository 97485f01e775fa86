"""What a manifest may get wrong: a sentence with the field's path, before anything is sent."""

from typing import Any

import pytest

from vigil.api import enrol, manifest, problems
from vigil.kind import registry

SUBJECT = {"repository": "acme/api", "number": 42}


def enrolled(**spec: Any) -> None:
    """Enrol a Watch with this changed."""
    whole = {"kind": "github_pull_request", "objective": "merged", "subjects": [SUBJECT], **spec}
    body = {
        "apiVersion": "vigil.dev/v1alpha1",
        "kind": "Watch",
        "metadata": {"name": "api", "namespace": "team-a", "uid": "u"},
        "spec": whole,
    }
    enrol.enrol(manifest.parse_watch(body), registry.load(["github_pull_request"]))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"subjects": [{**SUBJECT, "repository": "acme"}]}, "spec.subjects[0].repository: must be owner/name"),
        ({"subjects": [{**SUBJECT, "repository": "acme/api/pull"}]}, "spec.subjects[0].repository: must be owner/name"),
        ({"subjects": [{**SUBJECT, "repository": "acme/api\n"}]}, "spec.subjects[0].repository: must be owner/name"),
        ({"subjects": [{**SUBJECT, "number": 0}]}, "spec.subjects[0].number: must be greater than 0"),
        ({"subjects": [{**SUBJECT, "number": -7}]}, "spec.subjects[0].number: must be greater than 0"),
        ({"subjects": [{**SUBJECT, "number": "42"}]}, "spec.subjects[0].number: must be a whole number, not a string"),
        ({"subjects": [SUBJECT, {**SUBJECT, "repository": "Acme/API"}]}, "names the same subject as spec.subjects[0]"),
        ({"source": {"host": "github.com/acme"}}, "spec.source.host: must be the name of a host"),
        ({"source": {"host": "https://github.com"}}, "spec.source.host: must be the name of a host"),
        ({"objective": "approved"}, "its objectives are: checks_green, merged, review_ready"),
        ({"options": {"approvalDrain": "31m"}}, "spec.options.approvalDrain: is at most 30m"),
        ({"options": {"stuckAfter": "10s"}}, "spec.options.stuckAfter: is from 1m to 720h"),
        ({"options": {"selfLogins": ["a b"]}}, "spec.options.selfLogins[0]: must be the login of an account"),
        ({"options": {"allowNoCheck": True}}, "did you mean allowNoChecks?"),
    ],
)
def test_it_is_refused_in_words_at_its_field(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(problems.InvalidManifest) as raised:
        enrolled(**spec)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("host", ["github.com", "git.example.com", "git.example.com:8443", "acme.ghe.com"])
def test_a_host_is_a_name_perhaps_with_a_port(host: str) -> None:
    enrolled(source={"host": host})
