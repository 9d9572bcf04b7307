"""The sections of bench/run. Each runs its programs, makes its tables and returns its entry of results.json."""
import json
import math
import os
import re
import resource
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import callgrind
import curves
from curves import Curve, decades
from tables import million, number, ratio

# Measured once elsewhere, per step, heavy top, h = 1e-3, Newton to 1e-10: the Fortran programs of Hante
# (BLieDF 2afe307, gena 312da07), which are not Debian packages.
QUOTED_STEPS = {"index3": {"BLieDF (Fortran), k = 2": "40,000-45,000", "gena (Fortran)": "34,000-39,000"},
                "stabilized-index2": {"BLieDF and gena (Fortran)": "57,000-66,000"}}
# The same for the whole heavy top problem, in instructions by error: Chrono 7689fbc.
QUOTED_TOP = {"Chrono HHT (quoted)": {1e-3: 243e6, 1e-4: 1198e6}}
# The same for the chain of 100 links; CVODE and ARKODE on an index-1 form with an O(N) factorisation.
QUOTED_CHAIN = {"CVODE BDF, projected (quoted)": {1e-4: 1130e6}, "ARKODE-5 (quoted)": {1e-4: 290e6},
                "Chrono HHT (quoted)": {1e-4: 23761e6}}


def steps(programs, build, output):
    """Instructions of one constant step: every method, order, group and formulation; where they go."""
    output.title("One constant step of the heavy top, h = 1e-3, Newton tolerance 1e-10")
    found, profiles = callgrind.run(programs / "bench_steps", [], build)
    for row in found:
        row["instructions"] = profiles[row["label"]].total / row["steps"]
    by_label = {row["label"]: row for row in found}
    output.table(
        ["method, order, group, formulation", "instructions", "iterations", "residuals", "factorisations", "exponentials",
         "brackets"],
        [[row["label"], number(row["instructions"]), number(row["iterations"], 2), number(row["residuals"], 2),
          number(row["factorizations"], 2), number(row["exponentials"], 2), number(row["brackets"], 2)] for row in found])
    for formulation, codes in QUOTED_STEPS.items():
        output.note(f"quoted, {formulation}: " + "; ".join(f"{code} {cost}" for code, cost in codes.items()))
    output.note("")

    featured = ["bliedf 2 r3xso3 index3", "bliedf 2 r3xso3 stabilized-index2", "bliedf 6 r3xso3 index3"]
    rooms = {label: profiles[label].by_room() for label in featured}
    names = sorted({room for counts in rooms.values() for room in counts},
                   key=lambda room: -rooms[featured[0]][room])
    output.note("Where the instructions go, per step:\n")
    output.table(["room", *featured],
                 [[room, *(number(rooms[label][room] / by_label[label]["steps"]) for label in featured)] for room in names])
    top = profiles[featured[0]].by_function.most_common(12)
    output.table([f"function ({featured[0]})", "instructions"],
                 [[short(function), number(cost / by_label[featured[0]]["steps"])] for function, cost in top])

    cost = {label: by_label[label]["instructions"] for label in featured}
    output.limit(featured[0], cost[featured[0]], 13000)
    output.limit(featured[1], cost[featured[1]], 20000)
    output.limit("k = 6 against k = 2, index3", cost[featured[2]] / cost[featured[0]], 1.5, "times")
    output.limit("mkbdf k = 6 against bliedf k = 6, index3",
                 by_label["mkbdf 6 r3xso3 index3"]["instructions"] / cost[featured[2]], 2.5, "times")
    return {"rows": found, "rooms": {label: dict(rooms[label]) for label in featured}}


def short(function):
    """A C++ signature without its arguments."""
    name = function.replace("(anonymous namespace)::", "")
    depth, cut = 0, len(name)
    for at, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            cut = at
            break
    name = name[:cut].replace("kreisel::", "")
    return name if len(name) <= 60 else name[:57] + "..."


def ours(problem, method, tolerances):
    return Curve(f"kreisel {method}", "bench_work_precision", [problem, method], tolerances)


def compare(title, errors, own, peers, quoted, programs, build, output):
    """Measures all curves and prints three tables: cost by error, ratios to our first curve, and the runs of ours."""
    output.title(title)
    curves.measure([*own, *peers], programs, build)
    heads = [f"{error:.0e}" for error in errors]
    rows = [[curve.name, *(million(curve.cost_of(error)) for error in errors)] for curve in [*own, *peers]]
    rows += [[name, *(million(costs.get(error)) for error in errors)] for name, costs in quoted.items()]
    output.note("Million instructions for an error at t_end of\n")
    output.table(["", *heads], rows)

    flagship = {error: own[0].cost_of(error) for error in errors}

    def against(cost, error):
        return ratio(cost / flagship[error] if cost and flagship[error] else None)

    output.note(f"How many times more than {own[0].name}\n")
    output.table(["", *heads],
                 [[curve.name, *(against(curve.cost_of(error), error) for error in errors)] for curve in [*own[1:], *peers]] +
                 [[name, *(against(costs.get(error), error) for error in errors)] for name, costs in quoted.items()])
    output.note("Our runs\n")
    output.table(["method, tolerance", "error", "steps", "rejected", "iterations", "residuals", "Mega-instructions", "per step"],
                 [[run["label"] + ("" if run["success"] else " FAILED"), f"{run['error']:.1e}" if run["error"] else "-",
                   number(run["steps"]), number(run["rejected"]), number(run["iterations"]), number(run["evaluations"]),
                   million(run["instructions"]), number(run["instructions"] / max(1, run["steps"]))]
                  for curve in own for run in curve.runs])
    return {curve.name: curve.runs for curve in [*own, *peers]}


