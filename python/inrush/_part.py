"""`python -m inrush._part FOLDER PARENT ARGUMENTS...`: the command `inrush` for a part of a bake, whose files are in a folder that goes with it.
PARENT: the process of the executor's worker, which deletes the folder unless it is killed."""

import os
import shutil
import sys

from ._inrush import run_command

if __name__ == "__main__":
    folder, parent = sys.argv[1], int(sys.argv[2])
    status = 130
    # Else it was killed before it could tell the system to end this one as well.
    if os.getppid() == parent:
        status = run_command(["inrush", *sys.argv[3:]])
    if os.getppid() != parent:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status)
