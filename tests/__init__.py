"""The tests of Vigil, and the real control plane that some of them run against."""
