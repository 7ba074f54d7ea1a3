"""A worker of the run: how it joins, steps, talks with the others and ends."""

from __future__ import annotations

import atexit
import contextlib
import json
import linecache
import math
import os
import re
import signal
import struct
import sys
import threading
import traceback
import types
from typing import Any, Callable, Iterable, Iterator, List, Optional, Union

from . import _data, _equal, _link, _seeds, _torch, _tree
from ._link import Error, Refusal, Stopped, say, script_line
from ._version import __version__

_HIDDEN_STEPS = 20  # changes of the parameters without a step, before the script is told that none is seen
_TEXT = 64 << 10  # bytes of what broadcast takes
_NUMBERS = 8192  # of what all_reduce takes
_SECONDS = 600  # of a mean that does not wait
_REASON = 200  # of why a script stops the run

_current: Optional[Peer] = None  # one per process
_away: Optional[Peer] = None  # the peer that the process has left, if join can come back to it
_left = False  # the process has left a peer for good


def init(*, seed: Optional[int] = None) -> Peer:
    """Return this worker before the model exists: rank, size, seed, dir, local_rank, local_size and device.

    Each worker gets random numbers of its own here, or in join where init was not called. They come from the state of
    the generators, the run's seed and the rank. On a LAN the rank is known after join.

    seed: seed random, NumPy and torch first, for scripts that do not.
    """
    global _current
    if _current is None or _current._process != os.getpid():
        _current = Peer()
    elif seed is not None:
        raise Error("the seed comes too late: call init(seed=...) once, before join")
    if seed is not None:
        _seeds.seed_all(seed)
    _current._reseed()
    return _current


def join(model: Any, optimizer: Any = None, *, buffers: Union[bool, str] = True, rounds: Optional[int] = None,
         every: int = 1) -> Peer:
    """Make a model take part in the run, and return the peer.

    model: a torch module, a list or dictionary of modules, or a tree of float arrays (nested dicts, lists, tuples).
    All workers start with the values of worker 0, or with those of the checkpoint.

    optimizer: each optimizer.step() also gossips. Of several in a list, the step of the last one does. Without an
    optimizer, call peer.step() after each local step, or peer.exchange(tree) for a tree.
    buffers: the floating-point buffers of the model travel too (the statistics of BatchNorm), without tables that no
    line of the model's files writes to. "all": tables as well. False: none.
    rounds: without a peer, the run ends after this number of steps.
    every: exchange after every so many steps.
    """
    optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [] if optimizer is None else [optimizer]
    several = list(model.values()) if isinstance(model, dict) else model
    modules = isinstance(several, (list, tuple)) and bool(several) and all(map(_torch.is_module, several))
    if not modules and not _torch.is_module(model):
        if optimizers:
            raise Error("a tree of arrays has no optimizer that join could watch: call peer.exchange(tree) after each "
                        "local step")
        return _join(_tree.Tree(model), [], rounds, every)
    values = _torch.Module(model, buffers)
    for each in optimizers:
        values.check_optimizer(each)
    return _join(values, optimizers, rounds, every)


def join_array(x: Any, *, rounds: Optional[int] = None) -> Peer:
    """Make a NumPy array take part in the run, and return the peer.

    Change x in place, then call peer.step(): x holds the mixed values afterwards.

        peer = gossiptrainer.join_array(x)
        while not peer.done:
            x -= rate * gradient(x)
            peer.step()

    rounds: without a peer, the run ends after this number of steps.
    """
    return _join(_tree.Array(x), [], rounds, 1)


def _join(values: Any, optimizers: list, rounds: Optional[int], every: int) -> Peer:
    if _current is not None and _current._values is not None and _current._process == os.getpid():
        raise Error("this process has joined already: call peer.leave() first, or join a list of modules")
    if every < 1:
        raise Error(f"every={every}: a round has at least one step")
    peer = init()
    peer._join(values, optimizers, rounds, every)
    return peer


