"""Equilibria, their paths over a parameter, linearisations and modes; inverse dynamics; fitted and optimal parameters."""
import warnings

import numpy as np

from . import _core
from ._interrupt import Interrupted, Interruption
from ._model import handle
from ._solve import IntegrationError, _plain, _settings, _span, solve


# minimize takes the adjoint for at least this many parameters and at most this many times.
_MANY, _FEW = 12, 200


class AnalysisError(RuntimeError):
    """There is no equilibrium, or a run did not reach the requested point. Invalid input raises ValueError."""


class Point:
    """A model at one instant.

    t, q, v, lam   time, positions, velocities, multipliers
    energy         [J]
    outputs        dict of the outputs of the model; point["knee"] and point["foot.x"] give one of them
    limits         names of the limits in contact
    """

    def __init__(self, found):
        self._found = found
        for name in ("t", "q", "v", "lam", "energy", "outputs", "limits"):
            setattr(self, name, found[name])

    def x(self, body):
        """Position of the centre of mass of a body, by name."""
        return self._of("body", "positions", body)

    def R(self, body):
        """Rotation matrix of a body."""
        return self._of("body", "rotations", body)

    def reaction(self, joint):
        """(force, torque) that a joint exerts on its second body, inertial axes."""
        return self._of("joint", "reactions", joint)

    def __getitem__(self, output):
        name, _, component = output.partition(".")
        value = self._of("output", "outputs", name)
        if not component:
            return value
        if np.ndim(value) == 0 or component not in ("x", "y", "z"):
            raise ValueError(f"output {name!r} has no component {component!r}")
        return value["xyz".index(component)]

    def _of(self, kind, section, name):
        known = self._found[section]
        if name not in known:
            raise ValueError(f"there is no {kind} {name!r}; known: {', '.join(known) or 'none'}")
        return known[name]


class Equilibrium(Point):
    """A model at rest: a ``Point`` with

    stability   "stable", "unstable", or None if unknown
    growth      largest real part of the eigenvalues [1/s]
    iterations  0: the initial positions are an equilibrium
    solved      dict with the value of the parameter that ``solve`` names
    """

    def __init__(self, found):
        super().__init__(found)
        self.growth, self.iterations, self.solved = found["growth"], found["iterations"], found["solved"]
        self.stability = None if found["is_stable"] is None else "stable" if found["is_stable"] else "unstable"

    def __repr__(self):
        return f"<kreisel.Equilibrium: {self.stability or 'stability not known'}, after {self.iterations} iterations>"


class Path(list):
    """Equilibria along a parameter, each a ``Point`` with ``parameter``, ``is_limit`` and ``is_critical``.

    parameters   array of the values of the parameter
    path["tip"]  array of an output
    limits       the points at which the parameter turns back
    critical     the points at which stability changes while the parameter goes on: another path branches off
    """

    @property
    def parameters(self):
        return np.array([point.parameter for point in self])

    @property
    def limits(self):
        return [point for point in self if point.is_limit]

    @property
    def critical(self):
        return [point for point in self if point.is_critical]

    def __getitem__(self, index):
        return np.array([point[index] for point in self]) if isinstance(index, str) else super().__getitem__(index)


class Linearization(Point):
    """y' = A y + B u, outputs = C y + D u about a point; y are independent positions and velocities.

    A, B, C, D   arrays; inputs and columns name the columns of B and the rows of C
    X, V         positions are perturbed by q∘exp(X p), velocities by V y, with p the first X.shape[1] numbers of y
    eigenvalues  one of every pair, by frequency; frequencies [Hz], damping_ratios, shapes (one column each), largest
    is_steady    False: the coefficients change along the motion, and eigenvalues do not indicate growth
    stability    "stable", "unstable", or None where coefficients change
    axes         "inertial" or "body": axes in which spinning bodies are perturbed
    """

    def __init__(self, found):
        super().__init__(found)
        for name in ("A", "B", "C", "D", "X", "V", "inputs", "columns", "axes", "is_steady", "eigenvalues", "shapes", "largest"):
            setattr(self, name, found[name])
        self.stability = None if not self.is_steady else "stable" if found["is_stable"] else "unstable"

    @property
    def frequencies(self):
        return np.abs(self.eigenvalues.imag) / (2 * np.pi)

    @property
    def damping_ratios(self):
        with np.errstate(invalid="ignore"):
            return -self.eigenvalues.real / np.abs(self.eigenvalues)

    def response(self, omega):
        """G(i omega), shape (frequencies, outputs, inputs); omega in rad/s."""
        omegas = np.atleast_1d(np.asarray(omega, dtype=float))
        if omegas.ndim != 1:
            raise ValueError(f"omega has shape {omegas.shape}, expected a number or a list of numbers")
        eye = np.eye(len(self.A))
        return np.array([self.C @ np.linalg.solve(1j * w * eye - self.A, self.B) + self.D for w in omegas])

    def __repr__(self):
        return f"<kreisel.Linearization: {len(self.A)} states, {len(self.inputs)} inputs, {len(self.columns)} outputs>"


