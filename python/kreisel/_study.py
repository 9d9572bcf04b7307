"""study: errors, orders and costs over a grid of runs."""
import itertools
import json
import warnings
from pathlib import Path

import numpy as np

from . import _core
from ._interrupt import Interrupted, Interruption
from ._model import Model, handle, text_of


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


def study(spec, jobs=0):
    """Runs a study: a dict as in docs/studies.md or the path of such a file.

    A model may also be a Model, or its dict; its name names its curves. Runs that fail are rows with their status and message, and one warning.
    Ctrl-C ends the study and raises Interrupted, a KeyboardInterrupt whose ``result`` holds the runs that are finished.

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
        result = Study(json.loads(_core.study(text, models, jobs, interruption.was_asked)))
    if interruption.was_asked():
        done = sum(row["status"] != "not-run" for row in result.rows)
        raise Interrupted(f"study was interrupted after {done} of {len(result.rows)} runs", result)
    failed = [row for row in result.rows if row["status"] not in ("success", "not-run")]
    if failed:
        first = failed[0]
        warnings.warn(f"{len(failed)} of {len(result.rows)} runs did not succeed; the first: {first['label']} {first['coordinates']}: "
                      f"{first['status']}: {first['message']}", stacklevel=2)
    return result


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
        if not isinstance(model, Model):
            return model
        wanted = str(model.to_dict().get("name", "mechanism"))
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
