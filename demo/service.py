"""The local service that the demo watches: one pipeline, whose first attempt fails and waits to be retried."""

import asyncio

from aiohttp import web

BUILD_SECONDS = 4.0
"""How long a job runs."""


class Pipeline:
    """A pipeline of two jobs; the second fails in the first attempt."""

    def __init__(self) -> None:
        self.attempt = 0
        self.jobs: dict[str, str] = {}
        self.retry()

    def retry(self) -> None:
        """Begin the next attempt."""
        self.attempt += 1
        self.jobs = {"build": "running", "test": "waiting"}

    @property
    def state(self) -> str:
        """`running`, `failed` or `succeeded`."""
        states = set(self.jobs.values())
        if "failed" in states:
            return "failed"
        return "succeeded" if states == {"succeeded"} else "running"

    async def run(self) -> None:
        """Let the jobs make progress until the pipeline succeeded."""
        while self.state != "succeeded":
            await asyncio.sleep(BUILD_SECONDS)
            if self.jobs["build"] == "running":
                self.jobs = {"build": "succeeded", "test": "running"}
            elif self.jobs["test"] == "running":
                self.jobs["test"] = "failed" if self.attempt == 1 else "succeeded"

    def described(self) -> dict[str, object]:
        """The document that the service answers with."""
        jobs = [{"name": name, "state": state} for name, state in self.jobs.items()]
        return {"id": 42, "repository": "acme/api", "attempt": self.attempt, "state": self.state, "jobs": jobs}


def application(pipeline: Pipeline) -> web.Application:
    """The service: GET shows the pipeline, POST …/retry begins the next attempt."""

    async def show(_request: web.Request) -> web.Response:
        return web.json_response(pipeline.described())

    async def retry(_request: web.Request) -> web.Response:
        pipeline.retry()
        return web.json_response(pipeline.described(), status=202)

    app = web.Application()
    app.add_routes([web.get("/pipelines/42", show), web.post("/pipelines/42/retry", retry)])
    return app
