"""Run the program peer that came with this package: python -m gossiptrainer lab FILE -- python3 train.py"""

import os
import subprocess
import sys
import sysconfig


def main() -> int:
    """Run peer with the arguments of this process, and return its exit code."""
    program = os.path.join(sysconfig.get_path("scripts"), "peer.exe" if os.name == "nt" else "peer")
    if not os.path.exists(program):
        print(f"gossiptrainer: {program} is missing: install the wheel, which holds the program", file=sys.stderr)
        return 1
    return subprocess.call([program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
