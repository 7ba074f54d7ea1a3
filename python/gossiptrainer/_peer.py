"""A worker of the run: how it joins, steps, talks with the others and ends."""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import re
import struct
import sys
import traceback
import types
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Union

from . import _data, _equal, _group, _link, _process, _seeds, _torch, _tree
from ._calls import Calls
from ._link import Error, say, script_line
from ._saves import Saves
from ._steps import Steps
from ._told import Told
from ._version import __version__

_REASON = 200  # bytes of why a script stops the run

_current: Optional[Peer] = None  # one per process
_away: Optional[Peer] = None  # the peer that the process has left, if join can come back to it
_left = False  # the process has left a peer for good


class Member(NamedTuple):
    """A worker of a run: its id, which it keeps for good, and the name of its machine."""

    id: int
    name: str


def init(*, seed: Optional[int] = None, peer: Optional[str] = None) -> Peer:
    """Return this worker before the model exists: rank, size, seed, dir, local_rank, local_size and device.

    Each worker gets random numbers of its own here, or in join where init was not called. They come from the state of
    the generators, the run's seed and the rank. On a LAN the rank is known after join.

    seed: seed random, NumPy and torch first, for scripts that do not.
    peer: as in join.
    """
    global _current
    if _current is None or _current._process != os.getpid():
        _current = Peer(peer)
    elif peer is not None and peer != _current._attached:
        raise Error("this process has a peer already: call peer.leave() first")
    elif seed is not None:
        raise Error("the seed comes too late: call init(seed=...) once, before join")
    if seed is not None:
        _seeds.seed_all(seed)
    _current._reseed()
    return _current


def join(model: Any, optimizer: Any = None, *, buffers: bool = True, rounds: Optional[int] = None,
         every: int = 1, peer: Optional[str] = None) -> Peer:
    """Make a model take part in the run, and return the peer.

    model: a torch module, a list or dictionary of modules, or a tree of float arrays (nested dicts, lists, tuples).
    With an optimizer, the tree has the tensors that it trains where they are. All workers start with the values of
    worker 0, or with those of the checkpoint.

    optimizer: each optimizer.step() also gossips. Of several in a list, the step of the last one does. Without an
    optimizer, call peer.step() after each local step, or peer.exchange(tree) for a tree. Where a script makes a new
    optimizer later, it joins again with the same model and that one.
    buffers: the floating-point buffers of the model travel too, such as the statistics of BatchNorm, from when their
    values change on. False: none.
    rounds: without a peer, the run ends after this number of steps.
    every: exchange after every so many steps.
    peer: the address that `peer python attach` has printed, in a notebook or another program that runs already.
    """
    optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [] if optimizer is None else [optimizer]
    several = list(model.values()) if isinstance(model, dict) else model
    modules = isinstance(several, (list, tuple)) and bool(several) and all(map(_torch.is_module, several))
    loose = bool(optimizers) and not modules and _torch.has_leaves(model)
    if not (modules or loose or _torch.is_module(model)):
        if optimizers:
            raise Error("a tree of arrays has no optimizer that join could watch: call peer.exchange(tree) after each "
                        "local step, or join with tensors that require gradients")
        return _join(_tree.Tree(model), [], rounds, every, peer)
    if optimizers and _joined() and _current._values.owns(model):
        _current._follow(optimizers)
        return _current
    values = _torch.Module(model, buffers)
    for each in optimizers:
        values.check_optimizer(each)
    return _join(values, optimizers, rounds, every, peer)


def join_array(x: Any, *, rounds: Optional[int] = None, peer: Optional[str] = None) -> Peer:
    """Make a NumPy array take part in the run, and return the peer.

    Change x in place, then call peer.step(): x holds the mixed values afterwards.

        peer = gossiptrainer.join_array(x)
        while not peer.done:
            x -= rate * gradient(x)
            peer.step()

    rounds, peer: as in join.
    """
    return _join(_tree.Array(x), [], rounds, 1, peer)


def _join(values: Any, optimizers: list, rounds: Optional[int], every: int, address: Optional[str] = None) -> Peer:
    if _joined():
        raise Error("this process has joined already: call peer.leave() first, or join a list of modules")
    if every < 1:
        raise Error(f"every={every}: a round has at least one step")
    peer = init(peer=address)
    peer._join(values, optimizers, rounds, every)
    return peer


def _joined() -> bool:
    return _current is not None and _current._values is not None and _current._process == os.getpid()