def limits(output, what, errors, cost, limit):
    """cost(error) at most limit(error), in million instructions."""
    for error in errors:
        bound = limit(error)
        if bound is None:
            output.note(f"-      {what} at {error:.0e}: the peer does not reach it")
            continue
        value = cost(error)
        output.limit(f"{what} at {error:.0e}", None if value is None else value / 1e6, bound / 1e6, "million instructions")


def heavy_top(programs, build, output):
    """The heavy top to t_end = 2: error control against SUNDIALS and Simbody."""
    problem, errors = "heavy-top", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]

    def sundials(method, first, last):
        return Curve("SUNDIALS " + method, "bench_sundials_top", [problem, method], decades(first, last))

    own = [ours(problem, "bliedf", decades(-3, -11)), ours(problem, "rkmk", decades(-2, -10)),
           ours(problem, "rkmk8@step", [1.6e-2, 1.4e-2, 1.2e-2, 1e-2, 8e-3, 6e-3, 5e-3, 4e-3])]
    ida = [sundials("ida-dense", -4, -9.5), sundials("ida-klu", -4, -9.5)]
    cvode = sundials("cvode-projected", -5, -11)
    arkode8 = sundials("arkode8", -3, -8.5)
    peers = [*ida, cvode, sundials("arkode5", -4, -10), arkode8, sundials("arkode8-reduced", -3, -8.5),
             Curve("Simbody Runge-Kutta-Merson", "bench_simbody_top", [], decades(-4, -8, 1))]
    results = compare("Heavy top, t_end = 2", errors, own, peers, QUOTED_TOP, programs, build, output)

    promised = {1e-3: 25e6, 1e-4: 35e6, 1e-5: 45e6, 1e-6: 60e6}
    limits(output, "adaptive bliedf", promised, own[0].cost_of, promised.get)
    limits(output, "adaptive bliedf, a ninth of IDA", errors, own[0].cost_of,
           lambda error: (curves.best(ida, error) or 0) / 9 or None)
    limits(output, "adaptive bliedf, below CVODE", errors, own[0].cost_of, cvode.cost_of)
    limits(output, "adaptive rkmk, at most ARKODE-8", errors, own[1].cost_of, arkode8.cost_of)
    return results


def pendulum(programs, build, output):
    """Eich's pendulum over 100 s, velocity included in the error."""
    problem, errors = "pendulum", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6]

    def sundials(method, first, last):
        return Curve("SUNDIALS " + method, "bench_sundials_pendulum", [method], decades(first, last))

    own = [ours(problem, "bliedf", decades(-5, -11)), ours(problem, "rkmk", decades(-4, -11))]
    ida = [sundials("ida-dense", -6, -10.5), sundials("ida-klu", -6, -10.5)]
    cvode = sundials("cvode-projected", -6.5, -11)
    peers = [*ida, cvode, sundials("arkode5", -5, -11), sundials("arkode8", -5, -11)]
    results = compare("Eich's pendulum, t_end = 100", errors, own, peers, {}, programs, build, output)
    limits(output, "adaptive bliedf, a quarter of IDA", errors, own[0].cost_of,
           lambda error: (curves.best(ida, error) or 0) / 4 or None)
    limits(output, "adaptive bliedf, below CVODE", errors, own[0].cost_of, cvode.cost_of)
    return results


def stiff(programs, build, output):
    """The heavy top in a stiff bushing, lightly damped vibrations, and a fast follower."""
    problem, errors = "stiff-top", [1e-3, 1e-4, 1e-5, 1e-6]

    def sundials(method, tolerances):
        return Curve("SUNDIALS " + method, "bench_sundials_top", [problem, method], tolerances)

    own = [ours(problem, "bliedf", decades(-2, -8)), ours(problem, "radau", decades(-2, -7))]
    ida = [sundials("ida-klu", decades(-4, -7))]
    # Explicit peers are limited by stability: ARKODE of order 8 at 1e-4 has not ended after 8 s of CPU without callgrind.
    peers = [*ida, sundials("cvode-newton", decades(-4, -8))]
    results = compare("Stiff top, t_end = 2", errors, own, peers, {}, programs, build, output)
    limits(output, "adaptive bliedf, a third of IDA", errors, own[0].cost_of,
           lambda error: (curves.best(ida, error) or 0) / 3 or None)
    return {**results, "lightly damped": lightly_damped(programs, build, output), "followers": followers(programs, build, output)}