class Peer:
    """This worker of the run.

    round: the round that the next step ends, from 0. rounds: those of the whole run; None where the scripts decide.
    why: finished, target, interrupted or stopped, once the run has ended.
    mean_rounds: the workers of the last mean, and after how many rounds each had its values.
    run, seed: name and seed of the run.
    dir: a folder of this worker. local_rank, local_size: its number among the workers of this machine's command.
    """

    def __init__(self) -> None:
        environment = os.environ.get
        self._path = environment("PEER_SOCKET") or ""
        self._seed_text = environment("PEER_SEED")
        self._rank, self._size = (None, None) if self._path else (0, 1)
        if self._path and environment("PEER_RANK"):
            self._rank, self._size = int(environment("PEER_RANK", "")), int(environment("PEER_SIZE", ""))
        self.seed = int(self._seed_text or 0)
        self.dir = environment("PEER_DIR") or os.getcwd()
        self.local_rank, self.local_size = int(environment("PEER_LOCAL_RANK") or 0), int(
            environment("PEER_LOCAL_SIZE") or 1)
        self.round, self.rounds, self.run, self.why = 0, None, "", ""
        self.mean_rounds: dict = {}
        self._done = False  # the run has ended
        self._finished = False  # this worker steps no more
        self._told_undone = self._told_endless = False
        self._values: Any = None
        self._objects: list = []
        self._link: Optional[_link.Link] = None
        self._group: Optional[_torch.Group] = None
        self._process = os.getpid()
        self._closed = False
        self._gone = False  # the script has called leave, so its optimizer steps without a peer
        self._reseeded: set = set()
        # steps
        self._by_hand = True  # the script calls step itself
        self._every, self._since = 1, 0  # steps of a round, and those since the last one
        self._steps = 0  # all that were seen, undone ones included
        self._local = 0  # depth of no_sync
        self._held: Any = None  # the values that an undone step gets back
        self._seen, self._changes = 0, 0  # changes of parameters, and how many without a step
        self._equal = False  # what does not travel is that of worker 0
        self._from = 0  # the round in which other tensors begin to travel
        self._calls = 0  # collectives, by which all workers recognise the same one
        # checkpoints
        self._owed = False  # the peer waits for the state before this round
        self._random: Optional[dict] = None  # numbers at the end of the last step, where the state is owed
        self._spare: Optional[bytes] = None  # the state at the end of that step, of a script that steps by hand
        self._forget: Callable = _tree.nothing  # stops waiting for the next forward
        self._named = False  # the script calls boundary
        self._unable = False  # the last state could not be taken
        self._checkpoint: Optional[dict] = None  # what _send_state gave, if the run goes on from there
        self._restored = self._placed = True  # the objects, and the shard, are as the checkpoint says
        # data and logs
        self._shard: Optional[_data.Shard] = None  # the one that runs
        self._passes: List[_data.Passes] = []  # of each loader
        self._epoch = 0  # of the shard's next pass over the data
        self._batch_round: Optional[int] = None  # the round that began with this batch
        self._last_logged, self._logged_at = -1, -1
        self._pending: list = []  # logged values that are still on an accelerator

    # -- joining

    def _reseed(self) -> None:
        """Give the generators numbers of this worker's own, once the rank is known."""
        if self._path and self._rank is not None:
            if self._rank == 0 and "torch" not in self._reseeded and _seeds.unseeded():
                say("worker 0's generators were not seeded: two runs will differ (init(seed=1))")
            group = self._group or _torch.find_group()
            _seeds.reseed(self._reseeded, self._seed_text, self._rank, group.part if group else 0)

    def _join(self, values: Any, optimizers: list, rounds: Optional[int], every: int) -> None:
        self._every = every
        self._by_hand = not optimizers
        self._objects = ([values.model] if values.model is not None else []) + optimizers
        if self._path:
            if _left:
                raise Error("this process had finished when it left its peer, which gives it no further turn: start "
                            "another run")
            if _away is not None:
                self._return(_away, values)
            else:
                self._connect(values)
        else:
            self._values, self.rounds = values, rounds
            if rounds == 0:
                self._end("finished")
            say("PEER_SOCKET is not set, so this script runs alone, as rank 0 of 1: peer.shard passes once over its "
                "data, and peer.done needs join(rounds=...); with others: peer lab FILE -- python3 "
                + os.path.basename(sys.argv[0] or "train.py"))
        for optimizer in optimizers[:-1]:
            _torch.watch(optimizer, _tree.nothing, self._see)
        for optimizer in optimizers[-1:]:
            _torch.watch(optimizer, self._before_step, self._after_step)

    def _connect(self, values: Any) -> None:
        self._group = _torch.find_group()
        if self._leads:
            link = self._link = _link.Link(self._path, values.elements, values.most())
            values.attach(link.memory)
            self._values = values
            _watch_over(self)
            link.hello({"version": _link.VERSION, "client": "gossiptrainer " + __version__,
                        "elements": values.elements, "exact": values.exact, "tensors": values.tensors,
                        "memory": link.kind})
        else:
            values.attach(bytearray(4 * values.elements))
            self._values = values
        message = self._receive(_link.WELCOME)
        welcome = json.loads(message.body)
        if welcome.get("version") != _link.VERSION:
            raise Error(f"the peer speaks version {welcome.get('version')} of the bridge, gossiptrainer {__version__} "
                        f"version {_link.VERSION}: use the package that `peer python path` names")
        self._rank, self._size, self.rounds = welcome["rank"], welcome["size"], welcome["rounds"] or None
        self.run, self.round, self.seed = welcome["run"], welcome["round"], welcome["seed"]
        if message.flags & _link.WITH_STATE:
            self._checkpoint = values.load(self._receive(_link.STATE).body)
            self._restored = self._placed = False
        values.adopt()
        if welcome.get("finished"):  # before a restart this worker had finished, so it gets no turn
            values.scatter()
            self._finished = True
            self._held = values.clone()
        else:
            self._turn()
        self._reseed()
        if self._checkpoint is not None and not self._checkpoint["equal"]:
            self._checkpoint, self._restored, self._placed = None, True, True  # of the moment before the first start
        if self._checkpoint is not None:
            self._resume(self._checkpoint)
        else:
            _equal.equalize(self, self._values)
            self._equal = True
        self._await_place()

    def _return(self, before: Peer, values: Any) -> None:
        """Take the turns of a peer that this process has left. The values are those that its worker has by now."""
        global _away
        mine, theirs = ([(t["name"], t["shape"]) for t in each.tensors] for each in (values, before._values))
        if mine != theirs or values.exact != before._values.exact:
            differ = [pair for pair in zip(mine + [None], theirs + [None]) if pair[0] != pair[1]][:1]
            raise Error(f"the run has other parameters than this model ({differ}): join with the same model again, or "
                        "start another run")
        link = self._link = before._link
        self._group = before._group
        values.attach(link.memory if link is not None else bytearray(4 * values.elements))
        self._values, self._equal, self._calls = values, True, before._calls
        self._rank, self._size, self.rounds, self.run, self.seed = (before.rank, before.size, before.rounds, before.run,
                                                                    before.seed)
        before._closed, _away = True, None
        if link is not None:
            link.peer = self
        values.adopt()
        with self._whole():
            self._send(_link.PAUSE, round=before.round)
            self._turn()
        self._last_logged = self.round - 1
        say(f"this worker goes on with the values of round {self.round} of the run, not with those of the model")
        self._await_place()

    def _resume(self, checkpoint: dict) -> None:
        self._last_logged = self.round - 1
        self._calls, self._equal = checkpoint["calls"], True
        self._epoch = checkpoint["shard"]["epoch"]
        self._values.restore(checkpoint["own"])
        if checkpoint["names"] == self._names(self._objects):
            self.state(*self._objects)
        _seeds.set_state(checkpoint["random"])

    @property
    def _leads(self) -> bool:
        """Tell whether this process speaks to the peer."""
        return self._group is None or self._group.part == 0

    @property
    def _alone(self) -> bool:
        return not self._path

    @property
    def _worker(self) -> int:
        """The number of this process among all of the run, for the data."""
        return self.rank if self._group is None else self.rank * self._group.parts + self._group.part

    @property
    def _workers(self) -> int:
        return self.size if self._group is None else self.size * self._group.parts

    # -- the place in the run

    @property
    def rank(self) -> int:
        """This worker's number, from 0."""
        if self._rank is None:
            raise Error("peer.rank is known after join: the peers of a LAN get their numbers when they meet")
        return self._rank

    @property
    def size(self) -> int:
        """How many workers the run has."""
        if self._size is None:
            raise Error("peer.size is known after join: the peers of a LAN count themselves when they meet")
        return self._size

    @property
    def device(self) -> str:
        """The device for the model: cuda where torch has one, mps on a Mac, else cpu."""
        import torch

        if torch.cuda.is_available():
            return "cuda"
        mps = getattr(torch.backends, "mps", None)
        return "mps" if mps is not None and mps.is_available() else "cpu"

    @property
    def done(self) -> bool:
        """Tell whether this worker steps no more. The script that looks has come to the end of its last round."""
        if self._done and self._owed and self._shard is None:
            self._send_state(self._state_now(None))
        if self.rounds is None and not self._told_endless and not self._alone:
            self._told_endless = _tell_endless(sys._getframe(1))
        return self._done or self._finished

    @property
    def params(self) -> Any:
        """The tree of join, with the values of now."""
        if not isinstance(self._values, _tree.Tree):
            raise Error("peer.params is the tree of arrays that join got: of a module, use the module itself")
        return self._values.params

    # -- steps

    def step(self) -> None:
        """Hand over the values, which the script has changed by its local step, and take back the mixed ones.

        join(model, optimizer) makes optimizer.step() do this. After the end of the run, a step is undone.
        """
        self._before_step()
        self._after_step()

    def exchange(self, tree: Any, loss: Any = None) -> Any:
        """Hand over a tree of arrays, which the local step has made, and return the tree of the mixed ones.

        Structure, types and shapes stay. Leaves that are not float arrays come back as they are given.
        """
        self._before_step()
        if not isinstance(self._values, _tree.Tree):
            raise Error("exchange needs the tree of arrays that join got: of a module, call peer.step()")
        if loss is not None:
            self.log(loss)
        self._values.take(tree)
        self._after_step()
        return self._values.params

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Make the steps inside local: they exchange nothing, and end no round."""
        self._local += 1
        try:
            yield
        finally:
            self._local -= 1

    def _before_step(self) -> None:
        if self._gone:
            return
        self._check_usable()
        if not self._restored:
            raise Error(f"the checkpoint holds the states of {self._checkpoint['names']}: "
                        "call peer.state with the same objects before the first step")
        if not self.done:
            if not self._local and self._values.next is None and self._values.changed(self.round):
                self._refresh()
            self._settle()
        elif not self._by_hand or self._held is None:
            self._held = self._values.clone()

    def _after_step(self) -> None:
        if self._gone:
            return
        self._see()
        if self.done:
            self._undo()
        elif not self._local:
            self._since += 1
            if self._since == self._every:
                self._since = 0
                self._end_round()

    def _see(self) -> None:
        """Note that a step was seen."""
        self._steps += 1
        self._seen, self._changes = self._values.changes(), 0

    def _end_round(self) -> None:
        self._values.keep_back()
        self._values.check_buffers(self._steps)
        if self._alone:
            self.round += 1
            if self.round == self.rounds:
                self._end("finished")
            return
        with self._whole():
            self._values.gather()
            self._flush()
            self._send(_link.STEP, round=self.round)
            self._turn()
            self._await_place()

    def refresh(self) -> None:
        """Say that other parameters train from now on than at join: some were unfrozen, or replaced.

        The first step after such a change does this by itself. All workers make the same change. New tensors begin with
        the values of worker 0, and travel a few rounds later. Until then, steps do not change them.
        """
        self._check_usable()
        if not self.done and self._values.next is None and self._values.changed(self.round):
            self._refresh()

    def _refresh(self) -> None:
        values = self._values
        fresh = values.renew()
        names = [slot.name for slot in values.fresh]
        if self._alone:
            self._values = values.next
            return
        outline = json.dumps({"tensors": values.next.tensors, "elements": values.next.elements,
                              "exact": values.next.exact}).encode()
        self._from = sys.maxsize  # until the result says it
        values.start(self._collect({"kind": "refresh"}, struct.pack("<I", len(outline)) + outline + fresh))
        if self.rank == 0 and names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            say(f"{names[0]}{more} train from now on: new tensors travel from round {self._from} on")

    def _undo(self) -> None:
        """Take the result back after a step beyond the end."""
        self._values.put(self._held)
        if not self._by_hand:
            self._held = None
        if self.why == "interrupted":
            raise KeyboardInterrupt
        if self._told_undone:
            return
        self._told_undone = True
        if not self._done:
            text = "this worker has finished, so further steps change nothing: leave the loop when peer.done"
        elif self.why in ("", "finished"):
            text = (f"the run's {self.round} rounds are done: further steps change nothing; leave the loop when "
                    "peer.done, or set train.rounds: script")
        else:
            text = (f"the run has ended after {self.round} rounds ({self.why}): further steps change nothing; leave the "
                    "loop when peer.done")
        say(text + script_line())

    def _turn(self) -> None:
        """Wait until the vector is the script's again, for the next round or for good."""
        self._take(self._receive(_link.GO, _link.END))

    def _take(self, message: _link.Message) -> None:
        """Take the vector of a GO or END."""
        self.round = message.round
        self._succeed(message.round)
        if self._group is not None:
            self._group.share_vector(self._values.tensor())
        self._values.scatter()
        self._seen = self._values.changes()
        self._owed = bool(message.flags & _link.WITH_STATE)
        if message.kind == _link.END:
            self._end(json.loads(message.body).get("why", ""))

    def _succeed(self, round: int) -> None:
        """Take the set of tensors that travels from a round on, if that has come."""
        if self._values.next is None or round < self._from:
            return
        elements = self._values.next.elements
        if self._finished:  # the vector of now is the script's own
            self._values = self._values.next
            self._values.attach(bytearray(4 * elements))
            return
        memory = bytearray(4 * elements) if self._link is None else self._link.reshape(elements)
        self._values = self._values.succeed(memory)

    def _end(self, why: str) -> None:
        self._done, self.why = True, why
        if self._link is not None:
            self._link.ending = self.why
        if self._by_hand:
            self._held = self._values.clone()

    def _settle(self) -> None:
        """Give the state that the peer waits for, at the last moment."""
        if not self._owed:
            return
        if self._done:
            self._send_state(self._state_now(None))
        elif self._named:
            self._tell_unable("this round did not begin at a call of peer.boundary()")
            self._send_state(None)
        else:  # no place has come: the objects are at least as they were before the local step
            self._send_state(self._spare if self._by_hand and self._spare else self._state_now(self._random))

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise Error("this process was forked from the one that joined: only that one may use the peer")
        if self._gone:
            raise Error("the script has left this peer: use the one that the next join returns")
        if self._closed:
            raise Error("the peer is closed: use it inside the with block, or before the script ends")
        if self._values is None:
            raise Error("this process has not joined yet: call gossiptrainer.join(model, optimizer) first")

    def _check_steps(self) -> None:
        """Raise an Error if the parameters change, but no step of the optimizer is seen."""
        if self._by_hand or self._local:
            return
        seen = self._values.changes()
        if seen != self._seen:
            self._seen, self._changes = seen, self._changes + 1
        if self._changes >= _HIDDEN_STEPS:
            raise Error(f"the model's parameters changed {self._changes} times, but no step of the optimizer that join "
                        "got was seen: join before accelerator.prepare, or call peer.step()")

    # -- messages

    def _receive(self, *kinds: int) -> _link.Message:
        """Return the next message of the peer, in all processes of a group."""
        message = self._link.wait(*kinds) if self._link is not None else None
        return message if self._group is None else _link.Message(*self._group.share(message and tuple(message)))

    def _send(self, kind: int, body: Any = b"", round: int = 0) -> None:
        if self._link is not None:
            self._link.send(kind, body, round)

    def _whole(self) -> Any:
        return self._link.whole() if self._link is not None else contextlib.nullcontext()

    def _collect(self, content: dict, raw: Any = b"") -> memoryview:
        """Call a collective, and return the bytes of its result. The peer may stand in meanwhile."""
        self._calls += 1
        return self._call(self._calls, content, raw)[1]

    def _call(self, number: int, content: dict, raw: Any = b"") -> tuple:
        """Make a call, and return the text and the bytes of its result. Collectives have numbers from 1."""
        with self._whole():
            self._settle()
            self._flush()
            if self._link is not None:
                self._link.collect(number, content, raw)
            message = self._result(number)
            body = memoryview(message.body)
            start = 4 + struct.unpack("<I", body[:4])[0]
            result = json.loads(bytes(body[4:start]))
            if message.round != number:
                raise Error(f"the peer answered call {message.round} where {number} was due: use the package that "
                            "`peer python path` names")
            self._from = result.get("from") or self._from
            if result.get("moved"):
                self._turn()
                self._await_place()
            elif self._finished:
                self._succeed(result["round"])
        return result, body[start:]

    def _result(self, number: int) -> _link.Message:
        """Wait for the RESULT of the call. Meanwhile the peer may ask for a state, and the run may end."""
        while True:
            message = self._receive(_link.RESULT, _link.STATE, *([] if self._done else [_link.END]))
            if message.kind == _link.RESULT:
                return message
            if message.kind == _link.END:
                self._end_while_waiting(message, number)
                continue
            self.round = message.round
            self._calls -= 1  # who goes on from here makes this call again
            self._send_state(self._state_now(None))
            self._calls += 1

    def _end_while_waiting(self, message: _link.Message, number: int) -> None:
        """Take the end of the run. The RESULT follows, unless the run ends before the others come to the call."""
        end = json.loads(message.body)
        if self._finished:  # without a vector, which is the script's for good
            self.round = message.round
            self._end(end.get("why", ""))
        else:
            self._take(message)
        if not end.get("cut"):
            return
        self._calls -= 1 if number else 0
        if self.why == "interrupted":
            raise KeyboardInterrupt
        say(f"the run has stopped while this worker waited for others ({end.get('message') or self.why})" + script_line())
        raise Stopped(0)

    # -- what all workers do together

    def barrier(self) -> None:
        """Wait until all workers have called this. Others train on meanwhile."""
        self._check_usable()
        if not self._alone:
            self._collect({"kind": "barrier"})

    def all_reduce(self, x: Any, op: str = "mean") -> Any:
        """Return the mean, sum, min or max of x over all workers: a number, a list or a small array (8192 numbers)."""
        self._check_usable()
        if op not in ("mean", "sum", "min", "max"):
            raise Error(f"all_reduce knows mean, sum, min and max, not {op}")
        flat, back = _flatten_numbers(x)
        if not 1 <= len(flat) <= _NUMBERS:
            raise Error(f"all_reduce takes 1 to {_NUMBERS} numbers, not {len(flat)}: the parameters travel with step")
        return back(flat if self._alone else self._reduce(flat, op))

    def _reduce(self, values: List[float], op: str) -> List[float]:
        if self._group is not None:
            values = self._group.combine(values, op)
        raw = self._collect({"kind": "reduce", "op": op}, struct.pack(f"<{len(values)}d", *values))
        return list(struct.unpack(f"<{len(values)}d", raw))

    def broadcast(self, thing: Any, root: int = 0) -> Any:
        """Return what worker root gives: numbers, text, lists and dictionaries, up to 64 KiB as JSON."""
        self._check_usable()
        if not 0 <= root < self.size:
            raise Error(f"broadcast from worker {root}: the run has workers 0 to {self.size - 1}")
        raw = b""
        if self.rank == root:
            try:
                raw = json.dumps(thing).encode()
            except (TypeError, ValueError) as problem:
                raise Error(f"broadcast takes what JSON can hold ({problem})") from None
            if len(raw) > _TEXT:
                raise Error(f"broadcast takes up to {_TEXT} bytes, not {len(raw)}: put large things into files or the "
                            "model")
        return json.loads(raw if self._alone else bytes(self._send_bytes(raw, root)))

    def _send_bytes(self, raw: bytes, root: int) -> memoryview:
        return self._collect({"kind": "broadcast", "root": root}, raw)

    def _mean(self, wait: bool, ranks: Optional[Iterable[int]], seconds: float) -> Optional[bytearray]:
        """Return the vector of the mean over workers; None for a run of one."""
        self._check_usable()
        chosen = _ranks(ranks, self.size)
        everyone = chosen or range(self.size)
        if self._alone:
            self.mean_rounds = {0: self.round}
            return None
        content = {"kind": "mean" if wait else "newest", **({"ranks": chosen} if chosen else {})}
        if wait:
            self._calls += 1
            result, mean = self._call(self._calls, content)
            self.mean_rounds = dict.fromkeys(everyone, result["round"])
            return bytearray(mean)
        if not 0 < seconds <= _SECONDS:
            raise Error(f"seconds={seconds}: a mean that does not wait takes more than 0 and up to {_SECONDS} seconds")
        result, mean = self._call(0, dict(content, seconds=seconds))
        missing = "; ".join(f"worker {rank}: {why}" for rank, why in result.get("missing", {}).items())
        if not mean:
            raise Error("no worker of the mean has answered: " + missing)
        if missing:
            say("the mean lacks " + missing + script_line())
        self.mean_rounds = {int(rank): round for rank, round in result["rounds"].items()}
        return bytearray(mean)

    def average(self, wait: bool = True, ranks: Optional[Iterable[int]] = None, seconds: float = 10) -> Any:
        """Return a copy of the model (or tree, or array) with the mean over all workers.

        wait: all workers call it, with the same ranks. Who waits here mixes without updates, while others train on.
        Without wait, it takes the newest values of each worker, whatever their scripts do. peer.mean_rounds says
        after how many rounds they were. A line names workers that have not answered.
        ranks: the workers of the mean. The others call it, too, if it waits.
        seconds: how long it takes at most without wait.
        """
        mean = self._mean(wait, ranks, seconds)
        return self._values.copy(mean)

    @contextlib.contextmanager
    def averaged(self, wait: bool = True, ranks: Optional[Iterable[int]] = None, seconds: float = 10) -> Iterator[Any]:
        """Make the model itself hold the mean inside the with block. It then gets its own values back, bit for bit.

        Its options are those of average. No copy of the module is made.
        """
        mean = self._mean(wait, ranks, seconds)
        if mean is None:
            yield self._shown()
            return
        own = self._values.clone()
        self._values.hold(mean)
        try:
            yield self._shown()
        finally:
            self._values.put(own)

    def _shown(self) -> Any:
        return self._values.params if not hasattr(self._values, "given") else self._values.given

    def save(self, path: Union[str, os.PathLike], wait: bool = True, ranks: Optional[Iterable[int]] = None,
             seconds: float = 10) -> None:
        """Write the mean's state_dict to a file, once a machine; a tree's arrays go into a NumPy archive.

        All workers call it, and return when the file is there. Without wait, the worker that calls it writes the file.
        Its options are those of average.
        """
        with self.averaged(wait, ranks, seconds):
            if (self.local_rank == 0 or not wait) and self._leads:
                part = f"{os.fspath(path)}.{os.getpid()}.part"
                try:
                    with open(part, "wb") as file:
                        self._values.write(file)
                    os.replace(part, path)
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(part)
        if wait:
            self.barrier()

    def stop(self, why: str) -> None:
        """End the run for all workers, on purpose. Each takes the step under way, and all end after the same round.

        The call returns when the run has ended: the model has its final values, peer.done is true, and peer.why is
        stopped. A worker that waits in barrier or another call raises Stopped there, which ends its script well.

        why: one line, for the record, the summary and the others.
        """
        self._check_usable()
        why = " ".join(str(why).split())
        if not 1 <= len(why.encode()) <= _REASON or not why.isprintable():
            raise Error(f"stop takes a reason of 1 to {_REASON} bytes: {why[:40]!r}")
        if self._done:
            return
        if self._finished:
            raise Error("this worker has finished: call peer.stop(why) in place of peer.finish()")
        if self._alone:
            self._end("stopped")
            return
        with self._whole():
            self._settle()
            self._flush()
            self._send(_link.STOP, {"why": why}, round=self.round)
            self._turn()
            self._await_place()

    # -- data

    def loader(self, loader: Any) -> Any:
        """Return a DataLoader over this worker's part of the dataset. One `for` is one pass.

        It has the batch size and the options of the given one. Where that shuffles, the order follows from the run's
        seed, the rank and the pass. The pass in which the run ends is the last one that is complete.
        """
        passes = _data.Passes(self, len(self._passes))
        made = _data.loader(self, loader, passes)
        self._passes.append(passes)
        return made

    def sampler(self, dataset: Any, shuffle: bool = True) -> _data.Sampler:
        """Return a sampler over this worker's part of a dataset, for a DataLoader of the script's own."""
        return _data.sampler(self, dataset, shuffle)

    def part(self, dataset: Any) -> Any:
        """Return this worker's part of a list, an array or a dataset: every size-th sample."""
        return _data.part(self, dataset)

    def shard(self, data: Iterable) -> Iterable:
        """Iterate over this worker's part of the data, pass after pass, until the run is done.

        For a torch DataLoader, the part is every size-th sample: a new loader has the same batch size and workers, and
        shuffles by the run's seed, the rank and the pass if the given one shuffles. For any other iterable (and for a
        DataLoader with a sampler of its own) the part is every size-th item.

        After a resume it goes on with the batch that was next. Without a peer it passes over the data once.
        """
        self._check_usable()
        if not self._alone and self.rounds is None:
            raise Error("peer.shard never ends when train.rounds is script: loop over peer.loader")
        return _data.Shard(self, data)

    def _fetch(self) -> None:
        """Do what is due before the next batch."""
        if self._values is None or self._closed or os.getpid() != self._process:
            return
        self._check_steps()
        if self._owed:
            self._send_state(self._state_now(None))

    def _leave_shard(self) -> None:
        if self._owed and self.done and not self._closed:  # the script left its loop before the next batch
            self._send_state(self._state_now(None))
        self._shard, self._batch_round = None, None

    # -- what is told

    def log(self, loss: Any = None, **values: Any) -> None:
        """Tell the peer the loss of this round's mini-batch, and other numbers. Call it before or after the step.

        Values that are not finite are recorded as missing. No value ends a run.
        """
        self._check_usable()
        self._check_steps()
        told = dict({} if loss is None else {"loss": loss}, **values)
        if not 1 <= len(told) <= 64 or any(len(name.encode()) > 64 for name in told):
            raise Error("log takes 1 to 64 values, with names of at most 64 bytes")
        if self._batch_round is not None:
            round = self._batch_round  # the step of this batch may be done already
        elif self._logged_at == self._steps:
            round = self._last_logged  # one more value of the same moment
        else:  # the step just done, unless its loss is known
            round = self.round - 1 if self._last_logged < self.round - 1 else self.round
        self._last_logged, self._logged_at = round, self._steps
        away = [v for v in told.values() if getattr(getattr(v, "device", None), "type", "cpu") != "cpu"]
        self._pending.append((round, {name: v.detach() if hasattr(v, "detach") else v for name, v in told.items()}))
        if not away:
            with self._whole():
                self._flush()

    def _flush(self) -> None:
        """Send the logged values. Those of accelerators wait for the next step, which waits for the accelerator anyway."""
        pending, self._pending = self._pending, []
        for round, told in pending:
            self._send(_link.LOG, {"values": {name: _finite(name, v) for name, v in told.items()}}, round=round)

    def evaluate(self, accuracy: Any = None, loss: Any = None, **values: Any) -> None:
        """Tell the peer the accuracy (0 to 1), the loss or other scores of the model on data held out."""
        self._check_usable()
        told = {name: v for name, v in dict(values, accuracy=accuracy, loss=loss).items() if v is not None}
        if not 1 <= len(told) <= 64 or any(len(name.encode()) > 64 for name in told):
            raise Error("evaluate takes 1 to 64 values, such as accuracy or loss, with names of at most 64 bytes")
        score = {name: _finite(name, v) for name, v in told.items()}
        with self._whole():
            self._send(_link.SCORE, {"values": score}, round=self.round)

    # -- checkpoints

    # What a loop does after its step belongs to the round that has ended: it moves schedulers and counters. So the peer
    # asks for the state in its answer to a step, and gets it when the loop has come to the next batch, forward or
    # boundary.

    def boundary(self) -> None:
        """Say that each round begins here, at the top of the loop: a checkpoint holds the states as they are here.

        Without it, the states of objects are taken at the next batch of peer.shard or peer.loader, or at the next
        forward of the model in training, whichever comes first. Random numbers are those at the next batch, else those
        at the end of the step. A loop over peer.shard needs no boundary, and there it does nothing.
        """
        self._check_usable()
        if self._shard is not None:
            return
        if self._checkpoint is not None and not self._steps and not self._named:
            _seeds.set_state(self._checkpoint["random"])  # lines between join and the loop may have drawn some
        self._named = True
        if self._owed:
            self._send_state(self._state_now(None))

    def state(self, *objects: Any) -> None:
        """Say which objects' states a checkpoint holds beside the parameters, and restore them after a resume.

        An object is a module, an optimizer, a scheduler or anything else with state_dict() and load_state_dict(), or a
        NumPy array. The default is the model and the optimizers of join. Always added are the random numbers of torch,
        NumPy and Python, and the places in loaders. Call it before the first step.
        """
        self._check_usable()
        for each in objects:
            if not (hasattr(each, "state_dict") and hasattr(each, "load_state_dict")) and not _tree.is_array(each):
                raise Error(f"{type(each).__name__} has no state_dict and load_state_dict, which state needs")
        self._objects = list(objects)
        if self._checkpoint is None or self._steps:
            return
        names = self._names(objects)
        if self._checkpoint["names"] != names:
            raise Error(f"the checkpoint holds the states of {self._checkpoint['names']}, not of {names}: "
                        "resume with the script that wrote it")
        for each, saved in zip(objects, self._checkpoint["objects"]):
            if _tree.is_array(each):
                each[...] = saved
            elif not self._values.owns(each):
                each.load_state_dict(saved)
        self._restored = True

    def _names(self, objects: Iterable) -> str:
        models = (self._values.model if self._values.owns(each) else each for each in objects)
        return ", ".join(type(each).__name__ for each in models) or "nothing"

    def _await_place(self) -> None:
        """Prepare for the place of the loop at which the state is due, if the peer waits for it."""
        if not self._owed:
            return
        self._random = _seeds.get_state()
        if self._by_hand and self._steps and not self._named:
            self._spare = self._state_now(self._random)
        if not self._named:
            self._forget = self._values.at_forward(lambda: self._send_state(self._state_now(self._random)))

    def _state_now(self, numbers: Optional[dict]) -> Optional[bytes]:
        """Return the state, with these random numbers or those of now. None: an object has none to give."""
        if not self._leads:
            return None
        if self._values.next is not None:  # an older checkpoint serves: the vector changes in a moment
            return None
        try:
            states = [each.copy() if _tree.is_array(each) else None if self._values.owns(each) else each.state_dict()
                      for each in self._objects]
            shard = self._shard.place() if self._shard else {"epoch": self._epoch, "position": 0, "random": {}}
            blob = self._values.dump({
                "names": self._names(self._objects), "objects": states, "own": self._values.kept(),
                "random": numbers or _seeds.get_state(), "shard": shard, "calls": self._calls, "equal": self._equal,
                "loaders": [passes.place() for passes in self._passes]})
        except Exception as problem:  # costs a checkpoint, and not the run
            what = traceback.format_exception_only(type(problem), problem)[-1].strip()
            self._tell_unable(what + script_line(problem.__traceback__))
            return None
        self._unable = False
        return blob

    def _tell_unable(self, why: str) -> None:
        if not self._unable:
            say(f"no checkpoint of round {self.round}, as there is no state of this script: {why}. The run goes on; "
                "from an older checkpoint it would repeat more rounds")
        self._unable = True

    def _send_state(self, blob: Optional[bytes]) -> None:
        """Give the peer the state that it waits for. An empty one says that there is none."""
        self._forget()
        self._owed, self._spare, self._forget = False, None, _tree.nothing
        with self._whole():
            self._send(_link.STATE, blob or b"", round=self.round)

    # -- the end

    def finish(self) -> None:
        """Say that this worker takes no further step. It mixes on without updates until all have ended.

        The call does not wait. The end of the script, or of the with block, does this too.
        """
        self._check_usable()
        if not self.done:
            self._held = self._values.clone() if self._by_hand else None
            self._finish()

    def _finish(self) -> None:
        with self._whole():
            if self._owed:
                self._send_state(self._state_now(None if self._named else self._random))
            self._flush()
            if not self.done:
                self._finished = True
                self._send(_link.FINISH, round=self.round)

    def close(self) -> None:
        """Tell the peer that the script ends well. The end of the with block, or of the script, does this."""
        if self._closed or self._values is None or os.getpid() != self._process:
            return
        if not self._gone and (self._link is None or not self._link.refused):
            self._finish()
        self._say_last(_link.BYE, {})

    def leave(self) -> None:
        """Give the peer back. A later join in the same process comes back, and takes the values of the run.

        Meanwhile the worker mixes without updates, and the run goes on until this process ends. A script that does not
        come back calls finish before, so that the run need not wait for it.
        """
        global _current, _left, _away
        if self._gone or not self._closed:
            self._check_usable()
        if not self._alone and not self._closed and self._values.next is not None:
            raise Error("the parameters are about to change: take a step before peer.leave()")
        if self._alone or self._closed or self.done:
            self.close()
            _left = _left or bool(self._path)
        else:
            with self._whole():
                self._settle()
                self._flush()
                self._send(_link.PAUSE, round=self.round)
            self._values.disown()
            _away = self
        self._gone = True
        _current = None

    def _fail(self, kind: type, problem: BaseException, trace: Any) -> None:
        what = "".join(traceback.format_exception_only(kind, problem)).strip()[:2000]
        self._say_last(_link.ERROR, {"message": what + script_line(trace),
                                     "hint": "the script's output has the traceback"})

    def _say_last(self, kind: int, body: dict) -> None:
        if self._closed or os.getpid() != self._process:
            return
        self._closed = True
        if self._link is None:
            return
        self._link.closed = True
        if not self._link.refused:
            self._link.send(kind, body, round=self.round)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, kind: Optional[type], problem: Optional[BaseException], trace: Any) -> None:
        if kind is None:
            self.close()
        elif not issubclass(kind, (SystemExit, KeyboardInterrupt)):
            self._fail(kind, problem, trace)


