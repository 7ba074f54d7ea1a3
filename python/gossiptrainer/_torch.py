"""Torch modules as the values that travel, and the steps of their optimizers."""

from __future__ import annotations

import copy
import ctypes
import functools
import io
import itertools
import sys
import types
import warnings
from typing import Any, Callable, Iterator, List, Optional

from ._link import Error, say
from ._staging import Staging
from ._tree import note_doubles, rebuild, shape_text, walk

LARGEST = 1e15  # of what travels: peers take larger values for those of a run that diverges
STAGE_ALL: Any = None  # in tests, what stands for torch.cuda when parameters of the CPU are copied as those of accelerators
WRAPPERS = ("DistributedDataParallel", "DataParallel")
DIVIDERS = ("FullyShardedDataParallel", "DeepSpeedEngine")  # each process has a part of the parameters only


def is_module(value: Any) -> bool:
    """Tell whether the value is a torch module."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def unwrap(module: Any) -> Any:
    """Return the module inside those of DistributedDataParallel and torch.compile."""
    while True:
        if type(module).__name__ in WRAPPERS:
            module = module.module
        elif "_orig_mod" in module._modules:
            module = module._modules["_orig_mod"]
        else:
            return module


def has_leaves(tree: Any) -> bool:
    """Tell whether a tree has tensors that an optimizer can train where they are."""
    torch = sys.modules.get("torch")
    return torch is not None and not is_module(tree) and any(
        isinstance(leaf, torch.Tensor) and leaf.is_leaf and leaf.requires_grad for _, leaf in walk(tree))


@functools.lru_cache(None)
def _loose_class() -> type:
    import torch

    class Loose(torch.nn.Module):
        """The tensors of a tree, as the parameters of a module."""

        def __init__(self, tree: Any) -> None:
            super().__init__()
            self._parameters.update({name: leaf for name, leaf in walk(tree) if isinstance(leaf, torch.Tensor)})

    return Loose


def _type(tensor: Any) -> str:
    return str(tensor.dtype).split(".")[-1]


def _refuse_divided(model: Any) -> None:
    """Raise an Error if a library keeps a part of each parameter in each process: the vector would have parts only."""
    for name, module in model.named_modules():
        for kind in type(module).__mro__:
            if kind.__name__ in DIVIDERS:
                raise Error(f"{name or 'the model'} is a {kind.__name__}, which divides the parameters among processes: "
                            "train with DDP")
    for name, parameter in model.named_parameters():
        if hasattr(parameter, "ds_id"):
            raise Error(f"{name} is divided among processes by DeepSpeed ZeRO 3: train with DDP")


def _held(holder: Any, leaf: str) -> Any:
    """Return the tensor of that name, or None. The dictionaries of torch.jit have no get."""
    return holder[leaf] if leaf in holder else None


class _Slot:
    """One tensor of the model, and its part of the vector."""

    def __init__(self, name: str, tensor: Any, holder: dict, leaf: str) -> None:
        self.name, self.holder, self.leaf = name, holder, leaf
        self.shape, self.count, self.first = tensor.shape, tensor.numel(), tensor
        self.dtype = tensor.dtype
        self.twins: list = []  # other tensors on the same memory
        self.offset, self.view, self.address = 0, None, 0
        self.sent: Any = None  # of a float64 tensor: what the vector held when it was last brought up to date

    def tensor(self) -> Any:
        """Return the tensor of now; the script may have put another one there."""
        return self.holder[self.leaf]

    def exists(self) -> bool:
        """Tell whether there is such a tensor, of this shape."""
        tensor = _held(self.holder, self.leaf)
        return tensor is not None and tensor.shape == self.shape


class Module:
    """The values of a torch module.

    The vector is row-major, whatever the strides of a parameter, so that peers with other memory formats agree.
    Contiguous float32 tensors of the CPU become views of the vector, so that a step copies nothing. Others are
    copied: those of accelerators through pinned memory, and those of other types as differences.
    """

    def __init__(self, given: Any, buffers: bool, before: Optional[Module] = None) -> None:
        """Find the tensors that travel. Those that travelled before still do, if they exist."""
        self.torch = sys.modules["torch"]
        self.given, self.buffers = given, buffers
        self.travelled = {slot.name for slot in before.slots} if before else set()
        if before is not None:
            self.model = before.model
        elif is_module(given):
            self.model = unwrap(given)
        elif has_leaves(given):
            self.model = _loose_class()(given)
        else:  # several modules
            inner = {k: unwrap(m) for k, m in given.items()} if isinstance(given, dict) else [unwrap(m) for m in given]
            self.model = (self.torch.nn.ModuleDict if isinstance(inner, dict) else self.torch.nn.ModuleList)(inner)
        _refuse_divided(self.model)
        self.staging = before.staging if before else Staging(self.torch, STAGE_ALL)
        self.frozen_later: set = before.frozen_later if before else set()  # names, of which the user was told
        self.came: set = before.came if before else set()  # names of the tensors that came from worker 0
        self.next: Optional[Module] = None  # with which the run goes on, once the peer hands over its vector
        parameters, tail = self._find(buffers)
        if not parameters:
            raise Error("the model has no parameter that requires a gradient, so there is nothing to train")
        self._place(parameters + tail)
        self.exact = sum(slot.count for slot in tail if slot in self.slots)
        self.structure = self._structure()

    def _find(self, buffers: bool) -> tuple:
        """Return slots for the trainable parameters, and for the buffers that travel. Note what stays."""
        parameters, tail = [], []
        self.own: list = []  # buffers that a checkpoint holds but that do not travel
        self.frozen: list = []
        seen: set = set()
        for path, module in self.model.named_modules():
            prefix = (path + ".").replace("_orig_mod.", "") if path else ""
            for leaf, tensor in module._parameters.items():
                if tensor is None or id(tensor) in seen:
                    continue
                seen.add(id(tensor))
                if tensor.requires_grad or prefix + leaf in self.travelled:
                    parameters.append(self._slot(prefix + leaf, tensor, module._parameters, leaf))
                else:
                    self.frozen.append((prefix + leaf, module._parameters, leaf))
            for leaf, tensor in module._buffers.items():
                if tensor is None or id(tensor) in seen or leaf in module._non_persistent_buffers_set:
                    continue
                seen.add(id(tensor))
                if prefix + leaf in self.travelled or buffers and _has_mean(tensor):
                    tail.append(self._slot(prefix + leaf, tensor, module._buffers, leaf))
                else:
                    self.own.append((prefix + leaf, module._buffers, leaf))
        return parameters, tail

    def _slot(self, name: str, tensor: Any, holder: dict, leaf: str) -> _Slot:
        if isinstance(tensor, self.torch.nn.parameter.UninitializedTensorMixin) or tensor.is_meta:
            raise Error(f"{name} has no values yet: run the model once, then join")
        if type(tensor.data).__name__ == "DTensor":
            raise Error(f"{name} is a DTensor on a mesh of {tensor.device_mesh.size()}: train with DDP, or join each "
                        "shard (not built yet)")
        if not tensor.is_floating_point():
            raise Error(f"{name} has the type {tensor.dtype}; only floating-point parameters can be averaged")
        if tensor.numel() and tensor.data_ptr() == 0:
            raise Error(f"{name} is a {type(tensor.data).__name__} without memory of its own: freeze it, or join before "
                        "it is converted")
        return _Slot(name, tensor, holder, leaf)

    def _place(self, slots: List[_Slot]) -> None:
        """Give each tensor its part of the vector. Tensors on the same memory share one."""
        by_memory: dict = {}
        self.slots: List[_Slot] = []
        self.elements = 0
        for slot in slots:
            if by_memory.setdefault(_memory(slot.first), slot) is slot:
                slot.offset = self.elements
                self.elements += slot.count
                self.slots.append(slot)
        for tensor in itertools.chain(self.model.parameters(), self.model.buffers()):
            slot = by_memory.get(_memory(tensor))
            if slot is not None and slot.first is not tensor:
                slot.twins.append(tensor)
        self.tensors = [{"name": slot.name, "shape": list(slot.shape), "dtype": _type(slot.first)}
                        for slot in self.slots]

    def check_optimizer(self, optimizer: Any) -> None:
        """Raise an Error if the optimizer trains what the model lacks."""
        own = {id(parameter) for parameter in self.model.parameters()}
        for group in getattr(optimizer, "param_groups", ()):  # one that holds several may have none
            for parameter in group["params"]:
                if id(parameter) not in own:
                    raise Error(f"the optimizer trains a parameter of shape {list(parameter.shape)} that the model "
                                "lacks: join with a list of modules, or a module, that holds all parameters")

    # -- the vector

    def _view(self, memory: Any, slot: _Slot) -> Any:
        """Return the slot's part of a vector, as a tensor with a storage of its own: one that is saved is small."""
        if slot.count == 0:
            return self.torch.empty(slot.shape)
        return self.torch.frombuffer(memory, dtype=self.torch.float32, count=slot.count,
                                     offset=4 * slot.offset).view(slot.shape)

    def attach(self, memory: Any) -> None:
        """Copy the values into the vector, which lies in memory."""
        self._lie(memory)
        with self.torch.no_grad():
            for slot in self.slots:
                slot.view.copy_(slot.tensor())
                slot.sent = slot.view.clone() if slot.dtype == self.torch.float64 else None
        note_doubles([slot.name for slot in self.slots if slot.dtype == self.torch.float64])

    def _lie(self, memory: Any) -> None:
        """Give the tensors their places in memory, in which the vector lies."""
        self.vector = self.torch.frombuffer(memory, dtype=self.torch.float32, count=self.elements)
        for slot in self.slots:
            slot.view = self._view(memory, slot)
            slot.address = slot.view.data_ptr()

    def most(self) -> int:
        """Return how many elements the vector may have, when more of the model trains: all of it, and half as many."""
        everything = sum(each.numel() for each in itertools.chain(self.model.parameters(), self.model.buffers()))
        return max(self.elements, everything) * 3 // 2

    def disown(self) -> None:
        """Give tensors that are views of the vector memory of their own."""
        for slot in self.slots:
            if slot.tensor().data_ptr() == slot.address:
                own = slot.view.clone()
                for each in [slot.tensor()] + slot.twins:
                    each.data = own

    def tensor(self) -> Any:
        """Return the vector as a tensor."""
        return self.vector

    def adopt(self) -> None:
        """Make tensors views of the vector where their memory can be used as it is."""
        for slot in self.slots:
            tensor = slot.tensor()
            if (tensor.dtype == self.torch.float32 and tensor.device.type == "cpu" and tensor.is_contiguous()
                    and not tensor.is_shared() and not STAGE_ALL):
                for each in [tensor] + slot.twins:
                    each.data = slot.view

    def _away(self) -> list:
        """Return the tensors that are not views of the vector; load_state_dict and to() may make more."""
        pairs = ((slot, slot.tensor()) for slot in self.live())
        return [(slot, tensor.detach()) for slot, tensor in pairs if tensor.data_ptr() != slot.address]

    def _split(self) -> tuple:
        """Return the tensors that are not views of the vector: those of accelerators with streams, and the others."""
        staged, plain = [], []
        for slot, tensor in self._away():
            (staged if tensor.is_cuda or STAGE_ALL else plain).append((slot, tensor))
        return staged, plain

    def gather(self) -> None:
        """Bring the vector up to date after a local step."""
        staged, plain = self._split()
        with self.torch.no_grad():
            values = self.staging.fetch([tensor for _, tensor in staged]) if staged else []
            for (slot, _), value in zip(staged + plain, values + [tensor.to("cpu") for _, tensor in plain]):
                if value.dtype in (self.torch.float32, self.torch.float64):
                    slot.view.copy_(value)
                else:  # the vector keeps what a half type cannot hold
                    slot.view.add_(value.float().sub_(slot.view.to(value.dtype)))
                if value.dtype == self.torch.float64:
                    slot.sent = slot.view.clone()

    def scatter(self) -> None:
        """Bring the tensors up to date after the peer has mixed."""
        staged, plain = self._split()
        with self.torch.no_grad():
            rooms = self.staging.room([tensor for _, tensor in staged]) if staged else []
            for (slot, tensor), room in zip(staged, rooms):
                room.copy_(self._change(slot, tensor) if room.dtype == self.torch.float64 else slot.view)
            if staged:
                self.staging.send(adding=self.torch.float64)
            for slot, tensor in plain:
                if tensor.dtype == self.torch.float64:
                    tensor.add_(self._change(slot, tensor).to(tensor.device))
                else:
                    tensor.copy_(slot.view)

    def _change(self, slot: _Slot, tensor: Any) -> Any:
        """Return what the peer has changed of a float64 tensor, which keeps the digits that float32 lacks."""
        change = slot.view.double() - (tensor.cpu() if slot.sent is None else slot.sent)
        slot.sent = slot.view.clone()
        return change

    # -- the set of parameters

    def _structure(self) -> list:
        return [(module, [id(child) for child in module._modules.values()], len(module._parameters))
                for module in self.model.modules()]

    def live(self) -> List[_Slot]:
        """Return the slots whose tensors are there. Others wait for the vector without them."""
        return self.slots if self.next is None else [slot for slot in self.slots if slot.exists()]

    def changed(self, round: int) -> bool:
        """Tell whether other tensors train than the vector holds. Replaced ones are found by their names."""
        added = False
        for module, children, count in self.structure:
            if len(module._parameters) != count or [id(child) for child in module._modules.values()] != children:
                added = self._bind()
                break
        for slot in self.slots:
            if not slot.exists():
                return True
            if slot.first.requires_grad and not slot.tensor().requires_grad and slot.name not in self.frozen_later:
                self.frozen_later.add(slot.name)
                if len(self.frozen_later) == 1:
                    say(f"{slot.name} is frozen since step {round}, and still travels, as it trained at join")
        return added or any(_held(holder, leaf) is not None and holder[leaf].requires_grad
                            for _, holder, leaf in self.frozen)

    def _bind(self) -> bool:
        """Find the tensors by their names in a model whose modules have changed. Tell whether new ones train."""
        found: dict = {}
        for path, module in self.model.named_modules():
            prefix = (path + ".").replace("_orig_mod.", "") if path else ""
            for holder in (module._parameters, module._buffers):
                found.update({prefix + leaf: (holder, leaf) for leaf, tensor in holder.items() if tensor is not None})
        known = {id(slot.tensor()) for slot in self.slots if slot.leaf in slot.holder}
        known |= {id(tensor) for slot in self.slots for tensor in slot.twins}
        for slot in self.slots:
            slot.holder, slot.leaf = found.get(slot.name, ({}, slot.leaf))
        names = {slot.name for slot in self.slots}
        frozen = {name for name, _, _ in self.frozen}
        self.frozen = [(name, *found[name]) for name in frozen if name in found]
        self.structure = self._structure()
        return any(name not in names | frozen and holder[leaf].requires_grad and id(holder[leaf]) not in known
                   for name, (holder, leaf) in found.items())

    def renew(self) -> bytes:
        """Prepare the values of another set of tensors, and return those that are new in it."""
        self.next = Module(self.given, self.buffers, self)
        had = {slot.name: slot for slot in self.slots if slot.exists()}
        self.fresh = [slot for slot in self.next.slots if slot.name not in had]
        for slot in self.slots:
            if slot.name not in had:  # its memory will be another tensor's
                slot.first.data = slot.first.data.clone()
        return b"".join(bytes(memoryview(self._flat(slot.tensor()).numpy())) for slot in self.fresh)

    def _flat(self, tensor: Any) -> Any:
        return tensor.detach().to("cpu", self.torch.float32).contiguous().view(-1)

    def start(self, values: Any) -> None:
        """Give the new tensors their first values, which keep_back lets them keep until they travel."""
        at, self.begin = 0, []
        for slot in self.fresh:
            value = self.torch.frombuffer(bytearray(values[at:at + 4 * slot.count]), dtype=self.torch.float32) \
                if slot.count else self.torch.empty(0)
            self.begin.append(value.view(slot.shape))
            at += 4 * slot.count
        self.keep_back()

    def keep_back(self) -> None:
        """Undo the local step of tensors that do not travel yet."""
        if self.next is None:
            return
        with self.torch.no_grad():
            for slot, value in zip(self.fresh, self.begin):
                if slot.exists():
                    slot.tensor().copy_(value)

    def succeed(self, memory: Any) -> Module:
        """Return the values that lie in memory from now on; the peer has put the vector there."""
        had, first = {slot.name: slot for slot in self.slots}, {id(s): v for s, v in zip(self.fresh, self.begin)}
        self.next._lie(memory)
        for slot in self.next.slots:
            if slot.dtype == self.torch.float64:
                slot.sent = first[id(slot)] if id(slot) in first else had[slot.name].sent
        self.next.adopt()
        return self.next

    def changes(self) -> float:
        """Return a number that grows by at least 1 when an optimizer changes the parameters."""
        with_gradients = [slot for slot in self.slots if slot.first.requires_grad][:4]
        versions = [slot.tensor()._version for slot in with_gradients if slot.leaf in slot.holder]
        return sum(versions) / max(1, len(with_gradients))

    # -- copies

    def clone(self) -> list:
        """Return the present values, for put."""
        return [slot.tensor().detach().clone() for slot in self.live()]

    def put(self, kept: list) -> None:
        """Take the values of clone back, bit for bit."""
        with self.torch.no_grad():
            for slot, value in zip(self.live(), kept):
                slot.tensor().copy_(value)

    def hold(self, mean: bytearray) -> None:
        """Take the values of a vector."""
        self.put([self._view(mean, slot) for slot in self.live()])

    def copy(self, mean: Optional[bytearray]) -> Any:
        """Return a deep copy of the model, with the values of the vector mean if there is one."""
        memo: dict = {}
        for module in self.model.modules():  # computed tensors, as weight_norm keeps them, refuse to be copied
            for value in itertools.chain(vars(module).values(), module._buffers.values()):
                _detach(self.torch, value, memo)
        kept = list(memo.values())
        try:
            twin = copy.deepcopy(self.model, memo)
        except Exception as problem:
            raise Error(f"the model cannot be copied ({type(problem).__name__}: {problem}): use "
                        "`with peer.averaged():`") from problem
        del kept
        if mean is not None:
            with self.torch.no_grad():
                for slot in self.live():
                    for tensor in [slot.tensor()] + slot.twins:
                        if id(tensor) in memo:
                            memo[id(tensor)].copy_(self._view(mean, slot))
                        else:  # torch.jit copies by itself
                            dict(_named(twin))[slot.name].copy_(self._view(mean, slot))
        if isinstance(self.model, _loose_class()):
            return rebuild(self.given, iter([twin._parameters.get(name, leaf) for name, leaf in walk(self.given)]))
        return twin if is_module(self.given) else type(self.given)(
            twin.items() if isinstance(self.given, dict) else iter(twin))

    def write(self, file: Any) -> None:
        """Write the state_dict to a file, with the names of the model that was unwrapped."""
        state = self.model.state_dict()
        self.torch.save({name.replace("_orig_mod.", ""): value for name, value in state.items()}, file)

    def part(self) -> None:
        """Give a forked child tensors of its own at its first forward: the vector is memory of both.

        Children that never use the model, such as the workers of a DataLoader, need no memory for it.
        """
        def call() -> None:
            forget()
            self.disown()

        forget = self.at_forward(call, training=False)

    def at_forward(self, call: Callable, training: bool = True) -> Callable:
        """Call before the next forward (in training) of the model or of a part of it. Return what forgets that.

        The hook is a global one. One of a module would get into its copies and into files of it. torch.compile warns of
        global hooks, as they may be called twice; this one is harmless then.
        """
        warnings.filterwarnings("ignore", r"Using `torch\.compile\(module\)` when there are global hooks")
        own = {id(module) for module in self.model.modules()}

        def before(module: Any, _: Any) -> None:
            if id(module) in own and (not training or module.training and self.torch.is_grad_enabled()):
                call()

        return self.torch.nn.modules.module.register_module_forward_pre_hook(before).remove

    def owns(self, each: Any) -> bool:
        """Tell whether the object's state is that of these values."""
        return each is self.given or each is self.model

    # -- what the vector does not hold

    def _state(self) -> list:
        """Return name and tensor of all that a state_dict has."""
        state = self.model.state_dict(keep_vars=True)
        return [(name.replace("_orig_mod.", ""), tensor) for name, tensor in state.items()
                if isinstance(tensor, self.torch.Tensor)]

    def contents(self) -> list:
        """Return name, shape, type and bytes of all of state_dict. What travels exactly has no bytes here."""
        travel = {id(tensor) for slot in self.live() for tensor in [slot.tensor()] + slot.twins
                  if tensor.dtype != self.torch.float64}
        return [(name, tuple(tensor.shape), _type(tensor), b"" if id(tensor) in travel else _bytes(self.torch, tensor))
                for name, tensor in self._state()]

    def receive(self, index: int, dtype: str, raw: Any) -> None:
        """Take the value of contents()[index] of another worker."""
        name, tensor = self._state()[index]
        self.came.add(name)
        with self.torch.no_grad():
            value = self.torch.frombuffer(bytearray(raw), dtype=getattr(self.torch, dtype)) if len(raw) else \
                self.torch.empty(0, dtype=getattr(self.torch, dtype))
            tensor.data.copy_(value.view(tensor.shape))

    def kept(self) -> dict:
        """Return what a checkpoint holds beside the vector: other buffers, float64, and what came from worker 0."""
        tensors = {name: holder[leaf] for name, holder, leaf in self.own}
        tensors.update({slot.name: slot.tensor() for slot in self.live() if slot.dtype == self.torch.float64})
        if self.came:
            tensors.update({name: tensor for name, tensor in self._state() if name in self.came})
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}

    def restore(self, kept: dict) -> None:
        """Take the result of kept back."""
        now = dict(self._state())
        own = {name for name, _, _ in self.own}
        with self.torch.no_grad():
            for name, value in kept.items():
                now[name].data.copy_(value)
                if name not in own:
                    self.came.add(name)

    def dump(self, content: dict) -> bytes:
        """Return the content of a checkpoint as bytes."""
        file = io.BytesIO()
        self.torch.save(content, file)
        return file.getvalue()

    def load(self, blob: bytes) -> dict:  # the checkpoint is this user's own file
        """Return what dump was given."""
        return self.torch.load(io.BytesIO(blob), map_location="cpu", weights_only=False)