PATIENCE = 20  # seconds of CPU for a run of which only the steps matter


def uncounted(program, arguments):
    """The JSON lines of a program without callgrind, as many as it prints within its time."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE)))
    if done.returncode not in (0, -signal.SIGXCPU, -signal.SIGKILL):
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def steps_and_error(run):
    return [number(run["steps"]) + ("" if run["success"] else " FAILED"), f"{run['error']:.1e}" if run["error"] else "-"]


def lightly_damped(programs, build, output):
    """Invisible vibrations of 1 % damping: BDF of order 3 to 6 is unstable beside the imaginary axis."""
    titles = {"bushing": "A tool in a stiff bushing, rates of 2e4 rad/s, t_end = 5",
              "satellite": "A satellite with modes of 10, 1e3 and 1e5 rad/s on SO(3) x R^3, t_end = 10"}
    tolerances, found = [1e-4, 1e-6], {}
    for problem, title in titles.items():
        output.title(title)
        programs_of = {"kreisel": "bench_stiff", "SUNDIALS": "bench_sundials_stiff", "Simbody": "bench_simbody_bushing"}
        methods = [("kreisel", method) for method in ("default", "radau", "generalized-alpha", *(f"max-order-{k}" for k in range(1, 7)))]
        methods += [("SUNDIALS", method) for method in ("cvode-newton", "cvode-stald", "ida-dense")]
        if problem == "bushing":
            methods += [("Simbody", "cpodes"), ("Simbody", "merson")]
        runs = {}
        for code, method in methods:
            arguments = [method, tolerances[0]] if code == "Simbody" else [problem, method, *tolerances]
            runs[f"{code} {method}"] = uncounted(programs / programs_of[code], arguments)
        # Counting the instructions of millions of steps, or of explicit ones, would take hours and add nothing.
        counted = [Curve(f"{code} {method}", programs_of[code], [problem, method], tolerances) for code, method in methods
                   if method in ("default", "radau") or
                   code == "SUNDIALS" and len(runs[f"{code} {method}"]) == 2 and max(run["steps"] for run in runs[f"{code} {method}"]) < 60_000]
        curves.measure(counted, programs, build)
        runs |= {curve.name: curve.runs for curve in counted}

        def cells(of_method):
            return [cell for run in [*of_method, None, None][:2] for cell in (
                [*steps_and_error(run), million(run.get("instructions"))] if run else ["-", "-", "-"])]

        rows = [[name, *cells(of_method)] for name, of_method in runs.items()]
        output.note("Steps, error of position and velocity at t_end, million instructions; atol = 1e-8. "
                    f"-: not within {PATIENCE} s of CPU, or more than 60,000 steps, which are not counted\n")
        output.table(["", *(f"{head}, {t:.0e}" for t in tolerances for head in ("steps", "error", "instructions"))], rows)
        for i, tolerance in enumerate(tolerances):
            others = [of_method[i]["steps"] for name, of_method in runs.items()
                      if name.startswith("kreisel") and name != "kreisel default" and of_method[i]["success"]]
            output.limit(f"{problem}, default at {tolerance:.0e} against the best of all",
                         runs["kreisel default"][i]["steps"] / min(others), 1.5, "times")
        found[problem] = runs
    return found


def followers(programs, build, output):
    """q'' + 2 w q' + w^2 (q - cos t) = 0: smooth after microseconds, whatever w."""
    output.title("q'' + 2 w q' + w^2 (q - cos t) = 0, rtol 1e-6, t_end = 10")
    frequencies = ["1e2", "1e3", "1e4", "1e5", "1e6"]
    kinds = [("kreisel default", "bench_stiff", "default"), ("kreisel radau", "bench_stiff", "radau"),
             *(("SUNDIALS " + method, "bench_sundials_stiff", method) for method in ("cvode-newton", "ida-dense"))]
    measured = {name: [Curve(name, program, ["follower-" + w, method], [1e-6]) for w in frequencies] for name, program, method in kinds}
    curves.measure([curve for of_kind in measured.values() for curve in of_kind], programs, build)
    runs = {name: [curve.runs[0] for curve in of_kind] for name, of_kind in measured.items()}
    for what, cell in (("Steps", lambda run: steps_and_error(run)[0]), ("Error of q and q' at t_end", lambda run: steps_and_error(run)[1]),
                       ("Million instructions", lambda run: million(run["instructions"]))):
        output.note(what + "\n")
        output.table(["", *(f"w = {w}" for w in frequencies)], [[name, *map(cell, of_kind)] for name, of_kind in runs.items()])
    steps_taken = [run["steps"] for run in runs["kreisel default"]]
    output.limit("default, most steps of all frequencies", max(steps_taken), 400, "steps")
    output.limit("default, most against fewest steps", max(steps_taken) / min(steps_taken), 1.5, "times")
    return runs


