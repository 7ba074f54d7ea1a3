"""Let a training script gossip: its parameters mix with those of other workers after each step.

    import torch, torch.nn.functional as F, gossip

    model = Net()
    opt = torch.optim.AdamW(model.parameters(), 3e-4)
    peer = gossip.join(model, opt)          # all start equal; opt.step() now gossips
    for x, y in peer.shard(loader):         # this worker's part of the data, until the run ends
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        peer.log(loss)

`peer lab FILE -- python3 train.py` runs such a script as eight workers of one machine, and
`peer run FILE -- python3 train.py` as one worker of a LAN. The run file names the algorithm, the bits
and the graph. Without a peer (PEER_SOCKET is not set) the script runs alone.

A step hands one vector of float32 numbers to the peer and takes the mixed one back. The vector holds the
trainable parameters in the order of model.named_parameters(), then the floating-point buffers, which the peers
exchange in full precision. docs/format/bridge.md specifies the messages.

Python 3.9 or later; nothing but the standard library, and torch or NumPy where the script uses them.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import hashlib
import io
import itertools
import json
import math
import mmap
import os
import pickle
import random
import select
import signal
import socket
import struct
import sys
import threading
import traceback
import types
from typing import Any, Callable, Iterable, Iterator, Optional

__all__ = ["Error", "Finished", "Peer", "join", "join_array"]
__version__ = "0.1.0"

# The kinds of messages, and their header: kind, flags, round, length of the body.
_HELLO, _WELCOME, _GO, _END, _STEP, _LOG, _SCORE, _STATE, _AVERAGE, _MEAN, _BYE, _ERROR, _START, _VECTOR = range(1, 15)
_HEADER = struct.Struct("<IIQQ")
_VERSION = 1
_WITH_STATE = 1  # flag of WELCOME and GO: a blob follows, or is wanted
_MEMORY = "memfd" if hasattr(os, "memfd_create") else "frames"  # how the vector travels to the peer
_STAGE_ALL = False  # tests send parameters of the CPU through the staging buffer of accelerators


class Error(RuntimeError):
    """The run cannot go on, or a call is wrong. The message says what to do."""


class Finished(Error):
    """A step came after the end of the run."""


class _Refusal(Error):
    """The peer ended the run with a message of its own."""


def _say(text: str) -> None:
    print("gossip: " + text, file=sys.stderr, flush=True)


# ---- seeds -----------------------------------------------------------------------------------------------------------

# Scripts are reproducible without a line of their own: the peer gives the run's seed in PEER_SEED. Models are made
# before join, so this file seeds each library when both are imported, in either order. All workers make the same
# model. join then seeds by rank, so that dropout differs from worker to worker.

_SEED = os.environ.get("PEER_SEED")
_seeded: dict = {}  # by library: what tells a generator that only this file has seeded


def _number(*address: Any) -> int:
    """Return a seed of 56 bits: a script's own small seed is not one of these."""
    return int.from_bytes(hashlib.sha256(" ".join(map(str, address)).encode()).digest()[:7], "little")


def _mark(name: str) -> Any:
    """Return what tells whether a generator was seeded again, or used. For torch, use leaves it as it is."""
    library = sys.modules[name]
    if name == "torch":
        return library.initial_seed()
    return pickle.dumps(library.getstate() if name == "random" else library.random.get_state())


def _seed(name: str, number: int) -> None:
    library = sys.modules[name]
    if name == "numpy":
        library.random.seed([number >> 32, number & 0xffffffff])
    elif name == "torch":
        library.manual_seed(number)
    else:
        library.seed(number)
    _seeded[name] = _mark(name)


def _seed_by_rank(rank: int) -> None:
    for name, mark in _seeded.items():
        if _mark(name) == mark:  # else the script has chosen
            _seed(name, _number(_SEED, rank))


class _Seeder:
    """Seeds torch and NumPy as soon as they are imported."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in ("numpy", "torch"):
            return None
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in sys.meta_path
                                  if finder is not self and hasattr(finder, "find_spec"))), None)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_seed(module: Any) -> None:
            load(module)
            _seed(name, _number(_SEED))

        spec.loader.exec_module = load_and_seed
        return spec


if _SEED is not None:
    for _library in ("random", "numpy", "torch"):
        if _library in sys.modules:
            _seed(_library, _number(_SEED))
    sys.meta_path.insert(0, _Seeder())


# ---- joining ---------------------------------------------------------------------------------------------------------

_joined: Optional[Peer] = None  # one per process


def join(model: Any, optimizer: Any = None, *, buffers: bool = True, rounds: Optional[int] = None) -> Peer:
    """Make a torch module take part in the run, and return the peer.

    All workers start with the parameters of rank 0, or with those of the checkpoint. With an optimizer,
    each optimizer.step() also gossips. Without one, call peer.step() after each local step.

    buffers: average the floating-point buffers of the model too (the statistics of BatchNorm).
    rounds: without a peer, the run ends after this number of steps.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        raise Error(f"join needs a torch.nn.Module, not {type(model).__name__}; for arrays, call gossip.join_array(x)")
    values = _Module(model, buffers)
    if optimizer is not None:
        values.check(optimizer)
    peer = _start(values, [model] + ([optimizer] if optimizer is not None else []), rounds)
    if optimizer is not None:
        peer._wrap(optimizer)
    return peer


