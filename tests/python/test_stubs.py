"""The stub names all public functions and classes, with their parameters and defaults."""

import ast
import inspect
import pathlib

import spry

STUB = pathlib.Path(spry.__file__).with_name("__init__.pyi")


def stubbed(body):
    """Returns functions by name. With overloads, the last one."""
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def parameters(node):
    """Returns (name, default as text or None) of each parameter of a function of the stub."""
    a = node.args
    plain = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
    named = [*zip(plain, defaults, strict=True), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    if a.kwarg:
        named.append((a.kwarg, None))
    return [(arg.arg, None if default is None else ast.unparse(default)) for arg, default in named]


def compare(function, node):
    told = parameters(node)
    found = [p for p in inspect.signature(function).parameters.values()]
    assert [name for name, _ in told] == [p.name for p in found], node.name
    for (name, default), p in zip(told, found, strict=True):
        if default not in (None, "...") and p.default is not inspect.Parameter.empty:
            assert default == repr(p.default), f"{node.name}: {name}"


def test_functions():
    functions = stubbed(ast.parse(STUB.read_text()).body)
    for name, node in functions.items():
        compare(getattr(spry, name), node)
    public = {name for name in spry.__all__ if inspect.isfunction(getattr(spry, name))}
    assert public == set(functions)


def test_classes():
    classes = {node.name: node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)}
    classes = {name: node for name, node in classes.items() if not name.startswith("_")}  # only in the stub
    assert set(classes) == {name for name in spry.__all__ if inspect.isclass(getattr(spry, name))}
    for name, node in classes.items():
        for method, stub in stubbed(node.body).items():
            found = inspect.getattr_static(getattr(spry, name), method)
            if not isinstance(found, property) and not method.startswith("__"):
                compare(found, stub)


def test_a_missing_parameter_is_seen():
    node = ast.parse("def reorder(A, method='rcm'): ...").body[0]
    try:
        compare(spry.reorder, node)
    except AssertionError:
        return
    raise AssertionError("the parameter check was not missed")