class Peer:
    """This worker of the run.

    round: the round that the next step ends, from 0. rounds: those of the whole run; None where the scripts decide.
    why: finished, target, interrupted or stopped, once the run has ended.
    view: the number of the present view, where members come and go; else None.
    mean_rounds: the workers of the last mean, and after how many rounds each had its values.
    run, seed: name and seed of the run.
    dir: a folder of this worker. local_rank, local_size: its number among the workers of this machine's command.
    """

    def __init__(self, attached: Optional[str] = None) -> None:
        environment = os.environ.get
        self._attached = attached or (_away._attached if _away is not None else None)
        self._path, _, self._token = (self._attached or "").partition("#")
        if not self._attached:
            self._path, self._token = environment("PEER_SOCKET") or "", environment("PEER_TOKEN") or ""
        self._resting = False  # between two cells of a notebook the peer stands in
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
        self.view: Optional[int] = None
        self._follows = bool(environment("PEER_VIEWS")) and not self._attached  # members come and go
        self._id, self._members = self._rank, None
        self._callbacks: list = []  # of on_view
        self._news: list = []  # views of which they have not been told
        self._done = False  # the run has ended
        self._finished = False  # this worker steps no more
        self._told_endless = False
        self._values: Any = None
        self._link: Optional[_link.Link] = None
        self._group: Optional[_group.Group] = None
        self._process = os.getpid()
        self._closed = False
        self._gone = False  # the script has called leave, so its optimizer steps without a peer
        self._reseeded: set = set()
        self._equal = False  # what does not travel is that of worker 0
        self._from = 0  # the round in which other tensors begin to travel
        self._steps, self._calls, self._saves = Steps(self), Calls(self), Saves(self)
        self._feed, self._told = _data.Feed(self), Told(self)

    # -- joining

    def _reseed(self) -> None:
        """Give the generators numbers of this worker's own, once the rank is known."""
        if self._path and self._rank is not None:
            if self._rank == 0 and "torch" not in self._reseeded and _seeds.unseeded():
                say("worker 0's generators were not seeded: two runs will differ (init(seed=1))")
            group = self._group or _group.find_group()
            _seeds.reseed(self._reseeded, self._seed_text, self._id, group.part if group else 0)

    def _join(self, values: Any, optimizers: list, rounds: Optional[int], every: int) -> None:
        self._steps.every = every
        self._saves.objects = ([values.model] if values.model is not None else []) + optimizers
        if self._path:
            if _left and not self._attached:
                raise Error("this process had finished when it left its peer, which gives it no further turn: start "
                            "another run")
            if _away is not None and _away._path == self._path:
                self._return(_away, values)
            else:
                self._connect(values)
        else:
            self._group = _group.find_group()
            self._values, self.rounds = values, rounds
            if rounds == 0:
                self._end("finished")
            say("PEER_SOCKET is not set, so this script runs alone, as rank 0 of 1: peer.shard passes once over its "
                "data, and peer.done needs join(rounds=...); with others: peer lab FILE -- python3 "
                + os.path.basename(sys.argv[0] or "train.py"))
        self._steps.watch(optimizers)

    def _follow(self, optimizers: list) -> None:
        """Take the steps of other optimizers of the same model for the worker's from now on."""
        self._check_usable()
        for each in optimizers:
            self._values.check_optimizer(each)
        earlier = {id(each) for each in self._steps.watched}
        kept = [each for each in self._saves.objects if id(each) not in earlier]
        self._saves.objects = kept + optimizers
        self._steps.watch(optimizers)

    def _connect(self, values: Any) -> None:
        self._group = _group.find_group()
        if self._leads:
            link = self._link = _link.Link(self._path, self._token, values.elements, values.most())
            values.attach(link.memory)
            self._values = values
            link.peer = self
            (_process.attend if self._attached else _process.watch_over)(link)
            hello = {"version": _link.VERSION, "client": "gossiptrainer " + __version__,
                     "elements": values.elements, "exact": values.exact, "tensors": values.tensors, "memory": link.kind}
            if self._follows:
                hello["views"] = _equal.digest(values)
            link.hello(hello)
        else:
            values.attach(bytearray(4 * values.elements))
            self._values = values
        self._meet("join()")
        message = self._receive(_link.WELCOME)
        welcome = json.loads(message.body)
        if welcome.get("version") != _link.VERSION:
            raise Error(f"the peer speaks version {welcome.get('version')} of the bridge, gossiptrainer {__version__} "
                        f"version {_link.VERSION}: use the package that `peer python path` names")
        self._rank, self._size, self.rounds = welcome["rank"], welcome["size"], welcome["rounds"] or None
        self._id = self._rank
        self.run, self.round, self.seed = welcome["run"], welcome["round"], welcome["seed"]
        if self._attached:
            self._seed_text = str(self.seed)
        if message.flags & _link.WITH_STATE:
            self._saves.resume(self._receive(_link.STATE).body)
        values.adopt()
        if welcome.get("finished"):  # before a restart this worker had finished, so it gets no turn
            values.scatter()
            self._finished = True
            self._steps.hold()
        else:
            self._turn()
        self._reseed()
        if self.view is not None:  # peers have compared what does not travel
            self._equal = True
        elif not self._resume():
            _equal.equalize(self, self._values)
            self._equal = True
        self._saves.await_place()

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
        self._values, self._equal, self._calls = values, True, Calls(self, before._calls.count)
        self._rank, self._size, self.rounds, self.run, self.seed = (before.rank, before.size, before.rounds, before.run,
                                                                    before.seed)
        before._closed, _away = True, None
        if link is not None:
            link.peer = self
        values.adopt()
        self.round = before.round
        self._meet("join()")
        with self._whole():
            self._send(_link.PAUSE, round=before.round)
            self._turn()
        self._told.round = self.round - 1
        say(f"this worker goes on with the values of round {self.round} of the run, not with those of the model")
        self._saves.await_place()

    def _resume(self) -> bool:
        """Go on from the state of a checkpoint, if there is one of after the first start."""
        loaded = self._saves.begin()
        if loaded is None:
            return False
        self._told.round = self.round - 1
        self._calls.count, self._equal = loaded["calls"], True
        self._feed.resume(loaded)
        self._values.restore(loaded["own"])
        self._saves.restore_same()
        _seeds.set_state(loaded["random"])
        return True

    @property
    def _leads(self) -> bool:
        """Tell whether this process speaks to the peer."""
        return self._group is None or self._group.part == 0

    def _meet(self, call: str) -> None:
        """Wait for the other processes of this worker, all of which make the same call."""
        if self._group is not None:
            where = "this worker" if self._rank is None else f"worker {self._rank}"
            self._group.meet(call, f"{where}, in round {self.round},")

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
    def members(self) -> tuple:
        """The workers of the run in the order of their ranks, each with its id and the name of its machine.

        Where members come and go, rank, size and members are those of the present view. Ids stay.
        """
        if self._members is None:
            return tuple(Member(rank, "") for rank in range(self.size))
        return self._members

    def on_view(self, callback: Callable) -> Callable:
        """Have callback(number, members, reason) called at the end of a step after which others take part.

        rank, size and members are those of the new view by then. Where no member comes or goes, nothing calls it.
        """
        self._callbacks.append(callback)
        return callback

    def _see(self, message: _link.Message) -> None:
        """Take a view of the run."""
        told = json.loads(bytes(message.body))
        changed = self.view is not None  # the first one is the start of this worker
        self.view, self._id, self._rank, self._size = told["view"], told["id"], told["rank"], told["size"]
        self._members = tuple(Member(each["id"], each["name"]) for each in told["members"])
        if changed:
            self._news.append((self.view, self._members, told["why"]))

    def _announce(self) -> None:
        """Tell the script of the views that have begun."""
        news, self._news = self._news, []
        for each in news:
            for callback in self._callbacks:
                callback(*each)

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
        if self._done and self._feed.shard is None:
            self._saves.give_owed()
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
        if type(self._values) is _tree.Tree:
            raise Error("step does not see new arrays of a tree: params = peer.exchange(params)")
        self._steps.before()
        self._steps.after()

    def exchange(self, tree: Any, loss: Any = None) -> Any:
        """Hand over a tree of arrays, which the local step has made, and return the tree of the mixed ones.

        Structure, types and shapes stay. Leaves that are not float arrays come back as they are given.
        """
        self._steps.before()
        if not isinstance(self._values, _tree.Tree):
            raise Error("exchange needs the tree of arrays that join got: of a module, call peer.step()")
        if loss is not None:
            self.log(loss)
        if not self._steps.dropped:
            self._values.take(tree)
        self._steps.after()
        return self._values.params

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Make the steps inside local: they exchange nothing, and end no round."""
        self._steps.local += 1
        try:
            yield
        finally:
            self._steps.local -= 1

    def _end_round(self) -> None:
        self._values.keep_back()
        if self._alone:
            self.round += 1
            if self.round == self.rounds:
                self._end("finished")
            return
        self._meet("step()")
        with self._whole():
            self._values.gather()
            self._told.flush()
            self._send(_link.STEP, round=self.round)
            self._turn()
            self._saves.await_place()
        self._announce()

    def refresh(self) -> None:
        """Say that other parameters train from now on than at join: some were unfrozen, or replaced.

        The first step after such a change does this by itself. All workers make the same change. New tensors begin with
        the values of worker 0, and travel a few rounds later. Until then, steps do not change them.
        """
        self._check_usable()
        if not self.done:
            self._notice_change()

    def _notice_change(self) -> None:
        """Begin to train other parameters, if the script has changed their set."""
        if self._values.next is None and self._values.changed(self.round):
            self._refresh()

    def _refresh(self) -> None:
        if self.view is not None:
            raise Error("other parameters cannot begin to train where members come and go: a newcomer would not know "
                        "them: unfreeze them before join")
        values = self._values
        fresh = values.renew()
        names = [slot.name for slot in values.fresh]
        if self._alone:
            self._values = values.next
            return
        outline = json.dumps({"tensors": values.next.tensors, "elements": values.next.elements,
                              "exact": values.next.exact}).encode()
        self._from = sys.maxsize  # until the result says it
        values.start(self._calls.collect({"kind": "refresh"}, struct.pack("<I", len(outline)) + outline + fresh))
        if self.rank == 0 and names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            say(f"{names[0]}{more} train from now on: new tensors travel from round {self._from} on")

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
        self._steps.note()
        self._saves.owe(bool(message.flags & _link.WITH_STATE))
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
        self._steps.hold()

    def _rest(self) -> None:
        """Give the turn back at the end of a cell: the peer stands in until the next call that needs one."""
        if self._values is None or self._values.next is not None:  # the vector is about to change
            return
        if not (self.done or self._closed or self._gone or self._resting):
            with self._whole():
                self._saves.settle()
                self._told.flush()
                self._send(_link.PAUSE, round=self.round)
                self._resting = True

    def _wake(self) -> bool:
        """Ask for a turn after a rest, and tell whether there was one. It begins with the values of the run."""
        if not self._resting:
            return False
        self._resting = False
        with self._whole():
            self._send(_link.PAUSE, round=self.round)
            self._turn()
            self._saves.await_place()
        return True

    def _check_usable(self) -> None:
        if os.getpid() != self._process:
            raise Error("this process was forked from the one that joined: only that one may use the peer")
        if self._gone:
            raise Error("the script has left this peer: use the one that the next join returns")
        if self._closed:
            raise Error("the peer is closed: use it inside the with block, or before the script ends")
        if self._values is None:
            raise Error("this process has not joined yet: call gossiptrainer.join(model, optimizer) first")

    # -- messages

    def _receive(self, *kinds: int) -> _link.Message:
        """Return the next message of the peer, in all processes of a group."""
        while True:
            message = self._link.wait(*kinds, *([_link.VIEW] if self._follows else [])) if self._link is not None else None
            if self._group is not None:
                message = _link.Message(*self._group.share(message and tuple(message)))
            if message.kind != _link.VIEW:
                return message
            self._see(message)

    def _send(self, kind: int, body: Any = b"", round: int = 0) -> None:
        if self._link is not None:
            self._link.send(kind, body, round)

    def _whole(self) -> Any:
        return self._link.whole() if self._link is not None else contextlib.nullcontext()

    # -- what all workers do together

    def barrier(self) -> None:
        """Wait until all workers have called this. Others train on meanwhile."""
        self._check_usable()
        if not self._alone:
            self._calls.collect({"kind": "barrier"})

    def all_reduce(self, x: Any, op: str = "mean") -> Any:
        """Return the mean, sum, min or max of x over all workers: a number, a list or a small array (8192 numbers)."""
        self._check_usable()
        return self._calls.all_reduce(x, op)

    def broadcast(self, thing: Any, root: int = 0) -> Any:
        """Return what worker root gives: numbers, text, lists and dictionaries, up to 64 KiB as JSON."""
        self._check_usable()
        return self._calls.broadcast(thing, root)

    def average(self, wait: bool = True, ranks: Optional[Iterable[int]] = None, seconds: float = 10) -> Any:
        """Return a copy of the model (or tree, or array) with the mean over all workers.

        wait: all workers call it, with the same ranks. Who waits here mixes without updates, while others train on.
        Without wait, it takes the newest values of each worker, whatever their scripts do. peer.mean_rounds says
        after how many rounds they were. A line names workers that have not answered.
        ranks: the workers of the mean. The others call it, too, if it waits.
        seconds: how long it takes at most without wait.
        """
        self._check_usable()
        return self._values.copy(self._calls.mean(wait, ranks, seconds))

    @contextlib.contextmanager
    def averaged(self, wait: bool = True, ranks: Optional[Iterable[int]] = None, seconds: float = 10) -> Iterator[Any]:
        """Make the model itself hold the mean inside the with block. It then gets its own values back, bit for bit.

        Its options are those of average. No copy of the module is made.
        """
        self._check_usable()
        mean = self._calls.mean(wait, ranks, seconds)
        if mean is None:
            yield self._shown()
            return
        own, changes = self._values.clone(), self._values.changes()
        self._values.hold(mean)
        try:
            yield self._shown()
        finally:
            self._values.put(own)
            self._steps.ignore(changes)

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
        if self.view is not None:
            raise Error("peer.stop ends a run for all, which a script cannot do where members come and go: leave the "
                        "loop, and this machine mixes without updates; Ctrl-C leaves the run, and peer stop ends it")
        if self._finished:
            raise Error("this worker has finished: call peer.stop(why) in place of peer.finish()")
        if self._alone:
            self._end("stopped")
            return
        self._meet("stop()")
        with self._whole():
            self._wake()
            self._saves.settle()
            self._told.flush()
            self._send(_link.STOP, {"why": why}, round=self.round)
            self._turn()
            self._saves.await_place()

    # -- data

    def loader(self, loader: Any) -> Any:
        """Return a DataLoader over this worker's part of the dataset. One `for` is one pass.

        It has the batch size and the options of the given one. Where that shuffles, the order follows from the run's
        seed, the rank and the pass. The pass in which the run ends is the last one that is complete.
        """
        return self._feed.loader(loader)

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

    # -- what is told

    def log(self, loss: Any = None, **values: Any) -> None:
        """Tell the peer the loss of this round's mini-batch, and other numbers. Call it before or after the step.

        Values that are not finite are recorded as missing. No value ends a run.
        """
        self._check_usable()
        self._steps.check()
        self._told.log(dict({} if loss is None else {"loss": loss}, **values))

    def evaluate(self, accuracy: Any = None, loss: Any = None, **values: Any) -> None:
        """Tell the peer the accuracy (0 to 1), the loss or other scores of the model on data held out."""
        self._check_usable()
        told = dict(values, accuracy=accuracy, loss=loss)
        self._told.score({name: value for name, value in told.items() if value is not None})

    # -- checkpoints

    def boundary(self) -> None:
        """Say that each round begins here, at the top of the loop: a checkpoint holds the states as they are here.

        Without it, the states of objects are taken at the next batch of peer.shard or peer.loader, or at the next
        forward of the model in training, whichever comes first. Random numbers are those at the next batch, else those
        at the end of the step. A loop over peer.shard needs no boundary, and there it does nothing.
        """
        self._check_usable()
        if self._feed.shard is None:
            self._saves.boundary()

    def state(self, *objects: Any) -> None:
        """Say which objects' states a checkpoint holds beside the parameters, and restore them after a resume.

        An object is a module, an optimizer, a scheduler or anything else with state_dict() and load_state_dict(), or a
        NumPy array. The default is the model and the optimizers of join. Always added are the random numbers of torch,
        NumPy and Python, and the places in loaders. Call it before the first step.
        """
        self._check_usable()
        self._saves.choose(objects)

    # -- the end

    def finish(self) -> None:
        """Say that this worker takes no further step. It mixes on without updates until all have ended.

        The call does not wait. The end of the script, or of the with block, does this too.
        """
        self._check_usable()
        if not self.done:
            self._steps.hold()
            self._finish()

    def _finish(self) -> None:
        with self._whole():
            self._wake()
            self._saves.give_last()
            self._told.flush()
            if not self.done:
                self._steps.tell_last()
                self._finished = True
                self._send(_link.FINISH, round=self.round)

    def close(self) -> None:
        """Tell the peer that the script ends well. The end of the with block, or of the script, does this."""
        if self._closed or self._values is None or os.getpid() != self._process:
            return
        if not (self._gone or self._resting) and (self._link is None or not self._link.refused):
            self._finish()
        if self._group is not None:
            self._group.close()
        self._say_last(_link.BYE, {})

    def leave(self) -> None:
        """Give the peer back. A later join in the same process comes back, and takes the values of the run.

        Meanwhile the worker mixes without updates, and the run goes on until this process ends. A script that does not
        come back calls finish before, so that the run need not wait for it.
        """
        global _current, _left, _away
        if self._gone or not self._closed:
            self._check_usable()
        if self.view is not None and not self._closed and not self.done:
            raise Error("peer.leave lends a worker to another script, which does not work where members come and go: "
                        "end the script")
        if not self._alone and not self._closed and self._values.next is not None:
            raise Error("the parameters are about to change: take a step before peer.leave()")
        if self._alone or self._closed or self.done or self._link is not None and (self._link.closed or self._link.refused):
            self.close()
            _left = _left or bool(self._path)
        else:
            self._rest()
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
