"""From a manifest to a Watch: one object from the API server, or every document of a file."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import pydantic

from vigil.api import convert, problems, schema, times, v1alpha1, yamljson
from vigil.model import ids, limits, wakes

T = TypeVar("T", bound=pydantic.BaseModel)

InvalidManifest = problems.InvalidManifest
"""The one error of this module."""

_LISTS: Final = {("v1", "List"), (v1alpha1.API_VERSION, f"{v1alpha1.KIND}List")}


def parse_watch(manifest: Any) -> v1alpha1.Watch:
    """One Watch as JSON; raises InvalidManifest."""
    # An object that kopf shows is a view: its parts are plain.
    plain = dict(manifest) if yamljson.is_object(manifest) else manifest
    _expect_watch(plain)
    watch = parse_part(v1alpha1.Watch, plain, "")
    created_of(watch)
    return watch


def parse_part(model: type[T], value: Any, root: str, *, bare_zero: bool = False) -> T:
    """A part of a manifest that stands at `root`; raises InvalidManifest.

    `bare_zero` lets the number 0 stand for the duration 0s, where no API server is asked.
    """
    try:
        return model.model_validate(value, context={schema.BARE_ZERO: bare_zero})
    except pydantic.ValidationError as error:
        first, *others = problems.of(error, root, model)
        raise InvalidManifest(first.path, first.message, *others) from error


def parse_limits(policy: Any, budgets: Any, *, finite: bool) -> limits.Limits:
    """`spec.policy` and `spec.budgets` on their own, None for what is not given; raises InvalidManifest."""
    return convert.limits_of(
        parse_part(v1alpha1.PolicySpec, {} if policy is None else policy, "spec.policy", bare_zero=True),
        parse_part(v1alpha1.BudgetsSpec, {} if budgets is None else budgets, "spec.budgets", bare_zero=True),
        finite=finite,
    )


def load_manifests(text: str | bytes, source: str) -> list[v1alpha1.Watch]:
    """Every Watch of a YAML or JSON text, lists opened; raises InvalidManifest, whose messages begin with `source`."""
    try:
        documents = yamljson.load_all(text)
    except yamljson.YamlError as error:
        raise InvalidManifest("", f"{source}: {error}") from error
    watches = [_in_file(manifest, source, place) for place, manifest in _opened(documents)]
    if not watches:
        raise InvalidManifest("", f"{source}: there is no Watch in it")
    _refuse_twins(watches, source)
    return watches


def ref_of(watch: v1alpha1.Watch) -> wakes.WatchRef:
    """Which Watch it is. One from a file has a uid made of its name, and a generation made of its spec."""
    metadata = watch.metadata
    made_up = hashlib.sha256(f"{metadata.namespace}/{metadata.name}".encode()).hexdigest()[:32]
    return wakes.WatchRef(
        uid=ids.WatchUid(metadata.uid or made_up),
        namespace=metadata.namespace,
        name=metadata.name,
        generation=metadata.generation or _generation(watch.spec),
    )


def created_of(watch: v1alpha1.Watch) -> ids.Instant:
    """When it was made, 0.0 where nobody noted it; raises InvalidManifest for a time that is none."""
    created = watch.metadata.creation_timestamp
    return 0.0 if created is None else time_at("metadata.creationTimestamp", created)


def time_at(path: str, text: str) -> ids.Instant:
    """The instant of a field that holds a time with its offset; raises InvalidManifest."""
    try:
        return times.parse(text)
    except ValueError as error:
        raise InvalidManifest(path, str(error)) from error


def _generation(spec: v1alpha1.WatchSpec) -> int:
    """A number that is another one for another spec, since nobody counts the generations of a file."""
    canonical = json.dumps(spec.model_dump(mode="json", by_alias=True), sort_keys=True)
    return 1 + int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:4], "big") // 2


def _expect_watch(manifest: Any) -> None:
    if not yamljson.is_object(manifest):
        raise InvalidManifest("", f"a Watch is an object, not {problems.json_type(manifest)}")
    version, kind = _type_of(manifest)
    if (version, kind) != (v1alpha1.API_VERSION, v1alpha1.KIND):
        what = f"{kind or 'something without a kind'} ({version or 'without an apiVersion'})"
        wanted = f"apiVersion {v1alpha1.API_VERSION}, kind {v1alpha1.KIND}"
        raise InvalidManifest("", f"this is {what}, and only Watches are read: {wanted}")


def _type_of(manifest: Any) -> tuple[Any, Any]:
    return (manifest.get("apiVersion"), manifest.get("kind")) if yamljson.is_object(manifest) else (None, None)


def _opened(documents: list[Any]) -> Iterator[tuple[str, Any]]:
    """Each manifest with the words for its place in the text."""
    for number, document in enumerate(documents, start=1):
        place = f"document {number}"
        if _type_of(document) in _LISTS and yamljson.is_list(document.get("items")):
            yield from ((f"{place}, items[{index}]", item) for index, item in enumerate(document["items"]))
        else:
            yield place, document


def _in_file(manifest: Any, source: str, place: str) -> v1alpha1.Watch:
    try:
        return parse_watch(manifest)
    except InvalidManifest as error:
        raise _placed(error, f"{source}: {_named(manifest, place)}") from error


def _placed(error: InvalidManifest, place: str) -> InvalidManifest:
    first, *others = error.problems
    return InvalidManifest("", f"{place}: {first}", *others)


def _named(manifest: Any, place: str) -> str:
    metadata = manifest.get("metadata") if yamljson.is_object(manifest) else None
    name = metadata.get("name") if yamljson.is_object(metadata) else None
    return f"{place} ({name})" if isinstance(name, str) else place


def _refuse_twins(watches: list[v1alpha1.Watch], source: str) -> None:
    seen: set[tuple[str, str]] = set()
    for watch in watches:
        name = (watch.metadata.namespace, watch.metadata.name)
        if name in seen:
            raise InvalidManifest("metadata.name", f"{source}: the Watch {'/'.join(name)} stands twice")
        seen.add(name)
