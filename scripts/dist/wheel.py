#!/usr/bin/env python3
"""Packs the Python package as a wheel, of a module that cargo has built.

    wheel.py MODULE THIRD-PARTY GLIBC OUT       prints the wheel's path; SOURCE_DATE_EPOCH is the time in it

`maturin build` would compile all crates once more, because it calls another linker than
cargo-zigbuild. It writes the metadata here, as it does in pip.
"""

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
SUFFIXES = {".py", ".pyi", ".typed"}


def dist_info(folder, tags):
    """The name of the folder with the metadata, and its files."""
    command = ["maturin", "pep517", "write-dist-info", "--metadata-directory", folder, "--manifest-path", PYTHON / "Cargo.toml"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = next(pathlib.Path(folder).glob("*.dist-info"))
    files = {f"{made.name}/{path.relative_to(made)}": path.read_bytes() for path in made.rglob("*") if path.is_file()}
    lines = ["Wheel-Version: 1.0", "Generator: inrush", "Root-Is-Purelib: false", *(f"Tag: {tag}" for tag in tags), ""]
    return made.name, files | {f"{made.name}/WHEEL": "\n".join(lines).encode()}


def record(files, name):
    def line(path, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{path},sha256={digest},{len(content)}\n"

    return "".join(line(path, files[path]) for path in sorted(files)) + f"{name},,\n"


def main(module, third_party, glibc, out):
    platforms = [f"manylinux_{glibc.replace('.', '_')}_x86_64"] + (["manylinux2014_x86_64"] if glibc == "2.17" else [])
    files = {f"inrush/{path.name}": path.read_bytes() for path in (PYTHON / "inrush").iterdir() if path.suffix in SUFFIXES}
    files["inrush/_inrush.abi3.so"] = pathlib.Path(module).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        info, metadata = dist_info(folder, [f"cp39-abi3-{platform}" for platform in platforms])
    files |= metadata
    files[f"{info}/licenses/THIRD-PARTY.txt"] = pathlib.Path(third_party).read_bytes()
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD").encode()

    path = pathlib.Path(out) / f"{info.removesuffix('.dist-info')}-cp39-abi3-{'.'.join(platforms)}.whl"
    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, files[name])
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
