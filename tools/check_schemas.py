#!/usr/bin/python3
"""Checks that the JSON Schemas and the program say the same: usage check_schemas.py PROGRAM.

Every shipped model and study must be valid. Then each model is damaged, one key at a time, and the program and the schema must
agree on what a file needs: a key that one of them does not know or misses, the other must not know or must miss.
"""
import copy
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    sys.exit(77)  # ctest: skipped

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
failures = 0


def fail(text):
    global failures
    failures += 1
    print(text)


def validator(name):
    with open(f"{root}/share/kreisel/{name}.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def objects(value, path=()):
    """Every object in a document with its path, but not what "simulation" holds, which the program judges by its options."""
    if isinstance(value, dict):
        yield path, value
        for key, part in value.items():
            if key != "simulation":
                yield from objects(part, path + (key,))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from objects(part, path + (i,))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def damaged(model):
    for path, value in objects(model):
        for key in value:
            if key in ("name", "comment", "$schema"):
                continue
            copied = copy.deepcopy(model)
            del at(copied, path)[key]
            yield f"without {'/'.join(map(str, path + (key,)))}", copied
        copied = copy.deepcopy(model)
        at(copied, path)["nonsense"] = 1
        yield f"with nonsense in /{'/'.join(map(str, path))}", copied


def samples():
    """Files of the repository, and one model per element, so that every joint, driver and force is there."""
    for file in sorted(glob.glob(f"{root}/models/*.json")):
        with open(file, encoding="utf-8") as stream:
            yield "a shipped model", json.load(stream)
    body = {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}
    hinge = {"type": "revolute", "name": "hinge", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 0, 1]}
    point, ends = {"at": [0, 0, 0]}, {"at": [[0, 0, 0], [0, 0, 1]]}
    axis, axes = {"axis": [0, 0, 1]}, {"axes": [[1, 0, 0], [0, 1, 0]]}
    servo = {"stiffness": 1, "damping": 1, "value": "sin(t)", "target": {"table": [[0, 0], [1, 1]], "interpolation": "linear"}}
    spring = {"stiffness": 1, "damping": 1}
    two = {"between": ["ground", "a"]}
    elements = {
        "joints": {"spherical": point, "revolute": {**point, **axis}, "prismatic": {**point, **axis}, "cylindrical": {**point, **axis},
                   "universal": {**point, **axes}, "planar": {**point, **axis}, "fixed": point, "distance": {**ends, "length": 1},
                   "point-on-line": {**point, **axis}, "point-on-plane": {**point, **axis},
                   "gear": {"axes": [[0, 0, 1], [0, 0, 1]], "teeth": [20, 40], "carrier": "ground"}},
        "drivers": {"angle": {**axis, "value": 0}, "position": {**point, **axis, "value": "0*t"}, "distance": {**ends, "value": 1}},
        "forces": {"applied": {"on": "a", "at": [0, 0, 0], "force": [0, 0, "t"], "torque": [0, 0, 1], "frame": "body"},
                   "spring-damper": {**ends, **spring, "length": 1}, "torsional-spring-damper": {**axis, **spring, "angle": 0},
                   "bushing": {**point, **axis, "x_axis": [1, 0, 0], "stiffness": [1, 1, 1], "damping": [1, 1, 1], "rotational_stiffness": [1, 1, 1],
                               "rotational_damping": [1, 1, 1]},
                   "joint-friction": {"joint": "hinge", "coefficient": 0.1, "radius": 0.1, "viscous": 0.1, "smoothing_speed": 0.1,
                                      "smoothing_load": 0.1, "law": "smoothed"},
                   "linear-actuator": {**ends, **servo}, "rotary-actuator": {**axis, **servo}}}
    for kind, types in elements.items():
        for name, keys in types.items():
            owner = {} if name in ("applied", "joint-friction") else two
            yield f"{kind} {name}", {"bodies": [body], "joints": [hinge], **{kind: [{"type": name, **owner, **keys}]},
                                     **({"joints": [hinge, {"type": name, **owner, **keys}]} if kind == "joints" else {})}
            if "at" in keys or "axis" in keys:
                framed = {key: value for key, value in keys.items() if key not in ("at", "axis", "x_axis", "axes")}
                frame = {key: value for key, value in {"at": [0, 0, 0], "axis": [0, 0, 1]}.items() if key in keys or name == "universal"}
                element = {"type": name, **owner, **framed, "frames": [frame] if name == "applied" else [frame, dict(frame)]}
                yield f"{kind} {name} with frames", {"bodies": [body], **{kind: [element]}}
    for rotation in ({"axis": [0, 0, 1], "angle": 1}, {"axis": [0, 0, 1], "angle_deg": 1}, {"quaternion": [1, 0, 0, 0]},
                     {"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}, {"euler": [0, 0, 0], "order": "xyz"}, {"euler_deg": [0, 0, 0]}):
        yield f"rotation {rotation}", {"bodies": [{**body, "rotation": rotation}]}
    for group in ("r3xso3", "se3"):
        yield f"group {group} of a body", {"group": "se3", "bodies": [{**body, "group": group}]}
    for shape in ({"box": {"size": [1, 1, 1]}}, {"sphere": {"radius": 1}}, {"cylinder": {"radius": 1, "length": 1}},
                  {"cone": {"radius": 1, "length": 1}}):
        yield f"shape {shape}", {"bodies": [{**body, "shape": shape}]}


# What the program says about the form of a file, not about what it describes.
form = re.compile(r"model\.json:\d+:\d+: .*(is missing|unknown key|expected|beside)")


def main(program):
    for name, patterns in {"model": ["models/*.json"], "study": ["studies/*.json", "data/reproduce/*.json"]}.items():
        check = validator(name)
        for pattern in patterns:
            for file in sorted(glob.glob(f"{root}/{pattern}")):
                with open(file, encoding="utf-8") as stream:
                    document = json.load(stream)
                for error in check.iter_errors(document):
                    fail(f"{file}: {error.json_path}: {error.message}")
    check = validator("model")
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        for name, model in samples():
            for what, document in itertools.chain([("as it is", model)], damaged(model)):
                # Ten equal rods teach nothing more than one.
                case = (name, "".join(c for c in what if not c.isdigit()))
                if case in seen:
                    continue
                seen.add(case)
                with open(path, "w", encoding="utf-8") as stream:
                    json.dump(document, stream)
                answer = subprocess.run([program, "check", path, "--json"], capture_output=True, text=True, check=False)
                message = json.loads(answer.stdout)["message"]
                if check.is_valid(document) == bool(form.search(message)):
                    fail(f"{name} {what}: the schema {'accepts' if check.is_valid(document) else 'refuses'} it, the program says: {message or 'well'}")
    print(f"{len(seen)} models, {failures} disagreements")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
