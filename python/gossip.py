"""The package gossiptrainer under its short name, for scripts that a peer starts. It is not part of the wheel."""

from gossiptrainer import *  # noqa: F401,F403
from gossiptrainer import __version__  # noqa: F401
