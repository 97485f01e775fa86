"""What every test can use."""

pytest_plugins = ["tests.controlplane.fixtures"]
