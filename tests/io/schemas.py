#!/usr/bin/python3
"""The JSON Schemas that the program writes accept what its readers accept: usage schemas.py PROGRAM [I/N].

I/N: the I-th of N parts of the cases.

Every shipped model and study must be valid. Then models are damaged, one key at a time, and program and schema must agree on
the form of the file: what one of them refuses, the other must refuse. Of models with names and formulas the schema sees less: what
it refuses, the program must refuse.
"""
import functools
import glob
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    sys.exit(77)  # ctest: skipped

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
failures = 0


def fail(text):
    global failures
    failures += 1
    print(text)


def call(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


@functools.cache
def validator(program, name):
    schema = json.loads(call(program, "schema", name).stdout)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def read(file):
    with open(file, encoding="utf-8") as stream:
        return json.load(stream)


def shipped(*patterns):
    return [file for pattern in patterns for file in sorted(glob.glob(f"{root}/{pattern}"))]


def objects(value, path=()):
    if isinstance(value, dict):
        yield path, value
        for key, part in value.items():
            yield from objects(part, path + (key,))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from objects(part, path + (i,))


def changed(document, path, change):
    """The document with a change at the path; what is not on the path is shared with the original."""
    copied = list(document) if isinstance(document, list) else dict(document)
    if path:
        copied[path[0]] = changed(document[path[0]], path[1:], change)
    else:
        change(copied)
    return copied


def damaged(model):
    for path, value in objects(model):
        for key in value:
            if key in ("name", "comment", "$schema", "unit", "meaning"):
                continue
            where = "/".join(map(str, path + (key,)))
            yield f"without {where}", changed(model, path, lambda o, k=key: o.pop(k))
            for wrong in (None, [], {}, "", -1, "nonsense", True, [1, "x", 3]):
                yield f"with {wrong!r} at {where}", changed(model, path, lambda o, k=key, w=wrong: o.update({k: w}))
        yield f"with nonsense in /{'/'.join(map(str, path))}", changed(model, path, lambda o: o.update({"nonsense": 1}))


body = {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}
hinge = {"type": "revolute", "name": "hinge", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 0, 1]}
point, ends = {"at": [0, 0, 0]}, {"at": [[0, 0, 0], [0, 0, 1]]}
axis, axes = {"axis": [0, 0, 1]}, {"axes": [[1, 0, 0], [0, 1, 0]]}
servo = {"stiffness": 1, "damping": 1, "value": "sin(t)", "target": {"table": [[0, 0], [1, 1]], "interpolation": "linear"}}
spring = {"stiffness": 1, "damping": 1}
friction = {"joint": "hinge", "coefficient": 0.1, "radius": 0.1, "viscous": 0.1, "smoothing_speed": 0.1, "smoothing_load": 0.1,
            "law": "smoothed"}
elements = {
    "joints": {"spherical": point, "revolute": {**point, **axis}, "prismatic": {**point, **axis}, "cylindrical": {**point, **axis},
               "universal": {**point, **axes}, "planar": {**point, **axis}, "fixed": point, "distance": {**ends, "length": 1},
               "point-on-line": {**point, **axis}, "point-on-plane": {**point, **axis},
               "gear": {"axes": [[0, 0, 1], [0, 0, 1]], "teeth": [20, 40], "carrier": "ground"}, "weld": point, "screw": {**point, **axis, "pitch": 1},
               "rack-and-pinion": {**axes, "radius": 1, "carrier": "ground"},
               "constant-velocity": {**point, "axes": [[0, 0, 1], [0, 0, 1]]},
               "wheel": {"at": [[0, 0, -1], [0, 0, 0]], "axes": [[0, 0, 1], [0, 1, 0]], "radius": 1, "sideways": "held"},
               "cam": {"at": [[0, 0, 0], [1, 0, 0]], **axis, "x_axis": [1, 0, 0], "radius": 0,
                       "curve": [[math.cos(0.5 * i), math.sin(0.5 * i)] for i in range(12)]},
               "coupler": {"joints": ["hinge", "other"], "ratio": -1, "offset": 0}},
    "drivers": {"angle": {**axis, "value": {"table": [[0, 0], [9, 0]], "interpolation": "spline"}},
                "position": {**point, **axis, "value": "0*t"}, "distance": {**ends, "value": 1}},
    "forces": {"applied": {"on": "a", "at": [0, 0, 0], "force": [0, 0, "t"], "torque": [0, 0, 1], "frame": "body"},
               "spring-damper": {**ends, **spring, "length": 1}, "torsional-spring-damper": {**axis, **spring, "angle": 0},
               "bushing": {**point, **axis, "x_axis": [1, 0, 0], "stiffness": [1, 1, 1], "damping": [1, 1, 1],
                           "rotational_stiffness": [1, 1, 1], "rotational_damping": [1, 1, 1]},
               "torque": {"joint": "hinge", "value": "=t"}, "force": {"joint": "slide", "value": "=t"},
               "motor": {"joint": "hinge", "table": [[0, 1], [9, 0]]}, "friction": {"joint": "hinge", "coulomb": 1, "viscous": 1, "speed": 1},
               "contact": {"shapes": "plane-sphere", "at": [[0, 0, -1], [0, 0, 0]], **axes, "second_radius": 0.5, "stiffness": 1e4, "damping": 0.1,
                           "friction": 0.2, "smoothing_speed": 1e-3},
               "gravity-field": {"at": [[0, 0, 2], [0, 0, 0]], "strength": 1},
               "joint-friction": friction, "linear-actuator": {**ends, **servo}, "rotary-actuator": {**axis, **servo}}}