def static(model, *, solve=None, so_that=None, group=None, parameters=None, **options):
    """The equilibrium of a model, and whether it is stable.

    solve, so_that   solve="spring1.length", so_that={"ride_height": 0.3}: the value of a parameter, or of a number of a part, with
                     which an output has this value at rest; ``result.solved`` has it

    Raises AnalysisError when there is no equilibrium.

    >>> import kreisel
    >>> rest = kreisel.static("double-pendulum")
    >>> rest.stability
    'stable'
    """
    output, value = "", 0.0
    if (solve is None) != (so_that is None):
        raise ValueError("solve and so_that belong together: solve='spring1.length', so_that={'ride_height': 0.3}")
    if so_that is not None:
        if not hasattr(so_that, "items") or len(so_that) != 1:
            raise ValueError(f"so_that is {so_that!r:.80}, expected a dict of one output, as in {{'ride_height': 0.3}}")
        [(output, value)] = so_that.items()
    message, found = _core.static(*_asked(model, group, parameters, options), solve or "", output, float(value))
    return Equilibrium(_found(message, found))


def static_path(model, along, *, points=50, group=None, parameters=None, **options):
    """The equilibrium over a parameter, also past points where the parameter turns back: buckling and snap-through.

    along   ("load", 0, 1000): a parameter, or a number of a part, with its first and last value

    Raises AnalysisError when the path ends early; its ``path`` holds the points found.

    >>> import kreisel
    >>> spring = (kreisel.Model("spring", gravity=[0, 0, -10]).parameter("m", 1.0)
    ...           .body("b", mass="=m", inertia=[1, 1, 1], position=[0, 0, -1])
    ...           .joint("p", "prismatic", between=["ground", "b"], at=[0, 0, 0], axis=[0, 0, 1])
    ...           .force("s", "spring-damper", between=["ground", "b"], at=[[0, 0, 0], [0, 0, -1]], stiffness=100, length=1)
    ...           .output("way", displacement="p"))
    >>> path = kreisel.static_path(spring, ("m", 1, 3))
    >>> round(float(path["way"][-1] - path["way"][0]), 9)
    -0.2
    """
    try:
        name, first, last = along
        first, last = float(first), float(last)
    except (TypeError, ValueError):
        raise ValueError(f"along is {along!r:.80}, expected (name, first value, last value)") from None
    if not (np.isfinite([first, last]).all() and first != last and int(points) >= 2):
        raise ValueError(f"along is {along!r:.80} with points={points!r:.20}: expected two different numbers and 2 points or more")
    message, found = _core.static_path(*_asked(model, group, parameters, options), str(name), first, last, int(points))
    path = Path()
    for each in found or []:
        point = Point(each)
        point.parameter, point.is_limit, point.is_critical = each["parameter"], each["is_limit"], each["is_critical"]
        path.append(point)
    if message:
        error = AnalysisError(message)
        error.path = path
        raise error
    return path


def linearize(model, *, at="static", axes="automatic", group=None, parameters=None, **options):
    """The linear equations about an equilibrium or a motion, from inputs to outputs.

    at     "static", "start", or a time that a run of the model must reach
    axes   "inertial" or "body": axes in which spinning bodies are perturbed; "automatic": those with constant coefficients

    Raises AnalysisError when there is no such point.

    >>> import kreisel
    >>> linear = kreisel.linearize("quarter-car")
    >>> linear.A.shape, len(linear.inputs) == linear.B.shape[1]
    ((4, 4), True)
    """
    message, found = _core.linearize(*_asked(model, group, parameters, options), str(at), axes)
    return Linearization(_found(message, found))


def modes(model, *, at="static", axes="automatic", group=None, parameters=None, **options):
    """Frequencies, damping and shapes of small motions: a ``Linearization``, whose eigenvalues are sorted by frequency.

    >>> import kreisel
    >>> [round(float(f), 4) for f in kreisel.modes("double-pendulum").frequencies]    # doctest: +ELLIPSIS
    [...]
    """
    return linearize(model, at=at, axes=axes, group=group, parameters=parameters, **options)


