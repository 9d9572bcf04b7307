"""solve: a run in the manner of scipy.integrate.solve_ivp."""
import functools
import json
import operator
import tempfile
import warnings

import numpy as np

from . import _core
from ._interrupt import Interrupted, Interruption
from ._model import Model, handle, laws_of, told
from ._progress import watcher


class IntegrationError(RuntimeError):
    """The integration failed; ``result`` holds what was computed."""

    def __init__(self, message, result):
        super().__init__(message)
        self.result = result

    def __reduce__(self):
        return type(self), (str(self), self.result)


class Result:
    """A motion. Arrays have time first; they share the memory of the run, so copy one before you change it.

    t, q, v, lam      the shown points; a their accelerations; h and order the steps that led to them
    energy            kinetic plus potential energy at each point; NaN for a System without energy
    status, message   "success", or why the run ended early; success: whether it reached its end or a terminal event
    nsteps, nfev, njev, nlu, nrejected
    t_events          one array of times per given event, in their order; events: all occurrences, as (name, action, t)
    sol               sol(t) with dense_output=True: (q, v, a, lam) between the steps
    bodies, joints, outputs   their names; result["knee"]: an output of the model at each point, shape (points,) or (points, 3)
    verification      with verify=True the observed errors, as in summary.json: a dict, or None

    A result can be pickled and copied, for instance to return it from another process; such a copy has all numbers, but no ``sol``,
    ``save`` or ``report``.
    """

    def __init__(self, solution, dense_output):
        self._solution, self._is_dense, self._functions = solution, dense_output, {}
        for name in ("t", "q", "v", "a", "lam", "h", "status", "message", "method", "formulation", "bodies", "joints", "outputs"):
            setattr(self, name, getattr(solution, name))
        self.success = self.status == "success"
        counters = solution.counters
        self.nsteps, self.nrejected = counters["steps"], counters["rejected_steps"]
        self.nfev, self.njev, self.nlu = counters["residual_evaluations"], counters["jacobian_evaluations"], counters["factorizations"]
        self.verification = json.loads(solution.verification) if solution.verification else None
        happened = solution.events
        self.events = [event[:3] for event in happened]
        self.t_events = [np.array([e[2] for e in happened if e[0] == name]) for name in solution.event_names]

    @functools.cached_property
    def order(self):
        return self._solution.order

    @functools.cached_property
    def energy(self):
        return self._solution.energy

    @property
    def sol(self):
        return self._interpolate if self._is_dense else None

    def _interpolate(self, t):
        times = np.asarray(t, dtype=float)
        if times.ndim > 1:
            raise ValueError(f"sol: t has shape {times.shape}, expected a number or a list of numbers")
        values = self._solution.interpolate(np.atleast_1d(times).tolist())
        return values if times.ndim == 1 else tuple(value[0] for value in values)

    def __getstate__(self):
        return {**self.__dict__, "order": self.order, "energy": self.energy, "_solution": _Kept(self), "_is_dense": False}

    def d(self, parameter):
        """The ``Sensitivity`` by a parameter named in ``solve(..., sensitivities=[...])``."""
        known = getattr(self, "_sensitivities", {})
        if parameter not in known:
            raise ValueError(f"there are no derivatives by {parameter!r:.40}; known: {', '.join(known) or 'none'}; "
                             "solve(..., sensitivities=[...]) computes them")
        return known[parameter]

    def gradient(self, scalar):
        """dict of the derivatives of a number named in ``solve(..., sensitivities=[...], adjoint=[...])`` by each parameter."""
        known = getattr(self, "_gradients", {})
        if scalar not in known:
            raise ValueError(f"there is no gradient of {scalar!r:.40}; known: {', '.join(known) or 'none'}; "
                             "solve(..., sensitivities=[...], adjoint=[...]) computes them")
        return known[scalar]

    def x(self, body=0):
        """Positions of the centre of mass, shape (points, 3); body by name or number."""
        return self._solution.positions(index_of("body", body, self.bodies))

    def R(self, body=0):
        """Rotation matrices, shape (points, 3, 3)."""
        return self._solution.rotations(index_of("body", body, self.bodies))

    def reaction(self, joint=0):
        """(force, torque) that a joint exerts on its second body, inertial axes, shape (points, 3) each."""
        return self._solution.reaction(index_of("joint", joint, self.joints))

    def __getitem__(self, output):
        """An output or a state of the model at each point; "foot.x" for a component, "knee'" for the rate."""
        name, component = output.removesuffix("'"), ""
        if name not in self.outputs and name.rpartition(".")[0] in self.outputs:
            name, _, component = name.rpartition(".")
        values = self._solution.output(index_of("output", name, self.outputs), output.endswith("'"))
        if name in self._functions and not np.isfinite(values).all():
            first = np.flatnonzero(~np.isfinite(values))[0]
            warnings.warn(f"output '{output}' is {values[first]} at t = {self.t[first]:.10g}: its value is the Python function "
                          f"'{self._functions[name]}'", stacklevel=2)
        if output.endswith("'") and values.size and np.isnan(values).all():
            raise ValueError(f"output {name!r} has no rate that follows from the motion")
        if not component:
            return values
        if values.ndim == 1 or component not in ("x", "y", "z"):
            raise ValueError(f"output {name!r} has no component {component!r}" + ("; known: x, y, z" if values.ndim > 1 else ""))
        return values[:, "xyz".index(component)]

    def save(self, folder):
        """Writes a result folder as ``kreisel run`` does, for ``kreisel view`` and ``kreisel.read``.

        >>> import kreisel, tempfile
        >>> result = kreisel.solve("pendulum", 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(folder)
        ...     stored = kreisel.read(folder)
        >>> bool((stored.t == result.t).all())
        True
        """
        self._solution.write_result(str(folder))

    def report(self, path):
        """Writes the page with plots and animation."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            _core.write_report(folder, str(path))

    def to_pandas(self):
        """A pandas.DataFrame over t: outputs, positions of bodies, q, v and lambda, energy, h and order."""
        columns = {}
        for name in self.outputs:
            columns.update(_columns(name, self[name]))
        for i, name in enumerate(self.bodies):
            columns.update(_columns(name, self.x(i)))
        for letter, values in (("q", self.q), ("v", self.v), ("lambda", self.lam)):
            columns.update({f"{letter}{i + 1}": values[:, i] for i in range(values.shape[1])})
        return frame_of(self.t, {**columns, "energy": self.energy, "h": self.h, "order": self.order})

    def plot(self):
        """A matplotlib figure of positions (or q), velocities and multipliers over time."""
        import matplotlib.pyplot as plt
        panels = [("x" if self.bodies else "q", np.hstack([self.x(i) for i in range(len(self.bodies))]) if self.bodies else self.q), ("v", self.v)]
        if self.lam.shape[1] > 0:
            panels.append(("lambda", self.lam))
        figure, axes = plt.subplots(len(panels), 1, sharex=True, squeeze=False)
        for axis, (name, values) in zip(axes[:, 0], panels):
            axis.plot(self.t, values)
            axis.set_ylabel(name)
        axes[-1, 0].set_xlabel("t")
        return figure

    def __repr__(self):
        return f"<kreisel.Result: {self.status} at t = {self._solution.t_final:g} after {self.nsteps} steps with {self.method}>"


class Sensitivity:
    """Derivatives of a result by one parameter, at its points.

    q, v, lam    q left-trivialised: a change dp moves q to q∘exp(q dp)
    t_events     of the events, all of them in order
    uncertainty  relative, of the largest numbers, estimated from two step sizes of the differences
    ["knee"]     of an output; "foot.x" for a component
    """

    def __init__(self, found, result):
        self.q, self.v, self.lam, self.t_events = found["q"], found["v"], found["lam"], found["t_events"]
        self.uncertainty = found["uncertainty"]
        self._outputs, at = {}, 0
        for name in result.outputs:
            size = 1 if result[name].ndim == 1 else result[name].shape[1]
            block = found["outputs"][:, at:at + size]
            self._outputs[name] = block[:, 0] if size == 1 else block
            at += size

    def __getitem__(self, output):
        name, _, component = output.partition(".")
        if name not in self._outputs:
            raise ValueError(f"there is no output '{name}'; known: {', '.join(self._outputs) or 'none'}")
        values = self._outputs[name]
        if not component:
            return values
        if values.ndim == 1 or component not in ("x", "y", "z"):
            raise ValueError(f"output {name!r} has no component {component!r}")
        return values[:, "xyz".index(component)]


def _gradients(own, group, settings, asked, t0, names, adjoint, events, result):
    """By scalar and parameter."""
    if isinstance(adjoint, str) or not all(isinstance(scalar, str) for scalar in adjoint):
        raise ValueError(f"adjoint is {adjoint!r:.80}, expected a list such as ['knee', 'knee@0.4', 'integral(knee)']")
    with Interruption() as interruption:
        message, found = _core.gradients(own, group or "", settings, asked, t0, names, list(adjoint), events, interruption.was_asked)
    if interruption.was_asked():
        raise Interrupted("the adjoint was interrupted", result)
    if found is None:
        raise IntegrationError(message, result)
    return {scalar: dict(zip(names, row.tolist())) for scalar, row in zip(adjoint, found[1])}


def _output_functions(model):
    """The names of the functions of Python that are outputs, by output."""
    data = model._data if isinstance(model, Model) else model
    return {name: law.name for law, kind, name, _ in laws_of(data) if kind == "output"} if isinstance(data, dict) else {}


def _rate_or_reason(solution, number):
    """The rate of an output, or why it has none."""
    try:
        return solution.output(number, True)
    except ValueError as error:
        return str(error)


class _Kept:
    """The numbers of a Solution, without the model they belong to."""

    def __init__(self, result):
        self.t_final, self.energy = result._solution.t_final, result.energy
        self._positions = [result.x(i) for i in range(len(result.bodies))]
        self._rotations = [result.R(i) for i in range(len(result.bodies))]
        self._reactions = [result.reaction(i) for i in range(len(result.joints))]
        self._outputs = [result._solution.output(i, False) for i in range(len(result.outputs))]
        self._rates = [_rate_or_reason(result._solution, i) for i in range(len(result.outputs))]

    def positions(self, body):
        return self._positions[body]

    def output(self, number, is_rate):
        if is_rate and isinstance(self._rates[number], str):
            raise ValueError(self._rates[number])
        return (self._rates if is_rate else self._outputs)[number]

    def rotations(self, body):
        return self._rotations[body]

    def reaction(self, joint):
        return self._reactions[joint]

    def write_result(self, folder):
        raise ValueError("this result is a copy, without its model: use save or report of the result that solve returned")


def solve(model, t_span=None, *, method=None, group=None, t_eval=None, events=None, dense_output=False, progress=None, parameters=None,
          verify=False, sensitivities=None, adjoint=None, **options):
    """Integrates a model.

    model       name of a built-in model, path of a model file, dict, Model or System
    t_span      end time, or (start, end); None: that of the model
    method      "bliedf" (the default, unless the model file sets another), "generalized-alpha", "rkmk", ...; kreisel.method_names()
    rtol, atol  error control (default 1e-6, 1e-8); or step=h for constant steps
    order, formulation, correction, starting, max_step, ...: all options are listed below
    group       "r3xso3", "se3", "so3": for models with several groups
    parameters  dict of model and method parameters, as ``--set`` takes them
    t_eval      increasing times to show instead of every step, one row each; at an event that changes the motion, its later side
    corners     times at which forces jump or have a kink, beside those of the model; steps end there
    events      function or list of functions f(t, q, v, lam); attributes ``terminal`` and ``direction`` as in scipy
    dense_output  whether the result has ``sol``
    verify      True: repeat the run with a tenth of the tolerances, or half the steps; ``result.verification`` has the observed errors
    sensitivities  names of parameters, or of numbers of parts as "spring1.length": ``result.d(name)`` has derivatives by them, of the
                discrete motion: its steps, starts and events are differentiated
    adjoint     with ``sensitivities``: only derivatives of these numbers, ``"knee"`` at the end, ``"foot.x@0.4"`` at a time or
                ``"integral(knee)"``, which costs little more for a hundred parameters than for one: ``result.gradient("knee")``
    progress    None: a bar in notebooks; True: also a line on standard error elsewhere; False: nothing; or a function of t

    Ctrl-C ends the run and raises Interrupted, a KeyboardInterrupt whose ``result`` holds what was computed.

    >>> import kreisel
    >>> def lowest(t, q, v, lam):
    ...     return q[0]
    >>> lowest.terminal = True
    >>> swing = kreisel.solve("pendulum", (0, 5), rtol=1e-8, atol=1e-8, events=lowest, dense_output=True)
    >>> swing.t[-1] == swing.t_events[0][0]
    True
    >>> q, v, a, lam = swing.sol(0.1)
    >>> q.shape, lam.shape
    ((2,), (1,))

    How far can the numbers be trusted?

    >>> checked = kreisel.solve("pendulum", 1, verify=True)
    >>> [quantity["name"] for quantity in checked.verification["quantities"]][:2]
    ['coordinates', 'velocity of coordinates']
    >>> max(quantity["tolerances"] for quantity in checked.verification["quantities"]) < 1000
    True

    How does the motion change with a parameter?

    >>> rod = (kreisel.Model("rod", gravity=[0, 0, -9.81]).parameter("k", 20.0)
    ...        .body("rod", mass=1.0, inertia=[0.0834, 1e-4, 0.0834], position=[0, 0.5, 0])
    ...        .joint("pin", "revolute", between=["ground", "rod"], at=[0, 0, 0], axis=[1, 0, 0])
    ...        .output("swing", angle="pin").torque("pin", "=-k*swing"))
    >>> swing = kreisel.solve(rod, 1.0, sensitivities=["k"])
    >>> swing.d("k")["swing"].shape == swing.t.shape
    True
    >>> last = kreisel.solve(rod, 1.0, sensitivities=["k"], adjoint=["swing"]).gradient("swing")
    >>> abs(last["k"] / swing.d("k")["swing"][-1] - 1) < 1e-8
    True

    Invalid input raises ValueError:

    >>> kreisel.solve("pendulum", method="bliedff")    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: method: unknown method 'bliedff'; did you mean 'bliedf'? known: bliedf, ...
    """
    if adjoint is not None and sensitivities is None:
        raise ValueError("adjoint needs sensitivities=[...], which names the parameters")
    asked = {key: _plain(value) for key, value in {"method": method, **options}.items() if value is not None}
    if "output_times" in asked:
        raise ValueError("output_times is called t_eval here: solve(..., t_eval=[...])")
    if "output_step" in asked and (t_eval is not None or dense_output):
        raise ValueError("t_eval and output_step both choose the points to show; give one of the two" if t_eval is not None else
                         "dense_output needs every step, output_step drops some; give t_eval instead of output_step")
    if t_span is not None:
        if "t_end" in asked:
            raise ValueError("t_span and t_end both set the end; give one of the two")
        t_span = _span(t_span)
        asked["t_end"] = t_span[1]
    listed = _events(events)
    times = None if t_eval is None else _times(t_eval)
    settings = _settings(parameters)
    t0, t_end = t_span if t_span is not None else (None, options.get("t_end"))
    show, end = watcher(progress)
    try:
        with Interruption() as interruption:
            own = handle(model, asked.get("assemble") is True, t0, t_end)
            solution = _core.Solution(own, group or "", settings, asked, t0, times, listed, show, interruption.was_asked, bool(dense_output),
                                      bool(verify))
    except ValueError as error:
        if (message := told(str(error), model)) == str(error):
            raise
        raise ValueError(message) from None
    finally:
        end()
    for warning in solution.warnings:
        warnings.warn(warning, stacklevel=2)
    result = Result(solution, bool(dense_output))
    result._functions = _output_functions(model)
    if sensitivities is not None and result.success and not interruption.was_asked():
        if isinstance(sensitivities, str) or not all(isinstance(name, str) for name in sensitivities):
            raise ValueError(f"sensitivities is {sensitivities!r:.80}, expected a list of names of parameters")
        if adjoint is not None:
            result._gradients = _gradients(own, group, settings, asked, t0, list(sensitivities), adjoint, listed, result)
            return result
        with Interruption() as interruption:
            message, found = _core.sensitivities(own, group or "", settings, asked, t0, list(sensitivities), listed,
                                                 None if times is None and "output_step" not in asked else result.t.tolist(),
                                                 interruption.was_asked)
        if found is None and not interruption.was_asked():
            raise IntegrationError(message, result)
        result._sensitivities = {name: Sensitivity(one, result) for name, one in zip(sensitivities, found or [])}
    if interruption.was_asked():
        raise Interrupted(f"solve was interrupted at t = {result.t[-1] if len(result.t) else solution.t_final:g}", result)
    if not result.success and result.status != "interrupted":
        raise IntegrationError(f"{result.status}: {told(result.message, model)}", result)
    return result


solve.__doc__ += "\n    The options:\n\n" + "".join(f"    {name:20} {meaning}\n" for name, meaning in _core.options())


def _plain(value):
    """Numbers, texts and lists of numpy and others as built-in types."""
    if hasattr(value, "__fspath__"):
        return str(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _span(given):
    """(start or None, end)"""
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape not in ((), (2,)) or not np.isfinite(numbers).all():
        raise ValueError(f"t_span is {given!r:.80}, expected an end time or (start, end)")
    if numbers.shape == ():
        return None, float(numbers)
    start, end = numbers.tolist()
    if not start < end:
        raise ValueError(f"t_span is {given!r:.80}: the end must come after the start; to integrate backwards, reverse time in the model")
    return start, end


def _times(given):
    try:
        times = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        times = np.array(np.nan)
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError(f"t_eval is {given!r:.80}, expected a list of increasing times")
    return times.tolist()


def _settings(parameters):
    if parameters is None:
        return {}
    if not hasattr(parameters, "items"):
        raise ValueError(f"parameters is {parameters!r:.80}, expected a dict such as {{'mass': 20}}")
    return {key: _plain(value) for key, value in parameters.items()}


def _events(given):
    """[(name, function, direction, terminal_after)]"""
    if given is None:
        return []
    functions = [given] if callable(given) else list(given) if isinstance(given, (list, tuple)) else None
    if functions is None:
        raise ValueError(f"events is {given!r:.80}, expected a function of (t, q, v, lam) or a list of them")
    listed = []
    for i, function in enumerate(functions):
        if not callable(function):
            raise ValueError(f"events[{i}] is {function!r:.80}, expected a function of (t, q, v, lam)")
        name = getattr(function, "__name__", "event")
        if name == "<lambda>":
            name = f"{name} {i}"
        try:
            direction = float(np.sign(getattr(function, "direction", 0.0) or 0.0))
            terminal = float(getattr(function, "terminal", False) or 0)
        except (TypeError, ValueError):
            direction = terminal = np.nan
        if not (terminal >= 0 and terminal.is_integer() and np.isfinite(direction)):
            raise ValueError(f"events[{i}] ('{name}'): terminal must be True, False or a count, direction a number; they are "
                             f"{getattr(function, 'terminal', False)!r:.40} and {getattr(function, 'direction', 0.0)!r:.40}")
        listed.append((name, function, int(direction), int(terminal)))
    return listed


def _columns(name, values):
    return {name: values} if values.ndim == 1 else {f"{name}.{axis}": values[:, i] for i, axis in enumerate("xyz")}


def frame_of(t, columns):
    """A pandas.DataFrame with the times as its index."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas needs pandas, which is not installed: pip install pandas; "
                          "or save the result and read its trajectory.csv with another tool") from None
    return pandas.DataFrame(columns, index=pandas.Index(t, name="t"))


def index_of(kind, wanted, names):
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(f"there is no {kind} '{wanted}'; known: {', '.join(names) or 'none'}")
        return names.index(wanted)
    try:
        return range(len(names))[operator.index(wanted)]
    except (TypeError, IndexError):
        raise ValueError(f"there is no {kind} {wanted!r:.40}; there are {len(names)}: {', '.join(names) or 'none'}") from None
