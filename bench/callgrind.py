"""Runs a program under callgrind and reads what it counted (format: valgrind manual, "Callgrind Format Specification")."""
import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

NAME = re.compile(r"\((\d+)\)(?: (.*))?")
TRIGGER = "desc: Trigger: Client Request: "
# `rep stosb` and `rep movsb` are one instruction, which callgrind counts byte by byte: glibc must not choose them.
TUNABLES = "glibc.cpu.x86_rep_stosb_threshold=0x40000000:glibc.cpu.x86_rep_movsb_threshold=0x40000000"


@dataclass
class Profile:
    """Instructions between start_counting and stop_counting of one label."""
    label: str
    total: int = 0
    by_function: Counter = field(default_factory=Counter)  # exclusive

    def by_room(self):
        rooms = Counter()
        for function, cost in self.by_function.items():
            rooms[room_of(function)] += cost
        return rooms


def room_of(function):
    """The namespace below kreisel, or the library that the code belongs to."""
    # A template of Eigen or the standard library that names our types belongs to the library.
    head = re.split(r"[<(]", function.replace("(anonymous namespace)", ""), maxsplit=1)[0]
    ours = re.search(r"kreisel::(\w+)::", head)
    if ours:
        return ours.group(1)
    if "Eigen::" in head:
        return "Eigen"
    return "bench" if "bench" in head or "main" == head else "libc, libm, libstdc++"


def run(program, arguments, folder, timeout=7200, options=()):
    """The program's JSON lines, and its profiles by label."""
    name = "-".join([Path(program).name, *(re.sub(r"\W+", "_", str(a)) for a in arguments)])
    out = Path(folder) / (name[:100] + ".callgrind")
    out.unlink(missing_ok=True)
    command = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes",
               f"--callgrind-out-file={out}", *options, str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                          env={**os.environ, "GLIBC_TUNABLES": TUNABLES})
    if done.returncode != 0:
        raise SystemExit(f"bench/run: '{' '.join(command)}' ended with {done.returncode}:\n{done.stderr}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, read(out)


def read(path):
    profiles, names = {}, {}
    profile, function, is_call_cost = None, None, False
    with open(path, encoding="utf-8", errors="replace") as text:
        for line in text:
            line = line.rstrip("\n")
            if line.startswith("part:"):
                profile = None
            elif line.startswith(TRIGGER):
                profile = profiles.setdefault(line[len(TRIGGER):], Profile(line[len(TRIGGER):]))
            elif line.startswith("calls="):
                is_call_cost = True
            elif line.startswith("fn=") or line.startswith("cfn="):
                number, name = NAME.match(line.split("=", 1)[1]).groups()
                if name:
                    names[number] = name
                if line[0] == "f":
                    function = names[number]
            elif line[:1].isdigit() or line[:1] in "+-*" and line:
                if is_call_cost:
                    is_call_cost = False  # inclusive cost of the callee, counted there
                elif profile is not None:
                    cost = line.split(" ")
                    if len(cost) > 1:
                        profile.by_function[function] += int(cost[1])
                        profile.total += int(cost[1])
    return profiles
