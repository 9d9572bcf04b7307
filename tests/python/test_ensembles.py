"""Studies over executors, samples and searches, and what survives kills. KREISEL_KILLS says how many (7, one of each kind; `make soak`: 200)."""
import concurrent.futures
import csv
import fcntl
import json
import multiprocessing
import os
import pathlib
import pty
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import warnings

import numpy as np
from scipy.stats import binned_statistic_2d, norm, qmc, spearmanr

import kreisel
import kreisel._ensemble

PROGRAM = os.environ.get("KREISEL_PROGRAM", "build/bin/kreisel")
KILLS = int(os.environ.get("KREISEL_KILLS", "7"))
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
            path.write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n")  # as spreadsheets write it
            self.assertEqual(kreisel.study({"model": ISHIGAMI, **ONE_STEP, "table": str(path), "measures": ["output.g end"]}).rows[0]["coordinates"]["a"], 1)
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
                            ({"set": {"step": [1, 2]}}, "call the parameter 'model.step'"),
                            ({"set": {"a": {"uniform": [0, 1]}}, "sample": "sobol"}, "needs \"points\"")):
            with self.assertRaisesRegex(ValueError, words):
                kreisel.study({**base, **keys})

    def plots(self, study, kind):
        return [plot for plot in study.data["plots"] if plot.get("kind") == kind]

    def test_response_surface_and_scatter_matrix(self):
        # f does not depend on b, so that its surface is over a and c.
        model = {**ISHIGAMI, "outputs": {"f": "=exp(a)*c + 0*b"}}
        study = kreisel.study({"model": model, **ONE_STEP, "measures": ["output.f end signed"], "sample": "random", "points": 500, "seed": 2,
                               "set": {name: {"normal": [0, 1]} for name in "abc"}})
        f = np.array([row["numbers"]["output.f end signed"][0] for row in study.rows])
        x = {name: np.array([row["coordinates"][name] for row in study.rows]) for name in "abc"}
        heat, = self.plots(study, "heat")
        self.assertEqual((heat["x_label"], heat["y_label"], heat["z_label"]), ("a", "c", "output.f end signed"))
        edges = [np.array(heat["cells"][axis]) for axis in "xy"]
        self.assertEqual((edges[0][0], edges[0][-1]), (x["a"].min(), x["a"].max()))
        means = binned_statistic_2d(x["c"], x["a"], f, "mean", [edges[1], edges[0]]).statistic
        found = np.array([np.nan if value is None else value for value in heat["cells"]["values"]]).reshape(means.shape)
        np.testing.assert_allclose(found, means, rtol=1e-12)
        matrix, = self.plots(study, "matrix")
        self.assertEqual([curve["name"] for curve in matrix["curves"]], ["a", "b", "c", "output.f end signed"])
        np.testing.assert_array_equal(matrix["curves"][1]["y"], x["b"])
        exact = spearmanr(np.column_stack([x["a"], x["b"], x["c"], f])).correlation
        np.testing.assert_allclose(np.reshape(matrix["correlations"], (4, 4)), exact, atol=1e-12)

    def test_equal_values_share_a_rank_and_failed_cases_are_marked(self):
        # Ties in a; sqrt fails for negative b.
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = pathlib.Path(folder) / "cases.csv"
            cases = [(i % 3, i % 7 - (1.0 if i > 20 else 0.0)) for i in range(42)]
            path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in cases), encoding="utf-8")
            model = {**ISHIGAMI, "parameters": {"a": 0, "b": 1}, "outputs": {"f": "=a + b^2"},
                     "bodies": [{"name": "body", "mass": "=b + 0.5", "inertia": [1, 1, 1], "position": [0, 0, 0]}]}
            study = kreisel.study({"model": model, **ONE_STEP, "measures": ["output.f end"], "table": str(path)})
            failed = [b <= -0.5 for _, b in cases]
            self.assertEqual([row["status"] != "success" for row in study.rows], failed)
            matrix, = self.plots(study, "matrix")
            for curve in matrix["curves"]:
                self.assertEqual(curve["marked"], failed)
            a, b = np.array([case for case, is_failed in zip(cases, failed) if not is_failed]).T
            names = [curve["name"] for curve in matrix["curves"]]
            found = np.reshape(matrix["correlations"], (len(names), len(names)))
            self.assertAlmostEqual(found[names.index("a"), names.index("output.f end")], spearmanr(a, a + b**2).correlation, places=12)
            self.assertAlmostEqual(found[0, 1], spearmanr(*np.array(cases).T).correlation, places=12)

    def test_numbers_that_are_not_finite_are_told(self):
        model = {**ISHIGAMI, "parameters": {"a": 1}, "outputs": {"f": "=sqrt(a)", "g": "=a"}}
        study = kreisel.study({"model": model, **ONE_STEP, "measures": ["output.f end", "output.g end"], "sample": "sobol", "points": 64, "seed": 0,
                               "set": {"a": {"uniform": [-1, 3]}}})
        self.assertEqual([study.statistics[f"output.{name} end"]["count"] for name in "fg"], [48, 64])
        self.assertEqual([note for note in study.data["notes"] if "finite" in note],
                         ["'output.f end' is not a finite number in 16 of 64 successful runs; statistics leave them out."])

    def test_failed_cases_are_listed_by_cause(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = kreisel.study({**SWING, "t_end": 0.04, "points": 100, "sample": "random", "set": {"mass": {"uniform": [-0.3, 1]}, "length": {"uniform": [-0.2, 1]}}})
        mass, length = (np.array([row["coordinates"][name] for row in study.rows]) for name in ("mass", "length"))
        table, = (table for table in study.data["tables"] if table["title"] == "Failed cases by cause")
        found = {tuple(word for word in ("mass", "length") if f"'{word}'" in row[4]): row[1] for row in table["rows"]}
        self.assertEqual(found, {("mass",): np.sum((mass <= 0) & (length > 0)), ("length",): np.sum((mass > 0) & (length <= 0)),
                                 ("mass", "length"): np.sum((mass <= 0) & (length <= 0))})
        for row in table["rows"]:
            self.assertNotEqual(study.rows[row[3] - 1]["status"], "success")
            self.assertEqual(study.rows[row[3] - 1]["message"], row[4])

    def test_a_grid_over_two_parameters_has_a_surface(self):
        a, b = [1, 2, 4], [-1, 0, 3, 5]
        study = kreisel.study({"model": {**ISHIGAMI, "outputs": {"g": "=a + 10*b"}}, **ONE_STEP, "measures": ["output.g end signed"], "set": {"a": a, "b": b}})
        heat, = self.plots(study, "heat")
        self.assertEqual((heat["x_label"], heat["y_label"]), ("a", "b"))
        self.assertEqual(heat["cells"]["values"], [x + 10 * y for y in b for x in a])
        self.assertEqual(heat["cells"]["x"], [0.5, 1.5, 3, 5])
        self.assertEqual(heat["cells"]["y"], [-1.5, -0.5, 1.5, 4, 6])
        self.assertEqual(heat["note"], "")

    def test_a_surface_says_when_it_shows_means(self):
        model = {**ISHIGAMI, "outputs": {"g": "=a + 10*b + c"}}
        study = kreisel.study({"model": model, **ONE_STEP, "measures": ["output.g end signed"], "set": {"a": [1, 2, 4], "b": [0, 3, 5], "c": [0.25, 0.75]}})
        heat, = self.plots(study, "heat")
        self.assertEqual(heat["cells"]["values"], [a + 10 * b + 0.5 for b in (0, 3, 5) for a in (1, 2, 4)])
        self.assertRegex(heat["note"], "Means")
        # Few points of a sample are no grid with a value per line.
        drawn = {name: {"uniform": [0, 1]} for name in "ab"}
        study = kreisel.study({"model": model, **ONE_STEP, "measures": ["output.g end signed"], "sample": "random", "points": 40, "set": drawn})
        heat, = self.plots(study, "heat")
        self.assertEqual((len(heat["cells"]["x"]), len(heat["cells"]["y"])), (5, 5))
        self.assertRegex(heat["note"], "Means")

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


    # Its place is w t until it reaches 1, where the run ends if asked.
    FLIGHT = {**ISHIGAMI, "parameters": {"w": 1, "wall": 1},
              "bodies": [{"name": "body", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "velocity": ["=w", 0, 0]}],
              "outputs": {"place": {"position": "body"}}}

    def bands(self, spec):
        study = kreisel.study({"model": self.FLIGHT, "rtol": 1e-8, "atol": 1e-10, "measures": ["output.place.x end signed"],
                               "trajectories": ["place.x"], "trajectory_points": 11, **spec})
        self.assertEqual(study.status, "success")
        return study.data["statistics"]["bands"][0], {name: np.array([row["coordinates"].get(name, np.nan) for row in study.rows]) for name in ("w", "t_end")}

    def test_bands_of_cases_that_end_early(self):
        # The first case ends before the others.
        wall = {**self.FLIGHT, "events": [{"name": "wall", "when": "=place.x - wall", "action": "stop"}]}
        band, x = self.bands({"model": wall, "t_end": 1, "set": {"w": [4, 0.5, 2, 0.8, 1.3]}, "table": self.one_case()})
        t = np.array(band["t"])
        np.testing.assert_allclose(t, np.linspace(0, 1, 11), atol=1e-15)
        for level, values in band["quantiles"].items():
            exact = [np.quantile((x["w"] * one)[x["w"] * one <= 1 + 1e-9], float(level)) for one in t]
            np.testing.assert_allclose(values, exact, atol=1e-9, err_msg=level)
        self.assertEqual((band["cases"], band["cases_at_end"]), (5, 2))

    def test_bands_of_cases_with_other_ends(self):
        band, x = self.bands({"t_end": {"uniform": [0.5, 1.5]}, "set": {"w": {"uniform": [1, 2]}}, "sample": "random", "points": 40})
        t = np.array(band["t"])
        self.assertEqual(t[-1], x["t_end"].max())
        for level, values in band["quantiles"].items():
            exact = [np.quantile((x["w"] * one)[one <= x["t_end"]], float(level)) for one in t]
            np.testing.assert_allclose(values, exact, atol=1e-9, err_msg=level)
        self.assertEqual((band["cases"], band["cases_at_end"]), (40, 1))

    def one_case(self):
        """A table that makes a study of a grid an ensemble."""
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        path = pathlib.Path(place.name) / "one.csv"
        path.write_text("wall\n1\n", encoding="utf-8")
        return str(path)


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

    def test_the_valley_of_rosenbrock(self):
        # f = (1 - a)^2 + 100 (b - a^2)^2 is smallest, 0, at (1, 1).
        valley = {**BOWL, "outputs": {"f": "=(1 - a)^2 + 100*(b - a^2)^2"}}
        spec = {"model": valley, **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end",
                "variables": {"a": {"from": -2, "to": 2, "start": -1.2}, "b": {"from": -2, "to": 2, "start": 1}}}
        for search in ("cma-es", "gradient"):
            found = kreisel.optimize({**spec, "search": search, "precision": 1e-5})
            self.assertTrue(found.success, found.message)
            self.assertAlmostEqual(found.variables["a"], 1, delta=1e-4, msg=search)
            self.assertAlmostEqual(found.variables["b"], 1, delta=2e-4, msg=search)

    def test_gradients_go_through_executors_and_journals(self):
        # A rod falls fastest about a pin at the distance sqrt(J/m) from its centre, as long as the angle is small.
        rod = {"name": "rod", "gravity": [0, 0, -9.81], "parameters": {"d": 0.5},
               "bodies": [{"name": "rod", "mass": 1, "inertia": [1e-4, 0.0833, 0.0833], "position": ["=d", 0, 0]}],
               "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
               "outputs": {"angle": {"angle": "pin"}}}
        spec = {"model": rod, "rtol": 1e-8, "atol": 1e-10, "t_end": 0.1, "measures": ["output.angle end"], "maximize": "output.angle end",
                "variables": {"d": {"from": 0.05, "to": 1}}, "search": "gradient"}
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(2, mp_context=Executors.fork) as executor:
            found = kreisel.optimize(spec, folder=folder, executor=executor)
            self.assertAlmostEqual(found.variables["d"], np.sqrt(0.0833), delta=1e-4)
            self.assertLess(len(found.values), 20)
            # Interrupted after five evaluations: those are not made again, and the end is the same.
            again = pathlib.Path(folder) / "again"
            again.mkdir()
            kreisel.optimize({**spec, "evaluations": 5}, folder=again)
            self.assertEqual(kreisel.optimize(spec, folder=again).variables, found.variables)

    def test_more_evaluations_go_on_from_the_journal(self):
        sent = []
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(1) as executor:
            real, executor.submit = executor.submit, lambda *words: sent.append(words[2]) or real(*words)
            spec = {"model": BOWL, **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end", "variables": {"a": {"from": -1, "to": 1}, "b": {"from": -1, "to": 1}}}
            whole = kreisel.optimize(spec)
            self.assertEqual(len(kreisel.optimize({**spec, "evaluations": 20}, folder=folder, executor=executor).values), 20)
            found = kreisel.optimize(spec, folder=folder, executor=executor)
            self.assertEqual((found.variables, found.value), (whole.variables, whole.value))
            self.assertEqual(len(sent), len(whole.values))
            kreisel.optimize(spec, folder=folder, executor=executor)
            self.assertEqual(len(sent), len(whole.values), "a complete search evaluates nothing again")

    def test_at_most_so_many_evaluations(self):
        for search in ("cma-es", "gradient"):
            found = kreisel.optimize({"model": BOWL, **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end", "search": search,
                                      "variables": {"a": {"from": -1, "to": 1}, "b": {"from": -1, "to": 1}}, "evaluations": 3})
            self.assertEqual(len(found.values), 3)
            self.assertFalse(found.success)

    def test_a_search_that_stops_before_runs_that_fail_says_so(self):
        # The smallest value lies where the mass is negative.
        model = {**BOWL, "outputs": {"f": "=(a + 0.5)^2"},
                 "bodies": [{"name": "body", "mass": "=a", "inertia": [1, 1, 1], "position": [0, 0, 0]}]}
        found = kreisel.optimize({"model": model, **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end", "search": "gradient",
                                  "variables": {"a": {"from": -1, "to": 1, "start": 0.5}}})
        self.assertFalse(found.success)
        self.assertRegex(found.message, "fail")
        self.assertLess(found.variables["a"], 0.1)

    def test_bad_searches_are_refused(self):
        base = {"model": BOWL, **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end", "variables": {"a": {"from": -1, "to": 1}}}
        for keys, words in (({"variables": {}}, "what varies"), ({"variables": {"z": {"from": 0, "to": 1}}}, "unknown parameter 'z'"),
                            ({"variables": {"a": {"from": 1, "to": 0}}}, "larger than 'from'"), ({"variables": {"a": {"from": 0}}}, "bounds"),
                            ({"maximize": "output.f end"}, "one of"), ({"minimize": "output.g end"}, "unknown measure"),
                            ({"search": "newton"}, "cma-es"), ({"set": {"a": 1}}, "is a variable and has a fixed value"), ({"precision": 0}, "positive"),
                            ({"variables": {"step": {"from": 0.01, "to": 0.02}}}, "is a variable and has a fixed value"),
                            ({"search": "gradient", "variables": {"newton_tolerance": {"from": 1e-12, "to": 1e-6}}}, "by parameters"),
                            ({"order": [1, 2]}, "2 cases"), ({"measures": ["q max"], "minimize": "q max"}, "exact solution")):
            with self.assertRaisesRegex(ValueError, words, msg=str(keys)):
                kreisel.optimize({**base, **keys})

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


def _deadly_point(payload, point, real=kreisel._ensemble.search_work):
    """Points in a part of the range take their worker with them."""
    if point[0] > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(payload, point)


def _deadly_always(payload, cases):
    os.kill(os.getpid(), signal.SIGKILL)


def _elsewhere(folder):
    os.chdir(folder)


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

    def test_points_that_kill_workers_are_failed_evaluations(self):
        spec = {"model": BOWL, **ONE_STEP, "measures": ["output.f end"], "minimize": "output.f end", "evaluations": 60, "precision": 1e-3,
                "variables": {"a": {"from": -1, "to": 1}, "b": {"from": -1, "to": 1}}}
        real, kreisel._optimize.search_work = kreisel._optimize.search_work, _deadly_point
        try:
            found = kreisel.optimize(spec, executor=concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork))
        finally:
            kreisel._optimize.search_work = real
        status = np.array([row[-1] for row in found.data["tables"][0]["rows"]])
        self.assertTrue(np.any(found.points[:, 0] > 0.5), "nothing was killed")
        np.testing.assert_array_equal(status, np.where(found.points[:, 0] > 0.5, "worker-lost", "success"))
        self.assertEqual(found.value, np.nanmin(found.values))
        self.assertLess(found.value, 2.1)

    def test_workers_that_always_die_end_the_study(self):
        real, kreisel._ensemble.work = kreisel._ensemble.work, _deadly_always
        try:
            with self.assertRaisesRegex(kreisel.ExecutorBroken, "before they finish"):
                kreisel.study(SWING, executor=concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork))
        finally:
            kreisel._ensemble.work = real

    def test_files_beside_the_study_are_found_from_anywhere(self):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            place = pathlib.Path(folder) / "place"
            place.mkdir()
            (place / "formula.json").write_text(json.dumps(ISHIGAMI), encoding="utf-8")
            (place / "cases.csv").write_text("a,b\n1,0\n2,0\n", encoding="utf-8")
            (place / "s.json").write_text(json.dumps({"model": "formula.json", **ONE_STEP, "measures": ["output.g end"], "table": "cases.csv"}), encoding="utf-8")
            (place / "o.json").write_text(json.dumps({"model": "formula.json", **ONE_STEP, "measures": ["output.g end"], "minimize": "output.g end",
                                                      "variables": {"a": {"from": -1, "to": 1}}, "search": "gradient"}), encoding="utf-8")
            # A file of this name in the current folder is not the one that is meant.
            (pathlib.Path(folder) / "formula.json").write_text(json.dumps({**ISHIGAMI, "outputs": {"g": "=a"}}), encoding="utf-8")
            subprocess.run([os.path.abspath(PROGRAM), "study", "place/s.json", "--out", "out", "--quiet"], cwd=folder, check=True)
            kept, before = table(pathlib.Path(folder) / "out"), os.getcwd()
            os.chdir(folder)
            try:
                with concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork, initializer=_elsewhere, initargs=(other,)) as executor:
                    study = kreisel.study("place/s.json", folder="out2", executor=executor)
                    self.assertEqual([row["numbers"]["output.g end"][0] for row in study.rows], [5, 7])
                    self.assertEqual(table("out2"), kept)
                    self.assertEqual(self.cases_run("place/s.json", "out")[1], 0, "the rows of the program count")
                    self.assertAlmostEqual(kreisel.optimize("place/o.json", executor=executor).variables["a"], -1)
            finally:
                os.chdir(before)

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

    def cases_run(self, spec, folder, **keys):
        """The study in the folder, and how many cases were sent to workers."""
        sent = []
        with concurrent.futures.ThreadPoolExecutor(1) as executor, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            real, executor.submit = executor.submit, lambda *words: sent.extend(words[2]) or real(*words)
            return kreisel.study(spec, folder=folder, executor=executor, **keys), len(sent)

    def test_a_complete_sample_runs_nothing_again(self):
        spec = {**SWING, "points": 64, "set": {"mass": {"uniform": [-0.3, 2]}}}
        with tempfile.TemporaryDirectory() as folder:
            first, count = self.cases_run(spec, folder)
            failed = sum(row["status"] != "success" for row in first.rows)
            self.assertTrue(count == 64 and failed > 0)
            again, count = self.cases_run(spec, folder)
            self.assertEqual((count, again.rows), (0, first.rows))
            self.assertEqual(self.cases_run(spec, folder, retry="failed")[1], failed)
            # The Sobol sequence goes on with its next points.
            longer, count = self.cases_run({**spec, "points": 128}, folder)
            self.assertEqual(count, 64)
            self.assertEqual([row["numbers"] for row in longer.rows[:64]], [row["numbers"] for row in first.rows])
            self.assertEqual(self.cases_run({**spec, "t_end": 0.3}, folder)[1], 64, "another study")

    def test_what_was_run_again_counts_whichever_file_has_it(self):
        real = kreisel._ensemble._job_of
        spec = {**SWING, "points": 20}
        with tempfile.TemporaryDirectory() as folder:
            kreisel._ensemble._job_of = _deadly
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    kreisel.study(spec, folder=folder, executor=concurrent.futures.ProcessPoolExecutor(2, mp_context=self.fork))
            finally:
                kreisel._ensemble._job_of = real
            # As if a part had written it, whose file is read last.
            journal = pathlib.Path(folder) / "study.journal"
            journal.rename(journal.with_name("study.journal.0-of-2"))
            self.assertEqual(self.cases_run(spec, folder, retry="failed")[1], 1)
            path = pathlib.Path(folder) / "s.json"
            path.write_text(json.dumps(spec), encoding="utf-8")
            done = subprocess.run([PROGRAM, "study", path, "--out", folder, "--json"], capture_output=True, text=True, check=True)
            self.assertEqual((json.loads(done.stdout)["summary"]["failed"], done.stderr), (0, ""))
            # Also in a longer study, which takes rows by their keys.
            longer, count = self.cases_run({**spec, "points": 40}, folder)
            self.assertEqual((count, longer.data["summary"]["failed"]), (20, 0))

    def test_own_functions_count_by_what_they_do(self):
        def text(source):
            names = {}
            exec(source, names)  # the same functions as another process would make them
            return kreisel._ensemble.fingerprint({"model": [names["f"]]})
        nested = "def f(t):\n    return [(lambda x: %s * x)(t)]"
        self.assertEqual(text(nested % 2), text(nested % 2))
        self.assertNotEqual(text(nested % 2), text(nested % 3))
        closed = "def outer(k):\n    def g(x):\n        return x - %s\n    def f(t):\n        return g(t) if t < k else f(t - k)\n    return f\nf = outer(%s)"
        self.assertEqual(text(closed % (1, 2)), text(closed % (1, 2)))
        self.assertNotEqual(text(closed % (1, 2)), text(closed % (1, 3)))
        self.assertNotEqual(text(closed % (1, 2)), text(closed % (4, 2)))

    def test_what_own_functions_use_counts(self):
        def text(source):
            names = {"__name__": "__main__"}
            exec("import functools, math, numpy as np\n" + source, names)
            return kreisel._ensemble.fingerprint({"model": [names["f"]]})
        for source in ("k = %s\ndef f(t): return -k * math.sin(t)",
                       "k = %s\ndef g(x): return k * x\ndef f(t): return [g(one) for one in (t, 2)]",
                       "import functools\ndef g(k, t): return k * t\nf = functools.partial(g, %s)",
                       "class Spring:\n    def __init__(self, k): self.k = k\n    def force(self, t): return self.k * t\nf = Spring(%s).force",
                       "class Spring:\n    def __call__(self, t): return %s * t\nf = Spring()",
                       "class Base:\n    def at(self, t): return %s * t\nclass Spring(Base):\n    __slots__ = ()\nf = Spring()",
                       "k = np.arange(5000.0)\nk[2500] = %s\ndef f(t): return np.interp(t, k, k)",
                       "def make():\n    k = np.arange(5000.0)\n    k[2500] = %s\n    return lambda t: k[int(t)]\nf = make()",
                       "def f(t, *, k=%s): return k * t",
                       "k = {'a': [%s]}\ndef f(t): return f(t - 1) if t > 1 else k['a'][0]"):
            self.assertEqual(text(source % 1), text(source % 1), source)
            self.assertNotEqual(text(source % 1), text(source % 2), source)

    def test_a_changed_global_value_runs_the_cases_again(self):
        words = ("import kreisel, sys\n"
                 "stiffness = float(sys.argv[1])\n"
                 "model = kreisel.Model('m').body('b', mass=1, inertia=[1, 1, 1], position=[0, 0, 0])\n"
                 "model.parameter('a', 1).output('f', lambda t, y: stiffness)\n"
                 "study = kreisel.study({'model': model, 'step': 0.01, 't_end': 0.02, 'measures': ['output.f end'], 'set': {'a': {'uniform': [0, 1]}},\n"
                 "                       'sample': 'sobol', 'points': 3}, folder=sys.argv[2])\n"
                 "print([row['numbers']['output.f end'][0] for row in study.rows])\n")
        with tempfile.TemporaryDirectory() as folder:
            for stiffness in (5.0, 6.0):
                done = subprocess.run([sys.executable, "-c", words, str(stiffness), folder + "/out"], capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout.strip(), str([stiffness] * 3))
            self.assertEqual(len((pathlib.Path(folder) / "out" / "study.journal").read_text(encoding="utf-8").splitlines()), 6)
            subprocess.run([sys.executable, "-c", words, "6.0", folder + "/out"], capture_output=True, check=True)
            self.assertEqual(len((pathlib.Path(folder) / "out" / "study.journal").read_text(encoding="utf-8").splitlines()), 6, "nothing runs again")

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


