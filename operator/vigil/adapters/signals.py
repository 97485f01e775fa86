"""Where records go besides the metrics."""

from vigil import ports


class Silent:
    """ports.Signals of a process that nobody measures."""

    def emit(self, record: ports.Record) -> None:
        """Take no note of it."""
