"""study: errors, orders and costs over a grid of runs."""
import itertools
import json
import warnings
from pathlib import Path

import numpy as np

from . import _core
from ._interrupt import Interrupted, Interruption
from ._model import Model, System, handle, text_of


class Curve:
    """One line of a plot: label, x, y and the observed order (None where there is none)."""

    def __init__(self, data):
        self.label, self.order = data.get("name", ""), data.get("order")
        self.x, self.y = (np.array([np.nan if value is None else value for value in data[key]], dtype=float) for key in ("x", "y"))


class Study:
    """curves: what was measured, as arrays; plots: the same with title, x_label and y_label; rows: one dict per run; status: "success",
    "failed" when no run succeeded, "interrupted", or "passed" and "missed" when the study says what it expects; data: everything as in
    study.json."""

    def __init__(self, data):
        self.data = data
        self.status = data["summary"]["status"]
        self.rows = data.get("rows", [])
        self.plots = data.get("plots", [])
        self.curves = [Curve(curve) for plot in self.plots for curve in plot.get("curves", [])]

    def __repr__(self):
        return f"<kreisel.Study: {self.status}, {len(self.rows)} runs, {len(self.curves)} curves>"


def study(spec, jobs=0, *, reference=None, accuracy=0.0):
    """Runs a study: a dict as in docs/studies.md or the path of such a file.

    A model may also be a Model, its dict, or a System; its name names its curves. Runs that fail are rows with their status and message, and one warning.
    Ctrl-C ends the study and raises Interrupted, a KeyboardInterrupt whose ``result`` holds the runs that are finished.

    reference: an exact motion from elsewhere instead of one that is computed, a function of t that returns (q, v, lam), or the path of a
    CSV with columns t, q1, ..., v1, ..., lambda1, ... and rows at the times of the runs; accuracy: that it has, so that smaller errors are
    marked.

    >>> import kreisel
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import matplotlib.pyplot as plt
    >>> result = kreisel.study({"model": "pendulum", "method": "bliedf", "order": 3, "step": [0.02, 0.01, 0.005], "t_end": 1,
    ...                         "measures": ["q max"]})
    >>> for curve in result.curves:
    ...     lines = plt.loglog(curve.x, curve.y, label=curve.label)
    >>> round(result.curves[0].order)
    3
    """
    if isinstance(reference, str) or hasattr(reference, "__fspath__"):
        reference = _table(reference)
    elif reference is not None and not callable(reference):
        raise ValueError(f"reference is {reference!r:.80}, expected a function of t or the path of a trajectory")
    models = {}
    if isinstance(spec, dict):
        text = text_of("study", _with_names(spec, models), indent=1)
    elif isinstance(spec, str) or hasattr(spec, "__fspath__"):
        try:
            text = Path(spec).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read the study '{spec}': {error}") from None
    else:
        raise ValueError(f"spec is {spec!r:.80}, expected a dict or the path of a study file")
    with Interruption() as interruption:
        result = Study(json.loads(_core.study(text, models, jobs, interruption.was_asked, reference, float(accuracy))))
    if interruption.was_asked():
        done = sum(row["status"] != "not-run" for row in result.rows)
        raise Interrupted(f"study was interrupted after {done} of {len(result.rows)} runs", result)
    failed = [row for row in result.rows if row["status"] not in ("success", "not-run")]
    if failed:
        first = failed[0]
        warnings.warn(f"{len(failed)} of {len(result.rows)} runs did not succeed; the first: {first['label']} {first['coordinates']}: "
                      f"{first['status']}: {first['message']}", stacklevel=2)
    return result


def _table(path):
    """A CSV with columns t, q1, q2, ..., v1, ..., lambda1, ... as a function of its times; between rows it says nothing."""
    try:
        with open(path, encoding="utf-8") as file:
            names = [name.strip() for name in file.readline().split(",")]
            values = np.loadtxt(file, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read the reference '{path}': {error}") from None
    if names[0] != "t" or len(names) != values.shape[1] or not len(values):
        raise ValueError(f"the reference '{path}' has columns {', '.join(names)[:80]}, expected t, q1, ..., v1, ..., lambda1, ...")
    columns = [[i for i, name in enumerate(names) if name[:len(letter)] == letter and name[len(letter):].isdigit()] for letter in ("q", "v", "lambda")]
    times = values[:, 0]
    span = max(1e-300, float(times[-1] - times[0]))

    def at(t):
        i = int(np.argmin(np.abs(times - t)))
        if abs(times[i] - t) > 1e-9 * span:
            raise ValueError(f"the reference '{path}' has no row at t = {t:g}; the nearest is {times[i]:g}")
        return tuple(values[i, part] for part in columns)
    return at


def _with_names(spec, models):
    """The study with names in place of models, which `models` then holds as _core takes them."""
    def listed(value):
        return list(value) if isinstance(value, (list, tuple)) else [value]

    parts = [spec, *(run for run in listed(spec.get("runs")) if isinstance(run, dict))]
    others = [model for part in parts for model in listed(part.get("model")) if isinstance(model, str)]

    def name_of(model, assembles):
        if isinstance(model, (list, tuple)):
            return [name_of(one, assembles) for one in model]
        if isinstance(model, dict) and "bodies" in model:
            model = Model.from_dict(model)
        if not isinstance(model, (Model, System)):
            return model
        wanted = str(model._parts.get("name", "system") if isinstance(model, System) else model.to_dict().get("name", "mechanism"))
        numbered = (f"{wanted} {i}" for i in itertools.count(2))
        name = next(name for name in itertools.chain([wanted], numbered) if name not in models and name not in others)
        models[name] = handle(model, assembles)
        return name

    def named(part, assembles):
        assembles = bool(part.get("assemble", assembles))
        out = {**part, "model": name_of(part["model"], assembles)} if "model" in part else dict(part)
        if isinstance(part.get("runs"), (list, tuple)):
            out["runs"] = [named(run, assembles) if isinstance(run, dict) else run for run in part["runs"]]
        return out

    return named(spec, False)