def join_array(x: Any, *, rounds: Optional[int] = None) -> Peer:
    """Make a NumPy array take part in the run, and return the peer.

    Change x in place, then call peer.step(): x holds the mixed values afterwards. This is the way for JAX and others:

        peer = gossip.join_array(x)
        while not peer.done:
            x -= rate * gradient(x)
            peer.step()

    rounds: without a peer, the run ends after this number of steps.
    """
    return _start(_Array(x), [], rounds)


def _start(values: Any, objects: list, rounds: Optional[int]) -> Peer:
    global _joined
    if _joined is not None:
        raise Error("this process has joined already: join once, with a module that holds all models")
    path = os.environ.get("PEER_SOCKET")
    peer = Peer(values, objects, rounds)
    if path:
        peer._connect(path)
    else:
        _say("PEER_SOCKET is not set, so this script runs alone, as rank 0 of 1: peer.shard passes once over "
             "its data, and peer.done needs join(rounds=...); with others: peer lab FILE -- python3 " + os.path.basename(sys.argv[0] or "train.py"))
    _joined = peer
    return peer


# ---- the peer --------------------------------------------------------------------------------------------------------

class Peer:
    """This worker of the run.

    rank, size: this worker's number, from 0, and how many there are.
    round: the round that the next step ends, from 0. rounds: those of the whole run, where known.
    done: the run has ended; a further step raises Finished. why: finished, target, interrupted or stopped.
    run, seed: name and seed of the run.
    """

    def __init__(self, values: Any, objects: list, rounds: Optional[int]) -> None:
        self.rank, self.size, self.round, self._done, self.why = 0, 1, 0, rounds == 0, ""
        self.rounds, self.run, self.seed = rounds, "", 0
        self._values, self._objects = values, objects
        self._link: Optional[_Link] = None
        self._process = os.getpid()
        self._closed = False
        self._owed = False  # the peer waits for the state before this round
        self._random: Optional[dict] = None  # numbers at the end of the last step, where the state is owed
        self._spare: Optional[bytes] = None  # the state at the end of that step, of a script that steps by hand
        self._forget: Callable = _nothing  # stops waiting for the next forward
        self._by_hand = True  # the script calls step itself
        self._named = False  # the script calls boundary
        self._unable = False  # the last state could not be taken
        self._checkpoint: Optional[dict] = None  # what _give_state gave, if the run goes on from there
        self._restored = self._placed = True  # the objects, and the shard, are as the checkpoint says
        self._shard: Optional[_Shard] = None  # the one that runs
        self._epoch = 0  # of the next pass over the data
        self._batch_round: Optional[int] = None  # the round that began with this batch
        self._last_logged = -1
        self._averages = 0  # calls so far, by which all workers recognise the same one
        self._stepped = False

    def _connect(self, path: str) -> None:
        values = self._values
        link = self._link = _Link(path, values.elements)
        values.attach(link.memory)
        _watch_over(self)
        link.hello({"version": _VERSION, "client": "gossip.py", "elements": values.elements, "exact": values.exact,
                    "tensors": values.tensors, "memory": link.kind})
        _, flags, _, body = self._await(_WELCOME)
        welcome = json.loads(body)
        if welcome.get("version") != _VERSION:
            raise Error(f"the peer speaks version {welcome.get('version')} of the bridge, this file {_VERSION}: "
                        "use the one that `peer python path` names")
        self.rank, self.size, self.rounds = welcome["rank"], welcome["size"], welcome["rounds"]
        self.run, self.round, self.seed = welcome["run"], welcome["round"], welcome["seed"]
        _seed_by_rank(self.rank)
        if flags & _WITH_STATE:
            self._checkpoint = values.load(self._await(_STATE)[3])
            self._restored = self._placed = False
        values.adopt()
        self._turn()
        if self._checkpoint is not None:
            self._last_logged = self.round - 1
            self._averages = self._checkpoint["averages"]
            self._epoch = self._checkpoint["shard"]["epoch"]
            if self._checkpoint["names"] == _names(self._objects):
                self.state(*self._objects)
            _set_random(self._checkpoint["random"])
        self._await_place()

    # -- rounds

    @property
    def done(self) -> bool:
        """Tell whether the run has ended. The script that looks has come to the end of its last round."""
        if self._done and self._owed and self._shard is None:
            self._send_state(self._state_now(None))
        return self._done

    def step(self) -> None:
        """Hand over the values, which the script has changed by its local step, and take back the mixed ones.

        join(model, optimizer) makes optimizer.step() do this. It raises Finished after the end of the run.
        """
        self._ready()
        self._stepped = True
        if self._link is None:
            self.round += 1
            self._done = self.round == self.rounds
            return
        with self._link.whole():
            self._values.gather()
            self._link.send(_STEP, round=self.round, vector=True)
            self._turn()
            self._await_place()

    def _turn(self) -> None:
        """Wait until the vector is the script's again, for the next round or for good."""
        kind, flags, self.round, body = self._await(_GO, _END)
        if kind == _END:
            self._done, self.why = True, json.loads(body).get("why", "")
            self._link.ending = self.why
        self._values.scatter()
        self._owed = bool(flags & _WITH_STATE)

    def _ready(self) -> None:
        self._check_usable()
        if self._done:
            raise Finished(f"the run ended after {self.round} rounds: leave the loop when peer.done is true "
                           "(peer.shard does so itself)")
        if not self._restored:
            raise Error(f"the checkpoint holds the states of {self._checkpoint['names']}: "
                        "call peer.state with the same objects before the first step")
        if self._owed and self._named:
            self._tell_unable("this round did not begin at a call of peer.boundary()")
            self._send_state(None)
        elif self._owed:  # no place has come: the objects are at least as they were before the local step
            self._send_state(self._spare if self._by_hand else self._state_now(self._random))

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise Error("this process was forked from the one that joined: only that one may use the peer")
        if self._closed:
            raise Error("the peer is closed: use it inside the with block, or before the script ends")

    def _await(self, *kinds: int) -> tuple:
        """Return the next message, which must be of one of the kinds."""
        kind = _VECTOR
        while kind == _VECTOR:  # the vector of the WELCOME or END that follows, and now in memory
            try:
                kind, flags, round, body = self._link.receive()
            except (EOFError, OSError):
                _leave(_GONE)
        if kind == _ERROR:
            raise _Refusal(_advice(body))
        if kind not in kinds:
            raise Error(f"the peer sent a message of kind {kind} where one of {kinds} was due: "
                        "use the gossip.py that `peer python path` names")
        return kind, flags, round, body

    def _wrap(self, optimizer: Any) -> None:
        """Make optimizer.step() end with a step of the peer.

        Schedulers of torch wrap step as well, before or after this. They ask for a bound method, and mark their own
        wrapper with an attribute that has to stay visible.
        """
        local = optimizer.step

        def step(this: Any, *args: Any, **kwargs: Any) -> Any:
            self._ready()
            result = local(*args, **kwargs)
            self.step()
            return result

        step.__dict__.update(local.__dict__)
        optimizer.step = types.MethodType(step, optimizer)
        self._by_hand = False

    # -- data

    def shard(self, data: Iterable) -> Iterable:
        """Iterate over this worker's part of the data, pass after pass, until the run is done.

        For a torch DataLoader, the part is every size-th sample: a new loader has the same batch size and
        workers, and shuffles by the run's seed, the rank and the pass if the given one shuffles. For any other
        iterable (and for a DataLoader with a sampler of its own) the part is every size-th item.

        After a resume it goes on with the batch that was next. Without a peer it passes over the data once.
        """
        self._check_usable()
        return _Shard(self, data)

    def log(self, loss: Any) -> None:
        """Tell the peer the loss of this round's mini-batch. Call it before or after the step."""
        self._check_usable()
        value = float(loss.detach() if hasattr(loss, "detach") else loss)
        if self._batch_round is not None:
            round = self._batch_round  # the step of this batch may be done already
        else:  # without a shard: the step just done, unless its loss is known
            round = self.round - 1 if self._last_logged < self.round - 1 else self.round
        if self._link is None:
            return
        self._last_logged = round
        with self._link.whole():
            self._link.send(_LOG, {"loss": value if math.isfinite(value) else None}, round=round)  # as JSON can

    def evaluate(self, accuracy: Any = None, loss: Any = None) -> None:
        """Tell the peer the accuracy (0 to 1) or the loss of the model on data held out."""
        self._check_usable()
        score = {name: float(value) for name, value in (("accuracy", accuracy), ("loss", loss)) if value is not None}
        if not score or not all(map(math.isfinite, score.values())):
            raise Error(f"evaluate needs a finite accuracy or loss, not {score or 'none'}")
        if self._link is not None:
            with self._link.whole():
                self._link.send(_SCORE, score, round=self.round)

    def average(self) -> Any:
        """Return a copy of the model (or array) with the mean over all workers.

        Every worker must call it equally often, in the same rounds. The worker's own values stay as they are.
        """
        self._check_usable()
        if self._link is None:
            return self._values.copy(None)
        self._averages += 1
        with self._link.whole():
            self._values.gather()
            own = bytes(self._link.vector)
            self._link.send(_AVERAGE, round=self._averages, vector=True)
            self._await(_MEAN)
            mean = bytearray(self._link.vector)
            self._link.vector[:] = own
        return self._values.copy(mean)

    # -- checkpoints

    # What a loop does after its step belongs to the round that has ended: it moves schedulers and counters. So the peer
    # asks for the state in its answer to a step, and gets it when the loop has come to the next batch, forward or
    # boundary.

    def boundary(self) -> None:
        """Say that each round begins here, at the top of the loop: a checkpoint holds the states as they are here.

        Without it, the states of objects are taken at the next batch of peer.shard or at the next forward of the model
        in training, whichever comes first. Random numbers are those at the next batch, else those at the end of the
        step. A loop over peer.shard needs no boundary, and there it does nothing.
        """
        self._check_usable()
        if self._shard is not None:
            return
        if self._checkpoint is not None and not self._stepped and not self._named:
            _set_random(self._checkpoint["random"])  # lines between join and the loop may have drawn some
        self._named = True
        if self._owed:
            self._send_state(self._state_now(None))

    def state(self, *objects: Any) -> None:
        """Say which objects' states a checkpoint holds beside the parameters, and restore them after a resume.

        An object is a module, an optimizer, a scheduler or anything else with state_dict() and load_state_dict(), or a
        NumPy array. The default is the model and the optimizer of join. Always added are the random
        numbers of torch, NumPy and Python, and the position of peer.shard. Call it before the first step.
        """
        self._check_usable()
        for each in objects:
            if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")) and not _is_array(each):
                raise Error(f"{type(each).__name__} has no state_dict and load_state_dict, which state needs")
        self._objects = list(objects)
        if self._checkpoint is None or self._stepped:
            return
        if self._checkpoint["names"] != _names(objects):
            raise Error(f"the checkpoint holds the states of {self._checkpoint['names']}, not of {_names(objects)}: "
                        "resume with the script that wrote it")
        for each, saved in zip(objects, self._checkpoint["objects"]):
            if _is_array(each):
                each[...] = saved
            elif each is self._values.model:
                self._values.restore(saved)
            else:
                each.load_state_dict(saved)
        self._restored = True

    def _await_place(self) -> None:
        """Prepare for the place of the loop at which the state is due, if the peer waits for it."""
        if not self._owed:
            return
        self._random = _get_random()
        if self._by_hand and self._stepped and not self._named:
            self._spare = self._state_now(self._random)
        if not self._named and not self._done:
            self._forget = self._values.at_forward(lambda: self._send_state(self._state_now(self._random)))

    def _state_now(self, numbers: Optional[dict]) -> Optional[bytes]:
        """Return the state, with these random numbers or those of now. None: an object has none to give."""
        try:
            states = [each.copy() if _is_array(each) else self._values.kept() if each is self._values.model
                      else each.state_dict() for each in self._objects]
            shard = self._shard.place() if self._shard else {"epoch": self._epoch, "position": 0, "random": {}}
            blob = self._values.dump({"names": _names(self._objects), "objects": states,
                                      "random": numbers or _get_random(), "shard": shard, "averages": self._averages})
        except Exception as problem:  # costs a checkpoint, and not the run
            what = traceback.format_exception_only(type(problem), problem)[-1].strip()
            self._tell_unable(what + _where(problem.__traceback__))
            return None
        self._unable = False
        return blob

    def _tell_unable(self, why: str) -> None:
        if not self._unable:
            _say(f"no checkpoint of round {self.round}, as there is no state of this script: {why}. The run goes on; "
                 "from an older checkpoint it would repeat more rounds")
        self._unable = True

    def _send_state(self, blob: Optional[bytes]) -> None:
        """Give the peer the state that it waits for. An empty one says that there is none."""
        self._forget()
        self._owed, self._spare, self._forget = False, None, _nothing
        with self._link.whole():
            self._link.send(_STATE, blob or b"", round=self.round)

    # -- the end

    def close(self) -> None:
        """Tell the peer that the script ends well. The end of the with block, or of the script, does this."""
        if self._owed and not self._closed and os.getpid() == self._process:
            self._send_state(self._state_now(None if self._named else self._random))
        self._say_last(_BYE, {})

    def _fail(self, kind: type, problem: BaseException, trace: Any) -> None:
        what = "".join(traceback.format_exception_only(kind, problem)).strip()[:2000]
        self._say_last(_ERROR, {"message": what + _where(trace), "hint": "the script's output has the traceback"})

    def _say_last(self, kind: int, body: dict) -> None:
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        if self._link is None:
            return
        self._link.closed = True
        if self._link.refused:
            return
        self._link.send(kind, body, round=self.round)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: Optional[type], problem: Optional[BaseException], trace: Any) -> bool:
        if kind is None or issubclass(kind, Finished):  # a loop without a condition ends so
            self.close()
            return kind is not None
        if not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            self._fail(kind, problem, trace)
        return False


