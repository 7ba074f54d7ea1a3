"""Find the buffers that no code writes to, such as tables of positions, so that they need not travel.

A buffer is a table if each line that names it, in the files of the model's classes and in the script, only reads it, as
x + self.table[:n] does. What cannot be followed counts as written: arguments of unknown functions, other names for the
buffer, a loop over all buffers.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from typing import Any, Iterator, Optional

# Methods and attributes that have no memory of the buffer, those that may share it, and functions of torch that read.
_MEASURES = frozenset("abs all allclose any clone cos device dim dtype equal exp item max mean min ndim numel repeat "
                      "shape sin size std sum tobytes tolist".split())
_METHODS = frozenset("T bfloat16 contiguous cpu cuda detach double expand expand_as flatten float half numpy permute "
                     "reshape squeeze t to transpose type_as unsqueeze view".split())
_FUNCTIONS = frozenset("add allclose cat conv1d conv2d conv3d cos cross dot einsum equal exp gather index_select "
                       "linear matmul mm bmm mul outer sin softmax stack sub sum where".split())
_ALL = frozenset("buffers named_buffers _buffers __dict__ setattr vars".split())


def is_table(torch: Any, model: Any, module: Any, name: str) -> bool:
    """Tell whether no code writes to the buffer of the module after its __init__."""
    if type(module).__module__.split(".")[0] == "torch" or isinstance(module, torch.jit.ScriptModule):
        return False  # statistics of BatchNorm and the like are written by compiled code
    paths = {_path(kind) for each in model.modules() for kind in type(each).__mro__
             if kind.__module__.split(".")[0] not in ("torch", "builtins", "abc", "typing")}
    paths.add(getattr(sys.modules.get("__main__"), "__file__", None))
    return all(path is not None and name not in _written(path) and None not in _written(path) for path in paths)


def _path(kind: type) -> Optional[str]:
    try:
        return inspect.getsourcefile(kind)
    except (TypeError, OSError):
        return None


@functools.lru_cache(None)
def _written(path: str) -> frozenset:
    """Return the names of attributes that lines of the file may write to. None is among them if these may be all."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
    except (OSError, ValueError, SyntaxError):
        return frozenset([None])
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.comprehension))
             and getattr(getattr(node.iter, "func", None), "attr", "") in ("buffers", "named_buffers")]
    items = {name.id for loop in loops for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
    return frozenset(_writes(tree, [], False, ({id(loop.iter.func) for loop in loops}, items)))


def _writes(node: ast.AST, above: list, begins: bool, loops: tuple) -> Iterator[Optional[str]]:
    """Yield names. above: the nodes around this one, the nearest last. begins: it is part of an __init__.

    loops: those over all buffers, by the ids of their calls and the names of their variables, which are only read.
    """
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        begins = getattr(node, "name", "") == "__init__"
    if isinstance(node, ast.Attribute) and not begins and not _reads(node, above):
        yield node.attr
    dynamic = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) > 1 \
        and not isinstance(node.args[1], ast.Constant)
    named = getattr(node, "attr", getattr(node, "id", ""))
    if dynamic or named in _ALL and id(node) not in loops[0]:
        yield None
    if isinstance(node, ast.Name) and named in loops[1] and isinstance(node.ctx, ast.Load) and not _reads(node, above):
        yield None
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and not begins:
        yield node.value  # getattr and its kind
    for child in ast.iter_child_nodes(node):
        yield from _writes(child, above + [node], begins, loops)


def _reads(node: ast.AST, above: list) -> bool:
    """Tell whether the value of the node goes into a new tensor or a number, and nowhere else."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    parent, rest = above[-1], above[:-1]
    if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    if isinstance(parent, ast.Subscript):
        return node is parent.slice or _reads(parent, rest)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _MEASURES or parent.attr in _METHODS and _reads(parent, rest)
    if isinstance(parent, ast.Call) and node is parent.func:
        return isinstance(node, ast.Attribute) and node.attr in _METHODS and _reads(parent, rest)
    if isinstance(parent, ast.Call):
        function = parent.func
        return (isinstance(function, ast.Attribute) and function.attr in _FUNCTIONS and not parent.keywords
                and isinstance(function.value, (ast.Name, ast.Attribute))
                and ast.unparse(function.value) in ("torch", "F", "nn.functional", "torch.nn.functional"))
    return isinstance(parent, ast.AugAssign) and node is parent.value or isinstance(parent, ast.Expr)
