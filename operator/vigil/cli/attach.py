"""`vigil attach`: a session whose turns are runs of a command."""

import asyncio
import pathlib
import shutil
import signal
import sys
from typing import Any, NoReturn

import click

from vigil import ports
from vigil.adapters import clock, session, wire
from vigil.cli import address, attached, turnrun
from vigil.model import failures

EPILOG = """COMMAND gets the envelope on its standard input, and VIGIL_WAKE_ID, VIGIL_WATCH, VIGIL_REASON and
VIGIL_EVIDENCE (the path of a file) in its environment. Exit code 0 completes the turn; its last line of output may be a
JSON object such as {"tokens": 1200, "dispositions": [{"key": "red:ci/unit", "disposition": "dispatched"}]}. Any other
exit code gives the turn back, which is then offered once again."""


@click.command(name="attach", short_help="Attach a session that runs a command for each turn.", epilog=EPILOG)
@click.argument("name", metavar="SESSION")
@click.argument("arguments", metavar="-- COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-n",
    "--namespace",
    default="default",
    envvar="VIGIL_NAMESPACE",
    show_default=True,
    help="The namespace of the session, which is that of its Watches.",
)
@click.option(
    "--url",
    default="http://127.0.0.1:8090",
    envvar="VIGIL_SIDECAR_URL",
    show_default=True,
    help="The sidecar: http://, https:// or unix:///path.",
)
@click.option(
    "--token-file",
    envvar="VIGIL_SIDECAR_TOKEN_FILE",
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="The file with the bearer token; it is read for each request.",
)
@click.option(
    "--state-dir",
    type=click.Path(path_type=pathlib.Path, file_okay=False),
    help="The state of a `vigil run` that is running: its address and token are found there.",
)
@click.option(
    "--log",
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="Append what COMMAND prints to this file.",
)
@click.option("--once", is_flag=True, help="Stop after one turn.")
@click.option("--max-turns", type=click.IntRange(min=1), help="Stop after so many turns.")
@click.option(
    "--ttl",
    type=click.IntRange(min=10, max=3600),
    default=90,
    show_default=True,
    help="Seconds after which the session is gone when nothing is heard of it.",
)
@click.option(
    "--user-turn-file",
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="A file that is touched at each turn of a user's: such a turn ends a row of automatic ones.",
)
def command(*, name: str, arguments: tuple[str, ...], namespace: str, url: str, **options: Any) -> None:
    """Attach SESSION, claim turns and run COMMAND once for each of them.

    SIGTERM lets a turn under way finish and then stops; a second one ends the command too. The exit code is 0 after a
    clean stop, 1 after an error (with --once also when the turn was given back), and 2 for bad input.
    """
    if shutil.which(arguments[0]) is None:
        raise click.UsageError(f"the command {arguments[0]!r} is not found or cannot be run")
    limit = 1 if options["once"] else options["max_turns"]
    how = attached.How(
        ttl=options["ttl"],
        max_turns=limit,
        user_turn_file=options["user_turn_file"],
        at_terminal=sys.stdin.isatty(),
    )
    run = turnrun.Command(arguments, options["log"])
    where, token = _sidecar(url, options["token_file"], options["state_dir"])
    try:
        completed = asyncio.run(_attach(where, token, (namespace, name), how, run))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except ports.DeliveryError as error:
        _fail(error.failure)
    raise SystemExit(1 if options["once"] and completed == 0 else 0)


def _sidecar(url: str, token_file: pathlib.Path | None, state_dir: pathlib.Path | None) -> tuple[str, wire.Token]:
    """Where the sidecar is, and the token for it."""
    if state_dir is None:
        if token_file is None:
            raise click.UsageError("--token-file or --state-dir is needed")
        return url, wire.file_token(token_file)
    try:
        url, _ = address.find(state_dir)
    except LookupError as error:
        raise click.UsageError(str(error)) from None
    # The token is looked up for each request: another run of the same state writes another.
    return url, lambda: address.find(state_dir)[1]


async def _attach(url: str, token: wire.Token, name: tuple[str, str], how: attached.How, run: turnrun.Command) -> int:
    async with wire.Wire(url, token) as connection:
        known = attached.Attached(session.SessionClient(connection, *name), clock.SystemClock(), how, run)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, known.stop)
        return await known.run()


def _fail(failure: failures.Failure) -> NoReturn:
    click.echo(f"Error: {failure.message}", err=True)
    raise SystemExit(1)