def micro(programs, build, output):
    """Groups and LU kernels one by one: nanoseconds and instructions."""
    output.title("Kernels")
    found, profiles = callgrind.run(programs / "bench_micro", ["count"], build)
    instructions = {row["label"]: profiles[row["label"]].total / row["calls"] for row in found}
    timed = subprocess.run([programs / "bench_micro", "--benchmark_format=json", "--benchmark_min_time=0.05"],
                           capture_output=True, text=True, check=True)
    nanoseconds = {entry["name"]: entry["cpu_time"] for entry in json.loads(timed.stdout)["benchmarks"]}
    kernels = [name for name in instructions if not name.startswith("LU")]
    output.table(["kernel", "instructions", "ns"],
                 [[name, number(instructions[name]), number(nanoseconds[name], 1)] for name in kernels])
    names = [name for name in instructions if name.startswith("LU") and not name.endswith("Eigen")]
    output.table(["LU, unknowns", "instructions", "Eigen's", "ratio", "ns", "Eigen's"],
                 [[name, number(instructions[name]), number(instructions[name + ", Eigen"]),
                   ratio(instructions[name + ", Eigen"] / instructions[name]), number(nanoseconds[name], 1),
                   number(nanoseconds[name + ", Eigen"], 1)] for name in names])
    return {"instructions": instructions, "nanoseconds": nanoseconds}


def chain(programs, build, output):
    """The chain: 100 links against SUNDIALS and Simbody; time and memory from 10 to 10,000 links."""
    problem, errors = "chain", [1e-3, 1e-4, 1e-5]
    own = [ours(problem, "bliedf", decades(-3, -6)), ours(problem, "rkmk", decades(-3, -6))]
    peers = [Curve("SUNDIALS IDA, KLU", "bench_sundials_chain", ["ida-klu"], decades(-4, -6)),
             Curve("Simbody Runge-Kutta-Merson", "bench_simbody_chain", [], decades(-3, -6, 1))]
    results = compare("Chain of 100 links, t_end = 2", errors, own, peers, QUOTED_CHAIN, programs, build, output)
    ida, simbody = (peer.cost_of(1e-4) for peer in peers)
    quoted = {name: costs[1e-4] for name, costs in QUOTED_CHAIN.items()}
    limits(output, "adaptive bliedf, a fifth of IDA", [1e-4], own[0].cost_of, lambda _: ida and ida / 5)
    limits(output, "adaptive bliedf, below Simbody", [1e-4], own[0].cost_of, lambda _: simbody)
    limits(output, "adaptive bliedf, below CVODE (quoted)", [1e-4], own[0].cost_of, lambda _: quoted["CVODE BDF, projected (quoted)"])
    limits(output, "adaptive rkmk, 1.3 times ARKODE-5 (quoted)", [1e-4], own[1].cost_of, lambda _: 1.3 * quoted["ARKODE-5 (quoted)"])
    return {**results, "scaling": scaling(programs, output)}


def scaling(programs, output):
    output.title("Chain of N links, bliedf of order 4, h = 1e-3: time per step, memory")
    found, links = [], [10, 100, 1000, 10000]
    for formulation in ("index3", "stabilized-index2"):
        for n in links:
            # The shortest of three, because the machine may be shared.
            runs = [json.loads(subprocess.run([programs / "bench_scaling", str(n), formulation], capture_output=True, text=True,
                                              check=True).stdout) for _ in range(3)]
            found.append(min(runs, key=lambda run: run["seconds_per_step"]))
    output.table(["formulation, N", "microseconds per step", "per link", "resident MB", "solver"],
                 [[f"{run['formulation']} {run['n']}", number(1e6 * run["seconds_per_step"]),
                   number(1e6 * run["seconds_per_step"] / run["n"], 2), number(run["resident_kb"] / 1024, 1), run["solver"]]
                  for run in found])
    for formulation in ("index3", "stabilized-index2"):
        runs = [run for run in found if run["formulation"] == formulation]
        first, last = runs[0], runs[-1]
        exponent = math.log(last["seconds_per_step"] / first["seconds_per_step"]) / math.log(last["n"] / first["n"])
        memory = (last["resident_kb"] - first["resident_kb"]) / (last["n"] - first["n"])
        output.limit(f"exponent of time per step, {formulation}", exponent, 1.1, "")
        output.limit(f"memory per link, {formulation}", memory, 20, "kB")
    return found


def python(programs, build, output):
    """kreisel.solve of Python against the same run in C++, both in one program."""
    output.title("Python: CPU seconds of kreisel.solve against the same run in C++")
    environment = {**os.environ, "PYTHONPATH": str(build.parent / "python")}
    done = subprocess.run(["/usr/bin/python3", Path(__file__).parent / "python_overhead.py"], capture_output=True, text=True, check=True,
                          env=environment)
    found = json.loads(done.stdout)
    output.table(["run", "steps", "C++", "C++ that keeps the points", "Python", "against C++", "against C++ that keeps the points"],
                 [[row["label"], number(row["steps"]), number(row["alone"], 3), number(row["kept"], 3), number(row["python"], 3),
                   number(row["python"] / row["alone"], 3), number(row["python"] / row["kept"], 3)] for row in found])
    for row in found:
        output.limit(f"Python against C++, {row['label']}", row["python"] / row["alone"], 1.05, "times")
    return found


