"""`python -m tests.githubsim WORLD [--port N]`: a GitHub on loopback, by hand."""

import argparse
import asyncio
import pathlib
import time

from tests.githubsim import server, worlds


async def _run(world: pathlib.Path, port: int) -> None:
    async with server.serve(worlds.load(world), port) as github:
        print(f"{github.url}/api/graphql answers for {world.name}; end it with Ctrl-C", flush=True)
        began = time.monotonic()
        start = github.clock.now()
        while True:
            await asyncio.sleep(0.5)
            github.clock.set(start + time.monotonic() - began)


def main() -> None:
    """Serve a world until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.githubsim", description=__doc__)
    parser.add_argument("world", type=pathlib.Path, metavar="WORLD", help="a world file, see tests/githubsim/README.md")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="a port; a free one if it is not given")
    asked = parser.parse_args()
    try:
        asyncio.run(_run(asked.world, asked.port))
    except KeyboardInterrupt:
        return
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
