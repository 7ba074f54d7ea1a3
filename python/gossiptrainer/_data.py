"""A worker's part of the data."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import sys
from typing import Any, Callable, Iterable, Iterator, List, Optional

from ._link import Error, say
from ._seeds import get_state, number, set_state

_PATIENCE = 100  # batches without a step, and a whole pass, before the script is told that it forgot to


def check_part(peer: Any, count: int) -> None:
    """Raise an Error if this worker's part of the samples is empty."""
    if count <= peer._worker:
        raise Error(f"part {peer._worker} of {peer._workers} has no sample: the data has {count}")


class Feed:
    """What a worker has seen of its data."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer
        self.shard: Optional[Shard] = None  # the one that runs
        self.epoch = 0  # of the shard's next pass over the data
        self.placed = True  # the shard is where the checkpoint says
        self.batch_round: Optional[int] = None  # the round that began with this batch of the shard
        self._passes: List[Passes] = []  # of each loader
        self.samplers = 0  # that were made

    def loader(self, given: Any) -> Any:
        """Return a loader over this worker's part, whose place belongs to the checkpoints."""
        passes = Passes(self.peer, len(self._passes))
        made = loader(self.peer, given, passes)
        self._passes.append(passes)
        return made

    def fetch(self) -> None:
        """Do what is due before the next batch of the shard."""
        if self.check():
            self.peer._saves.give_owed()

    def check(self) -> bool:
        """Check that steps are seen. Tell whether this process has a peer."""
        peer = self.peer
        if peer._values is None or peer._closed or os.getpid() != peer._process:
            return False
        peer._steps.check()
        return True

    def leave(self) -> None:
        """Leave the shard: the script has left its loop, perhaps before the next batch."""
        if self.peer.done and not self.peer._closed:
            self.peer._saves.give_owed()
        self.shard, self.batch_round = None, None

    def place(self) -> dict:
        """Return what a checkpoint holds."""
        shard = self.shard.place() if self.shard else {"epoch": self.epoch, "position": 0, "random": {}}
        return {"shard": shard, "loaders": [passes.place() for passes in self._passes]}

    def resume(self, loaded: dict) -> None:
        """Go on from a checkpoint."""
        self.epoch, self.placed = loaded["shard"]["epoch"], False

    def open(self) -> bool:
        """Tell whether a pass over a loader is under way."""
        return any(passes.start for passes in self._passes)

    def past(self) -> None:
        """Begin the next pass of all loaders: that of one had no batch left, and so had those beside it."""
        for passes in self._passes:
            passes.past()


# ---- one pass --------------------------------------------------------------------------------------------------------

