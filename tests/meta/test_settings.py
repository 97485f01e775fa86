"""A setting that nothing reads is a promise that is not kept, so each process has to read all that it is told."""

import ast
import functools
from collections.abc import Iterator

from tests.meta import places

ROOT_CLASS = "BaseSettings"


def _last(node: ast.expr | None) -> str:
    """`X` of `X`, `module.X` and `"module.X"`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.rpartition(".")[2]
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@functools.cache
def _nodes() -> tuple[ast.AST, ...]:
    """Every node of the sources of Vigil."""
    return tuple(node for path in places.sources(places.VIGIL) for node in ast.walk(ast.parse(path.read_text())))


def _families() -> dict[str, list[ast.ClassDef]]:
    """Every class of settings by its name, with itself and those that it inherits from."""
    found: dict[str, list[ast.ClassDef]] = {ROOT_CLASS: []}
    classes = [node for node in _nodes() if isinstance(node, ast.ClassDef)]
    while new := [
        (node, base) for node in classes for base in map(_last, node.bases) if base in found and node.name not in found
    ]:
        for node, base in new:
            assert node.name not in found, f"two classes of settings are called {node.name}"
            found[node.name] = [node, *found[base]]
    return found


def _processes() -> dict[str, list[ast.ClassDef]]:
    """The classes that a process loads: those that no other one inherits from."""
    found = _families()
    inherited = {node.name for family in found.values() for node in family[1:]}
    return {name: family for name, family in found.items() if name not in inherited | {ROOT_CLASS}}


def _fields(family: list[ast.ClassDef]) -> set[str]:
    return {
        each.target.id
        for node in family
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }


def _loads(value: ast.expr, name: str) -> bool:
    """Whether this is a call such as `settings.load(settings.NAME)`."""
    return isinstance(value, ast.Call) and _last(value.func) == "load" and name in map(_last, value.args)


def _values(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[str]:
    """The variables of a function that hold the settings of this class."""
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if _last(argument.annotation) == name:
            yield argument.arg
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _loads(node.value, name):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _read(within: ast.AST, variables: set[str]) -> set[str]:
    """The attributes of these variables that are read there."""
    return {
        node.attr
        for node in ast.walk(within)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in variables
    }


def _read_by_the_process(name: str, family: list[ast.ClassDef]) -> set[str]:
    functions = [node for node in _nodes() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    read = {found for function in functions for found in _read(function, set(_values(function, name)))}
    properties = [
        each
        for node in family
        for each in node.body
        if isinstance(each, ast.FunctionDef) and "property" in map(_last, each.decorator_list) and each.name in read
    ]
    return read | {found for each in properties for found in _read(each, {"self"})}


def test_a_process_reads_every_setting_that_it_is_told() -> None:
    unread = {
        f"{name}.{field}"
        for name, family in _processes().items()
        for field in _fields(family) - _read_by_the_process(name, family)
    }
    assert unread == set()


def test_each_process_has_one_class_of_settings_and_shares_only_what_is_common() -> None:
    assert {name: [node.name for node in family[1:]] for name, family in _processes().items()} == {
        "OperatorSettings": ["Common"],
        "SidecarSettings": ["Common"],
    }
