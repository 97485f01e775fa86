"""What every test of the scheduler can use."""

import pytest

from tests.unit.scheduler.office import Office


@pytest.fixture
def office() -> Office:
    """A scheduler, and a provider with two gauges that show nothing."""
    made = Office()
    made.provider.show("a")
    made.provider.show("b")
    return made
