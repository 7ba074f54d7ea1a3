"""How the process of a script ends: the peer hears of it, whether the script ends well, fails or is interrupted."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import types
from typing import Any, Callable, Optional

from . import _link
from ._link import Refusal, say, script_line


def watch_over(link: _link.Link) -> None:
    """Tell the peer how the script ends, notice the end of the peer, and keep forked children from both."""
    _keep_apart(link)
    threading.Thread(target=link.watch, name="gossiptrainer", daemon=True).start()
    earlier = sys.excepthook

    def uncaught(kind: type, problem: BaseException, trace: Optional[types.TracebackType]) -> None:
        peer = link.peer
        if os.getpid() != peer._process:
            earlier(kind, problem, trace)
        elif issubclass(kind, KeyboardInterrupt):
            say(f"interrupted in round {peer.round}" + script_line(trace))
            if not peer._closed:
                peer._saves.give_spare()
            peer._say_last(_link.BYE, {})
        else:
            peer._fail(kind, problem, trace)
            if issubclass(kind, Refusal):
                say(str(problem) + script_line(trace))
            else:
                earlier(kind, problem, trace)

    sys.excepthook = link.hook = uncaught
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt(link))
        if hasattr(signal, "SIGBREAK"):  # by which a peer on Windows interrupts its script
            signal.signal(signal.SIGBREAK, _on_interrupt(link))


def attend(link: _link.Link) -> None:
    """Watch a program that no peer has started, such as the kernel of a notebook. It outlives its peer.

    After each cell the peer stands in, and the next call of the script goes on.
    """
    _keep_apart(link)
    link.guard = lambda: _guard(link)
    notebook = sys.modules.get("IPython")
    shell = notebook.get_ipython() if notebook is not None else None
    if shell is not None:
        shell.events.register("post_run_cell", lambda *_: link.peer._rest())


def _keep_apart(link: _link.Link) -> None:
    """Say goodbye at the end of the process, and keep forked children from the connection."""
    atexit.register(lambda: _close(link))
    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=lambda: _part(link))


def _close(link: _link.Link) -> None:
    """Say goodbye. Where the script, or a library, has put its own sys.excepthook in our place, it may have failed."""
    problem = getattr(sys, "last_value", None)
    replaced = link.hook is not None and sys.excepthook is not link.hook
    if replaced and problem is not None and not isinstance(problem, KeyboardInterrupt):
        link.peer._fail(type(problem), problem, problem.__traceback__)
    link.peer.close()


def _part(link: _link.Link) -> None:
    """Keep a forked child, which may use the model, from the connection and from the memory of the vector."""
    link.socket.close()
    if link.peer is not None:
        link.peer._saves.part()
        link.peer._values.part()


def _guard(link: _link.Link) -> Optional[Callable]:
    """Hold an interrupt back until a message is whole. Return what puts the earlier handler back."""
    if threading.current_thread() is not threading.main_thread():
        return None
    earlier = signal.signal(signal.SIGINT, _on_interrupt(link))
    return lambda: signal.signal(signal.SIGINT, earlier)


def _on_interrupt(link: _link.Link) -> Callable:
    """Handle SIGINT: a message is never cut in two, and the interrupt that ends the run lets the script finish.

    One that comes just after the end waits for the script to leave its loop, and so for its last state.
    """
    def handle(number: int, frame: Any) -> None:
        peer = link.peer
        spared = link.busy or link.ending == "interrupted" or link.ending and peer._saves.owed or peer._finished
        if spared and not link.interrupted and not link.closed and os.getpid() == peer._process:
            link.interrupted = True
            then = "the exchange ends first" if link.guard else "the script may finish, in ten seconds"
            say(f"interrupted in round {peer.round}: {then}")
            return
        raise KeyboardInterrupt

    return handle