_ENDLESS = re.compile(r"\s*while\s+not\s+[\w.]+\.done\s*:")  # a loop without another condition


def _tell_endless(frame: types.FrameType) -> bool:
    """Say, where a loop waits for the end of a run whose length the scripts decide, that it never ends by itself."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    if not _ENDLESS.match(line):
        return False
    say("train.rounds is script, so this loop ends only when peer.finish(), peer.stop(why) or a condition of the run "
        "ends it: loop over your batches, or set train.rounds to a number"
        f" ({os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno})")
    return True


def _finite(name: str, value: Any) -> Optional[float]:
    try:
        number = float(value)
    except (TypeError, ValueError) as problem:
        raise Error(f"{name} is no number ({problem}): log takes single numbers") from None
    return number if math.isfinite(number) else None  # as JSON can


def _ranks(ranks: Optional[Iterable[int]], size: int) -> List[int]:
    """Return the ranks of a mean in order; none: all."""
    if ranks is None:
        return []
    try:
        chosen = sorted(int(rank) for rank in ranks)
    except (TypeError, ValueError):
        raise Error(f"ranks={ranks!r}: want a list of workers") from None
    if not chosen or chosen[0] < 0 or chosen[-1] >= size or len(set(chosen)) < len(chosen):
        raise Error(f"ranks={chosen}: want different workers of 0 to {size - 1}")
    return chosen


def _flatten_numbers(x: Any) -> tuple:
    """Return the numbers of x, and what makes a value of its kind of them."""
    if hasattr(x, "detach"):
        return x.detach().cpu().double().reshape(-1).tolist(), lambda flat: x.detach().clone().copy_(
            sys.modules["torch"].tensor(flat).reshape(x.shape))
    if _tree.is_array(x):
        numpy = sys.modules["numpy"]
        kind = x.dtype if x.dtype.kind == "f" else "float64"
        return x.ravel().tolist(), lambda flat: numpy.array(flat, dtype=kind).reshape(x.shape)
    if isinstance(x, (list, tuple)):
        return [float(each) for each in x], list
    return [float(x)], lambda flat: flat[0]


# ---- the process -----------------------------------------------------------------------------------------------------

def _watch_over(peer: Peer) -> None:
    """Tell the peer how the script ends, notice the end of the peer, and keep forked children from both."""
    link = peer._link
    link.peer = peer
    threading.Thread(target=link.watch, name="gossiptrainer", daemon=True).start()
    atexit.register(lambda: link.peer.close())
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=link.socket.close)
    earlier = sys.excepthook

    def uncaught(kind: type, problem: BaseException, trace: Optional[types.TracebackType]) -> None:
        peer = link.peer
        if os.getpid() != peer._process:
            earlier(kind, problem, trace)
        elif issubclass(kind, KeyboardInterrupt):
            say(f"interrupted in round {peer.round}" + script_line(trace))
            if peer._owed and not peer._closed:  # objects may be halfway to their next state
                peer._send_state(peer._spare)
            peer._say_last(_link.BYE, {})
        else:
            peer._fail(kind, problem, trace)
            if issubclass(kind, Refusal):
                say(str(problem) + script_line(trace))
            else:
                earlier(kind, problem, trace)

    sys.excepthook = uncaught
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt(link))
        if hasattr(signal, "SIGBREAK"):  # by which a peer on Windows interrupts its script
            signal.signal(signal.SIGBREAK, _on_interrupt(link))


def _on_interrupt(link: _link.Link) -> Callable:
    """Handle SIGINT: a message is never cut in two, and the interrupt that ends the run lets the script finish.

    One that comes just after the end waits for the script to leave its loop, and so for its last state.
    """
    def handle(number: int, frame: Any) -> None:
        peer = link.peer
        spared = link.busy or link.ending == "interrupted" or link.ending and peer._owed or peer._finished
        if spared and not link.interrupted and not link.closed and os.getpid() == peer._process:
            link.interrupted = True
            say(f"interrupted in round {peer.round}: the script may finish, in ten seconds")
            return
        raise KeyboardInterrupt

    return handle