def _nothing() -> None:
    pass


def _names(objects: Iterable) -> str:
    return ", ".join(type(each).__name__ for each in objects) or "nothing"


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _where(trace: Any) -> str:
    """Name the line of the script, not of this file or a library, from which a traceback comes."""
    main = getattr(sys.modules["__main__"], "__file__", None)
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename == main]
    return f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""


def _advice(body: bytes) -> str:
    said = json.loads(body)
    return said.get("message", "the peer ended the run") + ("\n  " + said["hint"] if said.get("hint") else "")


# ---- a worker's part of the data -------------------------------------------------------------------------------------

_PATIENCE = 100  # batches without a step, and a whole pass, before the script is told that it forgot to


class _Shard:
    def __init__(self, peer: Peer, data: Iterable) -> None:
        if hasattr(data, "__next__"):
            raise Error("shard passes over the data more than once, which an iterator cannot do: "
                        "give a DataLoader, a list, or an object whose __iter__ starts again")
        self.peer = peer
        self.data: Any = data
        self.epoch = self.position = 0  # of the batch that comes next
        self.start: dict = {}  # random numbers when this pass began
        self.order: Optional[_Order] = None  # of samples, where the loader is one of ours
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(data, torch.utils.data.DataLoader):
            self._split(torch, data)

    def _split(self, torch: Any, loader: Any) -> None:
        """Replace a loader whose sampler is torch's own by one over every size-th sample."""
        tools = torch.utils.data
        shuffled = type(loader.sampler) is tools.RandomSampler and not loader.sampler.replacement \
            and loader.sampler.num_samples == len(loader.dataset)
        if (type(loader).__iter__ is not tools.DataLoader.__iter__  # iterates in its own way
                or isinstance(loader.dataset, tools.IterableDataset)
                or not shuffled and type(loader.sampler) is not tools.SequentialSampler
                or loader.batch_sampler is not None and type(loader.batch_sampler) is not tools.BatchSampler):
            return
        peer = self.peer
        self.order = _Order(range(peer.rank, len(loader.dataset), peer.size), shuffled)
        if len(loader.dataset) < peer.size:
            raise Error(f"the data has {len(loader.dataset)} samples, fewer than the {peer.size} workers of the run")
        more = {"prefetch_factor": loader.prefetch_factor} if loader.num_workers else {}
        self.data = tools.DataLoader(
            loader.dataset, batch_size=loader.batch_size, sampler=self.order, drop_last=loader.drop_last,
            num_workers=loader.num_workers, collate_fn=loader.collate_fn, pin_memory=loader.pin_memory,
            timeout=loader.timeout, worker_init_fn=loader.worker_init_fn, generator=torch.Generator(),
            multiprocessing_context=loader.multiprocessing_context, persistent_workers=loader.persistent_workers,
            **more)
        if len(self.data) == 0:
            raise Error(f"this worker has {len(self.order.samples)} samples, fewer than a batch of "
                        f"{loader.batch_size}: make the batch smaller, or do without drop_last")

    def __iter__(self) -> Iterator:
        peer = self.peer
        idle = 0  # batches since the last step
        peer._shard = self
        try:
            while not peer.done:
                round, passed = peer.round, 0
                for batch in self._pass():
                    idle = 0 if peer.round != round else idle + 1
                    round, passed = peer.round, passed + 1
                    peer._batch_round = round
                    yield batch
                if peer.done or peer._link is None and peer.rounds is None:
                    return
                if not passed and not self.position:
                    raise Error(f"the data has no item for rank {peer.rank} of {peer.size}")
                if idle >= max(_PATIENCE, passed):
                    raise Error(f"{idle} batches went by without a step: call step of the optimizer that join got, "
                                "or peer.step()")
        finally:
            if peer._shard is self:
                if peer._owed and peer.done and not peer._closed:  # the script left its loop before the next batch
                    peer._send_state(peer._state_now(None))
                peer._shard, peer._batch_round = None, None

    def _pass(self) -> Iterator:
        """Iterate over the batches of one pass. Each state is given before the next batch is fetched."""
        peer = self.peer
        resumed = None if peer._placed else peer._checkpoint
        self.epoch, self.position, self.start = peer._epoch, 0, _get_random()
        peer._epoch, peer._placed = peer._epoch + 1, True
        skip = resumed["shard"]["position"] if resumed else 0
        if resumed:
            self.start = resumed["shard"]["random"] or self.start
            _set_random(self.start)
        batches = self._open(skip)
        for _ in itertools.islice(batches, skip if self.order is None or self.data.num_workers else 0):
            pass  # what was seen before the checkpoint
        self.position = skip
        if resumed:
            _set_random(resumed["random"])
        while True:
            if peer._owed:
                peer._send_state(peer._state_now(None))
            if peer.done:
                return
            try:
                batch = next(batches)
            except StopIteration:
                return
            self.position += 1
            yield batch

    def _open(self, skip: int) -> Iterator:
        peer = self.peer
        if self.order is None:
            return itertools.islice(iter(self.data), peer.rank, None, peer.size)
        digest = hashlib.sha256(f"{peer.seed} {peer.rank} {self.epoch}".encode()).digest()
        self.data.generator.manual_seed(int.from_bytes(digest[:7], "little"))
        self.order.draw(self.data.generator)
        if self.data.num_workers == 0:  # the samples themselves use no random numbers of workers, so none are fetched
            self.order.now = self.order.now[skip * (self.data.batch_size or 1):]
        return iter(self.data)

    def place(self) -> dict:
        return {"epoch": self.epoch, "position": self.position, "random": self.start}