class Passes:
    """The passes over a loader: their number, and the batches that were given of the present one."""

    def __init__(self, peer: Any, index: int) -> None:
        self.peer, self.index = peer, index  # among the loaders of the script
        self.epoch = self.position = 0  # the number of the pass, and of the batch in it that comes next
        self.start: dict = {}  # random numbers when the pass began; none between two passes
        self.order: Optional[Sampler] = None  # of samples, where the loader is one of ours
        self._taken: Optional[int] = None  # steps when the first pass began, if it is not complete

    def place(self) -> dict:
        """Return what a checkpoint holds."""
        return {"epoch": self.epoch, "position": self.position, "random": self.start}

    def _resumed(self) -> Optional[dict]:
        """Return the place of a checkpoint, for the first pass. A look at a batch before the first step is none."""
        steps = self.peer._steps.count
        if self._taken is None:
            self._taken = steps
        return self._saved() if self._taken == steps else None

    def _saved(self) -> Optional[dict]:
        loaded = self.peer._saves.loaded
        saved = loaded["loaders"] if loaded else []
        return saved[self.index] if self.index < len(saved) else None

    def past(self) -> None:
        """Begin the next pass, if the first one since the checkpoint has not come to a step or to its end."""
        saved = self._saved()
        if self._taken is None and saved:
            self._go_to(saved["epoch"] + bool(saved["random"]))
        self._taken = -1

    def _go_to(self, epoch: int) -> None:
        self.epoch = epoch
        if self.order is not None:
            self.order.epoch = epoch

    def run(self, batches: Callable[[], Iterator]) -> Iterator:
        """Yield the batches of one pass. It ends early after a step beyond the end of the run."""
        peer, steps = self.peer, self.peer._steps.count
        feed, saves = peer._feed, peer._saves
        resumed, skip = self._resumed(), 0
        if resumed:
            self._go_to(resumed["epoch"])
            skip = resumed["position"]
        begun = bool(resumed and resumed["random"] and not steps)  # it goes on where the checkpoint was taken
        if begun:
            numbers = get_state() if feed.open() else saves.loaded["random"]  # of what stands beside it in a zip
            set_state(resumed["random"])
        self.position, self.start = 0, get_state()
        try:
            opened = batches()
            for _ in itertools.islice(opened, skip):  # what was seen before the checkpoint
                self.position += 1
            if begun:
                set_state(numbers)
            while True:
                owed = feed.check() and saves.owed
                if peer.done and peer._steps.count != steps:
                    break
                numbers = get_state() if owed else None
                try:
                    batch = next(opened)
                except StopIteration:  # a state that is due waits for the next pass, or for what else follows
                    self._taken = -1
                    if skip and self.position == skip:
                        feed.past()
                    break
                if owed:
                    saves.give_owed(numbers)
                self.position += 1
                yield batch
        finally:  # the loop may leave the pass early
            self.position, self.start = 0, {}
            self.epoch += 1


class Sampler:
    """The samples of one worker, in an order of its own for each pass."""

    def __init__(self, peer: Any, count: int, shuffled: bool, local: bool) -> None:
        """The samples are numbered within the part where it is local, else within all the data."""
        self.peer, self.count, self.shuffled, self.local = peer, count, shuffled, local
        self.epoch, self.index = 0, peer._feed.samplers  # a loader that is made for each pass has other orders
        peer._feed.samplers += 1
        self.draw()

    def draw(self) -> None:
        """Take the samples of this worker of now."""
        check_part(self.peer, self.count)
        samples = range(self.peer._worker, self.count, self.peer._workers)
        self.samples = range(len(samples)) if self.local else samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass; without this, each pass has the next one."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[int]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        self.draw()
        if not self.shuffled:
            return iter(self.samples)
        torch = sys.modules["torch"]
        random = torch.Generator().manual_seed(number("order", self.peer.seed, self.peer._worker, epoch, self.index))
        order = torch.randperm(len(self.samples), generator=random, device="cpu")  # whatever the script's default is
        return iter([self.samples[i] for i in order.tolist()])


def sampler(peer: Any, dataset: Any, shuffle: bool) -> Sampler:
    """Return a sampler over this worker's part of a dataset."""
    import torch  # noqa: F401  (the sampler needs it)

    return Sampler(peer, len(dataset), shuffle, local=False)


@functools.lru_cache(None)
def _loader_class() -> type:
    import torch

    class Loader(torch.utils.data.DataLoader):
        """A DataLoader over one worker's part of a dataset."""

        passes: Any = None

        def __iter__(self) -> Iterator:
            if self.passes is None:  # a framework has made this one, after ours
                return super().__iter__()
            self._draw()
            return self.passes.run(lambda: super(Loader, self).__iter__())

        def _draw(self) -> None:
            """Take the part of this worker of now, where members come and go."""
            peer, order = self.passes.peer, self.passes.order
            if peer.view is None:
                return
            if order is None:  # a stream of items
                self.dataset.worker, self.dataset.workers = peer._worker, peer._workers
                return
            order.draw()
            part = range(peer._worker, order.count, peer._workers)
            if self.dataset.indices != part:
                self.dataset.indices = part
                self._iterator = None  # workers that persist have the part of before

    Loader.__module__, Loader.__qualname__ = __name__, "Loader"
    return Loader


