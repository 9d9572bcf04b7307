"""solve: a run in the manner of scipy.integrate.solve_ivp."""
import functools
import tempfile

import numpy as np

from . import _core
from ._interrupt import Interruption
from ._model import handle
from ._progress import watcher


class IntegrationError(RuntimeError):
    """The integration could not go on; ``result`` holds what was computed."""

    def __init__(self, message, result):
        super().__init__(message)
        self.result = result


class Result:
    """A motion. Arrays have time first; they share the memory of the run, so copy one before you change it.

    t, q, v, lam      the shown points; a their accelerations; h and order the steps that led to them
    energy            kinetic plus potential energy at each point
    status, message   "success", or why the run ended early; success says whether it reached its end
    nsteps, nfev, njev, nlu, nrejected
    t_events          one array of times per given event, in their order; events: all that happened, as (name, action, t)
    sol               sol(t) with dense_output=True: (q, v, a, lam) between the steps
    """

    def __init__(self, solution, events, dense_output):
        self._solution = solution
        for name in ("t", "q", "v", "a", "lam", "h", "order", "status", "message", "method", "formulation", "bodies", "joints"):
            setattr(self, name, getattr(solution, name))
        self.success = self.status == "success"
        counters = solution.counters
        self.nsteps, self.nrejected = counters["steps"], counters["rejected_steps"]
        self.nfev, self.njev, self.nlu = counters["residual_evaluations"], counters["jacobian_evaluations"], counters["factorizations"]
        happened = solution.events
        self.events = [event[:3] for event in happened]
        self.t_events = [np.array([e[2] for e in happened if e[0] == name]) for name in events]
        self.sol = self._interpolate if dense_output else None

    @functools.cached_property
    def energy(self):
        return self._solution.energy

    def _interpolate(self, t):
        q, v, a, lam = self._solution.interpolate(np.atleast_1d(np.asarray(t, dtype=float)).tolist())
        return (q, v, a, lam) if np.ndim(t) > 0 else (q[0], v[0], a[0], lam[0])

    def x(self, body=0):
        """Positions of the centre of mass, shape (points, 3); body by name or number."""
        return self._solution.positions(_index("body", body, self.bodies))

    def R(self, body=0):
        """Rotation matrices, shape (points, 3, 3)."""
        return self._solution.rotations(_index("body", body, self.bodies))

    def reaction(self, joint=0):
        """(force, torque) that a joint exerts on its second body, inertial axes, shape (points, 3) each."""
        return self._solution.reaction(_index("joint", joint, self.joints))

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
        return f"<kreisel.Result: {self.status} at t = {self.t[-1]:g} after {self.nsteps} steps with {self.method}>"


def solve(model, t_span=None, *, method="bliedf", group="", t_eval=None, events=None, dense_output=False, progress=None, parameters=None,
          **options):
    """Integrates a model.

    model       name of a built-in model, path of a model file, dict, Model or System
    t_span      end time, or (start, end); None: what the model says
    method      "bliedf", "generalized-alpha", "rkmk", ...; kreisel.method_names() lists them
    rtol, atol  error control (default 1e-6, 1e-8); or step=h for constant steps
    order, formulation, correction, starting, max_step, ...: every option of ``kreisel run``, with underscores
    parameters  dict of model and method parameters, as ``--set`` takes them
    t_eval      times to show instead of every step
    events      function or list of functions f(t, q, v, lam); attributes ``terminal`` and ``direction`` as in scipy
    progress    None: a bar in notebooks; True: also a line on standard error elsewhere; False: nothing; or a function of t

    Ctrl-C ends the run and returns what there is, with status "interrupted".

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

    Input that cannot be served is a ValueError:

    >>> kreisel.solve("pendulum", method="bliedff")    # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: --method: unknown method 'bliedff'; did you mean 'bliedf'? known: bliedf, ...
    """
    settings = [f"{key}={value}" for key, value in (parameters or {}).items()]
    words = {"method": method, **{key: _word(value) for key, value in options.items() if value is not None}}
    if t_span is not None and np.ndim(t_span) == 0:
        words["t_end"] = _word(t_span)
        t_span = None
    elif t_span is not None:
        if np.shape(t_span) != (2,):
            raise ValueError(f"t_span is {t_span!r}, expected an end time or (start, end)")
        t_span = (float(t_span[0]), float(t_span[1]))
        words["t_end"] = _word(t_span[1])
    functions = [] if events is None else [events] if callable(events) else list(events)
    times = None if t_eval is None else [float(t) for t in t_eval]
    show, end = watcher(progress)
    try:
        with Interruption() as interruption:
            solution = _core.Solution(handle(model), group, settings, words, t_span, times, functions, show, interruption.was_asked,
                                      dense_output)
    finally:
        end()
    names = [getattr(f, "__name__", f"event {i}") for i, f in enumerate(functions)]
    result = Result(solution, names, dense_output)
    if not result.success and result.status != "interrupted":
        raise IntegrationError(f"{result.status}: {result.message}", result)
    return result


def _word(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _index(kind, wanted, names):
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(f"there is no {kind} '{wanted}'; known: {', '.join(names) or 'none'}")
        return names.index(wanted)
    if not -len(names) <= wanted < len(names):
        raise ValueError(f"there is no {kind} number {wanted}; there are {len(names)}")
    return range(len(names))[wanted]