class _Order:
    """A sampler over the samples of one worker."""

    def __init__(self, samples: range, shuffled: bool) -> None:
        self.samples, self.shuffled, self.now = samples, shuffled, list(samples)

    def draw(self, generator: Any) -> None:
        self.now = list(self.samples)
        if self.shuffled:
            order = sys.modules["torch"].randperm(len(self.samples), generator=generator)
            self.now = [self.samples[i] for i in order.tolist()]

    def __iter__(self) -> Iterator:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


def _get_random() -> dict:
    state: dict = {"python": random.getstate()}
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        state["numpy"] = numpy.random.get_state()
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def _set_random(state: dict) -> None:
    if "python" in state:
        random.setstate(state["python"])
    if "numpy" in state:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "torch" in state:
        sys.modules["torch"].set_rng_state(state["torch"])
    if "cuda" in state:
        sys.modules["torch"].cuda.set_rng_state_all(state["cuda"])


# ---- the values that travel ------------------------------------------------------------------------------------------

class _Slot:
    """One tensor of the model, and its part of the vector."""

    def __init__(self, name: str, tensor: Any, holder: dict, leaf: str) -> None:
        self.name, self.holder, self.leaf = name, holder, leaf
        self.shape, self.count, self.first = tensor.shape, tensor.numel(), tensor
        self.twins: list = []  # other tensors on the same memory: (name, tensor)
        self.offset, self.view, self.address = 0, None, 0

    def tensor(self) -> Any:
        return self.holder[self.leaf]  # the script may have put another one there