class Batches:
    """Every n-th batch of a loader that cannot be made again for a part of the data."""

    def __init__(self, loader: Any, passes: Passes) -> None:
        self.loader, self.passes = loader, passes

    def __iter__(self) -> Iterator:
        peer = self.passes.peer
        return self.passes.run(lambda: itertools.islice(iter(self.loader), peer._worker, None, peer._workers))

    def __len__(self) -> int:
        return len(range(self.passes.peer._worker, len(self.loader), self.passes.peer._workers))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["loader"], name)


def is_part(given: Any) -> bool:
    """Tell whether a loader is one of ours."""
    return isinstance(given, Batches) or type(given).__module__ == __name__


def loader(peer: Any, given: Any, passes: Passes) -> Any:
    """Return a loader over this worker's part of the data of another one."""
    torch = sys.modules.get("torch")
    if is_part(given):
        raise Error("this loader is over this worker's part already: call peer.loader once, on the whole data")
    if torch is None or not isinstance(given, torch.utils.data.DataLoader):
        if hasattr(given, "__next__"):
            raise Error("a loader is passed over more than once, which an iterator cannot do: give a DataLoader, a list, "
                        "or an object whose __iter__ starts again")
        say(f"each worker loads all batches of this {type(given).__name__}, and takes every {peer._workers}th: use a "
            "torch DataLoader, or peer.part(dataset)")
        return Batches(given, passes)
    tools = torch.utils.data
    iterable = isinstance(given.dataset, tools.IterableDataset)
    why = _own_way(tools, given)
    if why and not (iterable and type(given).__iter__ is tools.DataLoader.__iter__):
        say(f"the loader has {why}, so each worker takes every {peer._workers}th batch, and loads the others in vain: "
            "use peer.sampler(dataset)")
        return Batches(given, passes)
    if peer.view is None or iterable:
        data = part(peer, given.dataset)
    else:  # a part that can change
        check_part(peer, len(given.dataset))
        data = tools.Subset(given.dataset, range(peer._worker, len(given.dataset), peer._workers))
    order = None if iterable else Sampler(peer, len(given.dataset), _shuffled(tools, given), local=True)
    made = _loader_class()(data, sampler=order, generator=given.generator, **_options(given))
    made.passes, passes.order = passes, order
    if not iterable and len(made) == 0:
        raise Error(f"this worker has {len(data)} samples, fewer than a batch of {made.batch_size}: make the batch "
                    "smaller, or do without drop_last")
    return made


def _batching(given: Any) -> Any:
    """Return what has sampler, batch_size and drop_last: the loader, or the BatchSampler that the script gave it."""
    return given if given.batch_size is not None or given.batch_sampler is None else given.batch_sampler


def _shuffled(tools: Any, given: Any) -> bool:
    sampler = _batching(given).sampler
    if type(sampler) is tools.DistributedSampler:
        return sampler.shuffle
    return type(sampler) is tools.RandomSampler and not sampler.replacement


def _complete(tools: Any, given: Any) -> bool:
    """Tell whether each pass has all samples once, in order or shuffled.

    A sampler left from DistributedDataParallel divides them itself. The division of the run takes its place: with both,
    samples would be in no part.
    """
    sampler = _batching(given).sampler
    if type(sampler) is tools.DistributedSampler:
        return len(sampler.dataset) == len(given.dataset)
    return (_shuffled(tools, given) or type(sampler) is tools.SequentialSampler) and len(sampler) == len(given.dataset)