class Inverse:
    """A prescribed motion, and the inputs it needs.

    t, q, v, a, lam   arrays over the points of time
    inputs            dict of the inputs that produce the motion
    condition         0 at a singular position, 1 far from any
    inverse["knee"]   an output over time
    """

    def __init__(self, found):
        for name in ("t", "q", "v", "a", "lam", "condition"):
            setattr(self, name, found[name])
        self.inputs = {name: found["inputs"][:, i] for i, name in enumerate(found["input_names"])}
        self._outputs = {name: found["outputs"][:, i] for i, name in enumerate(found["columns"])}

    def __getitem__(self, output):
        if output in self._outputs:
            return self._outputs[output]
        parts = [column for column in self._outputs if column.startswith(output + ".")]
        if not parts:
            raise ValueError(f"there is no output {output!r}; known: {', '.join(self._outputs) or 'none'}")
        return np.column_stack([self._outputs[column] for column in parts])

    def __repr__(self):
        return f"<kreisel.Inverse: {len(self.t)} points, inputs {', '.join(self.inputs) or 'none'}>"


def inverse(model, t_span=None, *, follow=None, inputs=None, points=101, t_eval=None, group=None, parameters=None, **options):
    """The inputs and reactions that a given motion needs, computed without integration.

    t_span   end time, or (start, end); None: that of the model
    follow   dict: outputs and their prescribed values, a formula of t ("0.3*sin(t)") or a function of t that returns value, first and
             second derivative; without it drivers must leave no freedom (kinematic analysis)
    inputs   names of the inputs to solve for (default: all of the model if ``follow`` is given)
    points   number of equally spaced times; or t_eval, increasing times

    Raises AnalysisError where the motion ends at a singular position or the inputs cannot produce it; its ``motion`` holds the points found.

    >>> import kreisel
    >>> arm = (kreisel.Model("arm").body("rod", mass=2, inertia=[1, 1, 1], position=[0, 0, 0]).input("u")
    ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
    ...        .output("swing", angle="pin").torque("pin", "=u"))
    >>> motion = kreisel.inverse(arm, 1.0, follow={"swing": "t^2"}, points=3)
    >>> [round(float(u), 9) for u in motion.inputs["u"]]
    [2.0, 2.0, 2.0]
    """
    asked = dict(options)
    t0 = None
    if t_span is not None:
        t0, asked["t_end"] = _span(t_span)
    follow = {} if follow is None else follow
    if not hasattr(follow, "items"):
        raise ValueError(f"follow is {follow!r:.80}, expected a dict such as {{'knee': '0.3*sin(t)'}}")
    pairs = []
    for name, target in follow.items():
        if not isinstance(target, str) and not callable(target):
            raise ValueError(f"follow: '{name}' has {target!r:.40}, expected a formula of t or a function of t")
        pairs.append((str(name), target))
    if isinstance(inputs, str) or (inputs is not None and not all(isinstance(name, str) for name in inputs)):
        raise ValueError(f"inputs is {inputs!r:.80}, expected a list of names")
    times = None if t_eval is None else np.asarray(t_eval, dtype=float)
    if times is not None and (times.ndim != 1 or len(times) < 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any()):
        raise ValueError("t_eval must be increasing numbers")
    if times is None and not (int(points) == points and 2 <= points <= 1_000_000):
        raise ValueError(f"points is {points!r:.40}, expected a number from 2 to a million")
    message, found = _core.inverse(*_asked(model, group, parameters, asked), t0, pairs, None if inputs is None else list(inputs),
                                   [] if times is None else times.tolist(), int(points))
    for warning in found["warnings"]:
        warnings.warn(warning, stacklevel=2)
    motion = Inverse(found)
    if message:
        error = AnalysisError(message)
        error.motion = motion
        raise error
    return motion