class _Module:
    """The values of a torch module.

    The vector is row-major, whatever the strides of a parameter, so that peers with other memory formats agree.
    Contiguous float32 parameters of the CPU become views of the vector, so that a step copies nothing. Others
    are copied: those of accelerators through one pinned buffer, those of other types as differences, so
    that the vector keeps a float32 master.
    """

    def __init__(self, model: Any, buffers: bool) -> None:
        self.torch = sys.modules["torch"]
        self.model = model
        self.pinned: Any = None
        parameters, tail, self.own = [], [], []  # own: buffers that a checkpoint holds but that do not travel
        seen: set = set()
        for path, module in model.named_modules():
            prefix = path + "." if path else ""
            for leaf, tensor in module._parameters.items():
                if tensor is not None and tensor.requires_grad and id(tensor) not in seen:
                    seen.add(id(tensor))
                    parameters.append(self._slot(prefix + leaf, tensor, module._parameters, leaf))
            for leaf, tensor in module._buffers.items():
                if tensor is None or id(tensor) in seen or leaf in module._non_persistent_buffers_set:
                    continue
                seen.add(id(tensor))
                if buffers and tensor.is_floating_point():
                    tail.append(self._slot(prefix + leaf, tensor, module._buffers, leaf))
                    if not tensor.isfinite().all():
                        raise Error(f"the buffer {prefix + leaf} has values that are not finite, which have no mean: "
                                    "register it with persistent=False, or join with buffers=False")
                else:
                    self.own.append((prefix + leaf, module._buffers, leaf))
        if not parameters:
            raise Error("the model has no parameter that requires a gradient, so there is nothing to train")
        self._place(parameters + tail)
        self.exact = sum(slot.count for slot in tail if slot in self.slots)

    def _slot(self, name: str, tensor: Any, holder: dict, leaf: str) -> _Slot:
        if isinstance(tensor, self.torch.nn.parameter.UninitializedTensorMixin) or tensor.is_meta:
            raise Error(f"{name} has no values yet: run the model once, then join")
        if not tensor.is_floating_point():
            raise Error(f"{name} has the type {tensor.dtype}; only floating-point parameters can be averaged")
        return _Slot(name, tensor, holder, leaf)

    def _place(self, slots: list) -> None:
        """Give each tensor its part of the vector. Tensors on the same memory share one."""
        by_memory: dict = {}
        self.slots, self.elements = [], 0
        for slot in slots:
            if by_memory.setdefault(_memory(slot.first), slot) is slot:
                slot.offset = self.elements
                self.elements += slot.count
                self.slots.append(slot)
        for name, tensor in itertools.chain(self.model.named_parameters(), self.model.named_buffers()):
            slot = by_memory.get(_memory(tensor))
            if slot is not None and slot.first is not tensor:
                slot.twins.append((name, tensor))
        self.tensors = [{"name": slot.name, "shape": list(slot.shape), "dtype": str(slot.first.dtype).split(".")[-1]}
                        for slot in self.slots]

    def check(self, optimizer: Any) -> None:
        own = {id(parameter) for parameter in self.model.parameters()}
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in own:
                    raise Error(f"the optimizer trains a parameter of shape {list(parameter.shape)} that the model "
                                "lacks: join with a module that holds all parameters")

    def attach(self, memory: Any) -> None:
        """Copy the values into the vector, which lies in memory."""
        self.vector = self.torch.frombuffer(memory, dtype=self.torch.float32, count=self.elements)
        with self.torch.no_grad():
            for slot in self.slots:
                slot.view = self.part(self.vector, slot)
                slot.view.copy_(slot.tensor())
                slot.address = slot.view.data_ptr()

    @staticmethod
    def part(vector: Any, slot: _Slot) -> Any:
        return vector[slot.offset:slot.offset + slot.count].view(slot.shape)

    def adopt(self) -> None:
        """Make tensors views of the vector where their memory can be used as it is."""
        for slot in self.slots:
            tensor = slot.tensor()
            if (tensor.dtype == self.torch.float32 and tensor.device.type == "cpu" and tensor.is_contiguous()
                    and not tensor.is_shared() and not _STAGE_ALL):
                for each in [tensor] + [twin for _, twin in slot.twins]:
                    each.data = slot.view

    def _away(self) -> list:
        """Return the tensors that are not views of the vector; load_state_dict and to() may make more."""
        pairs = ((slot, slot.tensor()) for slot in self.slots)
        return [(slot, tensor.detach()) for slot, tensor in pairs if tensor.data_ptr() != slot.address]

    def _staging(self, slot: _Slot) -> Any:
        """Return the slot's part of the staging buffer, which copies of accelerators reach without waiting."""
        if self.pinned is None:
            self.pinned = self.torch.empty(self.elements, pin_memory=self.torch.cuda.is_available())
        return self.part(self.pinned, slot)

    def gather(self) -> None:
        """Bring the vector up to date after a local step."""
        away = self._away()
        with self.torch.no_grad():
            values = [tensor for _, tensor in away]
            for i, (slot, tensor) in enumerate(away):
                if tensor.is_cuda or _STAGE_ALL:  # types and strides change on the accelerator, the copy is plain
                    plain = tensor.to(self.torch.float32).contiguous()
                    values[i] = self._staging(slot).copy_(plain, non_blocking=True)
            for device in {tensor.device for _, tensor in away if tensor.is_cuda}:
                self.torch.cuda.synchronize(device)
            for (slot, tensor), value in zip(away, values):
                if tensor.dtype == self.torch.float32:
                    slot.view.copy_(value)
                else:  # the master keeps what the parameter's type cannot hold
                    before = slot.view.to(tensor.dtype).double()
                    slot.view.add_(value.cpu().double() - before)

    def scatter(self) -> None:
        """Bring the tensors up to date after the peer has mixed."""
        with self.torch.no_grad():
            for slot, tensor in self._away():
                value = slot.view
                if tensor.is_cuda or _STAGE_ALL:  # gather waits before the buffer is used again
                    value = self._staging(slot).copy_(value).to(tensor.device, non_blocking=True)
                tensor.copy_(value)

    def copy(self, mean: Optional[bytearray]) -> Any:
        """Return a deep copy of the model, with the values of the vector mean if there is one."""
        twin = copy.deepcopy(self.model)
        if mean is None:
            return twin
        vector = self.torch.frombuffer(mean, dtype=self.torch.float32)
        tensors = dict(itertools.chain(twin.named_parameters(), twin.named_buffers()))
        with self.torch.no_grad():
            for slot in self.slots:
                for name in [slot.name] + [name for name, _ in slot.twins]:
                    tensor = tensors[name]
                    tensor.data = tensor.detach().clone()  # a deep copy of a view holds a copy of the whole vector
                    tensor.copy_(self.part(vector, slot))
        return twin

    def at_forward(self, call: Callable) -> Callable:
        """Call before the next forward in training of the model or of a part of it. Return what forgets that.

        The hook is a global one. One of a module would get into its copies and into files of it.
        """
        own = {id(module) for module in self.model.modules()}

        def before(module: Any, _: Any) -> None:
            if module.training and id(module) in own and self.torch.is_grad_enabled():
                call()

        return self.torch.nn.modules.module.register_module_forward_pre_hook(before).remove

    # A checkpoint of the peer holds the vector. Of the model, only other buffers go into the script's part.

    def kept(self) -> dict:
        return {name: holder[leaf].clone() for name, holder, leaf in self.own}

    def restore(self, kept: dict) -> None:
        with self.torch.no_grad():
            for name, holder, leaf in self.own:
                holder[leaf].copy_(kept[name])

    def dump(self, content: dict) -> bytes:
        file = io.BytesIO()
        self.torch.save(content, file)
        return file.getvalue()

    def load(self, blob: bytes) -> dict:  # the checkpoint is this user's own file
        return self.torch.load(io.BytesIO(blob), map_location="cpu", weights_only=False)