def _own_way(tools: Any, given: Any) -> str:
    """Say what a loader has that one of ours would lack."""
    if type(given).__iter__ is not tools.DataLoader.__iter__:
        return "an __iter__ of its own"
    if given.batch_sampler is not None and type(given.batch_sampler) is not tools.BatchSampler:
        return f"a {type(given.batch_sampler).__name__}"
    if isinstance(given.dataset, tools.IterableDataset):
        return "an iterable dataset"
    return "" if _complete(tools, given) else f"a {type(_batching(given).sampler).__name__}"


def _options(given: Any) -> dict:
    """Return what a new loader takes over."""
    more = {"prefetch_factor": given.prefetch_factor} if given.num_workers else {}
    batching = _batching(given)
    return dict(batch_size=batching.batch_size, drop_last=batching.drop_last, num_workers=given.num_workers,
                collate_fn=given.collate_fn, pin_memory=given.pin_memory, timeout=given.timeout,
                worker_init_fn=given.worker_init_fn, multiprocessing_context=given.multiprocessing_context,
                persistent_workers=given.persistent_workers, **more)


# ---- a part of a dataset ---------------------------------------------------------------------------------------------

def part(peer: Any, dataset: Any) -> Any:
    """Return this worker's part: every n-th sample of a list, an array, or a dataset of torch or Hugging Face."""
    worker, workers = peer._worker, peer._workers
    torch = sys.modules.get("torch")
    if type(dataset).__module__.startswith("datasets."):  # of Hugging Face
        if hasattr(dataset, "__len__"):
            check_part(peer, len(dataset))
            return dataset.shard(num_shards=workers, index=worker, contiguous=False)
        from datasets.distributed import split_dataset_by_node
        return split_dataset_by_node(dataset, rank=worker, world_size=workers)
    if torch is not None and isinstance(dataset, torch.utils.data.IterableDataset):
        return _stream_class()(dataset, worker, workers)
    if not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
        raise Error(f"part needs a list, an array or a dataset, not {type(dataset).__name__}; a generator is divided by "
                    "itertools.islice(items, peer.rank, None, peer.size)")
    check_part(peer, len(dataset))
    if torch is not None and isinstance(dataset, torch.utils.data.Dataset):
        return torch.utils.data.Subset(dataset, range(worker, len(dataset), workers))
    try:
        return dataset[worker::workers]
    except (TypeError, KeyError, IndexError, ValueError):  # it takes numbers of samples only
        return [dataset[i] for i in range(worker, len(dataset), workers)]


@functools.lru_cache(None)
def _stream_class() -> type:
    import torch

    class Stream(torch.utils.data.IterableDataset):
        """Every n-th item of an iterable dataset; the workers of a DataLoader share a worker's items."""

        def __init__(self, dataset: Any, worker: int, workers: int) -> None:
            self.dataset, self.worker, self.workers = dataset, worker, workers

        def __iter__(self) -> Iterator:
            info = torch.utils.data.get_worker_info()
            count, index = (info.num_workers, info.id) if info else (1, 0)
            return itertools.islice(iter(self.dataset), self.worker + index * self.workers, None, self.workers * count)

    Stream.__module__, Stream.__qualname__ = __name__, "Stream"
    return Stream


# ---- passes until the run ends ---------------------------------------------------------------------------------------

