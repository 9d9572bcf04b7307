#!/usr/bin/python3
"""Studies of many cases: their cost beyond that of the runs. A JSON object.

    PYTHONPATH=build/python bench/ensembles.py PROGRAM [CASES [ROWS]]

pendulum: CASES runs of about a millisecond, by threads of one process, by two worker processes, and by a plain
ProcessPoolExecutor over kreisel.solve, which keeps nothing; CPU seconds of all processes together, per case. The driver of the
workers also with half of the cases: the difference shows the memory that grows with their number.
empty: empty cases at 1, 2, 4 and 8 workers, with 250 cases per message and with one: CPU seconds of the driver per case.
merge: ROWS rows of a journal merged into one study; --status before it.
"""
import concurrent.futures
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import kreisel
from kreisel import _ensemble

PENDULUM = {"model": "pendulum", "method": "bliedf", "order": 2, "step": 0.002, "t_end": 1}
FORK = multiprocessing.get_context("fork")


def cpu():
    """Of this process and of those that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def own_memory():
    """MB of this process, without pages of files such as the journal, which the system drops when it needs memory."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def measured(work, *arguments):
    """In a separate process, to measure its memory."""
    def child(pipe):
        begin, cpu_begin, memory = time.perf_counter(), cpu(), own_memory()
        most, has_ended = [memory], threading.Event()

        def watch():
            while not has_ended.wait(0.02):
                most[0] = max(most[0], own_memory())
        watcher = threading.Thread(target=watch)
        watcher.start()
        work(*arguments)
        has_ended.set()
        watcher.join()
        pipe.send({"wall": time.perf_counter() - begin, "cpu": cpu() - cpu_begin, "mb": most[0] - memory})
    here, there = FORK.Pipe()
    process = FORK.Process(target=child, args=(there,))
    process.start()
    there.close()
    found = here.recv()
    process.join()
    return found


def solve_one(mass):
    options = {key: value for key, value in PENDULUM.items() if key not in ("model", "t_end")}
    return kreisel.solve("pendulum", PENDULUM["t_end"], parameters={"mass": mass}, **options).energy[-1]


def pendulum(cases):
    def spec(count):
        return {**PENDULUM, "measures": ["energy max"], "set": {"mass": {"uniform": [0.5, 2]}}, "sample": "sobol", "points": count}

    def threads(count):
        with tempfile.TemporaryDirectory() as folder:
            kreisel.study(spec(count), jobs=2, folder=folder, progress=False)

    def workers(count):
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(2, mp_context=FORK) as executor:
            kreisel.study(spec(count), folder=folder, executor=executor, progress=False)

    def plain(count):
        masses = [0.5 + 1.5 * (i + 0.5) / count for i in range(count)]
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=FORK) as executor:
            list(executor.map(solve_one, masses, chunksize=50))

    def each(work, count):
        found = measured(work, count)
        return {"cases": count, "wall": found["wall"] / count, "cpu": found["cpu"] / count, "mb": found["mb"]}
    return {"cases": cases, "threads": each(threads, cases), "workers": each(workers, cases), "plain": each(plain, cases),
            "half": each(workers, cases // 2)}


class Nothing:
    """Cases that cost nothing: the line of the first, with other numbers."""

    def __init__(self, job):
        self._job = job

    def run(self, cases):
        return b"".join(self._job.lost(case, "success", "") for case in cases)


def empty(cases):
    """CPU seconds of the driver per case, by workers; the large chunks are those of cases of a millisecond."""
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
            begin = time.perf_counter()
            process = subprocess.Popen([program, "study", path, "--out", out, *words], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise RuntimeError(f"kreisel study {' '.join(words)}: exit {process.returncode}")
            return {"wall": time.perf_counter() - begin, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}
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
    found = {"pendulum": pendulum(cases), "empty": empty(min(cases, 20_000)), "merge": merge(program, rows)}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