def _memory(tensor: Any) -> tuple:
    if tensor.numel() == 0 or tensor.is_meta:
        return (id(tensor),)
    return tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


class _Array:
    """One NumPy array as the values that travel."""

    def __init__(self, x: Any) -> None:
        if not _is_array(x) or x.dtype not in ("float32", "float64") or not x.flags.writeable or x.size == 0:
            raise Error("join_array needs a NumPy array of float32 or float64 that can be written, such as "
                        f"numpy.array(values, dtype='float32'), not {type(x).__name__}")
        self.numpy, self.x, self.elements, self.exact, self.model = sys.modules["numpy"], x, x.size, 0, None
        self.tensors = [{"name": "x", "shape": list(x.shape), "dtype": str(x.dtype)}]

    def attach(self, memory: Any) -> None:
        self.view = self.numpy.frombuffer(memory, dtype="float32", count=self.elements).reshape(self.x.shape)
        self.gather()

    def gather(self) -> None:
        self.view[...] = self.x

    def scatter(self) -> None:
        self.x[...] = self.view

    def adopt(self) -> None:
        pass

    def at_forward(self, call: Callable) -> Callable:
        return _nothing

    def copy(self, mean: Optional[bytearray]) -> Any:
        if mean is None:
            return self.x.copy()
        return self.numpy.frombuffer(mean, dtype="float32").reshape(self.x.shape).astype(self.x.dtype)

    def dump(self, content: dict) -> bytes:
        return pickle.dumps(content)

    def load(self, blob: bytes) -> dict:
        return pickle.loads(blob)