class Shard:
    """This worker's part of the data, pass after pass, until the run is done."""

    def __init__(self, peer: Any, data: Iterable) -> None:
        if hasattr(data, "__next__"):
            raise Error("shard passes over the data more than once, which an iterator cannot do: "
                        "give a DataLoader, a list, or an object whose __iter__ starts again")
        self.peer = peer
        self.data: Any = data
        self.epoch = self.position = 0  # of the batch that comes next
        self.start: dict = {}  # random numbers when this pass began
        self.order: Optional[_Order] = None  # of samples, where the loader is one of ours
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(data, torch.utils.data.DataLoader) and not _own_way(torch.utils.data, data):
            self._split(torch, data)

    def _split(self, torch: Any, given: Any) -> None:
        """Replace a loader whose sampler is torch's own by one over every size-th sample."""
        self.order = _Order(_shuffled(torch.utils.data, given))
        self.data = torch.utils.data.DataLoader(given.dataset, sampler=self.order, generator=torch.Generator(),
                                                **_options(given))
        self._draw()

    def _draw(self) -> None:
        """Take the samples of this worker of now."""
        peer, given, count = self.peer, self.data, len(self.data.dataset)
        if count < peer._workers:
            raise Error(f"the data has {count} samples, fewer than the {peer._workers} workers of the run")
        self.order.take(range(peer._worker, count, peer._workers))
        if len(self.data) == 0:
            raise Error(f"this worker has {len(self.order.samples)} samples, fewer than a batch of "
                        f"{given.batch_size}: make the batch smaller, or do without drop_last")

    def __iter__(self) -> Iterator:
        peer = self.peer
        idle = 0  # batches since the last step
        peer._feed.shard = self
        try:
            while not peer.done:
                round, passed = peer.round, 0
                for batch in self._pass():
                    idle = 0 if peer.round != round else idle + 1
                    round, passed = peer.round, passed + 1
                    peer._feed.batch_round = round
                    yield batch
                if peer.done or peer._alone and peer.rounds is None:
                    return
                if not passed and not self.position:
                    raise Error(f"the data has no item for rank {peer.rank} of {peer.size}")
                if idle >= max(_PATIENCE, passed):
                    raise Error(f"{idle} batches went by without a step: call step of the optimizer that join got, "
                                "or peer.step()")
        finally:
            if peer._feed.shard is self:
                peer._feed.leave()

    def _pass(self) -> Iterator:
        """Iterate over the batches of one pass. Each state is given before the next batch is fetched."""
        peer = self.peer
        feed = peer._feed
        resumed = None if feed.placed else peer._saves.loaded
        self.epoch, self.position, self.start = feed.epoch, 0, get_state()
        feed.epoch, feed.placed = feed.epoch + 1, True
        skip = resumed["shard"]["position"] if resumed else 0
        if resumed:
            self.start = resumed["shard"]["random"] or self.start
            set_state(self.start)
        batches = self._open(skip)
        for _ in itertools.islice(batches, skip if self.order is None or self.data.num_workers else 0):
            pass  # what was seen before the checkpoint
        self.position = skip
        if resumed:
            set_state(resumed["random"])
        while True:
            peer._feed.fetch()
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
            return itertools.islice(iter(self.data), peer._worker, None, peer._workers)
        if peer.view is not None:
            self._draw()
        digest = hashlib.sha256(f"{peer.seed} {peer._worker} {self.epoch}".encode()).digest()
        self.data.generator.manual_seed(int.from_bytes(digest[:7], "little"))
        self.order.draw(self.data.generator)
        if self.data.num_workers == 0:  # the samples themselves use no random numbers of workers, so none are fetched
            self.order.now = self.order.now[skip * (self.data.batch_size or 1):]
        return iter(self.data)

    def place(self) -> dict:
        """Return what a checkpoint holds."""
        return {"epoch": self.epoch, "position": self.position, "random": self.start}


class _Order:
    """A sampler over the samples of one worker."""

    def __init__(self, shuffled: bool) -> None:
        self.shuffled = shuffled
        self.take(range(0))

    def take(self, samples: range) -> None:
        """Go over other samples."""
        self.samples, self.now = samples, list(samples)

    def draw(self, generator: Any) -> None:
        self.now = list(self.samples)
        if self.shuffled:
            order = sys.modules["torch"].randperm(len(self.samples), generator=generator, device="cpu")
            self.now = [self.samples[i] for i in order.tolist()]

    def __iter__(self) -> Iterator:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


def __getattr__(name: str) -> Any:
    """Make the classes that need torch when a process of a DataLoader, or a file, asks for them."""
    if name in ("Loader", "Stream"):
        return _loader_class() if name == "Loader" else _stream_class()
    raise AttributeError(name)
