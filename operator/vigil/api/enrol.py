"""From a Watch to its enrolment: what only the Watch's kind can check, and the values that the scheduler works with."""

import re
from collections import Counter
from typing import Any, Final, TypeVar

import pydantic

from vigil.api import convert, manifest, problems, v1alpha1
from vigil.kind import api, registry
from vigil.model import ids, wakes
from vigil.tick import enrolment

T = TypeVar("T", bound=api.Model)

InvalidSpec = problems.InvalidSpec
"""The one error of this module."""

_OBJECTION: Final = re.compile(r"([A-Za-z][^\s:]*): (.+)", re.DOTALL)
_OF_SPEC: Final = re.compile(r"objective|options([.\[].*)?", re.DOTALL)


def enrol(watch: v1alpha1.Watch, kinds: registry.Registry) -> enrolment.Enrolment:
    """The enrolment of a Watch; raises InvalidSpec with the path of what its kind does not accept."""
    spec = watch.spec
    kind = _kind(spec, kinds)
    host = _host(spec, kind)
    scope = api.Scope(namespace=watch.metadata.namespace, host=host)
    options = _parsed(kind.options, spec.options, "spec.options")
    targets = _targets(spec, kind, scope)
    _check(kind, targets, spec.objective, options)
    annotations = watch.metadata.annotations
    return enrolment.Enrolment(
        ref=manifest.ref_of(watch),
        kind=kind,
        host=host,
        targets=targets,
        objective=spec.objective,
        options=options,
        limits=convert.limits_of(spec.policy, spec.budgets, finite=kind.objectives[spec.objective].finite),
        cadence=convert.cadence_of(spec.cadence),
        credential=_credential(spec.source),
        deliver=convert.deliver_of(spec.deliver),
        created=manifest.created_of(watch),
        description=spec.description,
        suspend=spec.suspend,
        silence_until=_silence_until(annotations.get(v1alpha1.SILENCE_UNTIL, "")),
        poke=annotations.get(v1alpha1.POKE, ""),
        reset=annotations.get(v1alpha1.RESET, ""),
        exclusive=spec.exclusive,
    )


def _kind(spec: v1alpha1.WatchSpec, kinds: registry.Registry) -> api.Kind:
    kind = kinds.get(spec.kind)
    if kind is None:
        known = f"kinds are: {', '.join(kinds)}" if kinds else "no kind is enabled"
        raise InvalidSpec("spec.kind", f"there is no kind {spec.kind!r}; {known}")
    if spec.objective not in kind.objectives:
        known = ", ".join(sorted(kind.objectives))
        raise InvalidSpec(
            "spec.objective", f"the kind {kind.name!r} has no objective {spec.objective!r}; its objectives are: {known}"
        )
    return kind


def _host(spec: v1alpha1.WatchSpec, kind: api.Kind) -> str:
    host = (spec.source.host or kind.default_host).lower()
    if kind.access is api.Access.CLUSTER:
        if host != kind.default_host.lower():
            raise InvalidSpec("spec.source.host", f"the kind {kind.name!r} reads the operator's own cluster only")
        if spec.source.credential_ref is not None:
            raise InvalidSpec(
                "spec.source.credentialRef",
                f"the kind {kind.name!r} takes no credential: it reads the operator's own cluster",
            )
    return host


def _credential(source: v1alpha1.Source) -> wakes.SecretKey | None:
    return None if source.credential_ref is None else convert.secret_of(source.credential_ref)


def _targets(spec: v1alpha1.WatchSpec, kind: api.Kind, scope: api.Scope) -> tuple[enrolment.Target, ...]:
    targets: list[enrolment.Target] = []
    places: dict[ids.SubjectId, int] = {}
    for index, item in enumerate(spec.subjects):
        path = f"spec.subjects[{index}]"
        target = _target(_parsed(kind.subject, item, path), kind, scope, path)
        if target.id in places:
            raise InvalidSpec(path, f"names the same subject as spec.subjects[{places[target.id]}]: {target.label}")
        places[target.id] = index
        targets.append(target)
    return _with_distinct_labels(targets)


def _target(subject: api.Subject, kind: api.Kind, scope: api.Scope, path: str) -> enrolment.Target:
    try:
        return enrolment.Target(kind.subject_id(subject, scope), subject, scope, subject.label())
    except ValueError as error:
        raise InvalidSpec(path, str(error)) from error


def _with_distinct_labels(targets: list[enrolment.Target]) -> tuple[enrolment.Target, ...]:
    """The targets, each with a label of its own: a disposition names its subject by the label."""
    count = Counter(target.label for target in targets)
    return tuple(
        target if count[target.label] == 1 else enrolment.Target(target.id, target.subject, target.scope, target.id)
        for target in targets
    )


def _check(kind: api.Kind, targets: tuple[enrolment.Target, ...], objective: str, options: api.Model) -> None:
    for index, target in enumerate(targets):
        objection = kind.check(target.subject, objective, options)
        if objection is not None:
            raise InvalidSpec(*_placed(objection, f"spec.subjects[{index}]"))


def _placed(objection: str, subject_path: str) -> tuple[str, str]:
    """The path and the sentence of an objection, which begins with `objective`, an option or a field of the subject."""
    found = _OBJECTION.fullmatch(objection)
    if found is None:
        return subject_path, objection
    field, message = found.groups()
    return f"{'spec' if _OF_SPEC.fullmatch(field) else subject_path}.{field}", message


def _parsed(model: type[T], value: Any, root: str) -> T:
    try:
        return model.model_validate(value)
    except pydantic.ValidationError as error:
        first, *others = problems.of(error, root, model)
        raise InvalidSpec(first.path, first.message, *others) from error


def _silence_until(text: str) -> ids.Instant | None:
    path = f"metadata.annotations[{v1alpha1.SILENCE_UNTIL}]"
    if not text:
        return None
    try:
        return manifest.time_at(path, text)
    except problems.InvalidManifest as error:
        raise InvalidSpec(error.path, error.message) from error