def ensembles(programs, build, output):
    """Studies of many cases: overhead per case, messages, merging, beside a plain ProcessPoolExecutor over kreisel.solve."""
    output.title("Ensembles: studies of many cases")
    environment = {**os.environ, "PYTHONPATH": str(build.parent / "python")}
    done = subprocess.run(["/usr/bin/python3", Path(__file__).parent / "ensembles.py", build.parent / "bin" / "kreisel"], capture_output=True,
                          text=True, check=True, env=environment)
    found = json.loads(done.stdout)
    one, merged = found["pendulum"], found["merge"]
    output.note("CPU time of all processes together (user and system), which hardly depends on other load; wall times were taken on a shared machine.\n")
    output.note("Runs of a pendulum, milliseconds per case; memory of the driver beyond that of Python and kreisel, without pages of files:\n")
    output.table(["by", "cases", "CPU", "wall", "MB"],
                 [[name, number(one[key]["cases"]), number(1e3 * one[key]["cpu"], 3), number(1e3 * one[key]["wall"], 3), number(one[key]["mb"], 3)]
                  for key, name in (("threads", "two threads of one process"), ("workers", "two worker processes"), ("half", "two worker processes"),
                                    ("plain", "ProcessPoolExecutor over kreisel.solve, nothing kept"))])
    output.limit("CPU per case of two workers beyond threads", 1e3 * (one["workers"]["cpu"] - one["threads"]["cpu"]), 0.3, "ms")
    if one["half"]["cases"] > 10_000:  # smaller studies keep their rows in memory
        growth = (one["workers"]["mb"] - one["half"]["mb"]) * 2**20 / (one["workers"]["cases"] - one["half"]["cases"])
        output.limit("memory of the driver per case", growth, 200, "bytes")
    output.note("\nEmpty cases: microseconds of the driver per case.\n")
    output.table(["workers", "cases per message", "CPU of the driver", "wall"],
                 [[str(row["workers"]), str(row["chunk"]), number(1e6 * row["driver"], 3), number(1e6 * row["wall"], 3)] for row in found["empty"]])
    output.note(f"A journal of {merged['rows']:,} rows ({merged['journal_mb']:.0f} MB), seconds:\n")
    output.table(["", "CPU", "wall", "MB"], [[name, number(merged[key]["cpu"], 3), number(merged[key]["wall"], 3), number(merged[key]["mb"])]
                                             for key, name in (("status", "--status"), ("merge", "study.csv, study.json, report.html"),
                                                               ("status_after", "--status afterwards"))])
    output.limit(f"merge of {merged['rows']:,} rows", merged["merge"]["cpu"], 30, "s")
    output.limit(f"--status of {merged['rows']:,} rows", merged["status"]["cpu"], 2, "s")
    output.limit("memory of the merge", merged["merge"]["mb"], 2000, "MB")
    return found


def modelling(programs, build, output):
    """The modelling language: a controller at a fixed rate, and formulas against constant coefficients."""
    def counted(problem):
        runs, profiles = callgrind.run(programs / "bench_modelling", [problem], build)
        return [{**run, "instructions": profiles[run["label"]].total} for run in runs]

    output.title("A robot with six axes and a controller of 1 kHz, rtol = atol = 1e-6, t_end = 1")
    controller = counted("controller")
    output.note("The controller is a formula of the model, the first three times, or sets torques that are held for a sample, the last time. "
                "The error is that of the joints at t_end.\n")
    output.table(["", "method", "steps", "rejected", "residuals", "error", "million instructions", "per step"],
                 [[run["label"] + ("" if run["success"] else " FAILED"), run["method"], number(run["steps"]), number(run["rejected"]),
                   number(run["evaluations"]), f"{run['error']:.1e}", million(run["instructions"]),
                   number(run["instructions"] / max(1, run["steps"]))] for run in controller])
    cost = {run["label"]: run["instructions"] for run in controller}
    output.limit("controller of 1 kHz against steps of 1 ms", cost["controller of 1 kHz"] / cost["steps of 1 ms"], 2, "times")
    output.limit("controller of 1 kHz against the run without samples", cost["controller of 1 kHz"] / cost["without samples"], 2, "times")

    output.title("Quarter car, constant steps of 1 ms")
    cars = counted("quarter-car")
    output.table(["", "steps", "iterations", "residuals", "instructions per step"],
                 [[run["label"], number(run["steps"]), number(run["iterations"]), number(run["evaluations"]),
                   number(run["instructions"] / run["steps"])] for run in cars])
    per_step = {run["label"]: run["instructions"] / run["steps"] for run in cars}
    output.limit("formulas against constant coefficients", per_step["formulas"] / per_step["constant coefficients"], 1.3, "times")
    return {"controller": controller, "quarter car": cars}


