"""Trees of arrays as the values that travel: nested dicts, lists, tuples, dataclasses, and what JAX knows as a tree."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from collections.abc import Mapping
from typing import Any, Callable, Iterator, List, Optional

from ._link import Error, say

FLOATS = ("float16", "bfloat16", "float32", "float64")


def nothing() -> None:
    """Do nothing."""


def is_array(value: Any) -> bool:
    """Tell whether the value is a NumPy array."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def shape_text(shape: Any) -> str:
    """Return a shape as in 7x30."""
    return "x".join(map(str, shape)) or "one number"


def _is_node(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple)) or _is_registered(value) or \
        dataclasses.is_dataclass(value) and not isinstance(value, type)


def _is_registered(value: Any) -> bool:
    """Tell whether JAX knows the value's class as a tree, such as those of flax and equinox."""
    jax = sys.modules.get("jax")
    if jax is None or value is None or isinstance(value, (dict, list, tuple)) or is_array(value):
        return False
    return not jax.tree_util.all_leaves([value])


def _unfold(node: Any) -> tuple:
    """Return the children of a registered tree with their paths, and what makes the tree of them."""
    return sys.modules["jax"].tree_util.tree_flatten_with_path(node, is_leaf=lambda child: child is not node)


def _children(node: Any) -> list:
    """Return keys and children in an order that does not depend on how a dictionary was made."""
    if _is_registered(node):
        return [(str(path[0]).strip(".[]'\"<>").replace("flat index ", ""), child) for path, child in _unfold(node)[0]]
    if isinstance(node, Mapping):
        return sorted(node.items(), key=lambda item: str(item[0]))
    if isinstance(node, (list, tuple)):
        return list(zip(getattr(node, "_fields", range(len(node))), node))
    return [(field.name, getattr(node, field.name)) for field in dataclasses.fields(node)]


def walk(tree: Any, path: str = "") -> Iterator[tuple]:
    """Yield name and value of each leaf."""
    if not _is_node(tree):
        yield path or "x", tree
        return
    for key, child in _children(tree):
        yield from walk(child, f"{path}.{key}" if path else str(key))


def rebuild(tree: Any, leaves: Iterator) -> Any:
    """Return a tree of the same structure with these leaves, in the order of walk."""
    if not _is_node(tree):
        return next(leaves)
    made = [(key, rebuild(child, leaves)) for key, child in _children(tree)]
    if _is_registered(tree):
        return _unfold(tree)[1].unflatten([value for _, value in made])
    if isinstance(tree, dict):
        twin = copy.copy(tree)  # keeps the order, and the default of a defaultdict
        twin.update(made)
        return twin
    if isinstance(tree, Mapping):
        return type(tree)(dict(made))
    if isinstance(tree, (list, tuple)):
        values = [value for _, value in made]
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)
    return dataclasses.replace(tree, **dict(made))


def _type(leaf: Any) -> str:
    """Return the name of an array's type, such as float32; nothing for what is no array."""
    if not (hasattr(leaf, "dtype") and hasattr(leaf, "shape")) or leaf.shape is None:
        return ""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(leaf, numpy.generic):
        return ""  # a number, not an array
    return str(leaf.dtype).split(".")[-1]


def _numpy(leaf: Any) -> Any:
    """Return an array of NumPy, torch or JAX as one of NumPy."""
    if hasattr(leaf, "detach"):
        leaf = leaf.detach().cpu()
        leaf = leaf.float() if "bfloat16" in str(leaf.dtype) else leaf
    return sys.modules["numpy"].asarray(leaf)


def _like(leaf: Any, value: Any) -> Any:
    """Return the NumPy array value as an array of the type, and on the device, of leaf."""
    if hasattr(leaf, "detach"):
        torch = sys.modules["torch"]
        made = torch.from_numpy(value).to(leaf.device, leaf.dtype)
        if isinstance(leaf, torch.nn.Parameter):
            return torch.nn.Parameter(made, leaf.requires_grad)
        return made.requires_grad_(leaf.requires_grad)
    value = value.astype(leaf.dtype, copy=False)
    return value if is_array(leaf) else sys.modules["jax"].device_put(value, leaf.sharding)


@dataclasses.dataclass
class _Part:
    """A leaf's part of the vector."""

    name: str
    shape: tuple
    dtype: str
    first: int
    last: int
    sent: Any = None  # of a float64 leaf: what the vector held when the leaf was last brought up to date


