#!/usr/bin/python3
"""Studies of many cases: what they cost beside their runs. A JSON object.

    PYTHONPATH=build/python bench/ensembles.py PROGRAM [CASES [ROWS]]

pendulum: CASES runs of about a millisecond, by threads of one process, by two worker processes, and by a plain
ProcessPoolExecutor over kreisel.solve, which keeps nothing; CPU seconds of all processes together, per case.
empty: cases of no cost at 1, 2, 4 and 8 workers: what the driver takes for a case, and for a message.
merge: ROWS rows of a journal made one study; --status before it.
"""
import concurrent.futures
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kreisel
from kreisel import _ensemble

PENDULUM = {"model": "pendulum", "method": "bliedf", "order": 2, "step": 0.002, "t_end": 1}
FORK = multiprocessing.get_context("fork")


def cpu():
    """Of this process and of those that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measured(work):
    begin, cpu_begin = time.perf_counter(), cpu()
    work()
    return {"wall": time.perf_counter() - begin, "cpu": cpu() - cpu_begin}


def solve_one(mass):
    options = {key: value for key, value in PENDULUM.items() if key not in ("model", "t_end")}
    return kreisel.solve("pendulum", PENDULUM["t_end"], parameters={"mass": mass}, **options).energy[-1]


def pendulum(cases):
    spec = {**PENDULUM, "measures": ["energy max"], "set": {"mass": {"uniform": [0.5, 2]}}, "sample": "sobol", "points": cases}

    def threads():
        with tempfile.TemporaryDirectory() as folder:
            kreisel.study(spec, jobs=2, folder=folder, progress=False)

    def workers():
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(2, mp_context=FORK) as executor:
            kreisel.study(spec, folder=folder, executor=executor, progress=False)

    def plain():
        masses = [0.5 + 1.5 * (i + 0.5) / cases for i in range(cases)]
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=FORK) as executor:
            list(executor.map(solve_one, masses, chunksize=50))
    found = {name: {key: value / cases for key, value in measured(work).items()}
             for name, work in (("threads", threads), ("workers", workers), ("plain", plain))}
    return {"cases": cases, **found, "driver_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


class Nothing:
    """Cases that cost nothing: the line of the first, with other numbers."""

    def __init__(self, job):
        self._job = job

    def run(self, cases):
        return b"".join(self._job.lost(case, "success", "") for case in cases)


def empty(cases):
    """Seconds of the driver per case and per message, by workers; the chunks are as large as they are for cases of a millisecond."""
    spec = {**PENDULUM, "measures": ["energy max"], "set": {"mass": {"uniform": [0.5, 2]}}, "sample": "sobol", "points": cases}
    real, limit = _ensemble._job_of, _ensemble.MOST_PER_CHUNK
    _ensemble._job_of = lambda payload: Nothing(real(payload))
    rows = []
    try:
        for chunk in (1, 250):
            _ensemble.MOST_PER_CHUNK = chunk
            for workers in (1, 2, 4, 8):
                count = cases if chunk > 1 else cases // 20
                with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(workers, mp_context=FORK) as executor:
                    begin, own = time.perf_counter(), time.process_time()
                    kreisel.study({**spec, "points": count}, folder=folder, executor=executor, progress=False)
                    rows.append({"workers": workers, "chunk": chunk, "cases": count, "wall": (time.perf_counter() - begin) / count,
                                 "driver": (time.process_time() - own) / count})
    finally:
        _ensemble._job_of, _ensemble.MOST_PER_CHUNK = real, limit
    return rows


def merge(program, rows):
    spec = {"kind": "analysis", "analysis": "spectral-radius", "method": "generalized-alpha", "sample": "sobol", "points": rows,
            "h_omega": {"uniform": [0.1, 10]}, "rho_inf": {"uniform": [0, 1]}}
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "s.json", Path(folder) / "out"
        path.write_text(json.dumps(spec), encoding="utf-8")

        def call(*words):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.perf_counter()
            subprocess.run([program, "study", path, "--out", out, *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return {"wall": time.perf_counter() - begin, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                    "mb": after.ru_maxrss / 1024}
        found = {"rows": rows, "run": call("--shard", "0/1", "--quiet")}
        found["journal_mb"] = sum(file.stat().st_size for file in out.glob("study.journal*")) / 2**20
        found["status"] = call("--status")
        found["merge"] = call("--quiet")
        found["status_after"] = call("--status")
        found["csv_mb"] = (out / "study.csv").stat().st_size / 2**20
    return found


def main():
    program = os.path.abspath(sys.argv[1])
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    rows = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    # The pendulum last: its driver shall not have the memory of others.
    found = {"merge": merge(program, rows), "empty": empty(min(cases, 20_000)), "pendulum": pendulum(cases)}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
