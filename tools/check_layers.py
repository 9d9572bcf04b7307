#!/usr/bin/python3
"""Fails when a file of a room includes a header of a room it may not see.

    tools/check_layers.py [ROOT]

A room sees what LAYERS lists for it, what those list, and so on. Files outside the rooms (apps, tests, bench, python)
see everything. Prints one line per forbidden include and exits with 1 if there is any.
"""
import re
import sys
from pathlib import Path

LAYERS = {
    "api": ["run", "multibody"],
    "study": ["io"],
    "io": ["run", "multibody", "models"],
    "run": ["solve"],
    "models": ["multibody", "system"],
    "multibody": ["system"],
    "solve": ["system", "method", "linear"],
    "system": ["lie"],
    "method": ["lie", "coeff"],
    "linear": ["base"],
    "lie": ["base"],
    "coeff": [],
    "base": ["Eigen"],
    "Eigen": [],
}

INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".hpp", ".cpp", ".h", ".inl"}


def visible_from(room):
    seen, open_rooms = set(), [room]
    while open_rooms:
        current = open_rooms.pop()
        if current not in seen:
            seen.add(current)
            open_rooms += LAYERS[current]
    return seen


def owner(path):
    """The room of a path relative to the root; for other project files their folder; None for foreign headers."""
    parts = Path(path).parts
    if parts[:2] == ("include", "kreisel"):
        return parts[2] if len(parts) > 3 else "include/kreisel"
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else "src"
    if parts[0] == "models":
        return "models"
    return parts[0] if parts[0] in {"apps", "tests", "bench", "python"} else None


def included_room(root, file, quote, name):
    """The room an include names, None when it is none of ours."""
    if name.split("/")[0] in {"Eigen", "unsupported"}:
        return "Eigen"
    if quote == '"' and (file.parent / name).exists():
        beside = (file.parent / name).resolve()
        return owner(beside.relative_to(root)) if beside.is_relative_to(root) else None
    if name.startswith("kreisel/"):
        return owner("include/" + name)
    return owner(name) if (root / name).exists() else None


def problems_in(root):
    for folder in ("include", "src", "models"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            where = file.relative_to(root)
            room = owner(where)
            if room == "include/kreisel":
                continue  # the public headers stand above the rooms; their bodies are in src/api
            if room not in LAYERS:
                yield f"{where}:1: '{room}' is no room; rooms are: {', '.join(r for r in LAYERS if r != 'Eigen')}"
                continue
            allowed = visible_from(room)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = included_room(root, file, *match.groups())
                if room == "api" and target == "include/kreisel":
                    continue
                if target is not None and target not in allowed:
                    yield (f"{where}:{number}: {line.strip()}: {room} may not include {target}; "
                           f"allowed: {', '.join(sorted(allowed)) or 'nothing'}")


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    problems = list(problems_in(root))
    print("\n".join(problems) or "every include goes downwards")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