class Displays(unittest.TestCase):
    def shown(self, words, columns):
        """The lines that a command draws over each other on a terminal of this width."""
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(words, stdin=there, stdout=there, stderr=there, env={**os.environ, "TERM": "xterm"})
        os.close(there)
        text = b""
        try:
            while part := os.read(here, 65536):
                text += part
        except OSError:  # the end, on Linux
            pass
        os.close(here)
        self.assertEqual(process.wait(), 0, text)
        return [line.split("\r")[0].split("\n")[0] for line in text.decode().split("\r\x1b[K")[1:] if line]

    def test_progress_stays_on_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            spec = {**SWING, "title": "The swing that has a very long title, longer than terminals are wide", "t_end": 2, "step": 0.001, "points": 400,
                    "set": {"mass": {"uniform": [-0.5, 2]}}}
            path = pathlib.Path(folder) / "s.json"
            path.write_text(json.dumps(spec), encoding="utf-8")
            python = [sys.executable, "-W", "ignore", "-c", "import kreisel, concurrent.futures\n"  # it shows nothing in the first second
                      f"kreisel.study({({**spec, 'points': 1600})!r}, executor=concurrent.futures.ThreadPoolExecutor(2))"]
            for words, columns in (([PROGRAM, "study", path, "--out", pathlib.Path(folder) / "wide"], 120), ([PROGRAM, "study", path, "--out", pathlib.Path(folder) / "narrow"], 75),
                                   ([PROGRAM, "study", path, "--out", pathlib.Path(folder) / "tiny"], 30), (python, 120), (python, 30)):
                with self.subTest(words=str(words[0]), columns=columns):
                    lines = self.shown(words, columns)
                    drawn = [line for line in lines if re.search(r"[0-9]+ of [0-9]+", line)]
                    self.assertGreater(len(drawn), 0)
                    self.assertLess(max(len(line) for line in drawn), columns)
                    if columns > 70:
                        self.assertTrue(any(re.search(r"[0-9]+ of [0-9]+ (runs|cases), [0-9]+ failed, [0-9.e+]+ per second, about [0-9.]+ (s|min) left$", line) for line in drawn), drawn[-1])