# ---- the connection --------------------------------------------------------------------------------------------------

class _Link:
    """Messages to and from the peer, and the vector, in memory that both map or in the messages themselves."""

    def __init__(self, path: str, elements: int) -> None:
        if not hasattr(socket, "AF_UNIX"):
            raise Error("this Python has no Unix sockets: run the script with Linux or macOS")
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(path)
        except OSError as problem:
            raise Error(f"no peer answers at PEER_SOCKET={path} ({problem}): the peer has ended, or another process of "
                        "this script has joined already (call join in the main process alone)") from None
        self.size = 4 * elements
        self.kind, self.memory, self._shared = self._make()
        self.vector = memoryview(self.memory)[:self.size]
        self.closed = self.refused = False  # this side said its last word, or the peer did
        self.busy, self.interrupted, self.ending = 0, False, ""
        self._sending, self._receiving = threading.Lock(), threading.RLock()

    def _make(self) -> tuple:
        """Make the memory of the vector, which neither side can shrink or grow once it is sealed."""
        if _MEMORY == "memfd":
            import fcntl
            length = max(self.size, 4096)
            try:
                shared = os.memfd_create("gossip", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
                os.ftruncate(shared, length)
                fcntl.fcntl(shared, 1033, 0x2 | 0x4)  # F_ADD_SEALS: F_SEAL_SHRINK and F_SEAL_GROW
                return "memfd", mmap.mmap(shared, length), shared
            except OSError as problem:
                _say(f"no shared memory ({problem}), so the vector travels over the socket")
        return "frames", bytearray(self.size), None

    def hello(self, content: dict) -> None:
        body = json.dumps(content).encode()
        header = _HEADER.pack(_HELLO, 0, 0, len(body))
        if self._shared is None:
            self.socket.sendall(header + body)
            self.socket.sendall(_HEADER.pack(_START, 0, 0, self.size))
            self.socket.sendall(self.vector)
            return
        sent = socket.send_fds(self.socket, [header + body], [self._shared])
        self.socket.sendall((header + body)[sent:])
        os.close(self._shared)

    def send(self, kind: int, body: Any = b"", round: int = 0, vector: bool = False) -> None:
        """Send a message. A body that is a dictionary travels as JSON; the vector travels where no memory is shared."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        if vector and self.kind == "frames":
            body = self.vector
        header = _HEADER.pack(kind, 0, round, len(body))
        try:
            with self._sending:
                if len(body) < 4096:
                    self.socket.sendall(header + bytes(body))
                else:
                    self.socket.sendall(header)
                    self.socket.sendall(body)
        except OSError:
            if not self.closed:  # at the end, a peer that is gone is no news
                self.mourn()

    def receive(self) -> tuple:
        """Return kind, flags, round and body of the next message; EOFError where the peer is gone."""
        with self._receiving:
            header = bytearray(_HEADER.size)
            self._fill(memoryview(header))
            kind, flags, round, length = _HEADER.unpack(header)
            if kind in (_GO, _MEAN, _VECTOR) and length == self.size and self.kind == "frames":
                self._fill(self.vector)
                return kind, flags, round, b""
            body = bytearray(length)
            self._fill(memoryview(body))
            self.refused = self.refused or kind == _ERROR
            return kind, flags, round, bytes(body)

    def _fill(self, room: memoryview) -> None:
        while room:
            count = self.socket.recv_into(room)
            if count == 0:
                raise EOFError
            room = room[count:]

    @contextlib.contextmanager
    def whole(self) -> Iterator:
        """Hold a KeyboardInterrupt back until a message is whole. At the end of the run, drop it."""
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1
        if self.interrupted and not self.busy and not self.ending:
            self.interrupted = False
            raise KeyboardInterrupt

    def watch(self) -> None:
        """End the process when the peer is gone, also while the script computes. Runs in a thread of its own."""
        poll = select.poll()
        poll.register(self.socket, 0)  # a hang-up is always reported
        while not poll.poll(500):
            pass
        self.mourn()

    def mourn(self) -> None:
        """End the process for the reason that the peer has given, unless the script knows already."""
        reason = _GONE
        with self._receiving:
            if self.closed or self.refused:
                return
            try:
                while True:
                    kind, _, _, body = self.receive()
                    if kind == _ERROR:
                        reason = _advice(body)
            except (EOFError, OSError):
                _leave(reason)


_GONE = "the peer is gone, so the script ends"
_leaving = threading.Lock()


def _leave(reason: str) -> None:
    """End the process now. Other threads and cleanups might wait for a peer that never answers."""
    _leaving.acquire()  # and never released: two threads may notice at once
    try:
        with contextlib.suppress(Exception):  # the outputs may be pipes to the peer, and broken
            _say(reason)
            sys.stdout.flush()
        processes = sys.modules.get("multiprocessing")
        for child in processes.active_children() if processes else ():  # such as the workers of a DataLoader
            child.kill()
    finally:
        os._exit(1)


# ---- the process -----------------------------------------------------------------------------------------------------

def _watch_over(peer: Peer) -> None:
    """Tell the peer how the script ends, notice the end of the peer, and keep forked children from both."""
    link = peer._link
    threading.Thread(target=link.watch, name="gossip", daemon=True).start()
    atexit.register(peer.close)
    os.register_at_fork(after_in_child=link.socket.close)
    earlier = sys.excepthook

    def uncaught(kind: type, problem: BaseException, trace: Any) -> None:
        if os.getpid() != peer._process:
            earlier(kind, problem, trace)
        elif issubclass(kind, KeyboardInterrupt):
            _say(f"interrupted in round {peer.round}" + _where(trace))
            if peer._owed and not peer._closed:  # objects may be halfway to their next state
                peer._send_state(peer._spare)
            peer.close()
        else:
            peer._fail(kind, problem, trace)
            if issubclass(kind, (Finished, _Refusal)):
                _say(str(problem) + _where(trace))
            else:
                earlier(kind, problem, trace)

    sys.excepthook = uncaught
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt(peer))


def _on_interrupt(peer: Peer) -> Callable:
    """Handle SIGINT: a message is never cut in two, and the interrupt that ends the run lets the script finish.

    One that comes just after the end waits for the script to leave its loop, and so for its last state.
    """
    link = peer._link

    def handle(number: int, frame: Any) -> None:
        spared = link.busy or link.ending == "interrupted" or link.ending and peer._owed
        if spared and not link.interrupted and not link.closed and os.getpid() == peer._process:
            link.interrupted = True
            _say(f"interrupted in round {peer.round}: the script may finish, in ten seconds")
            return
        raise KeyboardInterrupt

    return handle