class Fit:
    """Parameters found from data.

    parameters       dict of values
    standard_errors  dict; covariance and correlation are arrays in the order of the parameters
    noise            dict: standard deviation of the residuals of each output
    fitted           dict of arrays at the times of the data
    runs             number of runs, each with its derivatives
    others           other minima that further starts led to: (dict of values, ratio of the sums of squares)
    """

    def __init__(self, names, columns, found):
        self.parameters = dict(zip(names, found["values"].tolist()))
        self.standard_errors = dict(zip(names, found["standard_errors"].tolist()))
        self.covariance = found["covariance"]
        self.correlation = self.covariance / np.outer(found["standard_errors"], found["standard_errors"])
        self.noise = dict(zip(columns, found["noise"].tolist()))
        self.fitted = {name: found["fitted"][:, i] for i, name in enumerate(columns)}
        self.iterations, self.runs = found["iterations"], found["runs"]
        self.is_at_bound = dict(zip(names, found["is_at_bound"]))
        self.others = [(dict(zip(names, values.tolist())), ratio) for values, ratio in found["others"]]

    def __repr__(self):
        return "<kreisel.Fit: " + ", ".join(f"{name} = {value:.6g} +- {self.standard_errors[name]:.2g}"
                                            for name, value in self.parameters.items()) + ">"


def fit(model, data, free, *, starts=1, group=None, parameters=None, **options):
    """Parameters with which outputs of the model fit data best, in the sense of least squares.

    data        dict: {"knee": (t, y)}, all with the same increasing times, or {"t": t, "knee": y, ...}
    free        dict of parameters, or of numbers of parts as "spring1.stiffness", with bounds: {"k": (1e3, 1e5), "L": None}
    parameters  where the search begins, and what is not free
    starts      number of searches, the first from the values of the model, others spread between the bounds: ``others`` holds
                further minima

    Raises AnalysisError when there is no minimum, or the data do not determine a parameter, which is named.

    >>> import kreisel, numpy as np
    >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81]).parameter("k", 20.0)
    ...        .body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
    ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
    ...        .output("swing", angle="pin").torque("pin", "=-k*swing"))
    >>> t = np.linspace(0.1, 1, 10)
    >>> measured = kreisel.solve(rod, 1.0, t_eval=t, parameters={"k": 30})["swing"]
    >>> found = kreisel.fit(rod, {"swing": (t, measured)}, {"k": (1, 100)})
    >>> round(found.parameters["k"], 3)
    30.0
    """
    times, columns, values = _data(data)
    bounds = _bounds(free)
    with Interruption() as interruption:
        message, found = _core.fit(*_asked(model, group, parameters, options), times.tolist(), columns, values, bounds,
                                   int(starts), interruption.was_asked)
    if interruption.was_asked():
        raise Interrupted("fit was interrupted", None)
    _found(message, found)
    for warning in found["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return Fit([name for name, _, _ in bounds], columns, found)


class Minimum:
    """Parameters that minimize an objective.

    parameters   dict of values
    value        of the objective there
    gradient     dict: its derivatives there
    is_at_bound  dict
    runs         number of runs, each with its derivatives
    history      values of the objective on the way
    """

    def __repr__(self):
        return f"<kreisel.Minimum: {self.value:.6g} at " + ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items()) + ">"


