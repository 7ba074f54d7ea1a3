"""Copies between the memory of accelerators and that of the host, on a stream of their own.

Tensors of one device and type are gathered in one buffer of the device, which crosses the bus as one asynchronous copy
to or from pinned memory. Half types cross it as they are. The host waits for the event of a copy to it, and for nothing
else. After a copy to the device it is the stream of the script that waits.

Tensors keep their addresses, as compiled and captured programs need. Documentation: torch.cuda.Stream, torch.cuda.Event.
"""

from __future__ import annotations

from typing import Any, List, Optional


class _Lane:
    """The tensors of one device and one type, with their buffers and their stream."""

    def __init__(self, torch: Any, cuda: Any, tensors: List[Any]) -> None:
        self.torch, self.cuda, self.tensors = torch, cuda, tensors
        first = tensors[0]
        self.device = first.device
        count = sum(tensor.numel() for tensor in tensors)
        self.near = torch.empty(count, dtype=first.dtype, device=self.device)
        self.host = torch.empty(count, dtype=first.dtype, pin_memory=first.is_cuda)
        self.near_parts, self.host_parts = self._parts(self.near), self._parts(self.host)
        self.stream = cuda.Stream(self.device)
        self.event = cuda.Event(blocking=True)  # the cores are for the peers
        self.sends = False  # the event is that of a copy to the device

    def _parts(self, flat: Any) -> List[Any]:
        parts, at = [], 0
        for tensor in self.tensors:
            parts.append(flat[at:at + tensor.numel()].view(tensor.shape))
            at += tensor.numel()
        return parts

    def begin(self) -> Any:
        """Return a block whose copies come after all that the script has asked the device for."""
        self.stream.wait_stream(self.cuda.current_stream(self.device))
        return self.cuda.stream(self.stream)

    def fetch(self) -> None:
        """Begin to copy the tensors to the host."""
        with self.begin():
            _copy(self.torch, self.near_parts, self.tensors)
            _copy(self.torch, [self.host], [self.near])
            self.event.record(self.stream)
        self.sends = False

    def send(self, adds: bool) -> None:
        """Begin to copy the host's values to the tensors, or to add them."""
        with self.begin():
            _copy(self.torch, [self.near], [self.host])
            if adds:
                _add(self.torch, self.tensors, self.near_parts)
            else:
                _copy(self.torch, self.tensors, self.near_parts)
            self.event.record(self.stream)
        self.cuda.current_stream(self.device).wait_event(self.event)
        self.sends = True

    def wait(self) -> None:
        """Wait until the host's buffer can be read."""
        self.event.synchronize()

    def free(self) -> None:
        """Wait until the host's buffer can be written: a copy to the device may still read it."""
        if self.sends:
            self.event.synchronize()


class Staging:
    """The buffers of all tensors that are on accelerators. They are made for a list of tensors, once."""

    def __init__(self, torch: Any, cuda: Optional[Any] = None) -> None:
        self.torch, self.cuda = torch, cuda or torch.cuda
        self._tensors: List[Any] = []
        self._lanes: List[_Lane] = []
        self._at: list = []  # lane and place in it, of each tensor

    def _prepare(self, tensors: List[Any]) -> None:
        known, self._tensors = self._tensors, tensors
        if len(tensors) == len(known) and all(map(_alike, tensors, known)):
            for (lane, place), tensor in zip(self._at, tensors):
                lane.tensors[place] = tensor
            return
        found: dict = {}
        places = []
        for tensor in tensors:
            lane = found.setdefault((tensor.device, tensor.dtype), [])
            places.append((tensor.device, tensor.dtype, len(lane)))
            lane.append(tensor)
        lanes = {key: _Lane(self.torch, self.cuda, lane) for key, lane in found.items()}
        self._lanes = list(lanes.values())
        self._at = [(lanes[device, dtype], place) for device, dtype, place in places]

    def fetch(self, tensors: List[Any]) -> List[Any]:
        """Return the values of the tensors, on the host and of their own types, until the next call."""
        self._prepare(tensors)
        for lane in self._lanes:
            lane.fetch()
        for lane in self._lanes:
            lane.wait()
        return [lane.host_parts[place] for lane, place in self._at]

    def room(self, tensors: List[Any]) -> List[Any]:
        """Return the places on the host for new values of the tensors."""
        self._prepare(tensors)
        for lane in self._lanes:
            lane.free()
        return [lane.host_parts[place] for lane, place in self._at]

    def send(self, adding: Any) -> None:
        """Copy what is in these places to the tensors. To those of the type adding it is added."""
        for lane in self._lanes:
            lane.send(lane.near.dtype == adding)


def _alike(tensor: Any, before: Any) -> bool:
    return tensor.device == before.device and tensor.dtype == before.dtype and tensor.shape == before.shape


def _copy(torch: Any, to: List[Any], of: List[Any]) -> None:
    """Copy tensors. Nothing waits for the copies."""
    if hasattr(torch, "_foreach_copy_") and len(to) > 1:
        torch._foreach_copy_(to, of, non_blocking=True)
        return
    for target, value in zip(to, of):
        target.copy_(value, non_blocking=True)


def _add(torch: Any, to: List[Any], of: List[Any]) -> None:
    torch._foreach_add_(to, of)
