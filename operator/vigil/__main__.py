"""The command line's wiring, and nothing else."""

import importlib
from collections.abc import Mapping
from typing import Final

import click

COMMANDS: Final[Mapping[str, str]] = {
    "attach": "Attach a session that runs a command for each turn.",
    "explain": "Say why a Watch is quiet, and when that changes.",
    "get": "Show Watches and where they stand.",
    "kinds": "List the installed kinds.",
    "operator": "Evaluate the Watches of a cluster.",
    "probe": "Read the subjects of Watches once and print their entries.",
    "run": "Watch without a cluster.",
    "sidecar": "Run the delivery sidecar.",
    "simulate": "Try a policy on a made-up course of events.",
}
"""Each stands in the module of its name in `vigil.cli`, which is imported when the command is wanted."""


class Commands(click.Group):
    """A group that imports a command when it is called: the operator's libraries are not a session's."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All commands, in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """One command, or None."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"vigil.cli.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="vigil-operator", prog_name="vigil")
def main() -> None:
    """Keep watch over anything outside a cluster, and spend an agent's turn only when it has usefully changed."""


if __name__ == "__main__":
    main(prog_name="vigil")