def minimize(model, objective, free, t_span=None, *, t_eval=None, tolerance=1e-8, max_runs=200, group=None, parameters=None, **options):
    """Parameters that minimize a function of the outputs of a run, within bounds.

    objective   function of the run, called as objective(t, y) with the times and the outputs: y["knee"] and y["foot.x"] are arrays. It
                returns a number. Its gradient comes from the derivatives of the outputs and needs no further runs; with t_eval and
                many parameters from the adjoint of the run, with two calls of the objective per time and output
    free        dict of parameters, or of numbers of parts as "spring1.stiffness", with bounds: {"k": (1e3, 1e5), "L": None}
    t_eval      times at which outputs are given (default: the steps of the run, whose number changes with the parameters)
    tolerance   the search ends when the predicted decrease of a step is below this fraction of the objective
    parameters  where the search begins, and what is not free

    Quasi-Newton steps of Broyden, Fletcher, Goldfarb and Shanno within bounds. Raises AnalysisError when there is no minimum within
    max_runs.

    >>> import kreisel, numpy as np
    >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81]).parameter("k", 20.0)
    ...        .body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
    ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
    ...        .output("swing", angle="pin").torque("pin", "=-k*swing"))
    >>> best = kreisel.minimize(rod, lambda t, y: (y["swing"][-1] + 0.2)**2, {"k": (5, 100)}, 0.3, t_eval=[0.1, 0.2, 0.3])
    >>> best.value < 1e-8
    True
    """
    bounds = _bounds(free)
    names = [name for name, _, _ in bounds]
    low, high = np.array([b[1] for b in bounds]), np.array([b[2] for b in bounds])
    if not callable(objective):
        raise ValueError(f"objective is {objective!r:.60}, expected a function of (t, y)")
    given = dict(parameters or {})
    runs = 0

    def outputs(result):
        return _Outputs({name: result[name] for name in result.outputs})

    def valued(t, y):
        value = objective(t, y)
        if np.ndim(value) != 0 or not np.isfinite(float(value)):
            raise ValueError(f"objective returned {value!r:.60}, expected a finite number")
        return float(value)

    uses_adjoint = len(names) >= _MANY and t_eval is not None and np.size(t_eval) <= _FEW

    def by_adjoint(p):
        """None: the run does not allow it."""
        now = {**given, **dict(zip(names, p.tolist()))}
        result = solve(model, t_span, t_eval=t_eval, group=group, parameters=now, progress=False, **options)
        y = outputs(result)
        value = valued(result.t, y)
        columns = []
        for output in result.outputs:
            table = y[output].reshape(len(result.t), -1)
            weights = np.zeros(table.shape)
            for at in np.ndindex(table.shape):
                s = 1e-6 * (np.max(np.abs(table[:, at[1]])) or 1.0)
                sides = []
                for way in (s, -s):
                    moved = table.copy()
                    moved[at] += way
                    sides.append(valued(result.t, _Outputs({**y, output: moved.reshape(y[output].shape)})))
                weights[at] = (sides[0] - sides[1]) / (2 * s)
            columns.append(weights)
        with Interruption() as interruption:
            asked = {key: _plain(value) for key, value in options.items() if value is not None}
            t0, t_end = _span(t_span) if t_span is not None else (None, options.get("t_end"))
            if t_span is not None:
                asked["t_end"] = t_end
            message, found = _core.gradient(handle(model, asked.get("assemble") is True, t0, t_end), group or "", _settings(now), asked, t0,
                                            names, result.t.tolist(), np.hstack(columns), interruption.was_asked)
        if interruption.was_asked():
            raise Interrupted("minimize was interrupted", result)
        return None if found is None else (value, found[1][0])

    def evaluate(p):
        nonlocal runs, uses_adjoint
        runs += 1
        if uses_adjoint:
            if (found := by_adjoint(p)) is not None:
                return found
            uses_adjoint = False
        result = solve(model, t_span, t_eval=t_eval, group=group, parameters={**given, **dict(zip(names, p.tolist()))}, sensitivities=names,
                       progress=False, **options)
        y = outputs(result)
        value = valued(result.t, y)
        gradient = np.empty(len(names))
        for j, name in enumerate(names):
            by = {output: result.d(name)[output] for output in result.outputs}
            # Along the derivatives of the outputs: central differences of the objective alone.
            size = max((np.max(np.abs(d)) / (1e-12 + np.max(np.abs(y[o]))) for o, d in by.items() if d.size), default=0.0)
            s = 1e-6 / size if size > 0 else 0.0
            if s == 0.0:
                gradient[j] = 0.0
                continue
            ahead, behind = (_Outputs({o: y[o] + side * s * by[o] for o in by}) for side in (1, -1))
            gradient[j] = (valued(result.t, ahead) - valued(result.t, behind)) / (2 * s)
        return value, gradient

    first = _core.parameter_values(*_asked(model, group, given, options), names)
    p = np.clip(np.array(first, dtype=float), low, high)
    scale = np.where(p != 0, np.abs(p), np.where(np.isfinite(high - low), high - low, 1.0))
    value, gradient = evaluate(p)
    inverse_hessian, history = None, [value]
    while runs < max_runs:
        g = gradient * scale
        held = ((p <= low) & (g > 0)) | ((p >= high) & (g < 0))
        if not np.any(g[~held]):
            break
        if inverse_hessian is None:
            step = -np.where(held, 0.0, g) * (0.1 / np.max(np.abs(g[~held])))
        else:
            # Parameters held by a bound are left out.
            hessian = np.linalg.inv(inverse_hessian)
            step = np.zeros_like(g)
            step[~held] = -np.linalg.solve(hessian[np.ix_(~held, ~held)], g[~held])
        if g @ step >= 0:
            inverse_hessian, step = None, -np.where(held, 0.0, g) * (0.1 / np.max(np.abs(g[~held])))
        if inverse_hessian is not None and -0.5 * (g @ step) <= tolerance * abs(value):
            break
        length, has_moved = 1.0, False
        while runs < max_runs and length > 1e-10:
            trial = np.clip(p + length * step * scale, low, high)
            moved = (trial - p) / scale
            if not np.any(moved):
                break
            if g @ moved >= 0:  # the bounds have cut it off to a step uphill
                length *= 0.25
                continue
            try:
                new_value, new_gradient = evaluate(trial)
            except IntegrationError:
                length *= 0.25
                continue
            if new_value <= value + 1e-4 * (g @ moved):
                has_moved = True
                break
            slope = g @ moved
            length *= float(np.clip(-slope / (2 * (new_value - value - slope)), 0.1, 0.5))
        if not has_moved:
            if runs >= max_runs:
                break
            if inverse_hessian is None:
                break
            inverse_hessian = None
            continue
        change = (new_gradient - gradient) * scale
        if moved @ change > 1e-12 * np.linalg.norm(moved) * np.linalg.norm(change):
            if inverse_hessian is None:
                inverse_hessian = np.eye(len(p)) * (moved @ change) / (change @ change)
            rho = 1.0 / (moved @ change)
            left = np.eye(len(p)) - rho * np.outer(moved, change)
            inverse_hessian = left @ inverse_hessian @ left.T + rho * np.outer(moved, moved)
        gain, p, value, gradient = value - new_value, trial, new_value, new_gradient
        history.append(value)
        if value == 0.0 or gain <= tolerance * abs(value) * 1e-3:
            break
    else:
        raise AnalysisError(f"no minimum within {max_runs} runs; the smallest value so far is {value:.6g} at "
                            + ", ".join(f"{name} = {x:.9g}" for name, x in zip(names, p)))
    best = Minimum()
    best.parameters, best.value, best.runs, best.history = dict(zip(names, p.tolist())), value, runs, history
    best.gradient = dict(zip(names, gradient.tolist()))
    best.is_at_bound = {name: bool(x <= a or x >= b) for name, x, a, b in zip(names, p, low, high)}
    return best


