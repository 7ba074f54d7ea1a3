"""A program that runs already, such as the kernel of a notebook, takes the place of a script."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from fakepeer import BYE, COLLECT, END, GO, PAUSE, STEP, TOKEN, WELCOME, Connection

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = """
import numpy, sys, types
hooks = []
shell = types.SimpleNamespace(events=types.SimpleNamespace(register=lambda name, call: hooks.append(call)))
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
import gossiptrainer

def cell(text):
    try:
        exec(text, globals())
    except (KeyboardInterrupt, gossiptrainer.Error) as problem:
        print(type(problem).__name__, problem, flush=True)
    for hook in hooks:
        hook(None)

x = numpy.ones(3, "float32")
"""


class Kernel:
    """A program of several cells, with this test as its peer."""

    def __init__(self, *cells):
        self.listener = socket.socket(socket.AF_INET)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(1)
        address = "tcp://127.0.0.1:%d#%s" % (self.listener.getsockname()[1], TOKEN)
        cells = (f"peer = gossiptrainer.join_array(x, peer={address!r})",) + cells
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "kernel.py")
        with open(path, "w") as file:
            file.write(KERNEL + "".join(f"cell({text!r})\n" for text in cells))
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(HERE))
        environment.pop("PEER_SOCKET", None)
        self.process = subprocess.Popen([sys.executable, "-u", path], env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def begin(self):
        c = self.connection = Connection(self.listener)
        c.give(WELCOME, 0, c.vector.copy(), 0, {"version": 2, "run": "test", "rank": 1, "size": 2, "rounds": 0,
                                                "round": 0, "seed": 7, "checkpoints": False, "finished": False})
        c.give(GO, 0, c.vector.copy())
        _, number, body = c.until(COLLECT)
        c.answer(number, body)
        return c

    def end(self):
        out, err = self.process.communicate(timeout=60)
        self.listener.close()
        self.connection.socket.close()
        self.folder.cleanup()
        return self.process.returncode, out.splitlines(), err


class AttachTest(unittest.TestCase):
    def test_the_peer_stands_in_between_cells(self):
        # a step by hand that comes before the values of the run is dropped
        kernel = Kernel("while True:\n    x += 1\n    peer.step()",
                        "x += 1\npeer.step()\nx += 1\npeer.step()\nprint(x[0], peer.round)",
                        "print(peer.rank, peer.size, peer.seed)", "peer.leave()")
        c = kernel.begin()
        self.assertEqual(c.until(PAUSE, STEP)[:2], (PAUSE, 0))
        self.assertEqual(c.until(PAUSE, STEP)[:2], (PAUSE, 0))  # the second cell asks for a turn
        c.give(GO, 3, c.vector.copy())
        self.assertEqual(c.until(PAUSE, STEP)[:2], (STEP, 3))
        os.kill(kernel.process.pid, signal.SIGINT)  # in an exchange, which comes to its end
        c.give(GO, 4, c.vector.copy())
        kind = c.until(PAUSE, STEP)[0]
        while kind == STEP:  # the interrupt has come late
            c.give(GO, 5, c.vector.copy())
            kind = c.until(PAUSE, STEP)[0]
        self.assertEqual(c.until(PAUSE, STEP)[0], PAUSE)
        c.give(GO, 8, [10, 10, 10])
        self.assertEqual(c.until(PAUSE, STEP)[0], STEP)
        c.give(GO, 9, c.vector.copy())
        self.assertEqual(c.until(PAUSE, STEP)[0], PAUSE)
        self.assertEqual(c.until(PAUSE, STEP, BYE)[0], BYE)
        code, out, err = kernel.end()
        self.assertEqual((code, out), (0, ["KeyboardInterrupt ", "11.0 9", "1 2 7"]), err)
        self.assertIn("the exchange ends first", err)

    def test_a_kernel_outlives_its_peer(self):
        kernel = Kernel("x += 1; peer.step()", "peer.barrier()", "peer.leave(); print('alive')")
        c = kernel.begin()
        c.until(PAUSE)
        c.until(PAUSE)
        c.socket.close()
        code, out, _ = kernel.end()
        gone = "Error the peer is gone, so this program trains no further: call peer.leave()"
        self.assertEqual((code, out[0], out[-1]), (0, gone, "alive"))
        self.assertEqual(len(out), 3)

    def test_the_end_of_the_run(self):
        kernel = Kernel("while not peer.done:\n    x += 1\n    peer.step()", "print(peer.why, x[0])", "peer.leave()")
        c = kernel.begin()
        c.until(PAUSE)
        c.until(PAUSE)
        c.give(GO, 1, c.vector.copy())
        c.until(STEP)
        c.give(END, 2, [5, 5, 5], 0, {"why": "finished", "message": ""})
        self.assertEqual(c.until(PAUSE, STEP, BYE)[0], BYE)
        code, out, err = kernel.end()
        self.assertEqual((code, out), (0, ["finished 5.0"]), err)


if __name__ == "__main__":
    unittest.main()
