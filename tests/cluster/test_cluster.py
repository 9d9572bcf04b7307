"""Studies on clusters that live on this machine: Dask, MPI, SLURM. `make test-cluster` runs them; all traffic stays on loopback.

The recipes are those of docs/ensembles.md.
"""
import csv
import getpass
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import kreisel
import kreisel._ensemble

PROGRAM = os.environ.get("KREISEL_PROGRAM", "build/bin/kreisel")
CLOCK = ("seconds", "seconds_low", "seconds_high", "seconds_per_step")
SPEC = {"model": "pendulum", "method": "bliedf", "order": 2, "step": 0.001, "t_end": 2, "measures": ["energy max"],
        "set": {"mass": {"uniform": [0.5, 2]}}, "sample": "sobol", "points": 200}
LONG = 120  # seconds until a cluster that does not answer has failed


def table(folder):
    with open(pathlib.Path(folder) / "study.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    kept = [i for i, name in enumerate(lines[0]) if name not in CLOCK]
    return [[line[i] for i in kept] for line in lines]


def wait_for(condition, what):
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {LONG} s")


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.place.name)
        cls.spec = cls.folder / "s.json"
        cls.spec.write_text(json.dumps(SPEC), encoding="utf-8")
        subprocess.run([PROGRAM, "study", cls.spec, "--out", cls.folder / "direct", "--quiet"], check=True)
        cls.whole = table(cls.folder / "direct")

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def setUp(self):
        self.started = []

    def tearDown(self):
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def start(self, *words, **options):
        process = subprocess.Popen([str(word) for word in words], start_new_session=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **options)
        self.started.append(process)
        return process

    def test_dask_survives_the_death_of_a_worker(self):
        from distributed import Client
        scheduler = self.folder / "scheduler.json"
        self.start("dask-scheduler", "--scheduler-file", scheduler, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        wait_for(scheduler.exists, "the start of the scheduler")
        workers = [self.start("dask-worker", "--scheduler-file", scheduler, "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard",
                              "--local-directory", self.folder / f"worker{i}") for i in range(2)]
        with Client(scheduler_file=str(scheduler)) as client:
            client.wait_for_workers(2, timeout=LONG)
            real = kreisel._ensemble.Progress.show
            seen = []

            def show(progress, done, failed):
                if not seen and done > 20:
                    seen.append(done)
                    os.killpg(workers[0].pid, signal.SIGKILL)
                return real(progress, done, failed)
            kreisel._ensemble.Progress.show = show
            try:
                study = kreisel.study(SPEC, folder=self.folder / "dask", executor=client.get_executor(pure=False))
            finally:
                kreisel._ensemble.Progress.show = real
        self.assertTrue(seen, "a worker was killed in the middle")
        self.assertEqual(study.data["summary"]["failed"], 0)
        self.assertEqual(table(self.folder / "dask"), self.whole)

    def test_mpi(self):
        script = self.folder / "mpi.py"
        script.write_text("from mpi4py.futures import MPIPoolExecutor\n"
                          "import kreisel\n"
                          "if __name__ == '__main__':\n"
                          "    with MPIPoolExecutor() as executor:\n"
                          f"        kreisel.study({str(self.spec)!r}, folder={str(self.folder / 'mpi')!r}, executor=executor, progress=False)\n",
                          encoding="utf-8")
        words = ["mpiexec", "-n", "4", "--oversubscribe", "--mca", "btl", "self,vader", sys.executable, "-m", "mpi4py.futures", str(script)]
        if os.getuid() == 0:
            words.insert(1, "--allow-run-as-root")
        done = subprocess.run(words, capture_output=True, text=True, timeout=LONG, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(table(self.folder / "mpi"), self.whole)

    def test_ranks_of_mpi_are_parts(self):
        words = ["mpiexec", "-n", "2", "--oversubscribe", PROGRAM, "study", str(self.spec), "--out", str(self.folder / "ranks"), "--shard", "auto",
                 "--jobs", "1", "--quiet"]
        if os.getuid() == 0:
            words.insert(1, "--allow-run-as-root")
        subprocess.run(words, check=True, timeout=LONG)
        subprocess.run([PROGRAM, "study", self.spec, "--out", self.folder / "ranks", "--quiet"], check=True)
        self.assertEqual(table(self.folder / "ranks"), self.whole)

    def test_slurm_arrays(self):
        """A controller, a node and munge, all of this user and of this test."""
        if os.getuid() != 0:
            self.skipTest("slurmd needs root")
        folder = self.folder / "slurm"
        for name in ("", "state", "spool", "munge"):
            (folder / name).mkdir(exist_ok=True)
        os.chmod(folder / "munge", 0o755)
        for path in (self.folder, folder):
            os.chmod(path, 0o755)
        host = socket.gethostname().split(".")[0]

        def free_port():
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                return one.getsockname()[1]
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        os.chmod(key, 0o600)
        munge = folder / "munge" / "socket"
        self.start("munged", "--foreground", "--force", "--key-file", key, "--socket", munge, "--log-file", folder / "munge" / "log",
                   "--pid-file", folder / "munge" / "pid", "--seed-file", folder / "munge" / "seed")
        wait_for(munge.exists, "the start of munged")
        (folder / "slurm.conf").write_text(
            f"ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={free_port()}\nSlurmdPort={free_port()}\n"
            f"AuthType=auth/munge\nAuthInfo=socket={munge}\nCredType=cred/munge\nSlurmUser={getpass.getuser()}\nSlurmdUser={getpass.getuser()}\n"
            f"StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/ctld.pid\nSlurmdPidFile={folder}/d.pid\n"
            f"SlurmctldLogFile={folder}/ctld.log\nSlurmdLogFile={folder}/d.log\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n"
            "SchedulerType=sched/builtin\nSelectType=select/linear\nReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\n"
            "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n"
            f"NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\nPartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP\n",
            encoding="utf-8")
        surroundings = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.start("slurmctld", "-D", env=surroundings)
        self.start("slurmd", "-D", "-N", host, env=surroundings)

        def call(*words):
            return subprocess.run([str(word) for word in words], env=surroundings, capture_output=True, text=True, timeout=LONG, check=False)
        if not self.comes_up(call, folder):
            self.skipTest("slurmd cannot run here: " + (folder / "d.log").read_text(errors="replace")[-300:])
        script = folder / "job.sh"
        script.write_text(f"#!/bin/sh\n#SBATCH --array=0-3\n#SBATCH --output={folder}/task-%a.log\n"
                          f"exec {os.path.abspath(PROGRAM)} study {self.spec} --out {folder}/out --shard auto --jobs 1 --quiet\n", encoding="utf-8")
        done = call("sbatch", "--wait", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        state = call(PROGRAM, "study", self.spec, "--out", folder / "out", "--status")
        self.assertEqual(state.returncode, 0, state.stdout)
        subprocess.run([PROGRAM, "study", self.spec, "--out", folder / "out", "--quiet"], check=True)
        self.assertEqual(table(folder / "out"), self.whole)

    @staticmethod
    def comes_up(call, folder):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if "idle" in call("sinfo", "-h", "-o", "%T").stdout:
                return True
            time.sleep(0.2)
        return False


if __name__ == "__main__":
    shutil.which("mpiexec") or sys.exit("mpiexec is missing: tools/setup cluster")
    unittest.main()
