"""The sections of bench/run. Each runs its programs, makes its tables and returns what belongs into results.json."""
import callgrind
from tables import number

# Measured once elsewhere, per step, heavy top, h = 1e-3, Newton to 1e-10: the Fortran programs of Hante
# (BLieDF 2afe307, gena 312da07), which are no Debian packages.
QUOTED_STEPS = {"index3": {"BLieDF (Fortran), k = 2": "40,000-45,000", "gena (Fortran)": "34,000-39,000"},
                "stabilized-index2": {"BLieDF and gena (Fortran)": "57,000-66,000"}}


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


ALL = {"steps": steps}
