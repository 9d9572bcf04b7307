"""The wheel: made, installed into an environment of its own without a network, and used there.

    tests/python/test_wheel.py BUILD
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
USE = """
import kreisel, os, sys
assert kreisel.__file__.startswith(sys.prefix), kreisel.__file__
result = kreisel.solve("heavy-top", 0.1, rtol=1e-8, atol=1e-8)
assert result.success
result.report("top.html")
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
paths = [path for path in loaded if "libklu" in path]
assert paths and all("kreisel.libs" in path for path in paths), paths
assert not any(name in path for path in loaded for name in ("libhdf5", "libcurl")), loaded
kreisel.solve("pendulum", 1.0, step=1e-5).save("long")
assert os.path.exists("long/trajectory.h5") and len(kreisel.read("long").t) > 1000
print(result)
"""


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([ROOT / "tools" / "wheel", build, folder], check=True)
        wheel, = folder.glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        for part in ("kreisel/__init__.pyi", "kreisel/py.typed", "licenses/LICENSE", "licenses/NOTICES", "licenses/libklu1.txt", "licenses/LGPL-2.1.txt"):
            assert any(name.endswith(part) for name in names), f"the wheel lacks {part}: {names}"
        libraries = [name for name in names if name.startswith("kreisel.libs/")]
        assert len(libraries) >= 5, libraries
        network = [name for name in libraries if any(part in name for part in ("curl", "ssl", "crypto", "ldap", "krb5", "gssapi", "hdf5"))]
        assert not network, network
        # pip comes from the system, so that the environment needs no copy of it.
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", folder / "env"], check=True, env=environment)
        python = folder / "env" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", wheel], check=True, env=environment)
        subprocess.run([python, "-c", USE], check=True, cwd=folder, env=environment)
        assert os.path.getsize(folder / "top.html") > 10_000


if __name__ == "__main__":
    main()
