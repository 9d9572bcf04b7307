"""Equilibria, their paths over a parameter, linearisations and modes; fits of parameters."""
import warnings

import numpy as np

from . import _core
from ._interrupt import Interrupted, Interruption
from ._model import handle
from ._solve import _plain, _settings


class AnalysisError(RuntimeError):
    """There is no equilibrium, or a run did not lead to the point that was asked for. Wrong input is a ValueError."""


class Point:
    """A model at one instant.

    t, q, v, lam   time, positions, velocities, multipliers
    energy         [J]
    outputs        dict of the outputs of the model; point["knee"] and point["foot.x"] give one of them
    limits         names of the limits that something leans on
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
    """A model at rest: what a ``Point`` has, and

    stability   "stable", "unstable", or None where it is not known
    growth      largest real part of the eigenvalues [1/s]
    iterations  0: the initial positions are an equilibrium
    solved      dict with the value of what ``solve`` named
    """

    def __init__(self, found):
        super().__init__(found)
        self.growth, self.iterations, self.solved = found["growth"], found["iterations"], found["solved"]
        self.stability = None if found["is_stable"] is None else "stable" if found["is_stable"] else "unstable"

    def __repr__(self):
        return f"<kreisel.Equilibrium: {self.stability or 'stability not known'}, after {self.iterations} iterations>"


class Path(list):
    """Equilibria along a parameter, each a ``Point`` with ``parameter`` and ``is_limit``.

    parameters   array of the values of the parameter
    path["tip"]  array of an output
    limits       the points at which the parameter turns back
    """

    @property
    def parameters(self):
        return np.array([point.parameter for point in self])

    @property
    def limits(self):
        return [point for point in self if point.is_limit]

    def __getitem__(self, index):
        return np.array([point[index] for point in self]) if isinstance(index, str) else super().__getitem__(index)


class Linearization(Point):
    """y' = A y + B u, outputs = C y + D u about a point; y are independent positions and velocities.

    A, B, C, D   arrays; inputs and columns name the columns of B and the rows of C
    X, V         positions are perturbed by q∘exp(X p), velocities by V y, with p the first X.shape[1] numbers of y
    eigenvalues  one of every pair, by frequency; frequencies [Hz], damping_ratios, shapes (one column each), largest
    is_steady    False: the coefficients change along the motion, and eigenvalues say nothing about growth
    stability    "stable", "unstable", or None where coefficients change
    axes         "inertial" or "body": in which what spins is perturbed
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
    """Where a model rests, and if it is stable.

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
    """The equilibrium over a parameter, also where that turns back: buckling and snap-through.

    along   ("load", 0, 1000): a parameter, or a number of a part, with its first and last value

    Raises AnalysisError when the path ends early; its ``path`` holds what there is.

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
        point.parameter, point.is_limit = each["parameter"], each["is_limit"]
        path.append(point)
    if message:
        error = AnalysisError(message)
        error.path = path
        raise error
    return path


def linearize(model, *, at="static", axes="automatic", group=None, parameters=None, **options):
    """The linear equations about an equilibrium or a motion, from inputs to outputs.

    at     "static", "start", or a time that a run of the model shall lead to
    axes   "inertial" or "body": in which what spins is perturbed; "automatic": where coefficients are constant

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


class Fit:
    """Parameters found from data.

    parameters       dict of values
    standard_errors  dict; covariance and correlation are arrays in the order of the parameters
    noise            dict: standard deviation of what is left of each output
    fitted           dict of arrays at the times of the data
    runs             so many were needed
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

    def __repr__(self):
        return "<kreisel.Fit: " + ", ".join(f"{name} = {value:.6g} +- {self.standard_errors[name]:.2g}"
                                            for name, value in self.parameters.items()) + ">"


def fit(model, data, free, *, group=None, parameters=None, **options):
    """Parameters with which outputs of the model come nearest to data, in the sense of least squares.

    data        dict: {"knee": (t, y)}, all with the same increasing times, or {"t": t, "knee": y, ...}
    free        dict of parameters, or of numbers of parts as "spring1.stiffness", with bounds: {"k": (1e3, 1e5), "L": None}
    parameters  where the search begins, and what is not free

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
    if not hasattr(free, "items") or not free:
        raise ValueError(f"free is {free!r:.80}, expected a dict of parameters with bounds, as in {{'k': (1e3, 1e5), 'L': None}}")
    bounds = []
    for name, range_ in free.items():
        try:
            low, high = (-np.inf, np.inf) if range_ is None else (float(range_[0]), float(range_[1]))
        except (TypeError, ValueError, IndexError):
            raise ValueError(f"free: '{name}' has {range_!r:.40}, expected (low, high) or None") from None
        bounds.append((str(name), low, high))
    with Interruption() as interruption:
        message, found = _core.fit(*_asked(model, group, parameters, options), times.tolist(), columns, values, bounds,
                                   interruption.was_asked)
    if interruption.was_asked():
        raise Interrupted("fit was interrupted", None)
    _found(message, found)
    for warning in found["warnings"]:
        warnings.warn(warning, stacklevel=2)
    return Fit([name for name, _, _ in bounds], columns, found)


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
        raise ValueError("data: times must be numbers that increase")
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
