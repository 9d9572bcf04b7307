"""Work-precision curves: instructions against the error at t_end."""
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import callgrind


@dataclass
class Curve:
    """One method on one problem: the program and its arguments before the tolerances."""
    name: str
    program: str
    arguments: list
    tolerances: list
    runs: list = None  # dicts: tolerance, error, instructions, steps, …

    def measure(self, programs, build):
        rows, profiles = callgrind.run(programs / self.program, [*self.arguments, *(f"{t:g}" for t in self.tolerances)], build)
        self.runs = [{**row, "instructions": profiles[row["label"]].total} for row in rows]

    def cost_of(self, error):
        """Instructions for an end error, interpolated on the log-log curve through the efficient runs: errors scatter, so
        a run that another one beats in both cost and error is left out. None when no run reaches this error."""
        front = []
        for run in sorted((r for r in self.runs if r["success"] and r["error"]), key=lambda r: r["instructions"]):
            if not front or run["error"] < front[-1]["error"]:
                front.append(run)
        for before, after in zip([None, *front], front):
            if after["error"] <= error:
                if before is None:
                    return after["instructions"]  # the loosest run is already better
                share = math.log(before["error"] / error) / math.log(before["error"] / after["error"])
                return before["instructions"] * (after["instructions"] / before["instructions"]) ** share
        return None


def measure(curves, programs, build):
    """All curves, as many at once as there are processors: counts do not depend on the load."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda curve: curve.measure(programs, build), curves))


def best(curves, error):
    """The cheapest of several settings of one program."""
    costs = [cost for cost in (curve.cost_of(error) for curve in curves) if cost is not None]
    return min(costs, default=None)


def decades(first, last, per_decade=2):
    """Tolerances 10^first … 10^last, both included."""
    count = round((first - last) * per_decade)
    return [10.0 ** (first - i / per_decade) for i in range(count + 1)]
