"""Limits as the part of a spec that they come from."""

import hypothesis
from hypothesis import strategies as st

from tests.unit.decision import histories
from vigil.api import convert, manifest
from vigil.model import limits


@hypothesis.given(histories.policies, histories.budgets, st.booleans())
def test_limits_survive_the_spec_that_is_made_of_them(
    policy: limits.Policy, budgets: limits.Budgets, finite: bool
) -> None:
    under = limits.Limits(policy, budgets, finite)
    spec = convert.spec_of(under, "ready")
    assert spec["objective"] == "ready"
    assert manifest.parse_limits(spec["policy"], spec["budgets"], finite=finite) == under
