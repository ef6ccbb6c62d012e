"""python -m tpconvert is the command tpconvert."""

import subprocess
import sys

from tpconvert._command import find

path = find()
if path is None:
    sys.exit("there is no command tpconvert beside Python, in PATH or TPCONVERT_BIN")
try:
    sys.exit(subprocess.run([path, *sys.argv[1:]]).returncode)
except KeyboardInterrupt:
    sys.exit(130)