def refuse_capture() -> None:
    """Raise an Error while the script captures a CUDA graph, which cannot hold an exchange."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
        raise Error("exchange outside the graph: call peer.step() after replay")


def _memory(tensor: Any) -> tuple:
    if tensor.numel() == 0 or tensor.is_meta:
        return (id(tensor),)
    return tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _has_mean(tensor: Any) -> bool:
    """Tell whether the values of a buffer have a mean that can travel: integers and masks of infinities have none."""
    empty = tensor.is_meta or hasattr(tensor, "materialize")  # of which the caller says that it has no values yet
    return tensor.is_floating_point() and (empty or bool((tensor.abs() <= LARGEST).all()))


def _bytes(torch: Any, tensor: Any) -> bytes:
    """Return the values of a tensor as bytes; none for one whose memory is elsewhere, such as of a quantized base."""
    plain = tensor.detach().cpu().contiguous()
    if plain.layout != torch.strided or plain.data_ptr() == 0:
        return b""
    return ctypes.string_at(plain.data_ptr(), plain.numel() * plain.element_size())


def _named(model: Any) -> Iterator[tuple]:
    """Yield name and tensor of all parameters and buffers, without what torch.compile adds to names."""
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        yield name.replace("_orig_mod.", ""), tensor


def _detach(torch: Any, value: Any, memo: dict) -> None:
    """Note copies of the computed tensors in the value for deepcopy."""
    if isinstance(value, torch.Tensor):
        if value.grad_fn is not None:
            memo[id(value)] = value.detach().clone()
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            _detach(torch, each, memo)
    elif isinstance(value, dict):
        for each in value.values():
            _detach(torch, each, memo)


# ---- the steps of an optimizer ---------------------------------------------------------------------------------------

def watch(optimizer: Any, before: Callable, after: Callable) -> None:
    """Call before and after each outermost step of the optimizer.

    Three nets see it. Each alone has a hole. The step of the instance is wrapped; Accelerate and others put back one
    that they kept. Hooks of torch 2 see that; torch.compile takes the hooks away. What Accelerate keeps is replaced.
    Schedulers of torch wrap step as well, before or after this. They ask for a bound method, and mark their own wrapper
    with an attribute that has to stay visible.

    Of an optimizer that holds another one, the inner step counts: the outer one may leave it out, or never be called.
    """
    outer = []
    while (inner := _inner(optimizer)) is not None:
        outer.append(optimizer)
        optimizer = inner
    local, inside = optimizer.step, False

    def step(this: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        if inside:
            return local(*args, **kwargs)
        inside = True
        try:
            before()
            result = local(*args, **kwargs)
            after()
        finally:
            inside = False
        return result

    step.__dict__.update(getattr(local, "__dict__", {}))
    optimizer.step = types.MethodType(step, optimizer)
    if hasattr(optimizer, "register_step_pre_hook"):
        optimizer.register_step_pre_hook(lambda *_: None if inside else before())
        optimizer.register_step_post_hook(lambda *_: None if inside else after())
    for each in outer:
        _replace_kept(each, optimizer.step)


def _inner(optimizer: Any) -> Any:
    """Return the only optimizer that another one holds, such as those of Accelerate and SAM."""
    found = [each for each in vars(optimizer).values() if hasattr(each, "param_groups") and hasattr(each, "step")]
    return found[0] if len(found) == 1 and found[0] is not optimizer else None


def _replace_kept(accelerated: Any, step: Callable) -> None:
    """Replace the methods that Accelerate's optimizer puts back at each step with a scaler."""
    if not hasattr(accelerated, "_optimizer_original_step_method"):
        return

    def patched(*args: Any, **kwargs: Any) -> Any:
        accelerated._accelerate_step_called = True
        return step(*args, **kwargs)

    accelerated._optimizer_original_step_method = step
    accelerated._optimizer_patched_step_method = patched