class Kills(unittest.TestCase):
    """The same command again completes, and the result is that of an undisturbed run."""

    SPEC = {**SWING, "points": 400, "t_end": 1.0, "step": 0.005}

    KINDS = ["worker", "driver", "torn", "disk", "twins", "shards", "pool"]

    def wait_for_rows(self, process, journal, dice):
        """Until the journal has a size drawn by the dice, or the process has ended: whatever the load of the machine, kills fall everywhere."""
        wanted = dice.randrange(0, 80_000)
        if wanted < 4000:
            time.sleep(dice.uniform(0, 0.3))  # while it starts
            return
        while process.poll() is None and not (journal.exists() and journal.stat().st_size >= wanted):
            time.sleep(0.002)

    def run_once(self, kind, folder, dice):
        path = pathlib.Path(folder) / "s.json"
        out = pathlib.Path(folder) / "out"
        journal = out / "study.journal"
        words = [PROGRAM, "study", path, "--out", out, "--quiet"]
        limits = None
        if kind == "shards":
            started = [subprocess.Popen([*words, "--shard", f"{i}/2", "--jobs", "1"]) for i in range(2)]
            self.wait_for_rows(started[0], out / "study.journal.0-of-2", dice)
            started[0].kill()
            for process in started:
                process.wait()
            return
        if kind == "twins":  # where locks do not work, two may write one part: as if both had appended to one file
            out.mkdir(exist_ok=True)
            for twin in range(2):
                place = pathlib.Path(folder) / f"twin{twin}"
                process = subprocess.Popen([*words[:-2], place, "--quiet", "--shard", "0/2", "--jobs", "1"])
                self.wait_for_rows(process, place / "study.journal.0-of-2", dice)
                process.kill()
                process.wait()
                if (place / "study.journal.0-of-2").exists():
                    with open(out / "study.journal.0-of-2", "ab") as file:
                        file.write((place / "study.journal.0-of-2").read_bytes())
            return
        if kind == "disk":
            size = dice.randrange(1, 100_000)

            def limits():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        if kind in ("pool", "worker"):
            words = [sys.executable, "-c", "import sys, concurrent.futures, kreisel\n"
                     "with concurrent.futures.ProcessPoolExecutor(2) as pool:\n"
                     f"    kreisel.study({str(path)!r}, folder={str(out)!r}, executor=pool, progress=False)"]
        process = subprocess.Popen(words, preexec_fn=limits, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if kind == "disk":
            process.wait()
            return
        self.wait_for_rows(process, journal, dice)
        try:
            if kind == "worker":  # the driver goes on with others
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
                if children:
                    os.kill(int(dice.choice(children)), signal.SIGKILL)
                    self.assertEqual(process.wait(), 0, "the driver has not survived the death of a worker")
                else:
                    process.kill()
            elif kind == "torn":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, FileNotFoundError):
            pass
        process.wait()
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
        for seed in range(KILLS):
            dice = random.Random(seed)
            with tempfile.TemporaryDirectory() as folder, self.subTest(seed=seed, kind=self.KINDS[seed % len(self.KINDS)]):
                path = pathlib.Path(folder) / "s.json"
                path.write_text(json.dumps(self.SPEC), encoding="utf-8")
                out = pathlib.Path(folder) / "out"
                for _ in range(dice.randrange(1, 3)):
                    self.run_once(self.KINDS[seed % len(self.KINDS)], folder, dice)
                done = subprocess.run([PROGRAM, "study", path, "--out", out, "--quiet"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(table(out), whole)
                self.assertEqual(json.loads((out / "study.json").read_text(encoding="utf-8"))["statistics"], statistics)

    def kill_a_worker(self, words, journal, size):
        """Runs a driver with a pool, kills one of its workers once the journal has some rows; whether it was in time."""
        process = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while process.poll() is None and not (journal.exists() and journal.stat().st_size >= size):
            time.sleep(0.002)
        try:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
            os.kill(int(children[-1]), signal.SIGKILL)
            was_killed = process.poll() is None
        except (FileNotFoundError, IndexError, ProcessLookupError):
            was_killed = False
        said, _ = process.communicate()
        return said, process.returncode, was_killed

    def test_a_search_goes_on_after_the_death_of_a_worker(self):
        spec = {"model": "heavy-top", "step": 0.001, "t_end": 0.5, "method": "bliedf", "order": 2, "measures": ["energy max"],
                "minimize": "energy max", "variables": {"mass": {"from": 10, "to": 20}}, "population": 6, "evaluations": 60, "seed": 3}
        with tempfile.TemporaryDirectory() as folder:
            whole = kreisel.optimize(spec, folder=pathlib.Path(folder) / "whole")
            kills = 0
            for size in (1, 3000, 6000):
                out = pathlib.Path(folder) / f"killed{size}"
                words = (
                    "import concurrent.futures, json, kreisel\n"
                    "with concurrent.futures.ProcessPoolExecutor(2) as pool:\n"
                    f"    found = kreisel.optimize({spec!r}, folder={str(out)!r}, executor=pool)\n"
                    "    print(json.dumps([found.variables, found.value, len(found.values)]))")
                said, status, was_killed = self.kill_a_worker(words, out / "study.journal", size)
                kills += was_killed
                self.assertEqual(status, 0, "the search has not survived the death of a worker")
                self.assertEqual(json.loads(said), [whole.variables, whole.value, len(whole.values)])
            self.assertGreater(kills, 0, "no worker was killed in time")

    def test_trajectories_survive_kills(self):
        import h5py
        model = {**ISHIGAMI, "gravity": [0, 0, -9.81], "parameters": {"w": 1},
                 "bodies": [{"name": "body", "mass": 1, "inertia": [1, 2, 3], "position": [0, 0, 0], "velocity": ["=w", 0, 0], "angular_velocity": [1, 0.1, 0]}],
                 "outputs": {"place": {"position": "body"}}}
        spec = {"step": 0.002, "method": "bliedf", "order": 2, "t_end": 1, "measures": ["output.place.x end signed"],
                "trajectories": ["place.x", "place.z"], "trajectory_points": 21, "set": {"w": {"uniform": [1, 3]}}, "sample": "sobol", "points": 300}

        def kept(folder):
            with h5py.File(pathlib.Path(folder) / "trajectories.h5") as file:
                curves = {name: {key: group[key][:].tobytes() for key in group} for name, group in file.items()}
            return curves, json.loads((pathlib.Path(folder) / "study.json").read_text(encoding="utf-8"))["statistics"]["bands"], table(folder)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "s.json"
            path.write_text(json.dumps({**spec, "model": str(pathlib.Path(folder) / "body.json")}), encoding="utf-8")
            (pathlib.Path(folder) / "body.json").write_text(json.dumps(model), encoding="utf-8")
            subprocess.run([PROGRAM, "study", path, "--out", pathlib.Path(folder) / "whole", "--quiet"], check=True)
            whole = kept(pathlib.Path(folder) / "whole")
            self.assertEqual(len(whole[0]), 300)
            out, kills = pathlib.Path(folder) / "program", 0
            for size in (1, 60_000, 120_000):  # the same command again goes on, and is killed again
                process = subprocess.Popen([PROGRAM, "study", path, "--out", out, "--quiet"], start_new_session=True)
                while process.poll() is None and not ((out / "study.journal").exists() and (out / "study.journal").stat().st_size >= size):
                    time.sleep(0.001)
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    kills += 1
                process.wait()
            subprocess.run([PROGRAM, "study", path, "--out", out, "--quiet"], check=True)
            self.assertEqual(kept(out), whole)
            self.assertGreater(kills, 0, "nothing was killed in time")
            out = pathlib.Path(folder) / "pool"
            _, status, _ = self.kill_a_worker(
                "import concurrent.futures, kreisel\n"
                "with concurrent.futures.ProcessPoolExecutor(2) as pool:\n"
                f"    kreisel.study({str(path)!r}, folder={str(out)!r}, executor=pool, progress=False)", out / "study.journal", 30_000)
            self.assertEqual(status, 0, "the driver has not survived the death of a worker")
            self.assertEqual(kept(out), whole)


if __name__ == "__main__":
    unittest.main()
