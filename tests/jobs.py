"""Python in a process of its own, for tests of memory, imports, crashes and global state."""

import os
import subprocess
import sys
from typing import Any


def python(*words: Any, timeout: float = 300, **environment: str) -> str:
    """What `python *words` prints, with the modules of this process; an error if it fails."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout
