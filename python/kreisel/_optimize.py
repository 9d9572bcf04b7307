"""optimize: the parameters of a run that minimize or maximize a number."""
import concurrent.futures
import json
import os

import numpy as np

from . import _core
from ._ensemble import ExecutorBroken, Progress, Team, _payload, fingerprint, search_work
from ._interrupt import Interrupted, Interruption
from ._study import _described, _text_and_models


class Optimum:
    """variables: the best values by name; value: the number there; success and message; points and values: all evaluations, in their order;
    data: everything as in study.json."""

    def __init__(self, data):
        self.data = data
        summary = data["summary"]
        best = summary["optimum"] or {}
        self.success, self.message = summary["status"] == "success", summary["message"]
        self.variables, self.value = best.get("variables", {}), best.get("value")
        rows = data["tables"][0]["rows"]
        self.points = np.array([row[:-2] for row in rows], dtype=float)
        self.values = np.array([np.nan if row[-2] is None else row[-2] for row in rows], dtype=float)

    def __repr__(self):
        return f"<kreisel.Optimum: {self.value} at {self.variables}, {len(self.values)} evaluations>"


def optimize(spec, *, folder=None, executor=None, jobs=0, progress=None):
    """Searches for the optimum that the spec describes: a study of one run with "variables" and "minimize" or "maximize", see
    docs/ensembles.md; a dict or the path of a file.

    folder    keeps every evaluation, so the same call continues an interrupted search; gets study.csv, study.json and report.html
    executor  evaluates the points of a generation: any executor of concurrent.futures; None: threads, ``jobs`` of them (0: one per core)

    >>> import kreisel
    >>> bowl = {"name": "bowl", "parameters": {"a": 0}, "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    ...         "outputs": {"f": "=(a - 0.3)^2"}}
    >>> found = kreisel.optimize({"model": bowl, "step": 0.01, "t_end": 0.02, "measures": ["output.f end"], "minimize": "output.f end",
    ...                           "variables": {"a": {"from": -1, "to": 1}}})
    >>> round(found.variables["a"], 4)
    0.3
    """
    text, models, place = _text_and_models(spec)
    folder = os.fspath(folder) if folder is not None else ""
    own_text = fingerprint({name: _described(spec, name) for name in models})
    with Interruption() as interruption:
        search = _core.Search(text, place, models, own_text, folder, False, interruption.was_asked)
        if executor is None:
            team, words = Team(lambda: concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1)), (search.evaluate,)
        else:
            team, words = Team(executor), (search_work, _payload(spec, place, own_text, ""))
        points = search.ask()
        shown = Progress(progress, search.most(), search.tally()[0], is_search=True)
        try:
            while points and not interruption.was_asked():
                _evaluate(search, team, words, points, interruption.was_asked)
                points = search.ask()
                shown.show(*search.tally())
        except ExecutorBroken as error:
            error.result = Optimum(json.loads(search.finish("kreisel.optimize")))
            raise
        finally:
            shown.end()
            team.close()
        result = Optimum(json.loads(search.finish("kreisel.optimize")))
    if interruption.was_asked():
        raise Interrupted(f"search was interrupted after {len(result.values)} evaluations", result)
    return result


def _evaluate(search, team, words, points, wants_to_stop):
    """Tells the search the lines of the points. Those that a dead worker may have had are evaluated again, one after the other."""
    running, suspects = {}, []
    for point in points:
        future = team.submit(*words, point)
        if future is None:
            suspects.append(point)
        else:
            running[future] = point
    try:
        while running:
            done, _ = concurrent.futures.wait(running, timeout=0.2, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                point, line = running.pop(future), team.result_of(future)
                if line is None:
                    suspects.append(point)
                elif line:  # empty: interrupted
                    search.tell([line])
            if wants_to_stop():
                for future in [future for future in running if future.cancel()]:
                    del running[future]
    finally:
        for future in running:
            future.cancel()
    for point in suspects:
        losses, line = 0, None
        while line is None and not wants_to_stop():
            line = team.alone(*words, point)
            losses += line is None
            if line is None and losses >= team.tries():
                line = search.lost(point, team.loss("point"))
        if line:
            search.tell([line])