def beams(programs, build, output):
    """Rods: elements, steps, memory, a rod by constraints, flight against generalized-alpha, and the choice of the method."""
    output.title("One element of a rod")
    found, profiles = callgrind.run(programs / "bench_beams", ["kernel"], build)
    cost = {row["label"]: profiles[row["label"]].total / row["calls"] for row in found}
    laws = ["constant", "magnus", "magnus, damped", "magnus, coupled"]
    output.table(["law", "residual", "tangent with residual"],
                 [[law, number(cost[f"{law} residual"]), number(cost[f"{law} tangent"])] for law in laws])
    output.limit("residual, constant strain", cost["constant residual"], 700)
    output.limit("residual, order 4", cost["magnus residual"], 1300)
    output.limit("tangent, constant strain", cost["constant tangent"], 4500)
    output.limit("tangent, order 4", cost["magnus tangent"], 7000)

    output.title("One constant step of a falling rod, per element: bliedf of order 2, h = 1e-3, Newton tolerance 1e-7")
    rows, sizes = [], [16, 128, 1024, 8192]
    for kind, counts in (("fresh", sizes), ("kept", sizes), ("rigid", [256])):
        for n in counts:
            runs, profiles = callgrind.run(programs / "bench_beams", ["step", kind, n], build, options=["--instr-atstart=no"])
            run = runs[0]
            plain = json.loads(subprocess.run([programs / "bench_beams", "step", kind, str(n)], capture_output=True, text=True,
                                              check=True).stdout)
            rows.append({**run, "kind": kind, "instructions": profiles[run["label"]].total / run["counted"],
                         "resident_kb": plain["resident_kb"], "seconds_per_step": plain["seconds_per_step"]})
    output.table(["matrix, elements", "instructions per element", "iterations per step", "resident MB", "ms per step", "solver"],
                 [[row["label"], number(row["instructions"] / row["n"]), number(row["iterations"] / max(1, row["steps"]), 2),
                   number(row["resident_kb"] / 1024, 1), number(1e3 * row["seconds_per_step"], 3), row["solver"]] for row in rows])
    for kind, limit in (("fresh", 25_000), ("kept", 10_000)):
        of_kind = [row for row in rows if row["kind"] == kind]
        middle = next(row for row in of_kind if row["n"] == 128)
        output.limit(f"step per element, {kind} matrix, 128 elements", middle["instructions"] / 128, limit)
        first, last = of_kind[0], of_kind[-1]
        exponent = math.log(last["instructions"] / first["instructions"]) / math.log(last["n"] / first["n"])
        output.limit(f"exponent of the cost of a step, {kind} matrix, 16 to 8192 elements", exponent, 1.05, "")
        output.limit(f"memory per element, {kind} matrix", (last["resident_kb"] - first["resident_kb"]) / (last["n"] - first["n"]), 20, "kB")
    constrained = next(row for row in rows if row["kind"] == "rigid")
    output.limit("rod of 256 elements that does not stretch", 1e3 * constrained["seconds_per_step"], 3, "ms per step")

    error = 1e-3
    output.title("The flying beam of 32 elements, t_end = 10: instructions for the error of its ends")
    adaptive = [Curve("kreisel default", "bench_beams", ["flight", "default"], [1e-3, 3e-4, 1e-4, 3e-5, 1e-5])]
    alpha = [Curve("generalized-alpha, constant steps", "bench_beams", ["flight", "generalized-alpha@step"], [2e-2, 1e-2, 5e-3, 2.5e-3])]
    curves.measure([*adaptive, *alpha], programs, build)
    output.table(["method, tolerance or step", "error", "steps", "rejected", "iterations", "million instructions"],
                 [[run["label"] + ("" if run["success"] else " FAILED"), f"{run['error']:.1e}", number(run["steps"]), number(run["rejected"]),
                   number(run["iterations"]), million(run["instructions"])] for curve in [*adaptive, *alpha] for run in curve.runs])
    ours_cost, their_cost = curves.best(adaptive, error), curves.best(alpha, error)
    output.limit("adaptive against generalized-alpha with the best constant step, error 1e-3",
                 ours_cost / their_cost if ours_cost and their_cost else None, 0.5, "times")

    output.title("The default against methods by name, atol = rtol: residuals and million instructions of whole runs")
    names = subprocess.run([programs / "bench_beams", "rows"], capture_output=True, text=True, check=True).stdout.splitlines()
    methods = ["default", "radau", "max-order-2"]

    def chosen(name):
        runs, profiles = callgrind.run(programs / "bench_beams", ["choice", name, *methods], build, options=["--instr-atstart=no"])
        return {run["method"]: {**run, "instructions": profiles[run["label"]].total} for run in runs}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        choices = dict(zip(names, pool.map(chosen, names)))
    output.table(["run", *(f"{method}{what}" for what in ("", ", instructions") for method in methods)],
                 [[name, *(number(runs[method]["evaluations"]) + ("" if runs[method]["success"] else " FAILED") for method in methods),
                   *(million(runs[method]["instructions"]) for method in methods)] for name, runs in choices.items()])
    for name, runs in choices.items():
        best = min(runs[method]["evaluations"] for method in methods[1:] if runs[method]["success"])
        output.limit(f"residuals of the default against the best of them, {name}", runs["default"]["evaluations"] / best, 1.5, "times")
    return {"elements": cost, "steps": rows, "flight": {curve.name: curve.runs for curve in [*adaptive, *alpha]}, "choices": choices}


