"""The Python package against scipy, against itself, and against nonsense."""
import ast
import doctest
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

import numpy as np
from scipy.integrate import solve_ivp

import kreisel
import kreisel._model
import kreisel._read
import kreisel._solve
import kreisel._study

ROD = {
    "name": "rod",
    "gravity": [0, 0, -9.81],
    "bodies": [{"name": "rod", "mass": 1.0, "inertia": [1e-4, 0.0834, 0.0834], "position": [0.5, 0, 0]}],
    "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
}


def pendulum(**changes):
    parts = dict(space=[("rn", 2)], mass=lambda q: np.eye(2), force=lambda t, q, v: [0.0, 9.81],
                 constraint=lambda t, q: [(q @ q - 1) / 2], constraints=1, q0=[1.0, 0.0])
    return kreisel.System(**{**parts, **changes})


class AgainstScipy(unittest.TestCase):
    def test_pendulum(self):
        result = kreisel.solve(pendulum(), (0.0, 3.0), rtol=1e-9, atol=1e-9)
        angle = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 3), [np.pi / 2, 0], rtol=1e-11, atol=1e-12).y[0, -1]
        np.testing.assert_allclose(result.q[-1], [np.sin(angle), -np.cos(angle)], atol=1e-6)
        self.assertTrue(result.success)

    def test_heavy_top(self):
        """Euler's equations of the top about its tip with quaternions."""
        m, g, X = 15.0, 9.81, np.array([0.0, 1.0, 0.0])
        J = np.diag([0.234375, 0.46875, 0.234375]) + m * (X @ X * np.eye(3) - np.outer(X, X))

        def slope(t, y):
            p, w = y[:4] / np.linalg.norm(y[:4]), y[4:]
            x, yy, z, s = p
            R = np.array([[1 - 2 * (yy * yy + z * z), 2 * (x * yy - s * z), 2 * (x * z + s * yy)],
                          [2 * (x * yy + s * z), 1 - 2 * (x * x + z * z), 2 * (yy * z - s * x)],
                          [2 * (x * z - s * yy), 2 * (yy * z + s * x), 1 - 2 * (x * x + yy * yy)]])
            torque = np.cross(X, R.T @ np.array([0, 0, -m * g]))
            dp = 0.5 * np.array([s * w[0] + yy * w[2] - z * w[1], s * w[1] + z * w[0] - x * w[2], s * w[2] + x * w[1] - yy * w[0],
                                 -x * w[0] - yy * w[1] - z * w[2]])
            return np.concatenate([dp, np.linalg.solve(J, torque - np.cross(w, J @ w))])

        result = kreisel.solve("heavy-top", 0.5, rtol=1e-10, atol=1e-10)
        reference = solve_ivp(slope, (0, 0.5), np.concatenate([result.q[0, 3:], result.v[0, 3:]]), method="DOP853", rtol=1e-12, atol=1e-12)
        p = reference.y[:4, -1] / np.linalg.norm(reference.y[:4, -1])
        np.testing.assert_allclose(result.q[-1, 3:] * np.sign(result.q[-1, 3:] @ p), p, atol=2e-7)
        np.testing.assert_allclose(result.x("top")[-1], result.R("top")[-1] @ X, atol=1e-12)


