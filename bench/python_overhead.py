#!/usr/bin/python3
"""The overhead of kreisel.solve over the same run in C++, all in this program: CPU seconds, a JSON list.

    PYTHONPATH=build/python bench/python_overhead.py

Two runs in C++ to compare with: one that keeps nothing, and one that keeps its points as kreisel.solve does. Between the two
lies fresh memory (80 MB in these runs), whose cost depends on the machine: on virtual machines that return freed memory
to their host it varies from next to nothing to a tenth of a second per run. So times are the best of many.
"""
import json
import random
import time

import kreisel
from kreisel import _core

RUNS = [("heavy-top", {"t_end": "250", "rtol": "1e-8", "atol": "1e-8"}, {}),
        ("heavy-top", {"t_end": "300", "step": "1e-3"}, {}),
        ("chain", {"t_end": "10", "rtol": "1e-6", "atol": "1e-6"}, {"n": 50})]
REPEATS = 15


def seconds(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def main():
    rows = []
    for model, options, parameters in RUNS:
        words = {"method": "bliedf", **options}
        ways = {"alone": lambda: _core.run_without_python(model, "", parameters, words, False),
                "kept": lambda: _core.run_without_python(model, "", parameters, words, True),
                "python": lambda: kreisel.solve(model, parameters=parameters, **options)}
        steps = ways["python"]().nsteps
        times = {name: [] for name in ways}
        for _ in range(REPEATS):
            for name in random.sample(list(ways), len(ways)):  # random order: none profits from memory that another one has just freed
                times[name].append(seconds(ways[name]))
        rows.append({"label": " ".join([model, *(f"{key}={value}" for key, value in {**parameters, **options}.items())]), "steps": steps,
                     **{name: min(values) for name, values in times.items()}})
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
