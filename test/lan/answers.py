"""Run a command on a terminal of its own and type answers: answers.py LOG PROMPT=ANSWER... -- COMMAND...

Each answer is typed when its prompt appears after the earlier ones. An answer ^C is that key. LOG gets all that the
command prints. LOG.first gets the time of the first key press in nanoseconds. The exit code is that of the command.
"""

import os
import pty
import sys
import time

log, rest = sys.argv[1], sys.argv[2:]
split = rest.index("--")
answers = [a.split("=", 1) for a in rest[:split]]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(rest[split + 1], rest[split + 1:])
seen, first = "", False
with open(log, "wb", buffering=0) as out:
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the end of a terminal
            data = b""
        if not data:
            break
        out.write(data)
        seen += data.decode(errors="replace")
        while answers and answers[0][0] in seen:
            prompt, answer = answers.pop(0)
            seen = seen.split(prompt, 1)[1]
            if not first:
                with open(log + ".first", "w") as f:
                    f.write(str(time.time_ns()))
                first = True
            os.write(terminal, b"\x03" if answer == "^C" else answer.encode() + b"\r")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