class Results(unittest.TestCase):
    def test_arrays_have_time_first(self):
        result = kreisel.solve("heavy-top", 0.1, method="generalized-alpha", step=1e-3, parameters={"rho_inf": 0.8})
        self.assertEqual(result.t.shape, (101,))
        self.assertEqual(result.q.shape, (101, 7))
        self.assertEqual(result.lam.shape, (101, 3))
        self.assertEqual(result.R(0).shape, (101, 3, 3))
        self.assertEqual(result.nsteps, 100)
        self.assertGreater(result.nfev, 100)
        self.assertEqual(result.energy.shape, (101,))

    def test_t_eval_shows_just_these_times(self):
        times = np.linspace(0, 0.1, 7)
        result = kreisel.solve("heavy-top", 0.1, t_eval=times)
        np.testing.assert_array_equal(result.t, times)

    def test_dense_output_agrees_with_t_eval(self):
        times = np.linspace(0.01, 0.99, 30)
        shown = kreisel.solve("pendulum", 1.0, rtol=1e-8, atol=1e-8, t_eval=times)
        dense = kreisel.solve("pendulum", 1.0, rtol=1e-8, atol=1e-8, dense_output=True)
        q, v, a, lam = dense.sol(times)
        at = np.isin(shown.t, times)
        np.testing.assert_allclose(q, shown.q[at], atol=1e-9)
        np.testing.assert_allclose(lam, shown.lam[at], atol=1e-6)
        self.assertEqual(dense.sol(0.5)[0].shape, (2,))
        with self.assertRaisesRegex(ValueError, "outside the run"):
            dense.sol(2.0)

    def test_events(self):
        def falls(t, q, v, lam):
            return q[0]
        falls.terminal = True
        result = kreisel.solve(pendulum(), 3.0, rtol=1e-9, atol=1e-9, events=falls)
        quarter = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 3), [np.pi / 2, 0], rtol=1e-11, atol=1e-12,
                            events=lambda t, y: y[0]).t_events[0][0]
        np.testing.assert_allclose(result.t_events[0], [quarter], atol=1e-7)
        self.assertAlmostEqual(result.t[-1], quarter, places=6)

    def test_reactions_hold_the_weight(self):
        rod = json.loads(json.dumps(ROD))
        rod["bodies"][0]["position"] = [0, 0, -0.5]
        rod["bodies"][0]["inertia"] = [0.0834, 0.0834, 1e-4]
        result = kreisel.solve(rod, 0.1)
        force, torque = result.reaction("pin")
        np.testing.assert_allclose(force[-1], [0, 0, 9.81], atol=1e-6)
        with self.assertRaisesRegex(ValueError, "no joint 'pim'; known: pin"):
            result.reaction("pim")

    def test_builder_says_the_same_as_a_dict(self):
        built = kreisel.Model("rod", gravity=[0, 0, -9.81])
        built.body(**ROD["bodies"][0]).joint(**ROD["joints"][0])
        self.assertEqual(built.to_dict(), ROD)
        a, b = kreisel.solve(built, 0.5), kreisel.solve(ROD, 0.5)
        np.testing.assert_array_equal(a.q, b.q)
        with tempfile.TemporaryDirectory() as folder:
            built.save(f"{folder}/rod.json")
            np.testing.assert_array_equal(kreisel.solve(f"{folder}/rod.json", 0.5).q, b.q)

    def test_report_is_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            kreisel.solve("pendulum", 0.2).report(f"{folder}/page.html")
            self.assertIn("<html", pathlib.Path(f"{folder}/page.html").read_text(encoding="utf-8").lower())

    def test_report_shows_what_was_computed(self):
        """Start time and events belong to it, and nothing is computed again."""
        calls = []

        def falls(t, q, v, lam):
            calls.append(t)
            return q[0]
        falls.terminal = True
        result = kreisel.solve(pendulum(), (1.0, 9.0), events=falls)
        before = len(calls)
        with tempfile.TemporaryDirectory() as folder:
            result.save(f"{folder}/swing")
            result.report(f"{folder}/page.html")
            stored = kreisel.read(f"{folder}/swing")
            self.assertIn("<html", pathlib.Path(f"{folder}/page.html").read_text(encoding="utf-8").lower())
        self.assertEqual(len(calls), before)
        np.testing.assert_array_equal(stored.t, result.t)
        self.assertEqual(stored.t[0], 1.0)
        self.assertLess(stored.t[-1], 2.0)
        np.testing.assert_array_equal(stored["lambda1"], result.lam[:, 0])
        np.testing.assert_allclose(stored["Phi1"], [(q @ q - 1) / 2 for q in result.q], atol=1e-15)
        self.assertEqual(stored.summary["statistics"]["steps"], result.nsteps)

    def test_read_gives_back_what_the_program_wrote(self):
        program = os.environ["KREISEL_PROGRAM"]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([program, "run", "heavy-top", "--step", "1e-3", "--out", folder, "--quiet"], check=True)
            stored = kreisel.read(folder)
            direct = kreisel.solve("heavy-top", step=1e-3)
            self.assertEqual(stored.status, "success")
            np.testing.assert_array_equal(stored.t, direct.t)
        with self.assertRaisesRegex(ValueError, "not a result folder"):
            kreisel.read("/nowhere")

    def test_study_gives_arrays(self):
        study = kreisel.study({"title": "pendulum", "model": "pendulum", "method": "bliedf", "order": 2, "formulation": "index3",
                               "step": [0.02, 0.01, 0.005], "t_end": 1, "measures": ["q max"]})
        curve = study.curves[0]
        self.assertEqual(curve.x.shape, (3,))
        self.assertAlmostEqual(curve.order, 2.0, delta=0.2)


class Mistakes(unittest.TestCase):
    def test_unknown_names_come_with_the_nearest(self):
        with self.assertRaisesRegex(ValueError, "did you mean 'heavy-top'"):
            kreisel.solve("heavy-topp")
        with self.assertRaisesRegex(ValueError, "did you mean"):
            kreisel.solve("heavy-top", rtoll=1e-3)

    def test_nonsense_from_a_callable_names_it(self):
        with self.assertRaisesRegex(ValueError, r"mass returned an array of shape \(3, 3\), expected \(2, 2\)"):
            kreisel.solve(pendulum(mass=lambda q: np.eye(3)), 1.0)
        with self.assertRaisesRegex(ValueError, "force returned 'x', expected an array of numbers of shape"):
            kreisel.solve(pendulum(force=lambda t, q, v: "x"), 1.0)
        with self.assertRaisesRegex(ValueError, "a system has no 'mas'"):
            kreisel.solve(pendulum(mas=1), 1.0)

    def test_an_exception_in_a_callable_comes_through(self):
        def force(t, q, v):
            if t > 0.5:
                raise KeyError("spring")
            return [0.0, 9.81]
        with self.assertRaisesRegex(KeyError, "spring"):
            kreisel.solve(pendulum(force=force), 1.0)

    def test_a_failed_run_keeps_what_was_computed(self):
        with self.assertRaises(kreisel.IntegrationError) as caught:
            kreisel.solve("heavy-top", 2.0, step=0.5)
        self.assertIn("newton-failed", str(caught.exception))
        self.assertGreater(len(caught.exception.result.t), 1)