class _Outputs(dict):
    """Outputs by name, components as "foot.x"."""

    def __missing__(self, name):
        output, _, component = name.partition(".")
        if component in ("x", "y", "z") and output in self and np.ndim(self[output]) == 2:
            return self[output][:, "xyz".index(component)]
        raise KeyError(f"there is no output {name!r}; known: {', '.join(self) or 'none'}")


def _bounds(free):
    if not hasattr(free, "items") or not free:
        raise ValueError(f"free is {free!r:.80}, expected a dict of parameters with bounds, as in {{'k': (1e3, 1e5), 'L': None}}")
    bounds = []
    for name, range_ in free.items():
        try:
            low, high = (-np.inf, np.inf) if range_ is None else (float(range_[0]), float(range_[1]))
        except (TypeError, ValueError, IndexError):
            raise ValueError(f"free: '{name}' has {range_!r:.40}, expected (low, high) or None") from None
        if not low < high:
            raise ValueError(f"free: '{name}' has {range_!r:.40}, which is an empty interval")
        bounds.append((str(name), low, high))
    return bounds


def _data(data):
    """(times, names, one column each)"""
    if not hasattr(data, "items") or not data:
        raise ValueError(f"data is {data!r:.80}, expected a dict such as {{'knee': (t, y)}}")
    if "t" in data:
        times = np.asarray(data["t"], dtype=float)
        columns = {name: np.asarray(values, dtype=float) for name, values in data.items() if name != "t"}
    else:
        pairs = {name: tuple(np.asarray(part, dtype=float) for part in pair) for name, pair in data.items()}
        times = np.unique(np.concatenate([pair[0] for pair in pairs.values()]))
        columns = {}
        for name, (t, y) in pairs.items():
            if t.shape != y.shape or t.ndim != 1:
                raise ValueError(f"data: '{name}' has times of shape {t.shape} and values of shape {y.shape}; expected two equal lists")
            columns[name] = np.full(times.shape, np.nan)
            columns[name][np.searchsorted(times, t)] = y
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError("data: times must be increasing numbers")
    for name, values in columns.items():
        if values.shape != times.shape:
            raise ValueError(f"data: '{name}' has {values.size} values at {times.size} times")
    return times, list(columns), np.column_stack(list(columns.values()))


def _asked(model, group, parameters, options):
    asked = {key: _plain(value) for key, value in options.items() if value is not None}
    return handle(model, asked.get("assemble") is True), group or "", _settings(parameters), asked


def _found(message, found):
    if found is None:
        raise AnalysisError(message)
    return found