class Tree:
    """The float arrays of a tree travel. The script never sees one change: each exchange makes a new tree."""

    model = None
    exact = 0
    next = None  # another set of arrays, of which there is none

    def __init__(self, tree: Any) -> None:
        import numpy  # the leaves are arrays

        self.numpy, self.params = numpy, tree
        self.parts: List[_Part] = []
        self.elements = 0
        for name, leaf in walk(tree):
            dtype = _type(leaf)
            if dtype.startswith("complex"):
                raise Error(f"{name} is {dtype}: only real floating-point values can be averaged")
            if dtype in FLOATS:
                size = int(numpy.prod(leaf.shape))
                self.parts.append(_Part(name, tuple(leaf.shape), dtype, self.elements, self.elements + size))
                self.elements += size
        if self.elements == 0:
            raise Error("join needs a torch.nn.Module, a list of modules, or a tree of float arrays, not "
                        f"{type(tree).__name__}" + ("" if self.parts else " without a float array"))
        self.tensors = [{"name": p.name, "shape": list(p.shape), "dtype": p.dtype} for p in self.parts]

    def attach(self, memory: Any) -> None:
        """Copy the values into the vector, which lies in memory."""
        self.view = self.numpy.frombuffer(memory, dtype="float32", count=self.elements)
        for part, leaf in self._pairs():
            self._of(part)[...] = _numpy(leaf)
            part.sent = self._of(part).copy()
        note_doubles([part.name for part in self.parts if part.dtype == "float64"])

    def _of(self, part: _Part, vector: Any = None) -> Any:
        return (self.view if vector is None else vector)[part.first:part.last].reshape(part.shape)

    def _pairs(self) -> list:
        """Return the parts with their leaves in the present tree."""
        return list(zip(self.parts, (leaf for _, leaf in walk(self.params) if _type(leaf) in FLOATS)))

    def _replace(self, values: Iterator) -> None:
        """Put these arrays of NumPy in the place of the leaves that travel."""
        self.params = rebuild(self.params, iter([
            _like(leaf, next(values)) if _type(leaf) in FLOATS else leaf for _, leaf in walk(self.params)]))

    def take(self, tree: Any) -> None:
        """Make this tree the present one. Its float arrays are those of join, in name and shape."""
        found = {name: tuple(leaf.shape) for name, leaf in walk(tree) if _type(leaf) in FLOATS}
        for part in self.parts:
            if found.get(part.name) != part.shape:
                now = shape_text(found[part.name]) if part.name in found else "missing"
                raise Error(f"{part.name} is {now}, but was {shape_text(part.shape)} at join: exchange needs the tree "
                            "of join")
        more = found.keys() - {part.name for part in self.parts}
        if more:
            raise Error(f"{min(more)} was no float array at join: exchange needs the tree of join")
        self.params = tree

    def gather(self) -> None:
        """Bring the vector up to date after a local step."""
        for part, leaf in self._pairs():
            view, value = self._of(part), _numpy(leaf)
            if part.dtype in ("float32", "float64"):
                view[...] = value
                part.sent = view.copy() if part.dtype == "float64" else None
            else:  # the vector keeps what a half type cannot hold
                view += value.astype("float32") - view.astype(value.dtype).astype("float32")

    def scatter(self) -> None:
        """Make the tree of what the peer has mixed."""
        self._replace(iter([self._mixed(part, leaf) for part, leaf in self._pairs()]))

    def _mixed(self, part: _Part, leaf: Any) -> Any:
        view = self._of(part)
        if part.dtype != "float64":
            return view.copy()
        sent, part.sent = part.sent, view.copy()
        return _numpy(leaf) + (view.astype("float64") - sent)  # keeps the digits that float32 lacks

    def changed(self, round: int) -> bool:
        """The set of arrays cannot change: take refuses other trees."""
        return False

    def keep_back(self) -> None:
        """All arrays travel."""

    def most(self) -> int:
        """Return how many elements the vector may have."""
        return self.elements

    def changes(self) -> int:
        """Steps by hand are not watched."""
        return 0

    def tensor(self) -> Any:
        """Return the vector as a tensor."""
        return sys.modules["torch"].from_numpy(self.view)

    def adopt(self) -> None:
        """Arrays never share the memory of the vector."""

    def disown(self) -> None:
        """Arrays never share the memory of the vector."""

    def part(self) -> None:
        """Arrays never share the memory of the vector."""

    def at_forward(self, call: Callable) -> Callable:
        """There is no forward to wait for."""
        return nothing

    def owns(self, each: Any) -> bool:
        """Tell whether the object's state is that of these values."""
        return False

    def clone(self) -> Any:
        """Return the present values, for put. JAX deletes arrays that the script gives away to a compiled function."""
        return [_numpy(leaf).copy() for _, leaf in self._pairs()]

    def put(self, kept: Any) -> None:
        """Take the values of clone back. Leaves that do not travel stay as they are now."""
        self._replace(iter([_numpy(leaf) for _, leaf in walk(kept) if _type(leaf) in FLOATS]))

    def hold(self, mean: bytearray) -> None:
        """Take the values of a vector."""
        vector = self.numpy.frombuffer(mean, dtype="float32")
        self._replace(iter([self._of(part, vector).copy() for part in self.parts]))

    def copy(self, mean: Optional[bytearray]) -> Any:
        """Return a copy of the tree, with the values of the vector mean if there is one."""
        kept = self.params
        if mean is None:
            self._replace(iter([_numpy(leaf).copy() for _, leaf in self._pairs()]))
        else:
            self.hold(mean)
        made, self.params = self.params, kept
        return made

    def write(self, file: Any) -> None:
        """Write the arrays to a file, by their names."""
        self.numpy.savez(file, **{part.name: _numpy(leaf) for part, leaf in self._pairs()})

    # -- what the vector does not hold

    def contents(self) -> list:
        """Return name, shape, type and bytes of all that the vector cannot hold exactly."""
        return [(part.name, part.shape, part.dtype, _numpy(leaf).tobytes() if part.dtype == "float64" else b"")
                for part, leaf in self._pairs()]

    def receive(self, index: int, dtype: str, raw: Any) -> None:
        """Take the value of contents()[index] of another worker."""
        values = [_numpy(leaf) for _, leaf in self._pairs()]
        values[index] = self.numpy.frombuffer(raw, dtype=dtype).reshape(self.parts[index].shape).copy()
        self._replace(iter(values))

    def kept(self) -> dict:
        """Return what a checkpoint holds beside the vector, by name."""
        return {name: _numpy(leaf) if _type(leaf) in FLOATS else leaf for name, leaf in walk(self.params)
                if _type(leaf) != "float32" and (_type(leaf) or isinstance(leaf, (bool, int, float, str, type(None))))}

    def restore(self, kept: dict) -> None:
        """Take the result of kept back."""
        self.params = rebuild(self.params, iter([
            leaf if name not in kept else _like(leaf, kept[name]) if _type(leaf) in FLOATS else kept[name]
            for name, leaf in walk(self.params)]))

    def dump(self, content: dict) -> bytes:
        """Return the content of a checkpoint as bytes."""
        return pickle.dumps(content)

    def load(self, blob: bytes) -> dict:  # the checkpoint is this user's own file
        """Return what dump was given."""
        return pickle.loads(blob)


class Array(Tree):
    """One NumPy array, which the script changes in place."""

    def __init__(self, x: Any) -> None:
        if not is_array(x) or x.dtype not in ("float32", "float64") or not x.flags.writeable or x.size == 0:
            raise Error("join_array needs a NumPy array of float32 or float64 that can be written, such as "
                        f"numpy.array(values, dtype='float32'), not {type(x).__name__}")
        super().__init__(x)

    def _replace(self, values: Iterator) -> None:
        self.params[...] = next(values)

    def clone(self) -> Any:
        """Return the present values, for put."""
        return self.params.copy()

    def copy(self, mean: Optional[bytearray]) -> Any:
        """Return a copy of the array, or the mean."""
        if mean is None:
            return self.params.copy()
        return self._of(self.parts[0], self.numpy.frombuffer(mean, dtype="float32")).astype(self.params.dtype)

    def restore(self, kept: dict) -> None:
        """Take the result of kept back."""
        for value in kept.values():
            self.params[...] = value


def note_doubles(names: list) -> None:
    """Say once that float64 values travel as float32."""
    if names:
        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        say(f"{names[0]}{more} is float64: it is exchanged with float32's 24 bits; its further digits stay on this "
            "worker")
