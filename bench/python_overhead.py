#!/usr/bin/python3
"""What kreisel.solve costs beyond the same run in C++, both in this program: CPU seconds, a JSON list.

    PYTHONPATH=build/python bench/python_overhead.py
"""
import json
import statistics
import time

import kreisel
from kreisel import _core

RUNS = [("heavy-top", {"t_end": "250", "rtol": "1e-8", "atol": "1e-8"}, {}),
        ("heavy-top", {"t_end": "300", "step": "1e-3"}, {}),
        ("chain", {"t_end": "10", "rtol": "1e-6", "atol": "1e-6"}, {"n": 50})]
REPEATS = 9  # in turns; the ratio is the median of neighbours, since others use the machine as well


def in_python(model, options, parameters):
    begin = time.process_time()
    result = kreisel.solve(model, parameters=parameters, **options)
    seconds = time.process_time() - begin
    return seconds, result.nsteps


def main():
    rows = []
    for model, options, parameters in RUNS:
        settings = [f"{key}={value}" for key, value in parameters.items()]
        words = {"method": "bliedf", **options}
        alone, python = [], []
        for _ in range(REPEATS):
            alone.append(_core.seconds_without_python(model, "", settings, words))
            seconds, steps = in_python(model, options, parameters)
            python.append(seconds)
        rows.append({"label": " ".join([model, *settings, *(f"{key}={value}" for key, value in options.items())]), "steps": steps, "alone": min(alone), "python": min(python),
                     "ratio": statistics.median(p / a for p, a in zip(python, alone))})
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
