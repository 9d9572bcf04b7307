"""The Python package against scipy, against itself, and against nonsense."""
import ast
import concurrent.futures
import copy
import doctest
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import re
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
import kreisel._analyses
import kreisel._model
import kreisel._read
import kreisel._simulation
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


def arm(**more):
    """A rod on a pin with a torque u: J w' = u - m g l cos(angle)."""
    model = (kreisel.Model("arm", gravity=[0, 0, -9.81], **more).input("u", 0, unit="N m")
             .body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
             .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
             .output("angle", angle="pin").output("tip", position="rod", at=[0, 1, 0]).output("power", "=motor*angle'"))
    return model.force("motor", "torque", joint="pin", value="=u - 0.2*angle'")


ARM_INERTIA, ARM_WEIGHT, ARM_FRICTION = 0.0834 + 0.25, 9.81 * 0.5, 0.2


def arm_with_hold(samples, period, control):
    """Its motion with a torque that is held constant over every period, by scipy."""
    y, integral, motion = np.zeros(2), 0.0, [np.zeros(2)]
    for _ in range(samples):
        u, integral = control(y[0], y[1], integral)
        y = solve_ivp(lambda t, y: [y[1], (u - ARM_FRICTION * y[1] - ARM_WEIGHT * np.cos(y[0])) / ARM_INERTIA], (0, period), y,
                      method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
        motion.append(y)
    return np.array(motion)


def pid(angle, rate, integral):
    error = 0.7 - angle
    integral += 1e-3 * error
    return max(-12.0, min(12.0, 60 * error + 30 * integral - 6 * rate)), integral


class Simulations(unittest.TestCase):
    def test_inputs_that_load_a_body_at_rest_are_followed(self):
        # Nothing moves and no load depends on time for long; then an input lets one vibrate, and an event waits for its 15 N.
        model = (kreisel.Model("grip", gravity=[0, 0, -9.81]).input("u", 0)
                 .body("m", mass=1, inertia=[0.1, 0.1, 0.1], position=[0, 0, 0])
                 .joint("grip", "fixed", between=["ground", "m"], at=[0, 0, 0])
                 .force("pull", "applied", on="m", force=[0, 0, "=-u*sin(60*t)^2"])
                 .output("hold", reaction="grip")
                 .event("strong", when="=abs(hold.z) - 9.81 - 15", direction="rising", action="record"))
        for method in ("bliedf", "radau", "rkmk"):
            with self.subTest(method=method):
                sim = kreisel.Simulation(model, method=method, rtol=1e-6, atol=1e-8)
                for _ in range(96):
                    sim.advance(np.pi / 60)
                sim["u"] = 20
                sim.advance(10.5 * np.pi / 60)
                exact = [(np.pi / 3 + k * np.pi) / 60 for k in range(96, 107)]
                times = [event[2] for event in sim.solution.events]
                self.assertEqual(len(times), len(exact))
                np.testing.assert_allclose(times, exact, rtol=0, atol=1e-5)

    def test_a_pid_loop_follows_scipy_and_costs_about_one_step_per_sample(self):
        expected = arm_with_hold(1000, 1e-3, pid)
        for method, tolerance in ((None, 1e-7), ("radau", 1e-8), ("rkmk", 1e-8)):
            sim = kreisel.Simulation(arm(), 2, method=method, rtol=tolerance, atol=tolerance)
            integral, motion, steps = 0.0, [[sim["angle"], sim["angle'"]]], []
            for k in range(1000):
                sim["u"], integral = pid(sim["angle"], sim["angle'"], integral)
                sim.advance(to=1e-3 * (k + 1))
                motion.append([sim["angle"], sim["angle'"]])
                steps.append(sim.nsteps)
            np.testing.assert_allclose(np.array(motion)[:, 0], expected[:, 0], atol=1e-6)
            np.testing.assert_allclose(np.array(motion)[:, 1], expected[:, 1], atol=1e-5)
            # bliedf keeps its past behind a jump of the input and shortens a step now and then.
            self.assertLessEqual(steps[-1] - steps[200], 799 if method else 1.2 * 799, method)

    def test_lasts_until_its_end_without_inputs(self):
        free = {"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
                "outputs": {"p": {"position": "b"}}}
        for model, step in (("simple-pendulum", 1e-3), (free, 0.1)):
            sim = kreisel.Simulation(model, 1)
            for k in range(1, round(1 / step) + 1):
                self.assertFalse(sim.has_ended)
                sim.advance(to=min(1.0, k * step))
                if model is free:
                    self.assertAlmostEqual(sim["p"][2], -0.5 * 9.81 * sim.t**2, delta=1e-6)
            self.assertTrue(sim.has_ended)

    def test_asks_for_everything_now(self):
        sim = kreisel.Simulation(arm(), 2)
        self.assertEqual((sim.inputs, sim.outputs, sim.bodies), (["u"], ["angle", "tip", "power"], ["rod"]))
        sim["u"] = 5
        self.assertEqual(sim["u"], 5.0)
        self.assertAlmostEqual(sim.a[3], (5 - ARM_WEIGHT) / ARM_INERTIA, 9)
        sim.advance(0.25)
        self.assertEqual(sim.t, 0.25)
        np.testing.assert_allclose(sim["tip"], [0, np.cos(sim["angle"]), np.sin(sim["angle"])], atol=1e-9)
        np.testing.assert_allclose(sim["tip'"], sim["angle'"] * np.array([0, -np.sin(sim["angle"]), np.cos(sim["angle"])]), atol=1e-6)
        self.assertEqual(sim["tip.y"], sim["tip"][1])
        np.testing.assert_allclose(sim.x("rod"), 0.5 * sim["tip"], atol=1e-9)
        np.testing.assert_allclose(sim.R(0) @ [0, 1, 0], sim["tip"], atol=1e-9)
        self.assertAlmostEqual(sim["power"], (5 - 0.2 * sim["angle'"]) * sim["angle'"], 12)
        np.testing.assert_array_equal(sim.lambda_, sim.lam)
        self.assertIn("t = 0.25 of 2", repr(sim))

    def test_the_solution_knows_what_was_set_when(self):
        sim = kreisel.Simulation(arm().output("u_shown", "=u"), 2, method="radau")
        for u in (1.0, 3.0, -2.0):
            sim["u"] = u
            sim.advance(0.1)
        result = sim.solution
        for k, u in enumerate((1.0, 3.0, -2.0)):
            np.testing.assert_array_equal(result["u_shown"][(result.t > 0.1 * k + 1e-9) & (result.t < 0.1 * (k + 1) - 1e-9)], u)
        self.assertEqual((result.t[-1], result.status), (sim.t, "success"))
        np.testing.assert_array_equal(result.q[-1], sim.q)
        q, v, a, lam = result.sol(0.15)
        again = kreisel.Simulation(arm(), 2, method="radau")
        again["u"] = 1.0
        again.advance(0.1)
        again["u"] = 3.0
        again.advance(0.05)
        np.testing.assert_allclose(q, again.q, atol=1e-6)
        np.testing.assert_allclose(v, again.v, atol=1e-5)
        sim.advance(0.1)
        self.assertGreater(len(sim.solution.t), len(result.t))
        self.assertLess(result.t[-1], 0.31)

    def test_goes_on_from_a_checkpoint_with_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            sim = kreisel.Simulation(arm(), 2)
            for k in range(5):
                sim["u"] = float(k)
                sim.advance(0.01)
            sim.checkpoint(path)
            again = kreisel.Simulation.resume(path, arm(), 2)
            self.assertEqual((again.t, again["u"]), (sim.t, 4.0))
            for k in range(5):
                for one in (sim, again):
                    one["u"] = -float(k)
                    one.advance(0.01)
            np.testing.assert_array_equal(sim.q, again.q)
            np.testing.assert_array_equal(sim.lam, again.lam)
            self.assertEqual(os.listdir(folder), ["state"])
            with self.assertRaisesRegex(ValueError, "checkpoint belongs to another run"):
                kreisel.Simulation.resume(path, arm(), 3)
            with self.assertRaises(OSError):
                sim.checkpoint(os.path.join(folder, "nowhere", "state"))

    def test_refuses_nonsense(self):
        sim = kreisel.Simulation(arm(), 1)
        for act, message in ((lambda: sim.advance(), "takes a duration"), (lambda: sim.advance(1, to=2), "takes a duration"),
                             (lambda: sim.advance(-1), "expected a positive time"), (lambda: sim.advance("soon"), "expected a number"),
                             (lambda: sim.advance(to=2), "the run ends at 1"), (lambda: sim.advance(np.nan), "positive time"),
                             (lambda: sim.__setitem__("w", 1), "unknown input 'w'.*known: u"), (lambda: sim["angel"], "did you mean 'angle'"),
                             (lambda: sim.__setitem__("u", None), "input 'u' is None"), (lambda: sim.__setitem__("u", np.inf), "finite"),
                             (lambda: kreisel.Simulation("pendulum")["u"], "unknown output"),
                             (lambda: kreisel.Simulation("pendulum").__setitem__("u", 1), "the model has no inputs"),
                             (lambda: kreisel.Simulation("pendulum", output_step=0.1), "output_step"),
                             (lambda: kreisel.Simulation("pendulum", method="no"), "unknown method")):
            with self.assertRaisesRegex(ValueError, message):
                act()
        sim.advance(to=1)
        self.assertTrue(sim.has_ended)
        with self.assertRaisesRegex(ValueError, "has ended"):
            sim["u"] = 1

    def test_built_in_models_files_and_systems(self):
        expected = kreisel.solve("heavy-top", 0.2, dense_output=True).sol(0.15)[0]
        sim = kreisel.Simulation("heavy-top", 0.2)
        sim.advance(0.1)
        sim.advance(to=0.15)
        np.testing.assert_array_equal(sim.q, expected)
        system = kreisel.Simulation(pendulum(), (1.0, 3.0))
        self.assertEqual(system.t, 1.0)
        system.advance(0.5)
        np.testing.assert_allclose(np.hypot(*system.q), 1, atol=1e-6)
        with tempfile.TemporaryDirectory() as folder:
            arm().save(os.path.join(folder, "arm.json"))
            sim = kreisel.Simulation(os.path.join(folder, "arm.json"), rtol=1e-8)
            sim["u"] = 1
            sim.advance(0.1)
            self.assertEqual(kreisel.Simulation(arm(), parameters={}).inputs, sim.inputs)

    def test_durations_add_up_to_the_end(self):
        sim = kreisel.Simulation(arm(), 1)
        for k in range(100):
            sim["u"] = k % 7
            sim.advance(0.01)
        self.assertGreater(sum([0.01] * 100), 1)
        self.assertEqual((sim.t, sim.has_ended), (1, True))

    def test_events_end_it(self):
        sim = kreisel.Simulation(arm().event("up", "=angle - 0.5", action="stop").event("slow", "=u - 7"), 5)
        sim["u"] = 8
        sim.advance(3)
        self.assertTrue(sim.has_ended)
        self.assertAlmostEqual(sim["angle"], 0.5, 6)
        self.assertEqual(sim.events[-1][0], "up")
        with self.assertRaisesRegex(ValueError, "the run has ended at t = .*event 'up' ended the run"):
            sim.advance(0.1)

    def test_a_failure_keeps_what_was_computed(self):
        sim = kreisel.Simulation(arm().force("pole", "torque", joint="pin", value="=1/(t - 0.5)^2"), 1)
        with self.assertRaisesRegex(kreisel.IntegrationError, "at t = 0.(49|5)") as caught:
            for k in range(100):
                sim["u"] = k
                sim.advance(0.01)
        self.assertGreater(caught.exception.result.t[-1], 0.4)

    def test_ctrl_c_leaves_it_usable(self):
        code = """
import kreisel, os, signal, threading
chain = kreisel.Simulation("hanging-chain", 50, parameters={"n": 30}, rtol=1e-9, atol=1e-9)
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    chain.advance(40)
except kreisel.Interrupted as stop:
    t = stop.result.t[-1]
    chain.advance(to=t + 1e-3)
    print("went on" if chain.t > t else "stuck")
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "went on"), done.stderr)


class Laws(unittest.TestCase):
    def same(self, with_function, with_formula, t_end, tolerance=1e-7, **options):
        """Same result to 10 tolerances, and nearly the same steps."""
        one, other = (kreisel.solve(model, t_end, rtol=tolerance, atol=tolerance, **options) for model in (with_function, with_formula))
        np.testing.assert_allclose(one.q[-1], other.q[-1], atol=10 * tolerance)
        np.testing.assert_allclose(one.v[-1], other.v[-1], atol=100 * tolerance)
        self.assertLessEqual(abs(one.nsteps - other.nsteps), 0.1 * other.nsteps)
        return one, other

    def rod(self):
        return (kreisel.Model("rod", gravity=[0, 0, -9.81]).body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
                .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0]).output("angle", angle="pin"))

    def test_a_torque_is_the_same_as_its_formula(self):
        formula = self.rod().torque("pin", "=-20*(angle + 0.3) - 2*angle' + 3*sin(5*t)")
        law = lambda t, y: -20 * (y["angle"] + 0.3) - 2 * y["angle'"] + 3 * np.sin(5 * t)
        slopes = lambda t, y: [-20.0, -2.0]
        self.same(self.rod().torque("pin", law, uses=["angle", "angle'"]), formula, 3)
        self.same(self.rod().torque("pin", law), formula, 3, group="se3")
        self.same(self.rod().torque("pin", law, uses=["angle", "angle'"], derivative=slopes), formula, 3, method="radau")
        self.same(self.rod().torque("pin", law), formula, 3, threads=2)

    def test_stiff_laws_keep_newtons_rate(self):
        law = lambda t, y: -1e6 * y["angle"] - 2e3 * y["angle'"] + 1e5 * y["angle"] ** 3
        one, other = self.same(self.rod().torque("pin", law), self.rod().torque("pin", "=-1e6*angle - 2e3*angle' + 1e5*angle^3"), 2)
        self.assertLessEqual(one.nlu, 1.2 * other.nlu + 5)

    def test_components_of_an_applied_force(self):
        def model(force, **properties):
            return (kreisel.Model("mass", gravity=[0, 0, 0]).body("mass", mass=2.0, inertia=[1, 1, 1], position=[1, 0, 0], velocity=[0, 2, 0])
                    .output("p", position="mass").force("pull", "applied", on="mass", force=force, **properties))
        law = lambda name: kreisel.Law(lambda t, y: -50 * y[name], uses=[name])
        for force in (["=-50*p.x", "=-50*p.y", 0], [law("p.x"), law("p.y"), 0]):
            moved = kreisel.solve(model(force), 1.3, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(moved["p"][-1], [np.cos(6.5), 0.4 * np.sin(6.5), 0], atol=1e-7)

    def test_states_outputs_and_forces_between_points(self):
        def model(force, rate, shown):
            return (self.rod().output("tip", position="rod", at=[0, 1, 0]).state("z", rate).output("shown", shown)
                    .output("length", distance=["ground", "rod"], at=[[0, 1, 1], [0, 1, 0]])
                    .force("spring", "spring-damper", between=["ground", "rod"], at=[[0, 1, 1], [0, 1, 0]], force=force))
        formula = model("=50*(length - 0.5) + 3*length' + z", "=angle - z", "=2*z + tip.z")
        law = model(kreisel.Law(lambda t, y: 50 * (y["length"] - 0.5) + 3 * y["length'"] + y["z"]), lambda t, y: y["angle"] - y["z"],
                    kreisel.Law(lambda t, y: 2 * y["z"] + y["tip.z"]))
        one, other = self.same(law, formula, 2)
        np.testing.assert_allclose(one["shown"][-1], other["shown"][-1], atol=1e-6)

    def test_events(self):
        rod = self.rod().output("tip", position="rod", at=[0, 1, 0])
        rod.event("low", lambda t, y: y["tip.z"] + 0.5, direction="falling", action="stop")
        stopped = kreisel.solve(rod, 5, rtol=1e-9, atol=1e-9)
        self.assertAlmostEqual(stopped["tip"][-1, 2], -0.5, 7)
        self.assertEqual(stopped.events[-1][0], "low")

    def test_exceptions_say_when(self):
        def broken(t, y):
            if t > 0.5:
                raise RuntimeError("no current")
            return -y["angle"]
        for threads in (1, 2):
            with self.assertRaises(RuntimeError) as caught:
                kreisel.solve(self.rod().torque("pin", broken), 1, threads=threads)
            self.assertEqual(str(caught.exception), "no current")
            self.assertRegex("".join(caught.exception.__notes__), r"law 'broken', value of force 'pin_torque', at t = 0\.5")
        sim = kreisel.Simulation(self.rod().torque("pin", broken), 1)
        with self.assertRaisesRegex(RuntimeError, "no current"):
            sim.advance(0.9)
        self.assertGreater(sim.solution.t[-1], 0.3)
        with self.assertRaisesRegex(ValueError, "law 'nothing', value of force 'pin_torque', returned None at t = 0, expected a number"):
            def nothing(t, y):
                return None
            kreisel.solve(self.rod().torque("pin", nothing), 1)
        with self.assertRaises(KeyError) as caught:
            kreisel.solve(self.rod().torque("pin", lambda t, y: y["angle"] if t < 0.1 else y["angle'"]), 1)
        self.assertIn("it may read angle", "".join(caught.exception.__notes__))
        for wrong, message in ((lambda: self.rod().torque("pin", lambda t, y: 1 / 0), "cannot be determined"),
                               (lambda: self.rod().torque("pin", 3, uses=["angle"]), "need a function"),
                               (lambda: kreisel.Law(3), "expected a function"), (lambda: kreisel.Law(len, uses="angle"), "list of names"),
                               (lambda: self.rod().torque("pin", lambda t, y: 0.0).save("nowhere.json"), "a file cannot hold"),
                               (lambda: kreisel.solve(self.rod().torque("pin", lambda t, y: y["angel"])), "did you mean 'angle'")):
            with self.assertRaisesRegex(ValueError, message):
                wrong()

    def test_to_pandas(self):
        frames = types.SimpleNamespace(DataFrame=lambda columns, index: (columns, index), Index=lambda values, name: (values, name))
        result = kreisel.solve(self.rod().output("tip", position="rod", at=[0, 1, 0]), 0.1)
        with unittest.mock.patch.dict(sys.modules, {"pandas": frames}):
            columns, (t, name) = result.to_pandas()
        self.assertEqual((name, list(t)), ("t", list(result.t)))
        np.testing.assert_array_equal(columns["tip.y"], result["tip"][:, 1])
        np.testing.assert_array_equal(columns["rod.z"], result.x("rod")[:, 2])
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                result.to_pandas()


def servo(**keys):
    """A cart of 2 kg with a linear actuator whose distance is 1 + way, and another one that moves steadily."""
    return (kreisel.Model("servo").input("u", 0.3, unit="m").parameter("gain", 2.0)
            .body("cart", mass=2.0, inertia=[1, 1, 1], position=[0, 0, 0]).body("other", mass=1.0, inertia=[1, 1, 1], position=[0, 1, 0])
            .joint("rail", "prismatic", between=["ground", "cart"], at=[0, 0, 0], axis=[1, 0, 0])
            .joint("lane", "prismatic", between=["ground", "other"], at=[0, 1, 0], axis=[1, 0, 0], initial={"value": 0.2, "rate": 0.5})
            .output("way", displacement="rail").output("lead", displacement="lane").output("goal", "=gain*lead + u")
            .state("slow", "=lead - slow", 0.1)
            .force("motor", "linear-actuator", between=["ground", "cart"], at=[[-1, 0, 0], [0, 0, 0]], stiffness=40, damping=3, **keys)
            .output("push", force="motor").output("power", power="motor"))


class Targets(unittest.TestCase):
    """p - k (d - s) - c (d' - s') with a target s of inputs, outputs and states."""
    accurate = dict(rtol=1e-9, atol=1e-11)

    def test_follow_what_they_name(self):
        lead = lambda t: 0.2 + 0.5 * t
        for target, s, rate in (("=1 + goal", lambda t, z: 1.3 + 2 * lead(t), lambda t, z: 1.0),
                                ("=1 + slow + 0.1*sin(t)", lambda t, z: 1 + z + 0.1 * np.sin(t), lambda t, z: lead(t) - z + 0.1 * np.cos(t))):
            effort = lambda t, y: 0.5 * t - 40 * (1 + y[0] - s(t, y[2])) - 3 * (y[1] - rate(t, y[2]))
            exact = solve_ivp(lambda t, y: [y[1], effort(t, y) / 2, lead(t) - y[2]], (0, 2), [0, 0, 0.1], method="DOP853", rtol=1e-12, atol=1e-13)
            moved = kreisel.solve(servo(target=target, value="=0.5*t"), 2, **self.accurate)
            end = exact.y[:, -1]
            np.testing.assert_allclose([moved["way"][-1], moved["way'"][-1]], end[:2], atol=1e-7)
            np.testing.assert_allclose([moved["push"][-1], moved["power"][-1]], [effort(2, end), effort(2, end) * end[1]], atol=2e-6)

    def test_are_the_same_as_functions_of_time(self):
        table = {"table": [[0, 1], [1, 1.5]]}
        for named, plain in ((dict(target="=1 + u"), dict(target=1.3)), (dict(target=table, value="=u"), dict(target=table, value=0.3))):
            a, b = (kreisel.solve(servo(**keys), 1, **self.accurate) for keys in (named, plain))
            np.testing.assert_allclose(a["way"][-1], b["way"][-1], atol=1e-8)
            np.testing.assert_allclose(a.energy[-1], b.energy[-1], atol=1e-7)  # its gains do work and store nothing

    def test_may_be_set_by_events_and_while_running(self):
        k, c, m, t = 40, 3, 2, 2.5
        decay, w = c / 2 / m, np.sqrt(k / m - (c / 2 / m) ** 2)
        rise = 0.25 * (1 - np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t)))
        model = servo(target="=1 + place").parameter("place", 0.0).event("go", "=t - 0.5", action={"set": {"place": 0.25}})
        self.assertAlmostEqual(kreisel.solve(model, 3, **self.accurate)["way"][-1], rise, delta=1e-8)
        sim = kreisel.Simulation(servo(target="=1 + u").input("u", 0.0), **self.accurate)
        sim.advance(0.5)
        sim["u"] = 0.25
        sim.advance(t)
        self.assertAlmostEqual(sim["way"], rise, delta=1e-7)

    def test_mistakes(self):
        for target, message in (("=1 + acc.x", "/forces/0/target: has no rate"), ("=1 + nobody", "unknown name 'nobody'"),
                                (kreisel.Law(lambda t, y: 1 + y["goal"], uses=["goal"]), "/forces/0/target: depends on a function whose second")):
            with self.assertRaisesRegex(ValueError, message):
                kreisel.solve(servo(target=target).output("acc", acceleration="cart"), 1)

    def turned(self, k, target, lag):
        """The angle after 2 s of a servo of 0.1 kg m^2 and 2 N m s/rad; target: angle and rate of t and of the state."""
        def rates(t, y):
            angle, rate = target(t, y[2])
            return [y[1], (-k * (y[0] - angle) - 2 * (y[1] - rate)) / 0.1, lag(y[2])]
        return solve_ivp(rates, (0, 2), [0, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[0, -1]

    def test_of_included_models_are_their_own(self):
        arm = {"parameters": {"k": 20, "A": 0.3}, "inputs": {"ref": {"value": 0.1}}, "states": {"lag": {"rate": "=(ref - lag)*5", "initial": 0}},
               "bodies": [{"name": "a", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0]}],
               "joints": [{"name": "j", "type": "revolute", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
               "forces": [{"name": "servo", "type": "rotary-actuator", "between": ["ground", "a"], "axis": [0, 0, 1], "stiffness": "=k",
                           "damping": 2, "target": "=lag + A*sin(2*t)"}], "outputs": {"angle": {"angle": "j"}}}
        both = {"gravity": [0, 0, 0], "inputs": {"ref": {"value": 99}},
                "include": [{"file": "arm.json", "prefix": "l."}, {"file": "arm.json", "prefix": "r.", "at": [0, 1, 0], "parameters": {"k": 50, "A": 0.5}}]}
        with tempfile.TemporaryDirectory() as folder:
            for name, model in (("arm", arm), ("both", both)):
                pathlib.Path(folder, f"{name}.json").write_text(json.dumps(model))
            with self.assertWarnsRegex(UserWarning, "input .ref. is not used"):  # that of the including file
                result = kreisel.solve(os.path.join(folder, "both.json"), 2, **self.accurate)
        for side, k, A in (("l", 20, 0.3), ("r", 50, 0.5)):
            exact = self.turned(k, lambda t, z: (z + A * np.sin(2 * t), 5 * (0.1 - z) + 2 * A * np.cos(2 * t)), lambda z: 5 * (0.1 - z))
            self.assertAlmostEqual(result[f"{side}.angle"][-1], exact, delta=1e-8)

    def test_of_repeated_models_know_their_number(self):
        again = {"index": "i", "count": "=n"}
        model = {"gravity": [0, 0, 0], "parameters": {"n": 3}, "inputs": {"ref": {"value": 0.1}},
                 "bodies": [{"name": "a{i}", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0], "repeat": again}],
                 "joints": [{"name": "j{i}", "type": "revolute", "between": ["ground", "a{i}"], "at": [0, 0, 0], "axis": [0, 0, 1], "repeat": again}],
                 "forces": [{"name": "servo{i}", "type": "rotary-actuator", "between": ["ground", "a{i}"], "axis": [0, 0, 1],
                             "stiffness": "=20*i", "damping": 2, "target": "=ref*i + 0.3*sin(2*t)", "repeat": again}]}
        result = kreisel.solve(model, 2, **self.accurate)
        for i in (1, 2, 3):
            exact = self.turned(20 * i, lambda t, z: (0.1 * i + 0.3 * np.sin(2 * t), 0.6 * np.cos(2 * t)), lambda z: 0)
            self.assertAlmostEqual(result[f"j{i}.angle"][-1], exact, delta=1e-8)


class LimitForces(unittest.TestCase):
    def ball(self, gravity=-9.81, **limits):
        return (kreisel.Model("ball", gravity=[0, 0, gravity]).body("ball", mass=2.0, inertia=[1, 1, 1], position=[0, 0, 0])
                .joint("rail", "prismatic", between=["ground", "ball"], at=[0, 0, 0], axis=[0, 0, 1], initial={"value": 0.2}, limits=limits)
                .output("way", displacement="rail").output("low", force="rail lower limit").output("high", force="rail upper limit")
                .output("both", force="rail limits").output("power", power="rail lower limit"))

    def test_rigid_ones_carry_the_weight(self):
        for gravity, low, high in ((-9.81, 19.62, 0.0), (9.81, 0.0, 19.62)):
            model = self.ball(gravity, **{"from": 0, "to": 1}).event("loaded", "=low + high - 10", action="record")
            fallen = kreisel.solve(model, 1, rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose([fallen[name][-1] for name in ("low", "high", "both")], [low, high, low - high], atol=1e-8)
            np.testing.assert_allclose([fallen[name][0] for name in ("low", "high", "both")], 0)
            self.assertAlmostEqual(fallen["power"][-1], 0, delta=1e-12)
            sim = kreisel.Simulation(model)
            sim.advance(1)
            self.assertAlmostEqual(sim["low"] - sim["high"], low - high, delta=1e-8)
            with tempfile.TemporaryDirectory() as folder:
                fallen.save(folder)
                self.assertAlmostEqual(kreisel.read(folder)["both"][-1], low - high, delta=1e-8)
                with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
                    self.assertAlmostEqual(json.load(file)["final"]["outputs"]["both"], low - high, delta=1e-8)

    def test_compliant_ones_are_springs_that_push(self):
        sunk = kreisel.solve(self.ball(**{"from": 0, "to": 1, "stiffness": 2000, "damping": 60}), 5, rtol=1e-9, atol=1e-11)
        depth, rate = -sunk["way"], -sunk["way'"]
        force = np.where(depth > 0, np.maximum(0, 2000 * depth + 60 * rate), 0)
        np.testing.assert_allclose(sunk["low"], force, atol=1e-9)
        np.testing.assert_allclose(sunk["both"], force, atol=1e-9)
        np.testing.assert_allclose(sunk["power"], -force * rate, atol=1e-9)
        self.assertAlmostEqual(sunk["low"][-1], 19.62, delta=1e-6)

    def test_unknown_ones_are_named(self):
        with self.assertRaisesRegex(ValueError, "unknown force 'rail lover limit'; did you mean 'rail lower limit'"):
            kreisel.solve(self.ball(**{"from": 0, "to": 1}).output("no", force="rail lover limit"), 1)


class Switches(unittest.TestCase):
    def test_outputs_are_those_of_the_system_in_force(self):
        model = (kreisel.Model("two").body("b", mass=1.0, inertia=[1, 1, 1], position=[0, 0, 0]).body("c", mass=1.0, inertia=[1, 1, 1], position=[0, 1, 0])
                 .joint("late", "prismatic", between=["ground", "c"], at=[0, 1, 0], axis=[1, 0, 0], active=False)
                 .joint("rail", "prismatic", between=["ground", "b"], at=[0, 0, 0], axis=[1, 0, 0])
                 .force("spring", "spring-damper", between=["ground", "b"], at=[[-1, 0, 0], [0, 0, 0]], stiffness=10, damping=0, length=0.5)
                 .force("law", "force", joint="rail", value="=1 + 0*x").force("weight", "applied", on="b", force=[0, 0, -3])
                 .output("pull", force="spring").output("push", force="law").output("carries", reaction="rail")
                 .event("off", "=t - 0.5", action={"switch": {"off": ["spring", "law"], "on": ["late"]}}))
        moved = kreisel.solve(model, 1)
        with tempfile.TemporaryDirectory() as folder:
            moved.save(folder)
            for result in (moved, kreisel.read(folder)):
                np.testing.assert_allclose([result["pull"][0], result["push"][0]], [5, 1], atol=1e-9)
                np.testing.assert_allclose([result["pull"][-1], result["push"][-1]], 0)
                np.testing.assert_allclose(result["carries"], [[0, 0, 3]] * len(result.t), atol=1e-8)
            with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
                final = json.load(file)["final"]
            self.assertEqual((final["outputs"]["pull"], final["outputs"]["push"]), (0, 0))
            np.testing.assert_allclose(final["outputs"]["carries"], [0, 0, 3], atol=1e-8)
        study = kreisel.study({"model": model, "rtol": 1e-8, "atol": [1e-8, 1e-9], "t_end": 1, "trajectories": ["pull"],
                               "measures": ["output.pull end", "output.push max", {"quantity": "output.carries", "over": "end", "component": 3, "name": "carried"}]})
        for row in study.rows:
            np.testing.assert_allclose([row["numbers"][name][0] for name in ("output.pull end", "output.push max", "carried")], [0, 1, 3], atol=1e-7)
        changed = kreisel.Model.from_dict(model.to_dict())
        changed._data["parameters"] = {"k": 10}
        changed._data["forces"][0]["stiffness"] = "=k"
        slopes = kreisel.solve(changed, 1, rtol=1e-9, atol=1e-9, sensitivities=["k"], t_eval=[0.2, 0.4, 0.8])
        t, w = np.array([0.2, 0.4]), np.sqrt(10)  # the spring pulls with 1 + (k/2 - 1) cos(w t)
        np.testing.assert_allclose(slopes.d("k")["pull"], [*(np.cos(w * t) / 2 - 4 * np.sin(w * t) * t / (2 * w)), 0], atol=1e-6)


class WithoutEnd(unittest.TestCase):
    """A simulation whose end nobody gave goes on as long as it is advanced."""

    def test_goes_on(self):
        exact = solve_ivp(lambda t, y: [y[1], -(ARM_FRICTION * y[1] + ARM_WEIGHT * np.cos(y[0])) / ARM_INERTIA], (0, 7), [0, 0], method="DOP853", rtol=1e-12, atol=1e-12)
        for options in ({}, {"method": "radau"}, {"method": "rkmk"}, {"step": 0.003}):
            for times in ([7.0], np.arange(1, 71) * 0.1):
                tight = {} if "step" in options else {"rtol": 1e-9, "atol": 1e-10}
                sim = kreisel.Simulation(arm(), **options, **tight)
                for t in times:
                    sim.advance(to=t)
                    self.assertFalse(sim.has_ended)
                self.assertEqual((sim.t, sim.t_end), (7, np.inf))
                self.assertAlmostEqual(sim["angle"], exact.y[0, -1], delta=1e-5 if tight else 1e-3, msg=f"{options}")
                self.assertGreaterEqual(sim.solution.t[-1], 7)

    def test_resumes_bitwise_behind_the_first_second(self):
        sim = kreisel.Simulation(arm(), rtol=1e-8)
        sim.advance(3.3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            sim.checkpoint(path)
            again = kreisel.Simulation.resume(path, arm(), rtol=1e-8)
        for one in (sim, again):
            one["u"] = 2.0
            one.advance(4.4)
        self.assertEqual(sim.q.tolist(), again.q.tolist())

    def test_events_at_the_first_second_take_effect(self):
        model = arm().parameter("k", 0.0).torque("pin", "=-k*v").event("brake", "=t - 1", action={"set": {"k": 50.0}})
        sim = kreisel.Simulation(model, rtol=1e-9)
        sim.advance(2)
        self.assertEqual([event[0] for event in sim.events], ["brake"])
        self.assertAlmostEqual(sim["angle'"], kreisel.solve(model, 2, rtol=1e-9)["angle'"][-1], delta=1e-6)

    def test_a_given_end_stays_an_end(self):
        for sim in (kreisel.Simulation(arm(), 0.5), kreisel.Simulation(arm(simulation={"t_end": 0.5})), kreisel.Simulation(pendulum(t_end=0.5))):
            sim.advance(0.5)
            self.assertTrue(sim.has_ended)
            with self.assertRaises(ValueError):
                sim.advance(0.1)


class UndefinedLaws(unittest.TestCase):
    """What is not a number is told with its function, its element and the time."""

    def rod(self):
        return arm().state("memory", "=angle")

    def test_laws(self):
        def late(t, y):
            return float("nan") if t > 0.3 else -y["angle"]

        def never(t, y):
            return y["angle"] + float("nan")
        for add, place in ((lambda m, f: m.torque("pin", f, uses=["angle"], name="engine"), "value of force 'engine'"),
                           (lambda m, f: m.state("s", f, uses=["angle"]), "rate of state 's'")):
            with self.assertRaises(kreisel.IntegrationError) as caught:
                kreisel.solve(add(self.rod(), late), 1)
            self.assertRegex(str(caught.exception), "'(engine|s)' is not finite from t = 0.3 on")
            self.assertIn(f"{place} is the Python function 'late'", str(caught.exception))
            sim = kreisel.Simulation(add(self.rod(), late))
            with self.assertRaisesRegex(kreisel.IntegrationError, f"{place} is the Python function 'late'"):
                sim.advance(1)
            for run in (lambda: kreisel.solve(add(self.rod(), never), 1), lambda: kreisel.Simulation(add(self.rod(), never))):
                with self.assertRaisesRegex(ValueError, f"(?s)is not finite at t = 0.*{place} is the Python function 'never'"):
                    run()

    def test_outputs_and_events(self):
        def odd(t, y):
            return float("nan") if t > 0.3 else 1 + y["angle"] ** 2
        result = kreisel.solve(self.rod().output("o", odd, uses=["angle"]), 1)
        with self.assertWarnsRegex(UserWarning, "output 'o' is nan at t = 0.3.*the Python function 'odd'"):
            result["o"]
        with self.assertWarnsRegex(UserWarning, "the function of event 'e' is not a number at t = 0.3"):
            kreisel.solve(self.rod().event("e", odd, uses=["angle"]), 1)

    def test_formulas_of_files(self):
        fall = {"name": "fall", "gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
                "outputs": {"place": {"position": "b"}, "root": "=sqrt(0.5 + place.z)"}, "simulation": {"t_end": 1}}
        late = np.sqrt(2 * 0.5 / 9.81)
        acts = [{"name": "e", "when": "=root - 0.1", "action": "stop", "direction": "rising"}]
        for model, code, message in ((fall, 0, "output 'root' is not a finite number at t = "), (dict(fall, events=acts), 3, "event 'e'")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "fall.json")
                pathlib.Path(path).write_text(json.dumps(model))
                ran = subprocess.run([os.environ["KREISEL_PROGRAM"], "run", path, "--out", folder + "/out", "--max-step", "0.01"], capture_output=True, text=True)
                self.assertEqual(ran.returncode, code, ran.stderr)
                self.assertIn(message, ran.stderr)
                times = [float(t) for t in re.findall(r"t = ([0-9.]+[0-9])", ran.stderr)]
                self.assertTrue(any(late < t < late + 0.011 for t in times), ran.stderr)
                lines = pathlib.Path(folder, "out", "trajectory.csv").read_text().splitlines()
                rows = [line.split(",") for line in lines if not line.startswith("#")]
                column = rows[0].index("root")
                self.assertTrue(all(np.isnan(float(row[column])) == (float(row[0]) > late) for row in rows[1:]))

    def test_wrong_shapes(self):
        def pair(t, y):
            return [1, y["angle"]]
        for model, place in ((self.rod().torque("pin", pair, uses=["angle"], name="engine"), "value of force 'engine'"),
                             (self.rod().output("o", pair, uses=["angle"]), "formula of output 'o'"),
                             (self.rod().event("e", pair, uses=["angle"]), "when of event 'e'")):
            with self.assertRaisesRegex(ValueError, rf"law 'pair', {place}, returned \[1, .*\] at t = 0"):
                kreisel.solve(model, 1)["o" if "o" in place else "angle"]


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
        np.testing.assert_array_equal(kreisel.solve("heavy-top", 0.1, t_eval=times[2:5]).t, times[2:5])
        self.assertEqual(kreisel.solve("heavy-top", 0.1, t_eval=[]).q.shape[0], 0)
        for wrong in ([0.05, 0.01], [0.05, 0.05], [[0.05]], 0.05, [np.nan], "soon"):
            with self.assertRaisesRegex(ValueError, "t_eval is .*, expected a list of increasing times"):
                kreisel.solve("heavy-top", 0.1, t_eval=wrong)
        with self.assertRaisesRegex(ValueError, "t_eval: has 0.2, which is not between the start 0 and the end 0.1"):
            kreisel.solve("heavy-top", 0.1, t_eval=[0.05, 0.2])

    def test_t_eval_gives_one_row_per_time(self):
        """At events, of which runs show both sides, and where a wanted time is that of a step up to round-off."""
        for dense_output in (False, True):
            times = np.linspace(0, 1, 11)
            released = kreisel.solve("rod-release", 1.0, t_eval=times, dense_output=dense_output)
            np.testing.assert_array_equal(released.t, times)
            np.testing.assert_array_equal(released.lam[:, 5] != 0, times < 0.5)  # of the support; at the event: behind it
            sums = np.cumsum([0.1] * 9)
            self.assertNotEqual(sums[-1], 0.9)
            swing = kreisel.solve("pendulum", 0.9, t_eval=sums, dense_output=dense_output)
            np.testing.assert_array_equal(swing.t, sums)
            np.testing.assert_allclose(swing.q, kreisel.solve("pendulum", 0.9, dense_output=True).sol(np.minimum(sums, 0.9))[0], atol=1e-12)
            close = np.array([0.0, 1e-300, 0.5, np.nextafter(0.5, 1), 0.5 + 1e-13, 1.0])
            swing = kreisel.solve("pendulum", 1.0, t_eval=close, dense_output=dense_output)
            np.testing.assert_array_equal(swing.t, close)
            wall = np.linspace(0, 2, 2001)
            np.testing.assert_array_equal(kreisel.solve("wall-pendulum", 2.0, t_eval=wall, dense_output=dense_output).t, wall)

    def test_t_eval_gives_columns_without_rows(self):
        def at_once(t, q, v, lam):
            return t - 0.05
        at_once.terminal = True
        for dense_output in (False, True):
            for options in (dict(t_eval=[]), dict(t_eval=[0.5], events=at_once)):
                nothing = kreisel.solve("heavy-top", 1.0, dense_output=dense_output, **options)
                self.assertEqual([x.shape for x in (nothing.t, nothing.q, nothing.v, nothing.a, nothing.lam, nothing.energy, nothing.x(0))],
                                 [(0,), (0, 7), (0, 6), (0, 6), (0, 3), (0,), (0, 3)])
        nothing = kreisel.solve("heavy-top", 0.1, t_eval=[])
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, "the result has no points: there is nothing to write"):
                nothing.save(f"{folder}/nothing")
            self.assertEqual(os.listdir(folder), [])

    def test_t_eval_does_not_coarsen_dense_output(self):
        for method in ("bliedf", "rkmk"):
            options = dict(method=method, rtol=1e-9, atol=1e-9, dense_output=True)
            both = kreisel.solve("pendulum", 1.0, t_eval=[0.1, 0.9], **options)
            np.testing.assert_array_equal(both.t, [0.1, 0.9])
            dense = kreisel.solve("pendulum", 1.0, **options)
            shown = kreisel.solve("pendulum", 1.0, method=method, rtol=1e-9, atol=1e-9, t_eval=[0.1, 0.5, 0.9])
            np.testing.assert_array_equal(both.sol(0.5)[0], dense.sol(0.5)[0])
            np.testing.assert_allclose(both.sol(0.5)[0], shown.q[1], atol=1e-11)
            np.testing.assert_allclose(both.q, shown.q[[0, 2]], atol=1e-11)
            np.testing.assert_allclose(both.lam, shown.lam[[0, 2]], atol=1e-8)

    def test_between_the_long_steps_of_rkmk_the_order_is_that_of_the_steps(self):
        top = kreisel.solve("heavy-top", 0.2, method="rkmk", rtol=1e-10, atol=1e-10, dense_output=True)
        exact = kreisel.solve("heavy-top", 0.2, method="rkmk", step=1e-4)
        q, v, a, lam = top.sol(exact.t)
        self.assertLess(10 * len(top.t), len(exact.t))
        np.testing.assert_allclose(q, exact.q, atol=1e-8)
        np.testing.assert_allclose(lam, exact.lam, atol=1e-4)

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

    def test_steps_end_at_the_corners_they_are_told(self):
        parts = {"space": [("rn", 1)], "mass": lambda q: [[1.0]], "force": lambda t, q, v: [-100.0 if 1 <= t < 1.01 else 0.0], "q0": [0.0]}

        def after(t):
            return next((corner for corner in (1.0, 1.01) if corner > t), None)

        for corners in ([1.01, 1.0], np.array([1.0, 1.01]), after):
            for method in ("bliedf", "rkmk"):
                self.assertAlmostEqual(kreisel.solve(kreisel.System(corners=corners, **parts), 2.0, method=method).v[-1, 0], 1.0, places=5)
        self.assertAlmostEqual(kreisel.solve(kreisel.System(**parts), 2.0, corners=[1, 1.01]).v[-1, 0], 1.0, places=5)
        for wrong in (3.0, "soon", [[1.0]], [np.inf], lambda t: t):
            with self.assertRaisesRegex(ValueError, "corner"):
                kreisel.solve(kreisel.System(corners=wrong, **parts), 2.0)

    def test_events(self):
        def falls(t, q, v, lam):
            return q[0]
        falls.terminal = True
        result = kreisel.solve(pendulum(), 3.0, rtol=1e-9, atol=1e-9, events=falls)
        quarter = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 3), [np.pi / 2, 0], rtol=1e-11, atol=1e-12,
                            events=lambda t, y: y[0]).t_events[0][0]
        np.testing.assert_allclose(result.t_events[0], [quarter], atol=1e-7)
        self.assertAlmostEqual(result.t[-1], quarter, places=6)

    def test_each_event_has_its_own_times(self):
        """Functions without a name of their own, too."""
        swing = kreisel.solve("pendulum", 2.0, parameters={"x0": 0.2}, events=[lambda t, q, v, lam: t - 0.5, lambda t, q, v, lam: t - 1.5])
        np.testing.assert_allclose(swing.t_events[0], [0.5], atol=1e-9)
        np.testing.assert_allclose(swing.t_events[1], [1.5], atol=1e-9)

    def test_events_of_one_name_have_their_own_times(self):
        def passes(at, name, terminal=0):
            def event(t, q, v, lam):
                return t - at
            event.__name__, event.terminal = name, terminal
            return event
        swing = kreisel.solve("pendulum", 2.0, events=[passes(0.2, "e1 2"), passes(0.4, "e1"), passes(0.6, "e1"), passes(0.8, "e1", 1)])
        np.testing.assert_allclose(swing.t_events, [[0.2], [0.4], [0.6], [0.8]], atol=1e-9)
        self.assertAlmostEqual(swing.t[-1], 0.8, places=9)
        bounce = kreisel.solve("wall-pendulum", 2.0, events=passes(0.3, "wall", 2))
        np.testing.assert_allclose(bounce.t_events, [[0.3]], atol=1e-9)
        self.assertEqual(bounce.t[-1], 2.0)
        self.assertEqual({name for name, *_ in bounce.events}, {"wall", "wall 0"})

    def test_event_attributes_are_those_of_scipy(self):
        def event(t, q, v, lam):
            return q[0]
        for terminal, count in [(True, 1), (np.True_, 1), (2, 2), (1.0, 1), (False, 3), (None, 3)]:
            event.terminal = terminal
            self.assertEqual(len(kreisel.solve(pendulum(), 3.0, events=event).t_events[0]), count)
        event.terminal = "yes"
        with self.assertRaisesRegex(ValueError, r"events\[0\] \('event'\): terminal must be True, False or a count"):
            kreisel.solve(pendulum(), 3.0, events=event)

    def test_verify_observes_the_true_error(self):
        free = kreisel.System(space=[("rn", 1)], mass=lambda q: np.eye(1), force=lambda t, q, v: 4 * q, q0=[1.0], v0=[0.0])
        swing = kreisel.solve(free, (3, 8), rtol=1e-5, atol=1e-7, verify=True)
        truth = np.abs(swing.q[:, 0] - np.cos(2 * (swing.t - 3))).max()
        observed = swing.verification["quantities"][0]
        self.assertEqual((observed["name"], swing.verification["status"]), ("coordinates", "success"))
        self.assertTrue(truth / 2 < observed["error"] < 1.5 * truth, (observed["error"], truth))
        self.assertEqual(swing.verification["points"], len(swing.t))
        self.assertIsNone(kreisel.solve("pendulum", 0.1).verification)
        with tempfile.TemporaryDirectory() as folder:
            swing.save(folder)
            self.assertEqual(kreisel.read(folder).summary["verification"], swing.verification)

    def test_a_copy_has_all_numbers(self):
        rod = kreisel.solve(ROD, 0.2, dense_output=True)
        for twin in (pickle.loads(pickle.dumps(rod)), copy.deepcopy(rod)):
            np.testing.assert_array_equal(twin.q, rod.q)
            np.testing.assert_array_equal(twin.x("rod"), rod.x("rod"))
            np.testing.assert_array_equal(twin.reaction("pin")[0], rod.reaction("pin")[0])
            np.testing.assert_array_equal(twin.energy, rod.energy)
            self.assertEqual(repr(twin), repr(rod))
            self.assertIsNone(twin.sol)
            with self.assertRaisesRegex(ValueError, "a copy, without its model"):
                twin.save("nowhere")

    def test_a_failure_comes_back_from_another_process(self):
        with self.assertRaises(kreisel.IntegrationError) as caught:
            kreisel.solve("heavy-top", 2.0, step=0.02)
        twin = pickle.loads(pickle.dumps(caught.exception))
        self.assertIs(type(twin), kreisel.IntegrationError)
        self.assertEqual(str(twin), str(caught.exception))
        np.testing.assert_array_equal(twin.result.q, caught.exception.result.q)
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            with self.assertRaisesRegex(kreisel.IntegrationError, "^newton-failed: at t = 0.06"):
                pool.submit(kreisel.solve, "heavy-top", 2.0, step=0.02).result(timeout=60)

    def test_warnings_of_the_program_are_warnings(self):
        with self.assertWarnsRegex(UserWarning, "max_step has no effect with constant steps"):
            kreisel.solve("pendulum", 0.1, step=0.01, max_step=0.1)
        with self.assertWarnsRegex(UserWarning, "does not damp errors of the constraint forces(.|\n)*rho_inf below 1, such as 0.9"):
            kreisel.solve("heavy-top", 0.01, method="generalized-alpha", step=1e-3, parameters={"rho_inf": 1})

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

    def test_a_dict_says_how_it_is_simulated(self):
        rod = {**ROD, "simulation": {"t_end": 0.3, "step": 0.01, "method": "generalized-alpha"}}
        result = kreisel.solve(rod)
        self.assertEqual((result.method, result.nsteps, result.t[-1]), ("generalized-alpha", 30, 0.3))
        self.assertEqual(kreisel.solve(rod, method="bliedf").method, "bliedf")
        self.assertEqual(kreisel.solve(rod, 0.2).nsteps, 20)

    def test_bodies_have_groups_of_their_own(self):
        ends = []
        for groups in ({}, {"group": "se3"}):
            model = (kreisel.Model("pair", gravity=[0, 0, -9.81])
                     .body("a", mass=1.0, inertia=[0.1, 0.2, 0.2], position=[0.5, 0, 0])
                     .body("b", mass=1.0, inertia=[0.1, 0.2, 0.2], position=[1.5, 0, 0], **groups)
                     .joint("first", "spherical", between=["ground", "a"], at=[0, 0, 0])
                     .joint("second", "spherical", between=["a", "b"], at=[1, 0, 0]))
            ends.append(kreisel.solve(model, 0.5, rtol=1e-9, atol=1e-9).x(1)[-1])
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)
        with self.assertRaisesRegex(ValueError, "/bodies/0/group"):
            kreisel.solve(kreisel.Model("wrong").body("a", mass=1, inertia=[1, 1, 1], position=[0, 0, 0], group="so3"), 1.0)

    def test_a_model_does_not_touch_the_dict_it_comes_from(self):
        before = json.dumps(ROD)
        model = kreisel.Model.from_dict(ROD).body("other", mass=np.float64(1), inertia=np.eye(3), position=np.zeros(3))
        self.assertEqual(json.dumps(ROD), before)
        self.assertEqual(kreisel.solve(model, 0.1).bodies, ["rod", "other"])
        with self.assertRaisesRegex(ValueError, "neither a number, a text, a list nor a dict"):
            kreisel.solve(kreisel.Model().body("a", mass={1}), 0.1)

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
            np.testing.assert_array_equal(stored.x("top"), direct.x("top"))
            np.testing.assert_allclose(stored.R("top"), direct.R("top"), atol=1e-15)
            np.testing.assert_array_equal(stored.lam, direct.lam)
            np.testing.assert_array_equal(stored.order, direct.order)
        with tempfile.TemporaryDirectory() as folder:
            rod = kreisel.solve(ROD, 0.1)
            rod.save(folder)
            np.testing.assert_allclose(kreisel.read(folder).reaction("pin")[0], rod.reaction("pin")[0], atol=1e-12)
        with tempfile.TemporaryDirectory() as folder:
            run = kreisel.solve(arm(), 0.1)
            run.save(folder)
            np.testing.assert_allclose(kreisel.read(folder)["tip"], run["tip"], atol=1e-12)
        with self.assertRaisesRegex(ValueError, "not a result folder"):
            kreisel.read("/nowhere")

    def test_outputs_and_states_are_functions_too(self):
        model = arm().output("double", lambda t, y: 2 * y["angle"]).state("sum", lambda t, y: y["angle"], uses=["angle"])
        run = kreisel.solve(model, 0.5, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(run["double"], 2 * run["angle"], rtol=1e-12)
        fine = kreisel.solve(arm(), 0.5, rtol=1e-9, atol=1e-9, t_eval=np.linspace(0, 0.5, 2001))["angle"]
        self.assertAlmostEqual(run["sum"][-1], np.sum((fine[1:] + fine[:-1]) / 2) * 0.5 / 2000, delta=1e-6)

    def test_rates_that_do_not_exist_are_refused(self):
        model = kreisel.Model("spring").body("b", mass=1.0, inertia=[1, 1, 1], position=[1, 0, 0]).force(
            "k", "spring-damper", between=["ground", "b"], stiffness=3, length=0.5).output("F", force="k")
        run = kreisel.solve(model, 0.1)
        with self.assertRaisesRegex(ValueError, "output 'F' has no rate that follows from the motion"):
            run["F'"]

    def test_study_gives_arrays(self):
        study = kreisel.study({"title": "pendulum", "model": "pendulum", "method": "bliedf", "order": 2, "formulation": "index3",
                               "step": [0.02, 0.01, 0.005], "t_end": 1, "measures": ["q max"]})
        curve = study.curves[0]
        self.assertEqual(curve.x.shape, (3,))
        self.assertAlmostEqual(curve.order, 2.0, delta=0.2)

    def test_a_study_says_when_its_runs_fail(self):
        grid = {"step": [0.02, 0.01], "t_end": 1.0, "measures": ["q max"]}
        with self.assertWarnsRegex(UserWarning, "2 of 2 runs did not succeed; the first: .*: no-reference: 'wall-pendulum' has events") as caught:
            study = kreisel.study({"model": "wall-pendulum", **grid})
        self.assertEqual(caught.filename, __file__)
        self.assertEqual((study.status, study.curves), ("failed", []))
        with self.assertWarnsRegex(UserWarning, "1 of 2 runs did not succeed; the first: .*: newton-failed: at t = "):
            study = kreisel.study({"model": "heavy-top", **grid, "step": [0.05, 0.001], "t_end": 0.5})
        self.assertEqual(study.status, "success")

    def test_a_study_calls_models_by_their_names(self):
        grid = {"order": 3, "step": [0.02, 0.01], "t_end": 0.5, "measures": ["q max"]}
        rod, long = kreisel.Model.from_dict(ROD), copy.deepcopy(ROD)
        long["bodies"][0]["mass"] = 2.0
        for model in (rod, ROD):
            study = kreisel.study({"model": model, **grid})
            self.assertEqual({curve.label for curve in study.curves}, {"rod"})
            self.assertEqual(study.rows[0]["coordinates"]["model"], "rod")
        study = kreisel.study({"model": [rod, long], **grid})
        self.assertEqual([row["label"] for row in study.rows], ["rod", "rod", "rod 2", "rod 2"])
        study = kreisel.study({**grid, "step": 0.01, "runs": [{"model": rod}, {"model": "pendulum"}], "measures": ["energy end"]})
        self.assertEqual([row["label"] for row in study.rows], ["rod", "pendulum"])
        namesake = kreisel.Model.from_dict({**ROD, "name": "pendulum"})
        study = kreisel.study({**grid, "step": 0.01, "model": [namesake, "pendulum"], "measures": ["energy end"]})
        self.assertEqual([row["label"] for row in study.rows], ["pendulum 2", "pendulum"])
        self.assertEqual([row["status"] for row in kreisel.study({"model": rod, "step_count": [20, 40], "t_end": 0.5, "measures": ["q max"]}).rows],
                         ["success", "success"])


class OwnSystems(unittest.TestCase):
    """Nothing but the functions themselves: steps of differences are found."""

    def test_drivers_of_any_frequency(self):
        amplitude = 1e-3
        for w in (1e-3, 1.0, 314.0, 1e5):
            for t0 in (0.0, -3.0, 1e6):
                driven = kreisel.System(space=[("rn", 2)], mass=lambda q: np.eye(2), force=lambda t, q, v: [0, 4 * (w / 10) ** 2 * q[1]],
                                        constraint=lambda t, q: [q[0] - amplitude * (1 - np.cos(w * (t - t0)))], constraints=1, q0=[0, 1])
                for options in ({}, {"method": "rkmk"}):
                    motion = kreisel.solve(driven, (t0, t0 + 10 / w), **options)
                    phase = w * (motion.t - t0)
                    # t itself has no more digits
                    units = 1 + 1e4 * np.finfo(float).eps * abs(t0) * w / 1e-9
                    np.testing.assert_allclose(motion.v[:, 0] / (amplitude * w), np.sin(phase), atol=1e-9 * units)
                    later = slice(len(phase) // 2 if not options else 0, None)  # a start of order 1 knows them less well
                    np.testing.assert_allclose(motion.lam[later, 0] / (amplitude * w * w), -np.cos(phase[later]), atol=(1e-3 if not options else 1e-6) * units)

    def test_mechanisms_of_any_size(self):
        angle = solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0, 2), [np.arctan2(0.8, 0.6), 0], method="DOP853", rtol=1e-13, atol=1e-13).y[0, -1]
        exact = [np.sin(angle), -np.cos(angle)]
        for length in (1e-6, 1e-3, 1.0, 1e3, 1e6):
            own = pendulum(constraint=lambda t, q: [np.hypot(*q) - length], q0=[0.8 * length, -0.6 * length])
            for options in ({}, {"method": "rkmk"}):
                motion = kreisel.solve(own, 2 * np.sqrt(length / 9.81), rtol=1e-8, atol=1e-10 * length, **options)
                np.testing.assert_allclose(motion.q[-1] / length, exact, atol=1e-6, err_msg=f"{length} {options}")

    def test_functions_need_not_be_defined_at_the_origin(self):
        ratio = pendulum(constraint=lambda t, q: [np.log(q[0] / q[1])], force=lambda t, q, v: -q / (q @ q), q0=[1e-2, 1e-2])
        motion = kreisel.solve(ratio, 0.1)
        np.testing.assert_allclose(motion.q[:, 0], motion.q[:, 1], rtol=1e-8)

    def test_time_need_not_start_at_zero(self):
        at_zero = kreisel.solve("pendulum", 0.5)
        for model in ("pendulum", pendulum(q0=at_zero.q[0], v0=at_zero.v[0])):
            for start in (-3.0, 1e6):
                for options in ({}, {"step": 0.01}, {"method": "rkmk"}):
                    motion = kreisel.solve(model, (start, start + 0.5), **options)
                    self.assertEqual((motion.t[0], motion.t[-1]), (start, start + 0.5))
                    np.testing.assert_allclose(motion.q[-1], at_zero.q[-1], atol=1e-4)


class Mistakes(unittest.TestCase):
    def test_a_start_that_fails_at_a_corner_keeps_what_was_computed(self):
        broken = kreisel.System(space=[("rn", 1)], mass=lambda q: [[1.0]], force=lambda t, q, v: [-1.0 if t < 1 else float("nan")],
                                q0=[0.0], corners=[1.0])
        with self.assertRaisesRegex(kreisel.IntegrationError, "^no-consistent-start: position and velocity at t = 1 admit") as caught:
            kreisel.solve(broken, 2.0)
        result = caught.exception.result
        self.assertEqual(result.t[-1], 1.0)
        self.assertAlmostEqual(result.v[-1, 0], 1.0, delta=1e-6)
        self.assertAlmostEqual(result.q[-1, 0], 0.5, delta=1e-6)

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

    def test_nothing_and_nan_are_nonsense_too(self):
        for name in ("mass", "force", "constraint"):
            with self.assertRaisesRegex(ValueError, f"{name} returned None, expected an array of numbers of shape"):
                kreisel.solve(pendulum(**{name: lambda *_: None}), 1.0)
        with self.assertRaisesRegex(ValueError, r"'constraint' returned nan at the start, where t = 0, q = \(1, 0\)"):
            kreisel.solve(pendulum(constraint=lambda t, q: [np.nan]), 1.0)
        with self.assertRaisesRegex(kreisel.IntegrationError, r"'force' returned \(nan, 9.81\) at t = 0\.\d+, q = .*, which is not finite"):
            kreisel.solve(pendulum(force=lambda t, q, v: [np.nan if t > 0.2 else 0.0, 9.81]), 1.0)
        with self.assertRaisesRegex(ValueError, r"mass returned a matrix that is not symmetric: 0 at \[1, 0\], but 5 at \[0, 1\]"):
            kreisel.solve(pendulum(mass=lambda q: [[1, 5], [0, 1]]), 1.0)

    def test_nonsense_from_an_event_names_it_and_the_time(self):
        def jumps(t, q, v, lam):
            return value if t > 0.2 else 1.0
        for value in (np.nan, -np.inf, None, "x", [1, 2]):
            with self.assertRaisesRegex(ValueError, rf"event 'jumps' returned {re.escape(repr(value))} at t = 0\.\d+, expected a finite number"):
                kreisel.solve("pendulum", 1.0, events=jumps)

    def test_parts_of_a_system_that_do_not_fit(self):
        for changes, message in [({"q0": [1, 0, 0]}, r"'q0' is an array of shape \(3,\), expected \(2,\)"),
                                 ({"q0": "x"}, "'q0' is 'x', expected an array of numbers"),
                                 ({"constraints": None}, "'constraint' is given without 'constraints'"),
                                 ({"constraints": "one"}, "'constraints' is 'one', expected the number of values that 'constraint' returns"),
                                 ({"space": 3}, "'space' has 3, expected a list of factors"),
                                 ({"space": [("rn", "two")]}, r"'space' has \('rn', 'two'\), expected a list of factors"),
                                 ({"space": ["rn"]}, "needs its dimension"),
                                 ({"t0": "x"}, "'t0' is 'x', expected a number")]:
            with self.assertRaisesRegex(ValueError, message):
                kreisel.solve(pendulum(**changes), 1.0)
        free = dict(space=["so3"], mass=lambda q: np.eye(3), force=lambda t, q, v: np.zeros(3))
        with self.assertRaisesRegex(ValueError, "quaternion of length 2 for 'block 0'"):
            kreisel.solve(kreisel.System(q0=[0, 0, 0, 2], **free), 1.0)

    def test_functions_may_change_and_keep_what_they_are_given(self):
        def spoil(t, q, v):
            q[:], v[:] = 7, 3
            return np.array([[0.0, 1.0], [9.81, 1.0]])[:, 0]
        np.testing.assert_array_equal(kreisel.solve(pendulum(force=spoil), 1.0).q, kreisel.solve(pendulum(), 1.0).q)

    def test_hints_of_scale_are_numbers(self):
        for changes, message in [({"scale": [1, 2, 3]}, r"'scale' is an array of shape \(3,\), expected \(2,\)"),
                                 ({"scale": -1}, "scale has the entry -1, must be positive"),
                                 ({"time_scale": "x"}, "'time_scale' is 'x', expected a number")]:
            with self.assertRaisesRegex(ValueError, message):
                kreisel.solve(pendulum(**changes), 1.0)
        for scale in (1, 1.0, [1, 1], np.ones(2)):
            self.assertTrue(kreisel.solve(pendulum(scale=scale, time_scale=1), 0.1).success)

    def test_derivatives_too_poor_for_the_tolerance_are_named(self):
        def rounded(t, q):
            return [float(np.float32(np.hypot(*q))) - 1]
        with self.assertRaisesRegex(ValueError, "(?s)derivative of 'constraint' by q .* known from differences only to .*provide 'jacobian'"):
            kreisel.solve(pendulum(constraint=rounded), 1.0, rtol=1e-8, atol=1e-8)

    def test_time_must_go_forward(self):
        for wrong in ((1, 0), (1, 1)):
            with self.assertRaisesRegex(ValueError, "t_span is .*: the end must come after the start"):
                kreisel.solve("pendulum", wrong)
        for wrong in ((0, 1, 2), "abc", (None, 1), (0, np.inf)):
            with self.assertRaisesRegex(ValueError, "t_span is .*, expected an end time or"):
                kreisel.solve("pendulum", wrong)

    def test_initial_values_are_judged_where_the_run_starts(self):
        arm = {"bodies": [{"name": "arm", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "angular_velocity": [0, 0, 2]}],
               "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "arm"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
               "drivers": [{"name": "drive", "type": "angle", "between": ["ground", "arm"], "axis": [0, 0, 1], "value": "sin(2*(t - 0.7))"}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "arm.json")
            kreisel.Model.from_dict(arm).save(path)
            for model in (arm, path):
                result = kreisel.solve(model, (0.7, 1.7), rtol=1e-8, atol=1e-8)
                self.assertAlmostEqual(result.v[-1, 5], 2 * np.cos(2), delta=1e-7)
                with self.assertRaisesRegex(ValueError, "'drive': the initial positions miss the joint by 0.98545"):
                    kreisel.solve(model, 1.0)
                with self.assertRaisesRegex(ValueError, "(?s)initial values violate .* 'drive'"):
                    kreisel.solve(model, (0.5, 1.5))

    def test_messages_speak_of_keywords(self):
        with self.assertRaisesRegex(ValueError, "^step and rtol/atol exclude each other"):
            kreisel.solve("pendulum", 1.0, step=0.1, rtol=1e-3)
        with self.assertRaisesRegex(ValueError, "^parameters is .*, expected a dict"):
            kreisel.solve("pendulum", 1.0, parameters=["mass=2"])
        with self.assertRaisesRegex(kreisel.IntegrationError, "looser rtol/atol|max_steps") as caught:
            kreisel.solve("heavy-top", 2.0, max_steps=10)
        self.assertNotIn("--", str(caught.exception))

    def test_one_argument_says_which_points_to_show(self):
        with self.assertRaisesRegex(ValueError, "output_times is called t_eval"):
            kreisel.solve("pendulum", 1.0, output_times=[0.1, 0.2])
        with self.assertRaisesRegex(ValueError, "t_eval and output_step both choose the points to show"):
            kreisel.solve("pendulum", 1.0, output_step=0.1, t_eval=[0.1, 0.2])
        with self.assertRaisesRegex(ValueError, "dense_output needs every step, output_step drops some"):
            kreisel.solve("pendulum", 1.0, output_step=0.1, dense_output=True)
        np.testing.assert_allclose(kreisel.solve("pendulum", 1.0, output_step=0.25).t, [0, 0.25, 0.5, 0.75, 1])

    def test_what_to_show_goes_before_the_wish_of_a_model_file(self):
        rod = {**ROD, "simulation": {"t_end": 0.5, "output_step": 0.1}}
        self.assertEqual(len(kreisel.solve(rod).t), 6)
        np.testing.assert_array_equal(kreisel.solve(rod, t_eval=[0.2, 0.25]).t, [0.2, 0.25])
        np.testing.assert_array_equal(kreisel.solve(rod, dense_output=True).sol(0.25)[0], kreisel.solve(ROD, 0.5, dense_output=True).sol(0.25)[0])

    def test_a_list_may_stand_where_the_program_takes_commas(self):
        kept = kreisel.solve("heavy-top", 0.1, method="projected-bdf", conserve=["energy", "angular-momentum-z"])
        self.assertLess(np.ptp(kept.energy), 1e-8)

    def test_an_exception_in_a_callable_comes_through(self):
        def force(t, q, v):
            if t > 0.5:
                raise KeyError("spring")
            return [0.0, 9.81]
        with self.assertRaisesRegex(KeyError, "spring"):
            kreisel.solve(pendulum(force=force), 1.0)

    def test_a_failed_run_keeps_what_was_computed(self):
        with self.assertRaises(kreisel.IntegrationError) as caught:
            kreisel.solve("heavy-top", 2.0, step=0.5, parameters={"omega_y": 10.0})
        self.assertIn("newton-failed", str(caught.exception))
        self.assertGreater(len(caught.exception.result.t), 1)


class LongRuns(unittest.TestCase):
    def test_two_at_once_are_as_right_as_one_after_the_other(self):
        def chain(n):
            return kreisel.solve("chain", 0.5, rtol=1e-8, atol=1e-8, parameters={"n": n})

        def own(length):
            return kreisel.solve(pendulum(constraint=lambda t, q: [(q @ q - length ** 2) / 2], q0=[length, 0.0]), 1.0)
        for run, arguments in ((chain, (8, 9)), (own, (1.0, 2.0))):
            alone = [run(argument) for argument in arguments]
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                together = list(pool.map(run, arguments))
            for a, b in zip(alone, together):
                np.testing.assert_array_equal(a.q, b.q)

    def test_results_give_their_memory_back(self):
        def resident():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

        def run(times):
            for _ in range(times):
                kreisel.solve("heavy-top", 0.02, dense_output=True).x()
                kreisel.solve(pendulum(), 0.01)
                with self.assertRaises(ValueError):
                    kreisel.solve(pendulum(), 0.1, rtoll=1)
        run(30)
        before = resident()
        run(200)
        self.assertLess(resident() - before, 4 << 20)

    def test_short_results_take_little_memory(self):
        def pages():
            return [int(number) * os.sysconf("SC_PAGESIZE") for number in pathlib.Path("/proc/self/statm").read_text().split()[:2]]
        kept = [kreisel.solve("pendulum", 0.01)]
        before = pages()
        kept += [kreisel.solve("pendulum", 0.01) for _ in range(200)]
        for size, size_before in zip(pages(), before):
            self.assertLess((size - size_before) / 200, 64 << 10)

    def test_a_long_result_grows_where_addresses_are_scarce(self):
        code = ("import hashlib, resource, sys, kreisel\n"
                "spare = int(sys.argv[1])\n"
                "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
                "if spare: resource.setrlimit(resource.RLIMIT_AS, (size + spare, size + spare))\n"
                "result = kreisel.solve('pendulum', 30.0, step=2e-4)\n"
                "print(len(result.t), hashlib.sha256(result.q.tobytes()).hexdigest())")
        outputs = [subprocess.run([sys.executable, "-c", code, str(spare)], capture_output=True, text=True, check=True).stdout
                   for spare in (0, 100 << 20)]
        self.assertEqual(outputs[0], outputs[1])

    def test_the_program_may_end_before_its_daemon_threads(self):
        for work in ("kreisel.solve('heavy-top', 1e6, step=1e-3)",
                     "kreisel.solve('pendulum', 1e6, step=1e-3, events=lambda t, q, v, lam: q[0] - 100)",
                     "[kreisel.solve('pendulum', 0.01) for _ in iter(int, 1)]",
                     "kreisel.study({'model': 'heavy-top', 'step': [1e-5, 2e-5], 't_end': 1000, 'measures': ['q max']})"):
            code = f"import threading, time, kreisel\nthreading.Thread(target=lambda: {work}, daemon=True).start()\ntime.sleep(0.3)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""), work)

    def test_interrupt_of_a_study_keeps_the_finished_runs(self):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt) as caught:
            kreisel.study({"model": "chain", "set": {"n": 40}, "step": [1e-3, 1e-4], "t_end": 100, "measures": ["q max"]})
        self.assertEqual(caught.exception.result.status, "interrupted")
        self.assertLess(time.monotonic() - begin, 10)

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

    def test_interrupt_keeps_the_partial_result(self):
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        seen = []
        with self.assertRaises(kreisel.Interrupted) as caught:
            kreisel.solve("chain", 1e5, rtol=1e-9, atol=1e-9, parameters={"n": 20}, progress=seen.append)
        result = caught.exception.result
        self.assertEqual(result.status, "interrupted")
        self.assertGreater(len(result.t), 10)
        self.assertGreater(len(seen), 0)


    def test_interrupt_ends_a_loop_of_short_solves(self):
        """Each is done before it looks; the wish must not be lost with it."""
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while time.monotonic() - begin < 20:
                kreisel.solve("pendulum", 0.01)
        self.assertLess(time.monotonic() - begin, 10)

    def test_interrupt_within_functions_of_the_user_too(self):
        """They are Python code, in which a KeyboardInterrupt would come up."""
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt) as caught:
            kreisel.solve(pendulum(), 1e6, rtol=1e-9, atol=1e-9)
        result = caught.exception.result
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
        places = {"Stored": kreisel._read, "Curve": kreisel._study, "Study": kreisel._study, "Sensitivity": kreisel._solve}
        places.update(dict.fromkeys(("Point", "Equilibrium", "Path", "Linearization", "Fit", "Inverse", "Minimum"), kreisel._analyses))
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
                    if not isinstance(vars(cls).get(part.name), property):
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
            real = {key for key in dir(thing) if not key.startswith("_") and not inspect.ismethod(getattr(thing, key))}
            stubs |= {part.name for part in node.body if isinstance(part, ast.FunctionDef) and part.decorator_list}
            self.assertEqual(stubs, real, name)


class Analyses(unittest.TestCase):
    """Equilibria, linearisations, derivatives and fits."""

    DRIVEN = {
        "parameters": {"k": 800.0, "start": 0.0},
        "bodies": [{"name": "mass", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, "=start"]}],
        "joints": [{"name": "guide", "type": "prismatic", "between": ["ground", "mass"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
        "inputs": {"u": {"value": 0}},
        "outputs": {"at": {"position": "mass"}, "way": {"formula": "=at.z"}},
        "forces": [{"name": "spring", "type": "force", "joint": "guide", "value": "=u - k*way - 8*way'"}],
    }

    def test_linearize_gives_the_transfer_function(self):
        linear = kreisel.linearize(self.DRIVEN)
        omega = np.array([0.0, 1.0, 20.0, 100.0])
        way = linear.columns.index("way")
        exact = 1 / (800 - 2 * omega**2 + 8j * omega)
        np.testing.assert_allclose(linear.response(omega)[:, way, 0], exact, rtol=1e-10)
        self.assertEqual((linear.inputs, linear.stability), (["u"], "stable"))
        np.testing.assert_allclose(kreisel.modes(self.DRIVEN).damping_ratios, [0.1], rtol=1e-10)

    def test_no_equilibrium_is_an_analysis_error(self):
        stone = {"gravity": [0, 0, -9.81], "bodies": [{"name": "stone", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}]}
        with self.assertRaisesRegex(kreisel.AnalysisError, "stone"):
            kreisel.static(stone)

    def test_sensitivities_agree_with_the_closed_form(self):
        times = np.linspace(0.05, 1, 20)
        run = kreisel.solve(self.DRIVEN, 1.0, parameters={"start": 0.1}, rtol=1e-9, atol=1e-9, t_eval=times, sensitivities=["k", "start"])
        decay, w = 2.0, np.sqrt(800 / 2 - 4)
        shape = np.exp(-decay * times) * (np.cos(w * times) + decay / w * np.sin(w * times))
        np.testing.assert_allclose(run.d("start")["way"], shape, atol=1e-5)
        with self.assertRaisesRegex(ValueError, "known: k, start"):
            run.d("x")
        with self.assertRaisesRegex(ValueError, "did you mean 'start'"):
            kreisel.solve(self.DRIVEN, 1.0, sensitivities=["stat"])

    def test_fit_finds_what_made_the_data(self):
        times = np.linspace(0.05, 1, 20)
        truth = kreisel.solve(self.DRIVEN, 1.0, parameters={"start": 0.1, "k": 700}, rtol=1e-8, atol=1e-8, t_eval=times)["way"]
        found = kreisel.fit(self.DRIVEN, {"way": (times, truth)}, {"k": (100, 2000), "start": None}, parameters={"start": 0.05}, rtol=1e-8, atol=1e-8)
        self.assertAlmostEqual(found.parameters["k"], 700, delta=1e-2)
        self.assertAlmostEqual(found.parameters["start"], 0.1, delta=1e-6)
        with self.assertRaisesRegex(ValueError, "unknown output 'wya'"):
            kreisel.fit(self.DRIVEN, {"wya": (times, truth)}, {"k": None})

    def test_sensitivities_by_initial_values(self):
        run = kreisel.solve(self.DRIVEN, 1.0, parameters={"start": 0.1}, rtol=1e-9, atol=1e-9, sensitivities=["v0.3", "q0.3"])
        decay, w = 2.0, np.sqrt(800 / 2 - 4)
        np.testing.assert_allclose(run.d("v0.3")["way"], np.exp(-decay * run.t) * np.sin(w * run.t) / w, atol=1e-6)
        np.testing.assert_allclose(run.d("q0.3")["way"], np.exp(-decay * run.t) * (np.cos(w * run.t) + decay / w * np.sin(w * run.t)), atol=1e-5)
        with self.assertRaisesRegex(ValueError, "entries 1 to 6"):
            kreisel.solve(self.DRIVEN, 1.0, sensitivities=["v0.9"])

    def test_gradients_by_the_adjoint_agree_with_sensitivities(self):
        names = ["k", "start", "v0.3"]
        both = dict(parameters={"start": 0.1}, rtol=1e-7, atol=1e-7, sensitivities=names)
        last = kreisel.solve(self.DRIVEN, 1.0, adjoint=["way", "at.z", "way@0.4"], **both)
        run = kreisel.solve(self.DRIVEN, 1.0, **both)
        for name in names:
            self.assertAlmostEqual(last.gradient("way")[name], run.d(name)["way"][-1], delta=1e-9 * np.max(np.abs(run.d(name)["way"])))
            self.assertEqual(last.gradient("at.z")[name], last.gradient("way")[name])
        with self.assertRaisesRegex(ValueError, "known: way, at.z, way@0.4"):
            last.gradient("at.x")
        with self.assertRaisesRegex(ValueError, "unknown output 'wya'"):
            kreisel.solve(self.DRIVEN, 1.0, adjoint=["wya"], **both)
        with self.assertRaisesRegex(ValueError, "needs sensitivities"):
            kreisel.solve(self.DRIVEN, 1.0, adjoint=["way"])
        # What steps of radau do not allow is carried along.
        other = kreisel.solve(self.DRIVEN, 1.0, adjoint=["way"], method="radau", **both)
        np.testing.assert_allclose(list(other.gradient("way").values()), list(last.gradient("way").values()), rtol=1e-4)

    def test_minimize_takes_the_adjoint_for_many_parameters(self):
        from kreisel import _analyses
        times = np.linspace(0.05, 0.4, 8)
        asked = (self.DRIVEN, lambda t, y: float(np.sum((y["way"] - 0.05)**2)), {"k": (600, 900), "start": (0.02, 0.2)}, 0.4)
        found = []
        for many in (1, 100):
            with unittest.mock.patch.object(_analyses, "_MANY", many), \
                    unittest.mock.patch.object(_analyses._core, "gradient", wraps=_analyses._core.gradient) as used:
                found.append(kreisel.minimize(*asked, t_eval=times, rtol=1e-8, atol=1e-8))
            self.assertEqual(used.called, many == 1)
        for name in ("k", "start"):
            self.assertAlmostEqual(found[0].parameters[name] / found[1].parameters[name], 1, delta=1e-3)

    def test_inverse_gives_the_input_that_a_motion_needs(self):
        motion = kreisel.inverse(self.DRIVEN, 1.0, follow={"way": "0.1*sin(3*t)"}, points=11)
        way, rate, curve = 0.1 * np.sin(3 * motion.t), 0.3 * np.cos(3 * motion.t), -0.9 * np.sin(3 * motion.t)
        expected = 2 * curve + 8 * rate + 800 * way
        np.testing.assert_allclose(motion.inputs["u"], expected, atol=1e-9)
        np.testing.assert_allclose(motion["way"], way, atol=1e-12)
        self.assertEqual(motion["at"].shape, (11, 3))
        again = kreisel.inverse(self.DRIVEN, 1.0, follow={"way": lambda t: (0.1 * np.sin(3 * t), 0.3 * np.cos(3 * t), -0.9 * np.sin(3 * t))}, points=11)
        np.testing.assert_allclose(again.inputs["u"], expected, atol=1e-9)
        for arguments, message in (({"follow": {"wya": "t"}}, "unknown output 'wya'"), ({"follow": "way"}, "expected a dict"),
                                   ({"follow": {"way": 3}}, "formula of t or a function"), ({"follow": {"way": "t"}, "inputs": ["w"]}, "unknown input 'w'"),
                                   ({"follow": {"way": "t"}, "points": 1}, "points is 1"), ({"follow": {"way": lambda t: t}}, "three numbers"),
                                   ({}, "free|freedom")):
            with self.assertRaisesRegex(ValueError, message):
                kreisel.inverse(self.DRIVEN, 1.0, **arguments)

    def test_minimize_finds_the_best_parameter(self):
        times = np.linspace(0.05, 1, 20)
        shape = lambda k: kreisel.solve(self.DRIVEN, 1.0, parameters={"start": 0.1, "k": k}, rtol=1e-8, atol=1e-8, t_eval=times)["way"]
        target = shape(700)
        best = kreisel.minimize(self.DRIVEN, lambda t, y: float(np.sum((y["way"] - target)**2)), {"k": (600, 900)}, 1.0, t_eval=times,
                                parameters={"start": 0.1}, rtol=1e-8, atol=1e-8)
        self.assertAlmostEqual(best.parameters["k"], 700, delta=0.05)
        self.assertLess(best.runs, 25)
        held = kreisel.minimize(self.DRIVEN, lambda t, y: float(np.sum((y["way"] - target)**2)), {"k": (750, 900)}, 1.0, t_eval=times,
                                parameters={"start": 0.1})
        self.assertEqual((held.parameters["k"], held.is_at_bound["k"]), (750, True))
        with self.assertRaisesRegex(ValueError, "expected a finite number"):
            kreisel.minimize(self.DRIVEN, lambda t, y: np.nan, {"k": None}, 1.0)
        with self.assertRaisesRegex(ValueError, "unknown parameter"):
            kreisel.minimize(self.DRIVEN, lambda t, y: 0.0, {"kk": None}, 1.0)


class Modelling(unittest.TestCase):
    @staticmethod
    def leg():
        return (kreisel.Model("leg", gravity=[0, 0, -9.81]).parameter("L", 0.5, unit="m", min=0.1).parameter("m", "=4*L")
                .body("shank", mass="=m", inertia=["=m*L^2/12", 1e-3, "=m*L^2/12"], position=[0, "=L/2", 0])
                .joint("hinge", "revolute", between=["ground", "shank"], at=[0, 0, 0], axis=[1, 0, 0], initial={"value": 0.2})
                .input("u", "0.5*sin(4*t)")
                .output("knee", angle="hinge").output("foot", position="shank", at=[0, "=L", 0]).output("power", "=tau*knee'", unit="W")
                .state("integral", "=0.8 - knee")
                .force("tau", "torque", joint="hinge", value="=-60*(knee - 0.8) - 5*knee' + 40*integral + u"))

    def test_wheels_cams_and_contacts_are_built_as_in_files(self):
        """A disk that rolls down a slope, a point on a circle, a ball that comes to rest on a floor."""
        model = kreisel.Model("parts", gravity=[1, 0, -9])
        model.body("disk", mass=2, inertia=[1, 0.5, 1], position=[0, 0, 0.5])
        model.joint("tyre", "wheel", between=["ground", "disk"], at=[[0, 0, 0], [0, 0, 0.5]], axes=[[0, 0, 1], [0, 1, 0]], radius=0.5)
        model.body("ball", mass=1, inertia=[1, 1, 1], position=[0, 5, 0.1])
        model.force("floor", "contact", between=["ground", "ball"], at=[[0, 0, 0], [0, 5, 0.1]], second_radius=0.1, stiffness=1e4, exponent=1, damping=50)
        angles = np.arange(24) * np.pi / 12
        model.body("bead", mass=1, inertia=[1, 1, 1], position=[2, 8, 0], velocity=[0, 3, 0])
        model.joint("ring", "cam", between=["ground", "bead"], at=[[0, 8, 0], [2, 8, 0]], axis=[0, 0, 1],
                    curve=np.column_stack([2 * np.cos(angles), 2 * np.sin(angles)]).tolist())
        model.joint("table", "point-on-plane", between=["ground", "bead"], at=[2, 8, 0], axis=[0, 0, 1])
        model.output("press", force="floor")
        model.output("gap", gap="floor")
        model.output("bead_at", position="bead")
        result = kreisel.solve(model, 4, rtol=1e-9, atol=1e-9)
        self.assertAlmostEqual(result.x("disk")[-1, 0], 0.25 * 16, places=6)
        self.assertAlmostEqual(result["press"][-1], 9, places=3)
        self.assertAlmostEqual(result["gap"][-1], -9e-4, places=6)
        reference = solve_ivp(lambda t, y: [y[1], -0.5 * np.sin(y[0])], (0, 4), [0, 1.5], rtol=1e-11, atol=1e-12).y[0, -1]
        np.testing.assert_allclose(result["bead_at"][-1][:2], [2 * np.cos(reference), 8 + 2 * np.sin(reference)], atol=1e-5)
        with self.assertRaisesRegex(ValueError, "/joints/1/curve"):
            kreisel.solve({**model.to_dict(), "joints": [model.to_dict()["joints"][0], {**model.to_dict()["joints"][1], "curve": [[0, 0], [1, 0]]}]}, 1)

    def test_forces_report_length_speed_and_power(self):
        model = kreisel.Model("block", gravity=[0, 0, 0]).body("m", mass=2, inertia=[1, 1, 1], position=[1.3, 0, 0])
        model.joint("rail", "prismatic", between=["ground", "m"], at=[0, 0, 0], axis=[1, 0, 0])
        model.force("spring", "spring-damper", between=["ground", "m"], at=[[0, 0, 0], [1.3, 0, 0]], stiffness=50, damping=0, length=1)
        for name, kind in (("l", "length"), ("s", "speed"), ("p", "power"), ("f", "force")):
            model.output(name, **{kind: "spring"})
        result = kreisel.solve(model, 1.0, rtol=1e-10, atol=1e-10)
        x, v = 0.3 * np.cos(5 * result.t), -1.5 * np.sin(5 * result.t)
        np.testing.assert_allclose(result["l"], 1 + x, atol=1e-7)
        np.testing.assert_allclose(result["s"], v, atol=1e-7)
        np.testing.assert_allclose(result["f"], 50 * x, atol=1e-5)
        np.testing.assert_allclose(result["p"], -50 * x * v, atol=1e-5)
        with self.assertRaisesRegex(ValueError, "did you mean 'spring'"):
            kreisel.solve(model.output("wrong", power="sprung"), 1.0)

    def test_every_section_of_model_files_can_be_said_in_python(self):
        schema = json.loads(subprocess.run([os.environ["KREISEL_PROGRAM"], "schema", "model"], capture_output=True, check=True).stdout)
        methods = {"bodies": "body", "joints": "joint", "drivers": "driver", "forces": "force", "parameters": "parameter", "inputs": "input",
                   "outputs": "output", "states": "state", "events": "event", "include": "include", "materials": "material", "sections": "section",
                   "rods": "rod"}
        settings = {"gravity", "group", "start", "simulation"}  # of the constructor
        for section in set(schema["properties"]) - {"$schema", "name", "comment"}:
            with self.subTest(section):
                self.assertTrue(section in methods or section in settings, "model files have a section that kreisel.Model cannot say")
                if section in methods:
                    self.assertTrue(callable(getattr(kreisel.Model, methods[section], None)))
        # A word that a method does not know itself reaches the reader, which says what it knows.
        for method in methods.values():
            model = kreisel.Model("m").body("b", mass=1, inertia=[1, 1, 1], position=[0, 0, 0])
            given = {"joint": ("n", "revolute"), "driver": ("n", "angle"), "force": ("n", "applied"), "parameter": ("n", 1), "state": ("n", "=0"),
                     "event": ("n", "=t"), "include": ("leg",)}.get(method, ("n",))
            with self.subTest(method), self.assertRaisesRegex(ValueError, "surprise"):
                kreisel.solve(getattr(model, method)(*given, surprise=1), 0.1)

    def test_joints_are_reported_where_a_model_asks_for_nothing(self):
        model = kreisel.Model("rod", gravity=[0, 0, -9.81])
        model.body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
        model.joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
        result = kreisel.solve(model, 0.5, rtol=1e-8, atol=1e-9)
        self.assertEqual(result.outputs, ["pin.angle", "pin.speed"])
        x = result.x("rod")
        np.testing.assert_allclose(result["pin.angle"], np.arctan2(x[:, 2], x[:, 1]), atol=1e-8)

    def test_outputs_and_states_are_arrays_by_name(self):
        result = kreisel.solve(self.leg(), 1.0, rtol=1e-8, atol=1e-9)
        self.assertEqual(result.outputs, ["integral", "knee", "foot", "power"])
        self.assertAlmostEqual(result["knee"][0], 0.2, delta=1e-14)
        self.assertEqual(result["foot"].shape, (len(result.t), 3))
        np.testing.assert_allclose(result["foot.y"], 0.5 * np.cos(result["knee"]), atol=1e-8)
        np.testing.assert_allclose(result["foot"][:, 2], 0.5 * np.sin(result["knee"]), atol=1e-8)
        with self.assertRaisesRegex(ValueError, "there is no output 'kne'; known: integral, knee"):
            result["kne"]
        with self.assertRaisesRegex(ValueError, "'knee' has no component 'x'"):
            result["knee.x"]
        np.testing.assert_allclose(result["foot.y'"], -0.5 * np.sin(result["knee"]) * result["knee'"], atol=1e-7)
        copied = pickle.loads(pickle.dumps(result))
        for output in ("foot", "foot.y'", "knee'"):
            np.testing.assert_array_equal(copied[output], result[output])

    def test_a_controller_follows_its_minimal_coordinates(self):
        def f(t, y):
            torque = -60 * (y[0] - 0.8) - 5 * y[1] + 40 * y[2] + 0.5 * np.sin(4 * t)
            return [y[1], (torque - 2 * 9.81 * 0.25 * np.cos(y[0])) / (2 * 0.25 / 3), 0.8 - y[0]]
        exact = solve_ivp(f, (0, 2), [0.2, 0, 0], rtol=1e-11, atol=1e-12).y[:, -1]
        result = kreisel.solve(self.leg(), 2.0, rtol=1e-9, atol=1e-10)
        self.assertAlmostEqual(result["knee"][-1], exact[0], delta=1e-7)
        self.assertAlmostEqual(result["integral"][-1], exact[2], delta=1e-7)

    def test_parameters_are_given_to_solve(self):
        longer = kreisel.solve(self.leg(), 0.1, parameters={"L": 1.0})
        self.assertAlmostEqual(longer["foot"][0, 1], np.cos(0.2), delta=1e-14)
        with self.assertRaisesRegex(ValueError, "parameter 'L' .* is 0.01, must be at least 0.1"):
            kreisel.solve(self.leg(), 0.1, parameters={"L": 0.01})

    def test_a_saved_result_has_outputs_as_columns_and_the_model_to_run_again(self):
        result = kreisel.solve(self.leg(), 0.5, parameters={"L": 0.7})
        with tempfile.TemporaryDirectory() as folder:
            result.save(folder)
            stored = kreisel.read(folder)
            result.report(pathlib.Path(folder) / "page.html")
        np.testing.assert_array_equal(stored["foot.z"], result["foot.z"])
        again = kreisel.solve(stored.summary["model_file"], 0.5)
        np.testing.assert_array_equal(again["knee"], result["knee"])
        self.assertEqual(stored.summary["final"]["outputs"]["knee"], result["knee"][-1])
        self.assertEqual(stored.summary["final"]["states"]["integral"], result["integral"][-1])


def load_tests(loader, tests, pattern):
    for module in (kreisel, kreisel._analyses, kreisel._model, kreisel._simulation, kreisel._solve, kreisel._study, kreisel._read):
        examples = doctest.DocTestSuite(module)
        assert examples.countTestCases() > 0, module
        tests.addTests(examples)
    return tests


# ---- studies of own systems and own methods

class OwnStudies(unittest.TestCase):
    def test_a_study_takes_an_own_system(self):
        pendulum = kreisel.System(name="own pendulum", space=[("rn", 2)], mass=lambda q: np.eye(2), force=lambda t, q, v: [0, 9.81],
                                  constraint=lambda t, q: [(q @ q - 1) / 2], constraints=1, jacobian=lambda t, q: [q],
                                  constraint_rate=lambda t, q: [0.0], q0=[1, 0])
        result = kreisel.study({"model": pendulum, "method": "bliedf", "order": [2, 3], "formulation": "index3", "t_end": 0.5,
                                "step": [0.01, 0.005], "measures": ["q max", "lambda max"], "reference": {"tolerance": 1e-10}})
        self.assertEqual(result.status, "success")
        self.assertEqual([round(curve.order) for curve in result.curves if curve.order], [2, 3, 2, 3])

    def test_a_study_takes_a_reference_from_elsewhere(self):
        # x'' = -x from (1, 0): the exact motion as a function and as a table
        system = kreisel.System(space=[("rn", 1)], mass=lambda q: np.eye(1), force=lambda t, q, v: q, q0=[1.0])
        spec = {"model": system, "method": "bliedf", "order": 2, "t_end": 1, "step": [0.02, 0.01], "measures": ["q max", "v max"]}
        by_function = kreisel.study(spec, reference=lambda t: ([np.cos(t)], [-np.sin(t)], []))
        self.assertEqual([round(curve.order) for curve in by_function.curves if curve.order], [2, 2])
        times = np.arange(101) * 0.01
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "exact.csv"
            np.savetxt(path, np.c_[times, np.cos(times), -np.sin(times)], delimiter=",", header="t,q1,v1", comments="", fmt="%.17g")
            by_table = kreisel.study(spec, reference=path)
        self.assertTrue(np.allclose(by_table.curves[0].y, by_function.curves[0].y, rtol=1e-9))
        for nothing in (None, 1.0):
            with self.assertWarnsRegex(UserWarning, "the reference returned"):
                self.assertEqual(kreisel.study(spec, reference=lambda t, given=nothing: given).status, "failed")
        wrong = kreisel.study(spec, reference=lambda t: ([np.cos(t) + 0.1], [-np.sin(t)], []))
        self.assertGreater(wrong.curves[0].y.min(), 0.09)

    def test_a_method_of_ones_own_gets_its_order_table(self):
        class Trapezoidal:
            points = 1

            def velocity(self, x, past, h):
                v = 2 * x - past[0].v
                return v, 2 * (v - past[0].v) / h - past[0].a

        kreisel.register_method("test-trapezoidal", Trapezoidal, order=2, formulations=["ode"])
        self.assertIn("test-trapezoidal", kreisel.method_names())
        table = kreisel.study({"model": "heavy-top", "group": "so3", "method": "test-trapezoidal", "t_end": 0.1, "step": [2e-3, 1e-3],
                               "measures": ["q max", "v max"]})
        self.assertEqual([round(curve.order) for curve in table.curves if curve.order], [2, 2])
        self.assertRegex(str(table), r"(?s)success, 2 runs.*\nq max\n  \S.* order (2\.0|1\.9)\d\nv max\n  \S.* order (2\.0|1\.9)\d$")
        with self.assertRaisesRegex(ValueError, "already"):
            kreisel.register_method("test-trapezoidal", Trapezoidal)

        class Wrong:
            points = 1

            def velocity(self, x, past, h):
                return x[:1], x

        kreisel.register_method("test-wrong", Wrong, order=1)
        with self.assertRaisesRegex(ValueError, "velocity returned"):
            kreisel.solve("pendulum", 0.1, method="test-wrong", step=0.01)

    def test_coefficients_of_ones_own(self):
        result = kreisel.solve("heavy-top", 0.05, method="mk-multistep", step=1e-3, parameters=kreisel.multistep([1.5, -2, 0.5]))
        other = kreisel.solve("heavy-top", 0.05, method="mkbdf", order=2, step=1e-3)
        self.assertLess(np.abs(result.q[-1] - other.q[-1]).max(), 1e-3)
        with self.assertRaisesRegex(ValueError, "zero-stable"):
            kreisel.solve("heavy-top", 0.05, method="mk-multistep", step=1e-3, parameters=kreisel.multistep([1, -3, 2], [-1]))


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False, verbosity=2).result.wasSuccessful())
