"""Simulation: a run that the user advances, reads and controls."""
import os
import tempfile
import warnings

import numpy as np

from . import _core
from ._interrupt import Interrupted, Interruption
from ._model import System, handle, told
from ._solve import IntegrationError, Result, _events, _plain, _settings, _span, index_of


class Simulation:
    """A run that you advance, and whose inputs you set.

    model, method, group, parameters, events and options as in ``solve``; t_span: the end, or (start, end); it cannot advance
    beyond the end. Without t_span, and without a t_end of the model, it goes on as long as it is advanced

    sim.advance(0.01)        advances by a duration; sim.advance(to=2.5): to a time
    sim["u"] = 3.0           an input of the model: constant from now on, until it is set again; all other values read before the next
                             advance are those from before the change
    sim["knee"], sim["foot"] an output, state or input now: a number, or an array of its components; sim["foot.x"], sim["knee'"]: its rate
    sim.t, q, v, a, lam      now; x(body), R(body): where a body is; energy
    sim.events               the events so far: (name, action, t)
    sim.solution             the Result so far, with ``sol``
    sim.nsteps, method       steps taken, and the current method

    A model with inputs ends a step at every time it is advanced to, because an input may be set there; a model without inputs takes
    long steps and interpolates. When inputs are set repeatedly, the default method, which needs past points, is replaced by
    "radau", which needs none: a sample costs one step, if the motion allows it.

    >>> import kreisel
    >>> cart = (kreisel.Model("cart", gravity=[0, 0, 0]).input("u", 0, unit="N")
    ...         .body("cart", mass=2.0, inertia=[1, 1, 1], position=[0, 0, 0])
    ...         .joint("rail", "prismatic", between=["ground", "cart"], at=[0, 0, 0], axis=[1, 0, 0])
    ...         .output("way", displacement="rail").force("motor", "force", joint="rail", value="=u"))
    >>> sim = kreisel.Simulation(cart, 10)
    >>> for k in range(300):
    ...     sim["u"] = 20 * (1 - sim["way"]) - 10 * sim["way'"]
    ...     sim.advance(to=0.01 * (k + 1))
    >>> bool(abs(sim["way"] - 1) < 0.01)
    True
    """

    def __init__(self, model, t_span=None, *, method=None, group=None, parameters=None, events=None, **options):
        self._start(None, model, t_span, method, group, parameters, events, options)

    @classmethod
    def resume(cls, path, model, t_span=None, *, method=None, group=None, parameters=None, events=None, **options):
        """Continues bitwise from a file that ``checkpoint`` wrote; all other arguments must be as in the original run.

        ``solution`` holds the points from here on.
        """
        with open(path, "rb") as file:
            state = file.read()
        simulation = cls.__new__(cls)
        simulation._start(state, model, t_span, method, group, parameters, events, options)
        return simulation

    def _start(self, state, model, t_span, method, group, parameters, events, options):
        asked = {key: _plain(value) for key, value in {"method": method, **options}.items() if value is not None}
        for key in ("output_times", "output_step"):
            if key in asked:
                raise ValueError(f"{key}: not available in a Simulation; advance it to the times you want")
        t0 = None
        if t_span is not None:
            if "t_end" in asked:
                raise ValueError("t_span and t_end both set the end; give one of the two")
            t0, asked["t_end"] = _span(t_span)
        elif isinstance(model, System) and model._parts.get("t_end") is not None:
            asked.setdefault("t_end", _plain(model._parts["t_end"]))
        self._listed = _events(events)
        self._interruption, self._model = None, model
        own = handle(model, asked.get("assemble") is True, t0, asked.get("t_end"))
        try:
            self._core = _core.Simulation(own, group or "", _settings(parameters), asked, t0, self._listed, self._was_asked, state)
        except ValueError as error:
            if (message := told(str(error), model)) == str(error):
                raise
            raise ValueError(message) from None
        self._outputs = dict(self._core.outputs)
        self.inputs, self.outputs, self.bodies = self._core.inputs, list(self._outputs), self._core.bodies
        for warning in self._core.warnings:
            warnings.warn(warning, stacklevel=3)

    def _was_asked(self):
        return self._interruption is not None and self._interruption.was_asked()

    def advance(self, duration=None, *, to=None):
        """Advances by a duration, or to a time; stops earlier if an event ends the run (``has_ended``).

        A run that cannot continue raises IntegrationError, whose ``result`` holds what was computed. Ctrl-C raises Interrupted; the
        simulation can be advanced afterwards.
        """
        if (duration is None) == (to is None):
            raise ValueError("advance takes a duration, advance(0.01), or a time, advance(to=2.5)")
        time = _number("duration" if to is None else "to", duration if to is None else to)
        if to is None:
            if not time > 0:
                raise ValueError(f"duration is {time!r:.80}, expected a positive time")
            time += self.t
        if self.has_ended and time > self.t:
            raise ValueError(f"the run has ended at t = {self.t:g}: {self._core.message or 'its end is reached; give a later t_end'}")
        with Interruption() as self._interruption:
            is_there = self._core.advance_to(time)
        if not is_there:
            raise Interrupted(f"advance was interrupted on the way to t = {time:g}", self.solution)
        if self._core.status != "success":
            raise IntegrationError(f"{self._core.status}: {told(self._core.message, self._model)}", self.solution)

    def __setitem__(self, name, value):
        self._core.set(name, _number(f"input '{name}'", value))

    def __getitem__(self, name):
        if name in self.inputs:
            return self._core.input(name)
        base = name.rstrip("'")
        components = self._outputs.get(base)
        if not components:
            return self._core.output(name)
        rate = name[len(base):]
        return np.array([self._core.output(f"{base}.{component}{rate}") for component in components])

    t = property(lambda self: self._core.t)
    t_end = property(lambda self: self._core.t_end)
    q = property(lambda self: self._core.state()[0])
    v = property(lambda self: self._core.state()[1])
    a = property(lambda self: self._core.state()[2])
    lam = property(lambda self: self._core.state()[3])
    lambda_ = lam
    energy = property(lambda self: self._core.energy)
    has_ended = property(lambda self: self._core.has_ended)
    events = property(lambda self: [event[:3] for event in self._core.events])
    method = property(lambda self: self._core.method)
    nsteps = property(lambda self: self._core.counters["steps"])

    def x(self, body=0):
        """Where the centre of mass of a body is now; body by name or number."""
        return self._core.pose(index_of("body", body, self.bodies))[0]

    def R(self, body=0):
        """The rotation matrix of a body now."""
        return self._core.pose(index_of("body", body, self.bodies))[1]

    @property
    def solution(self):
        """The Result of all steps so far."""
        return Result(self._core.solution(), True)

    def checkpoint(self, path):
        """Writes a file from which ``Simulation.resume`` continues bitwise. An existing file is replaced only once the new one is complete."""
        folder = os.path.dirname(os.path.abspath(path))
        handle_of_file, unfinished = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle_of_file, "wb") as file:
                file.write(self._core.checkpoint())
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise

    def __repr__(self):
        end = f" of {self.t_end:g}" if np.isfinite(self.t_end) else ""
        return f"<kreisel.Simulation: t = {self.t:g}{end}, {self.nsteps} steps with {self.method}>"


def _number(what, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {value!r:.80}, expected a number") from None
    return number