def sensitivities(programs, build, output):
    """Derivatives of runs in runs: carried along beside IDAS, by the adjoint, and fits."""
    counts = [1, 2, 5, 10]

    def counted(program, arguments):
        rows, profiles = callgrind.run(programs / program, arguments, build)
        for row in rows:
            row["instructions"] = profiles[row["label"]].total
            row["runs"] = row["instructions"] / profiles["run"].total
        return rows

    output.title("Derivatives by p parameters, carried along: instructions in runs, tolerance 1e-6, t_end = 2")
    problems = {"heavy top (built-in model)": ("bench_sensitivities", "heavy-top", [1, 2]),
                "top as a mechanism": ("bench_sensitivities", "top", counts),
                "chain of ten rods": ("bench_sensitivities", "chain", counts),
                "IDAS: top": ("bench_idas_sensitivities", "heavy-top", counts), "IDAS: chain of ten rods": ("bench_idas_sensitivities", "chain", counts)}
    carried = {}
    for name, (program, problem, numbers) in problems.items():
        mode = ["forward"] if program == "bench_sensitivities" else []
        carried[name] = {row["parameters"]: row for row in counted(program, [*mode, problem, *numbers])}
    output.table(["", "steps", "million instructions of the run", *(f"p = {p}" for p in counts)],
                 [[name, number(rows[0]["steps"]), million(rows[0]["instructions"]),
                   *("-" if p not in rows else number(rows[p]["runs"], 2) if rows[p]["success"] else "FAILED" for p in counts)]
                  for name, rows in carried.items()])
    for name, rows in carried.items():
        if name.startswith("IDAS"):
            continue
        for p in counts:
            if p in rows:
                output.limit(f"{name}, {p} parameters", rows[p]["runs"], 1 + 0.4 * p, "runs")

    output.title("The gradient of one number by the adjoint: a chain of fifty rods held by springs")
    adjoint = counted("bench_sensitivities", ["adjoint"])
    output.table(["", "steps", "million instructions", "runs"],
                 [[row["label"], number(row["steps"]), million(row["instructions"]), number(row["runs"], 2)] for row in adjoint])
    output.limit("100 parameters of equations", next(row["runs"] for row in adjoint if row["label"].startswith("100 parameters")), 6, "runs")

    output.title("Fits of three parameters of a damped four-bar to 50 noisy angles")
    fits = [row for row in counted("bench_sensitivities", ["fit", 1, 5]) if row["label"] != "run"]
    seeds = [row for row in uncounted(programs / "bench_sensitivities", ["fit", 1, 100]) if row["label"] != "run"]
    inside = sum(row["outside"] == 0 for row in seeds)
    two_sigma = 8.0249  # chi-square of three degrees of freedom that 95.45 % of all fits stay below
    output.table(["seed", "runs with derivatives", "million instructions", "runs' worth"],
                 [[row["label"], number(row["runs_with_derivatives"]), million(row["instructions"]), number(row["runs"], 2)] for row in fits])
    output.note(f"Of {len(seeds)} seeds, all three values are within two standard errors in {inside}; {sum(row['outside'] for row in seeds)} of "
                f"{3 * len(seeds)} values are outside; the point of all three is within its ellipsoid of two standard deviations in "
                f"{sum(row['joint'] <= two_sigma for row in seeds)}.\n")
    output.limit("mean of a fit", sum(row["runs"] for row in fits) / len(fits), 15, "runs")
    output.limit("seeds with a value beyond two standard errors", len(seeds) - inside, 5, "of 100")
    return {"carried": {name: list(rows.values()) for name, rows in carried.items()}, "adjoint": adjoint, "fits": fits, "inside": inside}


def collected(build, options, command, folder):
    """Instructions that callgrind collects of a whole program."""
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={build / 'program.callgrind'}", *options, *map(str, command)],
                          capture_output=True, text=True, check=True, cwd=folder)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def files(programs, build, output):
    """A row of trajectory.csv, and the start of the program."""
    program = build.parent / "bin" / "kreisel"
    output.title("A row of trajectory.csv with 40 columns, and the start of the program")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "run", "heavy-top", "--step", "1e-3", "--t-end", "1", "--out", "top", "--quiet"]
        rows = collected(build, ["--toggle-collect=*TrajectoryWriter::accept*"], command, folder) / 1001
        start = collected(build, [], [program, "--version"], folder)
    libraries = len([line for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
                     if "=>" in line or "ld-linux" in line])
    output.table(["", "instructions"], [["a row of 40 columns", number(rows)], ["kreisel --version", number(start)]])
    output.limit("a row of 40 columns", rows, 10000)
    output.limit("kreisel --version", start, 4e6)
    output.limit("shared libraries", libraries, 12, "")
    return {"row": rows, "start": start, "libraries": libraries}


