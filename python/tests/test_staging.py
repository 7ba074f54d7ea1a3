"""Copies of accelerators: their order, their buffers, and what an exchange refuses. No accelerator is needed."""

import unittest
from unittest import mock

import torch

from fakecuda import Cuda
from gossiptrainer import Error, _staging, _torch


class StagingTest(unittest.TestCase):
    def setUp(self):
        for name in ("_copy", "_add"):  # the fake puts others there
            self.addCleanup(setattr, _staging, name, getattr(_staging, name))
        self.cuda = Cuda()
        self.staging = _staging.Staging(torch, self.cuda)

    def test_the_host_waits_for_its_copy_and_the_script_for_the_other(self):
        tensors = [torch.ones(2, 3), torch.ones(4).t()]
        values = self.staging.fetch(tensors)
        self.assertEqual(self.cuda.log, ["side 1 waits for script", "side 1 copies 2", "side 1 copies 1",
                                         "event of side 1", "host waits for an event of side 1"])
        self.assertEqual([v.tolist() for v in values], [t.tolist() for t in tensors])
        self.cuda.log.clear()
        addresses = [t.data_ptr() for t in tensors]
        for room in self.staging.room(tensors):
            room.fill_(5)
        self.staging.send(adding=torch.float64)
        order = ["side 1 waits for script", "side 1 copies 1", "side 1 copies 2", "event of side 1",
                 "script waits for an event of side 1"]
        self.assertEqual(self.cuda.log, order)
        self.assertEqual([t.unique().tolist() for t in tensors], [[5], [5]])
        self.assertEqual([t.data_ptr() for t in tensors], addresses)
        self.cuda.log.clear()
        self.staging.room(tensors)  # the copy before may still read what is written now
        self.staging.send(adding=torch.float64)
        self.assertEqual(self.cuda.log, ["host waits for an event of side 1"] + order)

    def test_buffers_have_the_size_and_type_of_what_travels(self):
        tensors = [torch.ones(3, dtype=torch.bfloat16), torch.ones(5), torch.ones(2, dtype=torch.bfloat16),
                   torch.ones(7, dtype=torch.float64)]
        values = self.staging.fetch(tensors)
        self.assertEqual([(v.dtype, tuple(v.shape)) for v in values], [(t.dtype, tuple(t.shape)) for t in tensors])
        lanes = {lane.host.dtype: lane.host.numel() for lane in self.staging._lanes}
        self.assertEqual(lanes, {torch.bfloat16: 5, torch.float32: 5, torch.float64: 7})
        before = self.staging._lanes
        self.staging.fetch([t.clone() for t in tensors])
        self.assertIs(self.staging._lanes, before, "buffers are made once")
        for room in self.staging.room(tensors):
            room.fill_(2)
        self.staging.send(adding=torch.float64)
        self.assertEqual([t[0].item() for t in tensors], [2, 2, 2, 3])
        self.staging.fetch(tensors[:2])
        self.assertEqual(sum(lane.host.numel() for lane in self.staging._lanes), 8)

    def test_all_copies_begin_before_the_host_waits(self):
        self.staging.fetch([torch.ones(3), torch.ones(3, dtype=torch.float16)])
        waits = [i for i, line in enumerate(self.cuda.log) if line.startswith("host waits")]
        copies = [i for i, line in enumerate(self.cuda.log) if "copies" in line]
        self.assertEqual(len(waits), 2)
        self.assertLess(max(copies), min(waits))

    def test_a_graph_holds_no_exchange(self):
        with mock.patch.object(torch.cuda, "is_initialized", lambda: True), \
                mock.patch.object(torch.cuda, "is_current_stream_capturing", lambda: True), \
                self.assertRaisesRegex(Error, "exchange outside the graph: call peer.step.. after replay"):
            _torch.refuse_capture()
        _torch.refuse_capture()


if __name__ == "__main__":
    unittest.main()