def samples(program):
    """Files of the repository, and one model per element, so that every joint, driver and force is there."""
    for file in shipped("models/*.json"):
        yield "a shipped model", read(file)
    for kind, types in elements.items():
        known = {entry["name"] for entry in json.loads(call(program, "list", kind, "--json").stdout)}
        if known != set(types):
            fail(f"{kind}: {sorted(known ^ set(types))} have no sample here")
        for name, keys in types.items():
            owner = {} if name == "applied" or "joint" in keys or "joints" in keys else {"between": ["ground", "a"]}
            element = {"type": name, **owner, **keys}
            joint = {**hinge, "type": "prismatic", "name": "slide"} if name == "force" else hinge
            more = "joints" in keys
            bodies = [body, {**body, "name": "b"}] if more else [body]
            joints = [hinge, {**hinge, "name": "other", "between": ["ground", "b"]}] if more else [hinge]
            yield f"{kind} {name}", {"bodies": bodies, "joints": [joint], **{kind: [*joints, element] if kind == "joints" else [element]}}
            if "at" in keys or "axis" in keys:
                framed = {key: value for key, value in keys.items() if key not in ("at", "axis", "x_axis", "axes")}
                frame = {key: value for key, value in {"at": [0, 0, 0], "axis": [0, 0, 1]}.items() if key in keys or name == "universal"}
                element = {"type": name, **owner, **framed, "frames": [frame] if name == "applied" else [frame, dict(frame)]}
                yield f"{kind} {name} with frames", {"bodies": [body], **{kind: [element]}}
    steel = {"name": "steel", "young": 2e11, "poisson": 0.3, "density": 7800, "damping_time": 1e-5}
    for section in ({"material": "steel", "circle": {"radius": 0.02, "inner_radius": 0.01}}, {"material": "steel", "rectangle": [0.1, 0.2]},
                    {"stiffness": [1, 1, 1, 1, 1, 1], "mass_per_length": 1, "inertia_per_length": [1, 1, 1], "damping_time": 0}):
        for path in ({"line": [[0, 0, 0], [1, 0, 0]]}, {"arc": [[0, 0, 0], [1, 1, 0], [2, 0, 0]]}):
            yield f"rod {section} {path}", {"materials": [steel], "sections": [{"name": "s", **section}], "rods": [
                {"name": "rod", "section": "s", "path": path, "elements": 4, "up": [0, 0, 1], "reference": "straight", "shear": "flexible",
                 "law": "magnus", "tension": 1, "velocity": [0, 0, 0], "angular_velocity": [0, 0, 0]}],
                "joints": [{"type": "weld", "between": ["ground", "rod@start"]}, {"type": "revolute", "between": ["rod@end", "ground"], **axis}]}
    for rotation in ({"axis": [0, 0, 1], "angle": 1}, {"axis": [0, 0, 1], "angle_deg": 1}, {"quaternion": [1, 0, 0, 0]},
                     {"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}, {"euler": [0, 0, 0], "order": "xyz"}, {"euler_deg": [0, 0, 0]}):
        yield f"rotation {rotation}", {"bodies": [{**body, "rotation": rotation}]}
    for shape in ({"box": {"size": [1, 1, 1]}}, {"sphere": {"radius": 1}}, {"cylinder": {"radius": 1, "length": 1}},
                  {"capsule": {"radius": 1, "length": 1, "axis": [0, 0, 1]}}, {"cone": {"radius": 1, "length": 1, "color": "red"}},
                  {"mesh": {"file": "tetrahedron.obj", "scale": 0.5, "rotation": {"quaternion": [1, 0, 0, 0]}}},
                  {"mesh": {"file": "tetrahedron.obj", "scale": [1, 1, -1], "at": [0, 0, 1]}}):
        yield f"shape {shape}", {"bodies": [{**body, "shape": shape}]}
    for limits in ({"from": -1, "to": 1, "restitution": 0.5}, {"to": 1}, {"from_deg": -10, "stiffness": 10, "damping": 1}):
        yield f"limits {limits}", {"bodies": [body], "joints": [{**hinge, "limits": limits}]}
    other_body = {**body, "name": "b"}
    yield "coupler", {"bodies": [body, other_body], "joints": [hinge, {**hinge, "name": "second", "between": ["ground", "b"]},
                                                               {"type": "coupler", "joints": [hinge["name"], "second"], "ratio": 2, "offset": 0}]}
    yield "simulation", {"bodies": [body], "simulation": {"t_end": 1, "step": 0.1, "method": "bliedf", "order": 3, "formulation": "index3",
                                                          "output_times": [0.1, 0.2], "assemble": True, "max_steps": 1000}}


# What the program says about the form of a file, not about what it describes: names of bodies and joints, formulas, meaning.
form = re.compile(r"\.json:\d+:\d+: .*(is missing|unknown |expected|beside|cannot be combined|must |has a negative entry|is empty|has an edge|are needed)")
other = re.compile(r"/(between/\d|on|carrier|joint|joints/\d): unknown (body|joint|rod) '|/(material|section): unknown (material|section) '|: formula '[^']+'|: goes from |/color: is \"[^\"]+\"|/mesh/file: (cannot read|')")


def compare(program, check, name, document, path):
    with open(path, "w", encoding="utf-8") as stream:
        json.dump(document, stream)
    is_valid = check.is_valid(document)
    answer = call(program, "check", path, "--json")
    message = json.loads(answer.stdout)["message"]
    complaints = [line for line in message.splitlines() if form.search(line) and not other.search(line)]
    # Values of parameters and names in formulas decide what a number or a name becomes: no schema sees that. What it refuses is wrong.
    if any(key in document for key in ("parameters", "outputs", "states", "events", "inputs")):
        if not is_valid and not message:
            fail(f"{name}: the schema refuses it, the program does not")
        return
    if is_valid == bool(complaints):
        fail(f"{name}: the schema {'accepts' if is_valid else 'refuses'} it, the program says: {message[:200] or 'nothing'}")


def main(program, part="1/1"):
    index, count_of_parts = map(int, part.split("/"))
    number = itertools.count()

    def is_mine():
        return next(number) % count_of_parts == index - 1

    for name, files in {"model": shipped("models/*.json"), "study": shipped("studies/*.json", "data/reproduce/*.json")}.items():
        check = validator(program, name)
        for file in files:
            for error in check.iter_errors(read(file)):
                fail(f"{file}: {error.json_path}: {error.message}")
    check = validator(program, "model")
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        with open(os.path.join(folder, "tetrahedron.obj"), "w", encoding="utf-8") as stream:
            stream.write("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
        for name, model in samples(program):
            for what, document in itertools.chain([("as it is", model)], damaged(model)):
                # Ten equal rods teach nothing more than one, and a key of one shipped model nothing more than that of another.
                case = (name, re.sub(r"\d+", "", what))
                if case not in seen:
                    seen.add(case)
                    if is_mine():
                        compare(program, check, f"{name} {what}", document, path)
        studies = validator(program, "study")
        count = 0
        for file in shipped("studies/*.json"):
            document = read(file)
            for where, _ in objects(document):
                if "where" in where or "over" in where or "set" in where:
                    continue  # any names
                if not is_mine():
                    continue
                wrong = changed(document, where, lambda o: o.update({"nonsense": 1}))
                path = os.path.join(folder, "study.json")
                with open(path, "w", encoding="utf-8") as stream:
                    json.dump(wrong, stream)
                refused = call(program, "study", path, "--out", os.path.join(folder, "out"), "--quiet").returncode == 2
                count += 1
                if studies.is_valid(wrong) == refused:
                    fail(f"{file} with nonsense in {where}: the schema {'accepts' if refused else 'refuses'} it, the program does not")
    print(f"{len(seen)} models, {count} studies, {failures} disagreements")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
