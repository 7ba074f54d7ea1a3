"""What stands for torch.cuda in tests: streams whose copies are done late, when something has waited for them."""

import contextlib

from gossiptrainer import _staging


class Stream:
    def __init__(self, cuda, name):
        self.cuda, self.name, self.queue, self.done = cuda, name, [], 0

    def wait_stream(self, other):
        self.cuda.log.append(f"{self.name} waits for {other.name}")

    def wait_event(self, event):
        self.cuda.log.append(f"{self.name} waits for an event of {event.stream.name}")
        event.reach()

    def put(self, text, copy):
        self.cuda.log.append(f"{self.name} {text}")
        self.queue.append(copy)


class Event:
    def __init__(self, cuda):
        self.cuda, self.stream, self.at = cuda, None, 0

    def record(self, stream):
        self.stream, self.at = stream, len(stream.queue)
        self.cuda.log.append(f"event of {stream.name}")

    def synchronize(self):
        self.cuda.log.append(f"host waits for an event of {self.stream.name}")
        self.reach()

    def reach(self):
        while self.stream.done < self.at:
            self.stream.queue[self.stream.done]()
            self.stream.done += 1


class Cuda:
    """The calls of torch.cuda that Staging makes. The script's own stream does its work at once."""

    def __init__(self):
        self.log, self.made = [], 0
        self.script = self.now = Stream(self, "script")
        _staging._copy, _staging._add = self._lazily(_staging._copy, "copies"), self._lazily(_staging._add, "adds")

    def _lazily(self, do, text):
        def later(torch, to, of):
            self.now.put(f"{text} {len(to)}", lambda: do(torch, to, of))
        return later

    def Stream(self, device):
        self.made += 1
        return Stream(self, f"side {self.made}")

    def Event(self, blocking):
        return Event(self)

    def current_stream(self, device):
        return self.script

    @contextlib.contextmanager
    def stream(self, stream):
        before, self.now = self.now, stream
        yield
        self.now = before
