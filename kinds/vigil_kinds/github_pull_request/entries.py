"""How an entry of this kind is made: nearly all of them are news that may be folded into one wake."""

from typing import Final

from vigil.model import observations

REVISION: Final = observations.ResetsOn.REVISION
NEVER: Final = observations.ResetsOn.NEVER
WAKE: Final = observations.Severity.WAKE
TERMINAL: Final = observations.Severity.TERMINAL
IMMEDIATE: Final = observations.Severity.IMMEDIATE
SUCCEEDED: Final = observations.Outcome.SUCCEEDED
FAILED: Final = observations.Outcome.FAILED

BRIEF_LIMIT: Final = 600
"""Characters of a whole brief."""


def wake(
    key: str,
    brief: str,
    *,
    resets_on: observations.ResetsOn = REVISION,
    severity: observations.Severity = WAKE,
    hold: observations.Hold = 0,
    episode: str = "",
    detail: str = "",
) -> observations.Observation:
    """An entry that is no end and no claim."""
    return observations.Observation(
        key=key,
        severity=severity,
        resets_on=resets_on,
        brief=_bounded(brief),
        hold=hold,
        episode=episode,
        detail=detail,
    )


def end(key: str, brief: str, outcome: observations.Outcome) -> observations.Observation:
    """An end that the provider tells of: it belongs to the subject, whatever the revision."""
    return observations.Observation(key, TERMINAL, NEVER, brief=_bounded(brief), outcome=outcome)


def claim(key: str, brief: str, *, ends: bool) -> observations.Observation:
    """This kind's own judgement that all is well, once it has stood for the Watch's settle time."""
    return observations.Observation(
        key=key,
        severity=TERMINAL if ends else WAKE,
        resets_on=REVISION,
        brief=_bounded(brief),
        outcome=SUCCEEDED,
        claim=True,
        hold=observations.SETTLE,
    )


def _bounded(brief: str) -> str:
    return brief if len(brief) <= BRIEF_LIMIT else f"{brief[: BRIEF_LIMIT - 1]}…"
