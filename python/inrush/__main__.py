"""The command `inrush`."""

import sys

from ._inrush import run_command


def main() -> None:
    """Runs the command line of this process."""
    sys.exit(run_command(["inrush", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