class LongRuns(unittest.TestCase):
    def test_other_threads_go_on(self):
        counted = []
        stop = threading.Event()

        def count():
            while not stop.is_set():
                counted.append(1)
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        begin = time.monotonic()
        kreisel.solve("chain", 1.0, rtol=1e-8, atol=1e-8, parameters={"n": 20})
        took = time.monotonic() - begin
        stop.set()
        thread.join()
        self.assertGreater(len(counted), 0.05 * took / 0.001)

    def test_interrupt_returns_the_partial_result(self):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        seen = []
        result = kreisel.solve("chain", 1e5, rtol=1e-9, atol=1e-9, parameters={"n": 20}, progress=seen.append)
        self.assertEqual(result.status, "interrupted")
        self.assertGreater(len(result.t), 10)
        self.assertGreater(len(seen), 0)


    def test_interrupt_within_functions_of_the_user_too(self):
        """They are Python code, in which a KeyboardInterrupt would come up."""
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        result = kreisel.solve(pendulum(), 1e6, rtol=1e-9, atol=1e-9)
        self.assertEqual(result.status, "interrupted")
        self.assertGreater(len(result.t), 10)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)


class InNotebooks(unittest.TestCase):
    """A stand-in for IPython: what is shown, and that it goes again."""

    def setUp(self):
        self.shown = []
        shown = self.shown

        class ZMQInteractiveShell:
            pass

        class Handle:
            update = staticmethod(shown.append)

        def display(what, display_id):
            shown.append(what)
            return Handle()
        ipython, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        ipython.get_ipython = ZMQInteractiveShell
        module.HTML, module.display = str, display
        self.enterContext(unittest.mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": module}))
        self.enterContext(unittest.mock.patch("kreisel._progress.PATIENCE", 0.0))

    def test_a_long_run_has_a_bar_that_goes_away(self):
        kreisel.solve("chain", 3.0, rtol=1e-10, atol=1e-10, parameters={"n": 40})
        self.assertGreater(len(self.shown), 2)
        self.assertRegex(self.shown[0], r'<progress value="0\.[0-9]+"></progress> t = .* of 3')
        self.assertEqual(self.shown[-1], "")

    def test_nothing_when_not_wanted(self):
        kreisel.solve("chain", 1.0, rtol=1e-8, atol=1e-8, parameters={"n": 40}, progress=False)
        self.assertEqual(self.shown, [])


class Stubs(unittest.TestCase):
    """__init__.pyi says what there is: names, parameters, attributes."""

    tree = ast.parse((pathlib.Path(kreisel.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))

    def test_every_public_name_has_a_stub(self):
        named = {node.name for node in self.tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.assertLessEqual(set(kreisel.__all__), named)

    def test_parameters_are_those_of_the_code(self):
        places = {"Stored": kreisel._read, "Curve": kreisel._study, "Study": kreisel._study}
        checked = 0
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and inspect.isfunction(getattr(kreisel, node.name)):
                self.compare(node, getattr(kreisel, node.name))
                checked += 1
            elif isinstance(node, ast.ClassDef):
                cls = getattr(places.get(node.name, kreisel), node.name)
                methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                public = {name for name, value in vars(cls).items() if inspect.isfunction(value) and not name.startswith("_")}
                self.assertLessEqual(public, {part.name for part in methods}, node.name)
                for part in methods:
                    self.compare(part, getattr(cls, part.name))
                    checked += 1
        self.assertGreater(checked, 15)

    def compare(self, node, function):
        stub = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs if a.arg not in ("self", "cls")]
        real = inspect.signature(function).parameters.values()
        takes_any = any(p.kind is p.VAR_KEYWORD for p in real)
        names = [p.name for p in real if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "self"]
        self.assertEqual(stub[:len(names)] if takes_any else stub, names, node.name)

    def test_attributes_exist(self):
        result = kreisel.solve("pendulum", 0.1)
        study = kreisel.study({"model": "pendulum", "step": [0.02, 0.01], "t_end": 0.2, "measures": ["q max"]})
        with tempfile.TemporaryDirectory() as folder:
            result.save(folder)
            stored = kreisel.read(folder)
        for name, thing in {"Result": result, "Study": study, "Curve": study.curves[0], "Stored": stored}.items():
            node = next(n for n in self.tree.body if isinstance(n, ast.ClassDef) and n.name == name)
            stubs = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
            real = {key for key in dir(thing) if not key.startswith("_") and not inspect.ismethod(getattr(thing, key))} - {"sol"}
            stubs -= {"sol"}  # a method when there is dense output
            self.assertEqual(stubs, real, name)


def load_tests(loader, tests, pattern):
    for module in (kreisel, kreisel._model, kreisel._solve, kreisel._study, kreisel._read):
        examples = doctest.DocTestSuite(module)
        assert examples.countTestCases() > 0, module
        tests.addTests(examples)
    return tests


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
