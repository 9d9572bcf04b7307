#!/usr/bin/python3
"""Fails when a file of a room includes a header of a room it may not see, or a public header is missing in kreisel.hpp or docs/cpp.md.

    tools/check_layers.py [ROOT]

A room sees what LAYERS lists for it, what those list, and so on. Public headers (include/kreisel) belong to the room that PUBLIC
lists for them and may include public headers only. Files outside the rooms (apps, tests, bench, python) see everything. Prints one line per forbidden include and exits with 1 if there is any.
"""
import re
import sys
from pathlib import Path

LAYERS = {
    "api": ["run", "analysis", "multibody", "io/model_file", "study"],
    "study": ["io/result", "io/report"],
    "io/result": ["io/model_file", "io/trajectory", "analysis"],
    "io/report": ["io/trajectory", "io/json"],
    "io/model_file": ["io/spec", "multibody"],
    "io/spec": ["io/json", "models"],
    "io/trajectory": ["io/files"],
    "io/json": ["io/files"],
    "io/files": ["run"],
    "run": ["solve"],
    "analysis": ["solve"],
    "models": ["multibody", "system"],
    "multibody": ["system", "formula"],
    "formula": ["base"],
    "solve": ["system", "method", "linear"],
    "system": ["lie"],
    "method": ["lie", "coeff"],
    "linear": ["base"],
    "lie": ["base"],
    "coeff": [],
    "base": ["Eigen"],
    "Eigen": [],
}

PUBLIC = {
    "base": ["types", "error", "version", "choices"],
    "lie": ["groups", "motion"],
    "system": ["event", "system", "own_system", "check"],
    "method": ["methods", "own_method"],
    "multibody": ["element"],
    "analysis": ["analysis"],
    "run": ["problem", "options", "observer", "report", "solution", "simulation"],
    "study": ["study"],
    "api": ["mechanism", "kreisel"],
}
ROOM_OF = {header + ".hpp": room for room, headers in PUBLIC.items() for header in headers}

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


def room_in(parts):
    """The room of a path below src: its folder, or for io the subfolder."""
    return "/".join(parts[:2]) if parts[0] == "io" else parts[0]


def owner(path):
    """The room of a path relative to the root; for other project files their folder; None for foreign headers."""
    parts = Path(path).parts
    if parts[:2] == ("include", "kreisel"):
        return ROOM_OF.get("/".join(parts[2:]), "/".join(parts))
    if parts[0] == "src":
        return room_in(parts[1:]) if len(parts) > 2 else "src"
    if parts[0] == "models":
        return "models"
    return parts[0] if parts[0] in {"apps", "tests", "bench", "python"} else None


def included_room(root, file, quote, name):
    """The room of an included header, None when it is not a header of the project."""
    if name.split("/")[0] in {"Eigen", "unsupported"}:
        return "Eigen"
    if quote == '"' and (file.parent / name).exists():
        beside = (file.parent / name).resolve()
        return owner(beside.relative_to(root)) if beside.is_relative_to(root) else None
    if name.startswith("kreisel/"):
        return owner("include/" + name)
    room = room_in(name.split("/"))
    if room in LAYERS:
        return room
    return owner(name) if (root / name).exists() else None


def problems_in(root):
    for folder in ("include", "src", "models"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            where = file.relative_to(root)
            room = owner(where)
            if room not in LAYERS:
                yield f"{where}:1: '{room}' is not a room or a public header in PUBLIC; rooms are: {', '.join(r for r in LAYERS if r != 'Eigen')}"
                continue
            allowed = visible_from(room)
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = included_room(root, file, *match.groups())
                if folder == "include" and target != "Eigen" and target is not None and not match[2].startswith("kreisel/"):
                    yield f"{where}:{number}: {line.strip()}: a public header may not include a private one"
                if target is not None and target not in allowed:
                    yield (f"{where}:{number}: {line.strip()}: {room} may not include {target}; "
                           f"allowed: {', '.join(sorted(allowed)) or 'nothing'}")


def public_headers_in(root):
    """The umbrella includes every public header, and docs/cpp.md names each of them and no other."""
    headers = {file.name for file in (root / "include/kreisel").glob("*.hpp")} - {"kreisel.hpp"}
    umbrella, page = root / "include/kreisel/kreisel.hpp", root / "docs/cpp.md"
    if not umbrella.exists() or not page.exists():
        return
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for place, found in ((umbrella, re.findall(r'"kreisel/(\w+\.hpp)"', umbrella.read_text(encoding="utf-8"))),
                         (page, re.findall(r"`(\w+\.hpp)`", "\n".join(rows)))):
        for name in sorted(headers ^ set(found)):
            yield f"{place.relative_to(root)}:1: {name} {'is missing' if name in headers else 'is not a public header'}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    problems = [*problems_in(root), *public_headers_in(root)]
    print("\n".join(problems) or "every include goes downwards")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