def compile_times(programs, build, output):
    """Where the time of the last build went, by room, from the log of ninja; lines of code. Fresh: CCACHE_DISABLE=1 make clean build."""
    output.title("Seconds of the compiler")
    newest = {}
    for line in (build.parent / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, name, _ = line.split("\t")
        if found := re.search(r"(kreisel_\w+)\.dir/(.*)\.(o|gch)$", name):
            newest[name] = found[1], found[2], (int(end) - int(begin)) / 1000
    rooms = {}
    for room, unit, seconds in newest.values():
        rooms.setdefault(room, []).append((seconds, unit))
    output.table(["room", "units", "seconds", "longest", ""],
                 [[room, number(len(units)), number(sum(s for s, _ in units)), number(max(units)[0], 1), Path(max(units)[1]).name]
                  for room, units in sorted(rooms.items(), key=lambda item: -sum(s for s, _ in item[1]))])
    tests = sum(s for room, units in rooms.items() if re.search("test|soak|viewer_samples", room) for s, _ in units)
    python_module = sum(s for s, _ in rooms.get("kreisel_python", []))
    product = sum(s for units in rooms.values() for s, _ in units) - tests - python_module
    output.table(["", "seconds"], [["product", number(product)], ["Python module", number(python_module)], ["tests", number(tests)]])
    root = build.parent.parent
    lines = {room: sum(len(file.read_text(encoding="utf-8").splitlines()) for file in (root / room).rglob("*.[ch]pp"))
             for room in ("src/run", "src/io", "src/study", "apps")}
    output.table(["room", "lines"], [[room, number(count)] for room, count in lines.items()])
    return {"product": product, "tests": tests, "python": python_module, "lines": lines}


def page(programs, build, output):
    """The page of kreisel view in chromium: bytes, time to the first paint, many bodies, long results."""
    output.title("The page in chromium")
    script = Path(__file__).parent / "page.mjs"
    done = subprocess.run(["node", str(script), str(build.parent / "bin" / "kreisel"), str(build / "page")],
                          capture_output=True, text=True)
    if done.returncode != 0:
        output.note("no chromium or no node: " + (done.stderr.strip().splitlines() or ["failed"])[-1])
        return {}
    found = json.loads(done.stdout)
    output.table(["what", "value"], [["JavaScript [kB]", number(found["script"] / 1e3)], ["first paint of the heavy top [s]", number(found["first_paint"], 3)],
                                     ["page of the heavy top [kB]", number(found["heavy_top"] / 1e3)], ["page of the excavator [kB]", number(found["excavator"] / 1e3)],
                                     ["page of a Stewart platform [kB]", number(found["stewart"] / 1e3)],
                                     ["10,000 bodies: work of the page per picture [ms]", number(found["many_page"], 3)],
                                     ["10,000 bodies: drawn by the processor, without a graphics card [ms]", number(found["many_drawing"], 3)],
                                     ["10,000 bodies: pictures per second of the animation, without a graphics card", number(found["many_rate"], 3)],
                                     ["10,000 bodies: draw calls", number(found["many_calls"])],
                                     ["long result: points", number(found["long_points"])], ["long result: columns", number(found["long_columns"])],
                                     ["long result: file [MB]", number(found["long_bytes"] / 1e6)],
                                     ["long result, not in the memory of the system: from the start of kreisel view to curves [s]", number(found["long_open"], 3)],
                                     ["the same: to the picture [s]", number(found["long_picture"], 3)],
                                     ["long result: largest memory of the program [MB]", number(found["long_memory"])],
                                     ["long result: memory of the page's data [MB]", number(found["long_heap"])]])
    output.limit("JavaScript of the page", found["script"] / 1e3, 900, "kB")
    output.limit("page of a Stewart platform", found["stewart"] / 1e6, 3, "MB")
    output.limit("first paint of the heavy top", found["first_paint"], 1.0, "s")
    output.limit("work of the page for a picture of 10,000 bodies", found["many_page"], 33.3, "ms")
    output.limit("picture of 10,000 bodies in the animation, without a graphics card", 1000 / found["many_rate"], 33.3, "ms")
    output.limit("long result until curves are there", found["long_open"], 3.0, "s")
    output.limit("memory of program and page with a long result", found["long_memory"] + found["long_heap"], 300, "MB")
    return found


ALL = {"steps": steps, "heavy-top": heavy_top, "pendulum": pendulum, "stiff": stiff, "chain": chain, "micro": micro, "modelling": modelling,
       "beams": beams, "sensitivities": sensitivities, "python": python, "ensembles": ensembles, "files": files, "build": compile_times, "page": page}
