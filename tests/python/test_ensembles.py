"""Studies over executors, samples and searches, and what survives kills. KREISEL_KILLS says how many (5; `make soak`: 200)."""
import concurrent.futures
import csv
import json
import multiprocessing
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings

import numpy as np
from scipy.stats import norm, qmc

import kreisel
import kreisel._ensemble

PROGRAM = os.environ.get("KREISEL_PROGRAM", "build/bin/kreisel")
KILLS = int(os.environ.get("KREISEL_KILLS", "5"))
CLOCK = ("seconds", "seconds_low", "seconds_high", "seconds_per_step")

# An output that is a formula of parameters: what a sample of them gives is known in closed form.
ISHIGAMI = {
    "name": "formula", "gravity": [0, 0, 0], "parameters": {"a": 0.5, "b": 0.5, "c": 0.5},
    "bodies": [{"name": "body", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "outputs": {"f": "=sin(a) + 7*sin(b)^2 + 0.1*c^4*sin(a)", "g": "=2*a + 3"},
}
# Its height is a parabola of two parameters, with the minimum 2 at (0.3, -0.2).
BOWL = {**ISHIGAMI, "parameters": {"a": 0, "b": 0}, "outputs": {"f": "=2 + (a - 0.3)^2 + 10*(b + 0.2)^2 + 3*(a - 0.3)*(b + 0.2)"}}
ONE_STEP = {"method": "bliedf", "order": 2, "step": 0.01, "t_end": 0.02}
SWING = {"model": "pendulum", "method": "bliedf", "order": 2, "step": 0.02, "t_end": 0.2, "measures": ["energy max"],
         "set": {"mass": {"uniform": [0.5, 2]}}, "sample": "sobol", "points": 64}


def without_clock(rows):
    return [{**row, "numbers": {name: value for name, value in row["numbers"].items() if name not in CLOCK}} for row in rows]


def table(folder):
    """study.csv without times of the clock, as text."""
    with open(pathlib.Path(folder) / "study.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    kept = [i for i, name in enumerate(lines[0]) if name not in CLOCK]
    return "\n".join(",".join(line[i] for i in kept) for line in lines)


class Samples(unittest.TestCase):
    def points(self, **keys):
        rows = kreisel.study({"model": ISHIGAMI, **ONE_STEP, "measures": ["output.g end signed"], **keys}).rows
        return np.array([[row["coordinates"][name] for name in "abc" if name in row["coordinates"]] for row in rows])

    def test_sobol_points_are_those_of_scipy(self):
        found = self.points(sample="sobol", points=64, seed=0, set={name: {"uniform": [0, 1]} for name in "abc"})
        np.testing.assert_allclose(found, qmc.Sobol(3, scramble=False).random(64), rtol=0, atol=2.0**-32)
        shuffled = self.points(sample="sobol", points=64, seed=3, set={name: {"uniform": [0, 1]} for name in "abc"})
        for column in shuffled.T:
            self.assertEqual(len(set((64 * column).astype(int))), 64, "one point in every strip")
        self.assertLess(qmc.discrepancy(shuffled), 2 * qmc.discrepancy(qmc.Sobol(3, seed=1).random(64)))

    def test_moments_are_those_of_the_distributions(self):
        drawn = {"a": {"uniform": [2, 5]}, "b": {"normal": [1, 0.5]}, "c": {"lognormal": [0.2, 0.3]}}
        exact = {"a": (3.5, np.sqrt(9 / 12)), "b": (1, 0.5),
                 "c": (np.exp(0.2 + 0.045), np.exp(0.2 + 0.045) * np.sqrt(np.exp(0.09) - 1))}
        for kind, tolerance in (("sobol", 0.01), ("latin-hypercube", 0.02), ("random", 0.1)):
            found = self.points(sample=kind, points=1000, seed=1, set=drawn)
            for column, name in zip(found.T, "abc"):
                self.assertAlmostEqual(column.mean() / exact[name][0], 1, delta=tolerance, msg=f"{kind} {name}")
                self.assertAlmostEqual(column.std() / exact[name][1], 1, delta=5 * tolerance, msg=f"{kind} {name}")
            correlation = np.corrcoef(found.T)
            self.assertLess(abs(correlation[0, 1]), 0.08)
            self.assertLess(abs(correlation[1, 2]), 0.08)
        quantiles = self.points(sample="latin-hypercube", points=50, seed=4, set={"b": {"normal": [0, 1]}})
        self.assertEqual(sorted((50 * norm.cdf(quantiles[:, 0])).astype(int)), list(range(50)), "one in every strip")

    def test_statistics_are_those_of_the_numbers(self):
        study = kreisel.study({"model": ISHIGAMI, **ONE_STEP, "measures": ["output.g end signed"], "sample": "random", "points": 200,
                               "set": {"a": {"normal": [1, 2]}}})
        values = np.array([row["numbers"]["output.g end signed"][0] for row in study.rows])
        a = np.array([row["coordinates"]["a"] for row in study.rows])
        np.testing.assert_allclose(values, 2 * a + 3, rtol=1e-14)
        found = study.statistics["output.g end signed"]
        self.assertAlmostEqual(found["mean"], values.mean(), places=12)
        self.assertAlmostEqual(found["deviation"], values.std(ddof=1), places=12)
        for level, value in found["quantiles"].items():
            self.assertAlmostEqual(value, np.quantile(values, float(level)), places=12)

    def test_sobol_indices_of_ishigami_and_homma(self):
        # a = 7, b = 0.1 (Saltelli et al. 2008, 4.4): V1 = (1 + b pi^4/5)^2/2, V2 = a^2/8, V13 = 8 b^2 pi^8/225.
        v1, v2, v13 = (1 + 0.1 * np.pi**4 / 5)**2 / 2, 49 / 8, 8 * 0.01 * np.pi**8 / 225
        total = v1 + v2 + v13
        exact = {"a": (v1 / total, (v1 + v13) / total), "b": (v2 / total, v2 / total), "c": (0, v13 / total)}
        angle = {"uniform": [-np.pi, np.pi]}
        study = kreisel.study({"model": ISHIGAMI, **ONE_STEP, "measures": ["output.f end signed"], "sample": "saltelli", "points": 1024,
                               "set": {"a": angle, "b": angle, "c": angle}})
        self.assertEqual(len(study), 1024 * 5)
        found = {one["parameter"]: one for one in study.data["statistics"]["sobol_indices"]}
        for name, (first, whole) in exact.items():
            self.assertAlmostEqual(found[name]["first"], first, delta=0.03, msg=name)
            self.assertAlmostEqual(found[name]["total"], whole, delta=0.03, msg=name)
            self.assertLess(found[name]["first_error"], 0.05)

    def test_lists_from_a_table(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cases.csv"
            path.write_text('# two cases\na,step,"b"\n1,0.01,2\n3,0.02,4\n', encoding="utf-8")
            keys = {key: value for key, value in ONE_STEP.items() if key != "step"}
            rows = kreisel.study({"model": ISHIGAMI, **keys, "table": str(path), "measures": ["output.g end"]}).rows
            self.assertEqual([row["coordinates"]["a"] for row in rows], [1, 3])
            self.assertEqual([row["numbers"]["output.g end"][0] for row in rows], [5, 9])
            path.write_text("a,b\n1\n", encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "line 2: 1 cells, expected 2"):
                kreisel.study({"model": ISHIGAMI, **ONE_STEP, "table": str(path)})

    def test_bad_samples_are_refused(self):
        base = {"model": ISHIGAMI, **ONE_STEP, "measures": ["output.g end"]}
        for keys, words in (({"set": {"a": {"uniform": [0, 1]}}}, "needs \"sample\""),
                            ({"set": {"a": {"uniform": [1, 0]}}, "sample": "sobol", "points": 4}, "two increasing numbers"),
                            ({"set": {"a": {"normal": [1, 0]}}, "sample": "sobol", "points": 4}, "standard deviation"),
                            ({"set": {"a": {"uniform": [0, 1]}}, "sample": "sobl", "points": 4}, "sobol"),
                            ({"sample": "sobol", "points": 4}, "nothing is drawn"),
                            ({"set": {"z": {"uniform": [0, 1]}}, "sample": "sobol", "points": 4}, "unknown parameter"),
                            ({"set": {"a": {"uniform": [0, 1]}}, "sample": "sobol"}, "needs \"points\"")):
            with self.assertRaisesRegex(ValueError, words):
                kreisel.study({**base, **keys})

    def test_trajectories_are_kept_and_drawn_as_bands(self):
        import h5py
        spec = {"model": {**ISHIGAMI, "gravity": [0, 0, -9.81], "parameters": {"w": 1},
                          "bodies": [{"name": "body", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "velocity": ["=w", 0, 0]}],
                          "outputs": {"place": {"position": "body"}}},
                "rtol": 1e-8, "atol": 1e-10, "t_end": 1, "measures": ["output.place.x end signed"], "trajectories": ["place.x", "place.z"],
                "trajectory_points": 11, "set": {"w": {"uniform": [1, 3]}}, "sample": "sobol", "points": 32}
        with tempfile.TemporaryDirectory() as folder:
            study = kreisel.study(spec, folder=folder)
            bands = {band["name"]: band for band in study.data["statistics"]["bands"]}
            w = np.array([row["coordinates"]["w"] for row in study.rows])
            t = np.array(bands["place.x"]["t"])
            np.testing.assert_allclose(t, np.linspace(0, 1, 11), atol=1e-15)
            for level in (0.05, 0.5, 0.95):
                np.testing.assert_allclose(bands["place.x"]["quantiles"][f"{level:g}"], np.quantile(w, level) * t, atol=1e-9)
                np.testing.assert_allclose(bands["place.z"]["quantiles"][f"{level:g}"], -9.81 / 2 * t**2, atol=1e-6)
            with h5py.File(pathlib.Path(folder) / "trajectories.h5") as file:
                self.assertEqual(len(file), 32)
                np.testing.assert_allclose(file["0000007"]["place.x"][:], w[7] * t, atol=1e-9)


class Searches(unittest.TestCase):
    def search(self, **keys):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "bowl.json"
            (pathlib.Path(folder) / "model.json").write_text(json.dumps(BOWL), encoding="utf-8")
            path.write_text(json.dumps({"model": "model.json", **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end",
                                        "variables": {"a": {"from": -1, "to": 1}, "b": {"from": -1, "to": 1}}, **keys}), encoding="utf-8")
            done = subprocess.run([PROGRAM, "optimize", path, "--json", "--out", "out"], cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)

    def test_known_minima(self):
        for keys, most in (({}, 1000), ({"search": "gradient"}, 60)):
            found = self.search(**keys)
            self.assertAlmostEqual(found["optimum"]["value"], 2, places=9, msg=str(keys))
            self.assertAlmostEqual(found["optimum"]["variables"]["a"], 0.3, delta=1e-4)
            self.assertAlmostEqual(found["optimum"]["variables"]["b"], -0.2, delta=1e-4)
            self.assertLess(found["cases"], most)

    def test_minima_at_bounds(self):
        # At a = -0.5: 2 + 0.64 + 10 s^2 - 2.4 s, s = 0.12.
        for search in ("cma-es", "gradient"):
            found = self.search(search=search, variables={"a": {"from": -1, "to": -0.5}, "b": {"from": -1, "to": 1}})
            self.assertAlmostEqual(found["optimum"]["variables"]["a"], -0.5, delta=1e-5, msg=search)
            self.assertAlmostEqual(found["optimum"]["variables"]["b"], -0.08, delta=1e-4, msg=search)
            self.assertAlmostEqual(found["optimum"]["value"], 2.64 - 0.144, places=6, msg=search)


def _deadly(payload, real=kreisel._ensemble._job_of):
    """Case 5 takes its worker with it."""
    job = real(payload)

    class Job:
        @staticmethod
        def run(cases):
            if 5 in cases:
                os.kill(os.getpid(), signal.SIGKILL)
            return job.run(cases)
    return Job


class Executors(unittest.TestCase):
    fork = multiprocessing.get_context("fork")

    def test_any_number_of_workers_gives_the_same_rows(self):
        direct = kreisel.study(SWING, jobs=1)
        for workers in (1, 4):
            with concurrent.futures.ProcessPoolExecutor(workers, mp_context=self.fork) as executor:
                self.assertEqual(without_clock(kreisel.study(SWING, executor=executor).rows), without_clock(direct.rows))
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            self.assertEqual(without_clock(kreisel.study(SWING, executor=executor).rows), without_clock(direct.rows))
        exact = {"model": "pendulum", "order": [2, 3], "step": [0.02, 0.01], "t_end": 0.5, "measures": ["q max"]}
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork) as executor:
            self.assertEqual(without_clock(kreisel.study(exact, executor=executor).rows), without_clock(kreisel.study(exact).rows))

    def test_own_models_travel(self):
        spec = {"model": kreisel.Model.from_dict(ISHIGAMI), **ONE_STEP, "measures": ["output.g end"], "set": {"a": [1, 2, 3]}}
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork) as executor:
            self.assertEqual([row["numbers"]["output.g end"][0] for row in kreisel.study(spec, executor=executor).rows], [5, 7, 9])

    def test_a_case_that_kills_workers_is_one_row(self):
        real = kreisel._ensemble._job_of
        kreisel._ensemble._job_of = _deadly
        try:
            with warnings.catch_warnings(record=True), tempfile.TemporaryDirectory() as folder:
                warnings.simplefilter("always")
                study = kreisel.study({**SWING, "points": 20}, folder=folder,
                                      executor=concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork))
        finally:
            kreisel._ensemble._job_of = real
        self.assertEqual([row["status"] for row in study.rows], ["worker-lost" if i == 5 else "success" for i in range(20)])

    def test_a_folder_goes_on_where_it_stopped(self):
        with tempfile.TemporaryDirectory() as folder:
            direct = pathlib.Path(folder) / "direct"
            kreisel.study(SWING, folder=direct)
            stopped = pathlib.Path(folder) / "stopped"
            study = pathlib.Path(folder) / "s.json"
            study.write_text(json.dumps(SWING), encoding="utf-8")
            subprocess.run([PROGRAM, "study", study, "--out", stopped, "--shard", "0/3", "--quiet"], check=True)
            shown = []
            with concurrent.futures.ThreadPoolExecutor(1) as executor:
                real, executor.submit = executor.submit, lambda *words: shown.append(words[2]) or real(*words)
                kreisel.study(str(study), folder=stopped, executor=executor)
            self.assertLess(sum(len(cases) for cases in shown), 64, "rows of the part are taken")
            self.assertEqual(table(direct), table(stopped))

    def test_mistakes_are_told(self):
        with self.assertRaisesRegex(ValueError, "retry"):
            kreisel.study(SWING, retry="all")
        with self.assertRaisesRegex(ValueError, "no folder"):
            kreisel.study({**SWING, "points": 2}).columns()

    def test_large_studies_have_no_rows_in_memory(self):
        with tempfile.TemporaryDirectory() as place:
            spec, folder = pathlib.Path(place) / "large.json", pathlib.Path(place) / "out"
            spec.write_text(json.dumps({**SWING, "points": 10_500, "t_end": 0.04}), encoding="utf-8")
            study = kreisel.study(spec, folder=folder)
            self.assertEqual((study.rows, len(study)), ([], 10_500))
            columns = study.columns()
            self.assertEqual(len(columns["mass"]), 10_500)
            self.assertAlmostEqual(columns["energy max"].mean(), study.statistics["energy max"]["mean"], delta=1e-14)
            state = subprocess.run([PROGRAM, "study", spec, "--out", folder, "--status", "--json"], capture_output=True, check=True)
            self.assertEqual(json.loads(state.stdout)["done"], 10_500)


class Kills(unittest.TestCase):
    """The same command again completes, and the result is that of an undisturbed run."""

    SPEC = {**SWING, "points": 400, "t_end": 1.0, "step": 0.005}

    def run_once(self, kind, folder, dice):
        path = pathlib.Path(folder) / "s.json"
        out = pathlib.Path(folder) / "out"
        words = [PROGRAM, "study", path, "--out", out, "--quiet"]
        limits = None
        if kind == "shards":
            started = [subprocess.Popen([*words, "--shard", f"{i}/2", "--jobs", "1"]) for i in range(2)]
            time.sleep(dice.uniform(0.02, 1.0))
            started[0].kill()
            for process in started:
                process.wait()
            return
        if kind == "disk":
            size = dice.randrange(1, 100_000)

            def limits():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        if kind == "pool":
            words = [sys.executable, "-c", "import sys, concurrent.futures, kreisel\n"
                     "with concurrent.futures.ProcessPoolExecutor(2) as pool:\n"
                     f"    kreisel.study({str(path)!r}, folder={str(out)!r}, executor=pool, progress=False)"]
        process = subprocess.Popen(words, preexec_fn=limits, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kind == "disk":
            process.wait()
            return
        time.sleep(dice.uniform(0.02, 1.5))
        try:
            if kind == "torn":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        journal = out / "study.journal"
        if kind == "torn" and journal.exists():
            text = journal.read_bytes()
            journal.write_bytes(text[:dice.randrange(len(text) + 1)])

    def test_nothing_is_lost(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "s.json").write_text(json.dumps(self.SPEC), encoding="utf-8")
            direct = pathlib.Path(folder) / "direct"
            subprocess.run([PROGRAM, "study", pathlib.Path(folder) / "s.json", "--out", direct, "--quiet"], check=True)
            whole = table(direct)
            statistics = json.loads((direct / "study.json").read_text(encoding="utf-8"))["statistics"]
        kinds = ["driver", "shards", "torn", "disk", "pool"]
        for seed in range(KILLS):
            dice = random.Random(seed)
            with tempfile.TemporaryDirectory() as folder, self.subTest(seed=seed, kind=kinds[seed % 5]):
                path = pathlib.Path(folder) / "s.json"
                path.write_text(json.dumps(self.SPEC), encoding="utf-8")
                out = pathlib.Path(folder) / "out"
                for _ in range(dice.randrange(1, 3)):
                    self.run_once(kinds[seed % 5], folder, dice)
                done = subprocess.run([PROGRAM, "study", path, "--out", out, "--quiet"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(table(out), whole)
                self.assertEqual(json.loads((out / "study.json").read_text(encoding="utf-8"))["statistics"], statistics)
                self.assertFalse(list(out.glob("study.journal*")))


if __name__ == "__main__":
    unittest.main()
