"""How a script ends: by itself, by an error, by its peer. NumPy is enough for these."""

import ast
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import numpy

import gossiptrainer as gossip
from fakepeer import BYE, COLLECT, END, ERROR, FINISH, GO, STEP, WELCOME, Connection, Run

HERE = os.path.dirname(os.path.abspath(__file__))


class Script:
    """A script in an interpreter of its own, with this test as its peer."""

    def __init__(self, text, **more):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "script.py")
        with open(self.path, "w") as file:
            file.write("import numpy, sys, os, signal, gossip\nx = numpy.ones(3, dtype='float32')\n" + text)
        socket_path = os.path.join(self.folder.name, "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(socket_path)
        self.listener.listen(1)
        environment = dict(os.environ, PEER_SOCKET=socket_path, PYTHONPATH=os.path.dirname(HERE), **more)
        self.process = subprocess.Popen([sys.executable, self.path], env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def begin(self, rounds=3):
        c = self.connection = Connection(self.listener)
        c.give(WELCOME, 0, c.vector.copy(), 0, {"version": 2, "run": "test", "rank": 0, "size": 1, "rounds": rounds,
                                                "round": 0, "seed": 7, "checkpoints": False, "finished": False})
        c.give(GO, 0, c.vector.copy())
        self.answers(c)
        return c

    @staticmethod
    def answers(c):
        """Answer the call by which join compares what does not travel."""
        _, number, body = c.until(COLLECT)
        c.answer(number, body)

    def serve(self, rounds, why="finished"):
        """Serve this many rounds and the end."""
        c = self.begin(rounds)
        for k in range(1, rounds + 1):
            c.until(STEP)
            if k < rounds:
                c.give(GO, k, c.vector.copy())
        c.give(END, rounds, c.vector.copy(), 0, {"why": why, "message": ""})
        return c

    def end(self):
        """Return exit code, output and errors."""
        out, err = self.process.communicate(timeout=60)
        self.listener.close()
        if hasattr(self, "connection"):
            self.connection.socket.close()
        self.folder.cleanup()
        return self.process.returncode, out, err


LOOP = "peer = gossip.join_array(x)\nwhile not peer.done:\n    x += 1\n    peer.step()\n"


class Endings(unittest.TestCase):
    def test_goes_well(self):
        script = Script(LOOP + "print(x[0], peer.round, peer.rank, peer.size, peer.rounds, peer.run, peer.seed, "
                               "peer.why)")
        c = script.serve(3)
        self.assertEqual(c.until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (0, "4.0 3 0 1 3 test 7 finished\n", ""))

    def test_raises(self):
        script = Script("sys.excepthook = lambda *a: print('own hook', a[0].__name__)\n" + LOOP + "x = [1][5]\n")
        c = script.serve(1)
        kind, _, body = c.until(BYE, ERROR)
        self.assertEqual(kind, ERROR)
        self.assertIn(b"IndexError: list index out of range (script.py, line 8)", body)
        self.assertEqual(script.end(), (1, "own hook IndexError\n", ""))

    def test_raises_where_a_library_has_another_hook(self):
        script = Script(LOOP + "sys.excepthook = lambda *a: print('own hook', a[0].__name__)\nx = [1][5]\n")
        kind, _, body = script.serve(1).until(BYE, ERROR)
        self.assertEqual(kind, ERROR)
        self.assertIn(b"IndexError: list index out of range", body)
        self.assertEqual(script.end(), (1, "own hook IndexError\n", ""))

    def test_raises_in_a_with_block(self):
        script = Script("with gossip.join_array(x) as peer:\n    raise ValueError('bad')\n")
        kind, _, body = script.begin().until(BYE, ERROR)
        self.assertEqual(kind, ERROR)
        self.assertIn(b"ValueError: bad (script.py, line 4)", body)
        code, _, err = script.end()
        self.assertEqual(code, 1)
        self.assertIn("Traceback", err)

    def test_with_block(self):
        script = Script("with gossip.join_array(x) as peer:\n    while not peer.done:\n        peer.step()\n"
                        "print('after', peer.done)\n"
                        "try:\n    peer.log(1)\nexcept gossip.Error as problem:\n    print(problem)\n")
        self.assertEqual(script.serve(2).until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (0, "after True\nthe peer is closed: use it inside the with block, or before "
                                           "the script ends\n", ""))

    def test_exits(self):
        script = Script("peer = gossip.join_array(x)\nsys.exit(3)\n")
        self.assertEqual(script.begin().until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (3, "", ""))

    def test_steps_after_the_end_are_undone(self):
        script = Script(LOOP + "for _ in range(3):\n    x += 5\n    peer.step()\nprint(x[0], peer.round)\n")
        self.assertEqual(script.serve(1).until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (0, "2.0 1\n", "gossip: the run's 1 rounds are done: further steps change "
                                        "nothing; leave the loop when peer.done, or set train.rounds: script "
                                        "(script.py, line 9)\n"))

    def test_a_step_after_another_end(self):
        for why, code, line in (
                ("target", 0, "the run has ended after 1 rounds (target): further steps change nothing; leave the loop "
                              "when peer.done (script.py, line 7)"),
                ("interrupted", -signal.SIGINT, "interrupted in round 1 (script.py, line 7)")):
            script = Script(LOOP + "peer.step()\n")
            self.assertEqual(script.serve(1, why=why).until(BYE, ERROR)[0], BYE)
            self.assertEqual(script.end(), (code, "", "gossip: " + line + "\n"))

    def test_steps_after_finish_are_undone(self):
        script = Script("peer = gossip.join_array(x)\npeer.step()\npeer.finish()\npeer.finish()\n"
                        "x += 5\npeer.step()\nprint(x[0], peer.done, peer.average()[0])\n")
        c = script.begin(0)
        c.until(STEP)
        c.give(GO, 1, c.vector + 1)
        self.assertEqual(c.until(FINISH)[1], 1)
        self.assertEqual(c.until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (0, "2.0 True 2.0\n", "gossip: this worker has finished, so further steps change "
                                        "nothing: leave the loop when peer.done (script.py, line 8)\n"))
        self.assertEqual(c.others, [], "FINISH was said twice")

    def test_joins_twice(self):
        script = Script("gossip.join_array(x)\ngossip.join_array(x)\n")
        self.assertIn(b"this process has joined already", script.begin().until(BYE, ERROR)[2])
        self.assertEqual(script.end()[0], 1)

    def test_refused_at_the_start(self):
        script = Script("gossip.join_array(x)\n")
        script.connection = Connection(script.listener)
        script.connection.send(ERROR, {"message": "this script differs", "hint": "use the same one"})
        code, _, err = script.end()
        self.assertEqual((code, err), (1, "gossip: this script differs\n  use the same one (script.py, line 3)\n"))

    def test_refused_later(self):
        script = Script(LOOP)
        c = script.begin()
        c.until(STEP)
        c.send(ERROR, {"message": "the run is lost"})
        c.socket.close()
        code, _, err = script.end()  # told by the thread that watches, or by the step
        self.assertEqual(code, 1)
        self.assertIn("gossip: the run is lost", err)

    def test_peer_dies_while_the_script_waits(self):
        script = Script(LOOP)
        c = script.begin()
        c.until(STEP)
        c.socket.close()
        self.assertEqual(script.end(), (1, "", "gossip: the peer is gone, so the script ends\n"))

    def test_peer_dies_while_the_script_computes(self):
        compute = "peer = gossip.join_array(x)\nprint('computes', flush=True)\nwhile True:\n    x + 1\n"
        for last, want in ((None, "the peer is gone, so the script ends"), ("disk full", "disk full")):
            script = Script(compute)
            c = script.begin()
            script.process.stdout.readline()
            if last:
                c.send(ERROR, {"message": last})
            c.socket.close()
            self.assertEqual(script.end(), (1, "", "gossip: " + want + "\n"))

    def test_peer_dies_and_no_child_stays(self):
        script = Script("import multiprocessing, threading\n"
                        "peer = gossip.join_array(x)\n"
                        "fork = multiprocessing.get_context('fork')\n"
                        "fork.Process(target=threading.Event().wait, daemon=True).start()\n"
                        "print('computes', flush=True)\n"
                        "while True:\n    x + 1\n")
        c = script.begin()
        script.process.stdout.readline()
        c.socket.close()
        self.assertEqual(script.end()[0], 1)  # the child holds the output open while it lives

    def test_peer_dies_with_the_pipes_of_the_script(self):
        script = Script("peer = gossip.join_array(x)\nprint('computes', flush=True)\nwhile True:\n    x + 1\n")
        c = script.begin()
        script.process.stdout.readline()
        script.process.stdout.close()
        script.process.stderr.close()
        c.socket.close()
        self.assertEqual(script.process.wait(60), 1)
        script.listener.close()

    def test_interrupt_while_others_are_awaited(self):
        script = Script("gossip.join_array(x)\n")
        c = script.connection = Connection(script.listener)
        os.kill(script.process.pid, signal.SIGINT)
        c.socket.settimeout(60)
        self.assertEqual(c.until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end()[0], -signal.SIGINT)

    def test_no_peer_at_the_address(self):
        done = subprocess.run([sys.executable, "-c", "import numpy, gossip; gossip.join_array(numpy.ones(2))"],
                              env=dict(os.environ, PEER_SOCKET="nowhere", PYTHONPATH=os.path.dirname(HERE)),
                              text=True, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no peer answers at PEER_SOCKET=nowhere", done.stderr)
        self.assertIn("call torch.distributed.init_process_group before they join", done.stderr)

    def test_forked_children_keep_out(self):
        script = Script(
            "peer = gossip.join_array(x)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    try:\n"
            "        peer.step()\n"
            "    except gossip.Error as problem:\n"
            "        print(problem, flush=True)\n"
            "    raise ValueError('in the child')\n"
            "os.waitpid(child, 0)\n"
            "while not peer.done:\n"
            "    peer.step()\n")
        self.assertEqual(script.serve(1).until(BYE, ERROR)[0], BYE)
        code, out, err = script.end()
        self.assertEqual((code, out), (0, "this process was forked from the one that joined: only that one may use "
                                          "the peer\n"))
        self.assertIn("in the child", err)

    def test_the_run_ends_while_the_script_waits_in_a_call(self):
        for why, code, line in (
                ("stopped", 0, "the run has stopped while this worker waited for others (worker 2 is lost)"),
                ("interrupted", -signal.SIGINT, "gossip: interrupted in round 0 (script.py, line 4)")):
            script = Script("peer = gossip.join_array(x)\npeer.barrier()\n")
            c = script.begin()
            c.until(COLLECT)
            c.give(END, 0, c.vector.copy(), 0, {"why": why, "message": "worker 2 is lost", "cut": True})
            c.until(BYE, ERROR)
            self.assertEqual(script.process.wait(60), code)
            self.assertIn(line, script.end()[2])

    def test_a_loop_that_never_ends_by_itself(self):
        loops = {"while not peer.done:\n    peer.step()\n    if peer.round == 2: peer.finish()\n": 1,
                 "while not peer.done and peer.round < 2:\n    peer.step()\n": 0,
                 "for _ in range(2):\n    peer.step()\n    if peer.done: break\n": 0}
        for loop, told in loops.items():
            for rounds in (0, 2):
                script = Script("peer = gossip.join_array(x)\n" + loop)
                c = script.begin(rounds)
                c.until(STEP)
                c.give(GO, 1, c.vector.copy())
                c.until(STEP)
                c.give(END, 2, c.vector.copy(), 0, {"why": "finished", "message": ""})
                c.until(BYE, ERROR)
                code, _, err = script.end()
                self.assertEqual(code, 0, err)
                self.assertEqual(err.count("train.rounds is script, so this loop ends only when peer.finish(), peer.stop(why)"),
                                 told if rounds == 0 else 0, err)

    def test_interrupt_at_the_end_lets_the_script_finish(self):
        script = Script(LOOP + "os.kill(os.getpid(), signal.SIGINT)\nprint('evaluated')\n")
        self.assertEqual(script.serve(1, why="interrupted").until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (0, "evaluated\n", "gossip: interrupted in round 1: the script may finish, in "
                                                          "ten seconds\n"))

    def test_interrupt_while_the_script_waits_for_the_end(self):
        script = Script(LOOP + "print('evaluated')\n")
        c = script.begin()
        c.until(STEP)
        os.kill(script.process.pid, signal.SIGINT)
        self.assertIn("interrupted in round 0", script.process.stderr.readline())
        c.give(END, 1, c.vector.copy(), 0, {"why": "interrupted", "message": ""})
        self.assertEqual(c.until(BYE, ERROR)[0], BYE)
        self.assertEqual(script.end(), (0, "evaluated\n", ""))

    def test_second_interrupt(self):
        script = Script(LOOP + "for _ in range(2):\n    os.kill(os.getpid(), signal.SIGINT)\nprint('not reached')\n")
        self.assertEqual(script.serve(1, why="interrupted").until(BYE, ERROR)[0], BYE)
        code, out, err = script.end()
        self.assertEqual((code, out), (-signal.SIGINT, ""))
        self.assertNotIn("Traceback", err)
        self.assertIn("gossip: interrupted in round 1 (script.py, line 8)\n", err)

    def test_interrupt_of_a_run(self):
        script = Script("peer = gossip.join_array(x)\nos.kill(os.getpid(), signal.SIGINT)\n")
        self.assertEqual(script.begin().until(BYE, ERROR)[0], BYE)
        code, out, err = script.end()
        self.assertEqual((code, err), (-signal.SIGINT, "gossip: interrupted in round 0 (script.py, line 4)\n"))

    def test_wrong_version(self):
        script = Script("gossip.join_array(x)\n")
        c = script.connection = Connection(script.listener)
        c.give(WELCOME, 0, c.vector.copy(), 0, {"version": 1})
        code, _, err = script.end()
        self.assertEqual(code, 1)
        self.assertIn("the peer speaks version 1 of the bridge, gossiptrainer 0.2.0 version 2: use the package that "
                      "`peer python path` names", err)


class Arrays(unittest.TestCase):
    def test_equals_gossip(self):
        for memory in ("memfd", "frames"):
            for dtype in ("float32", "float64"):
                def worker(rank):
                    x = numpy.full((2, 3), rank + 1, dtype=dtype)
                    peer = gossip.join_array(x)
                    start = x.copy()
                    for item in peer.shard(range(4)):
                        x -= 0.5 * (x - item)
                        peer.step()
                    return start, x, peer.average()

                w = numpy.array([[0.75, 0.25], [0.25, 0.75]])
                run = Run(rounds=5, w=w, memory=memory)(worker)
                self.assertEqual(run.codes, [0, 0])
                x = numpy.ones((2, 6))
                for k in range(5):
                    x = w @ x - 0.5 * (x - [[2 * (k % 2)], [2 * (k % 2) + 1]])
                for rank in range(2):
                    start, got, mean = run.returned[rank]
                    self.assertEqual(got.dtype, dtype)
                    numpy.testing.assert_array_equal(start, numpy.ones((2, 3)))
                    numpy.testing.assert_allclose(got.ravel(), x[rank], atol=1e-5)
                    numpy.testing.assert_allclose(mean.ravel(), x.mean(0), atol=1e-5)
                self.assertEqual(run.connections[0].hello["tensors"], [{"name": "x", "shape": [2, 3], "dtype": dtype}])

    def test_resumes(self):
        def worker(rank):
            x, v = numpy.ones(3), numpy.zeros(3)
            peer = gossip.join_array(x)
            peer.state(v)
            for _ in peer.shard([0, 1]):
                v[:] = 0.9 * v + numpy.random.RandomState(peer.round).rand(3)
                x -= 0.1 * v + numpy.random.rand(3)
                peer.step()

        def seeded(rank):
            numpy.random.seed(rank)
            worker(rank)
        whole = Run(rounds=6, save=(4,))(seeded)
        saved = [(whole.x[4][r], whole.connections[r].states[4]) for r in range(2)]
        numpy.testing.assert_array_equal(Run(rounds=6, first=4, saved=saved)(worker).x[6], whole.x[6])

    def test_mistakes(self):
        read_only = numpy.ones(3)
        read_only.flags.writeable = False
        for wrong in ([1.0], numpy.ones(3, dtype=int), numpy.zeros(0), read_only):
            with self.assertRaisesRegex(gossip.Error, "join_array needs a NumPy array"):
                gossip.join_array(wrong)

    def test_alone(self):
        script = ("import numpy, gossip; x = numpy.ones(2); peer = gossip.join_array(x, rounds=3)\n"
                  "while not peer.done:\n    x += 1; peer.step(); peer.log(0.5)\n"
                  "peer.evaluate(0.5); peer.state(x); m = peer.average(); m += 1\n"
                  "print(x, peer.rank, peer.size, peer.round, peer.done, list(peer.shard('ab')))")
        environment = {k: v for k, v in os.environ.items() if k != "PEER_SOCKET"}
        done = subprocess.run([sys.executable, "-c", script], env=dict(environment, PYTHONPATH=os.path.dirname(HERE)),
                              text=True, capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "[4. 4.] 0 1 3 True []\n"))
        self.assertEqual(done.stderr.count("PEER_SOCKET is not set, so this script runs alone"), 1)
        self.assertEqual(done.stderr.count("\n"), 1)


class ThePackage(unittest.TestCase):
    def test_is_python_3_9_and_imports_no_library(self):
        folder = os.path.dirname(gossip.__file__)
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".py"):
                continue
            with open(os.path.join(folder, name)) as file:
                tree = ast.parse(file.read(), feature_version=(3, 9))
            imported = {alias.name.split(".")[0] for node in tree.body if isinstance(node, ast.Import)
                        for alias in node.names}
            if sys.version_info >= (3, 10) and name not in (
                    "transformers.py", "lightning.py", "keras.py", "skorch.py"):
                self.assertLessEqual(imported, set(sys.stdlib_module_names), name)

    def test_import_has_no_effects(self):
        text = ("import random, sys, threading\nbefore = random.getstate(), list(sys.meta_path), threading.active_count()\n"
                "import gossip\n"
                "print((random.getstate(), list(sys.meta_path), threading.active_count()) == before, "
                "{'torch', 'numpy'} & set(sys.modules), gossip.__version__)")
        done = subprocess.run([sys.executable, "-c", text], text=True, capture_output=True,
                              env=dict(os.environ, PYTHONPATH=os.path.dirname(HERE), PEER_SEED="1", PEER_SOCKET="x"))
        self.assertEqual((done.stdout, done.stderr), (f"True set() {gossip.__version__}\n", ""))


if __name__ == "__main__":
    unittest.main()
