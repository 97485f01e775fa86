"""A GitHub to test against: it executes queries against GitHub's own schema over a world that a file describes."""

from tests.githubsim.server import GitHub, serve

__all__ = ["GitHub", "serve"]
