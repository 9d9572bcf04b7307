"""Runs the code blocks of a page, in order, in one temporary folder that looks like a checkout after a build.

    tools/run_blocks.py PAGE.md --build BUILD --source ROOT [--compile "WORDS"] [--pictures FOLDER]
                        [--languages LANGUAGE ...]

    ```sh                bash; must succeed. ```sh exit=3: must end with this code
    ```python            one interpreter per page, so that blocks build on each other
    ```json              must be JSON; a mechanism goes through 'kreisel check' (exit= as above), a study
                         through 'kreisel study', one with variables through 'kreisel optimize'
    ```cpp               a program: compiled with WORDS, run
    ```text, ```console  not run: output, pseudo code, and commands that cannot run here (make, sudo, cmake)

file=NAME after the language keeps the block under that name for later blocks. Commands outside of blocks that are run are
refused, so that every command is tested. Files that blocks write to pictures/ are copied to FOLDER: the figures of the page.
"""
import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

RUN = ["sh", "python", "json", "cpp"]
NOT_RUN = {"text", "console", "cmake"}
COMMAND = re.compile(r"^\s*(\$ )?(build/bin/)?kreisel [a-z-]+|^\s*(\$ )?python3 ")
# Commands for console blocks: those that build, install, need root, a browser or a cluster, or do not return.
CANNOT_RUN_HERE = re.compile(r"^(dask-\w+|srun|sbatch|mpiexec|make|bench/run|sudo|cmake|cd|git|kreisel view \S+$|kreisel (run|study) .*# long)|^#|^$|^\S+=\S+ python3$")


class Block:
    def __init__(self, line, info, text):
        words = info.split()
        self.line, self.text = line, text
        self.language = words[0] if words else ""
        self.options = dict(word.split("=", 1) for word in words[1:] if "=" in word)


class Failure(Exception):
    pass


def blocks_of(page):
    """Fenced blocks; commands in indented blocks are refused."""
    lines = page.read_text(encoding="utf-8").splitlines()
    blocks, at = [], 0
    while at < len(lines):
        fence = re.match(r"^(\s*)(```+)(?!`)\s*([^`]*)$", lines[at])
        if not fence:
            if re.match(r"^    ", lines[at]) and COMMAND.match(lines[at]):
                raise Failure(f"{page}:{at + 1}: a command in an indented block is not run; make it a ```sh block")
            at += 1
            continue
        indent, ticks, info = fence.groups()
        end = next((i for i in range(at + 1, len(lines)) if lines[i].strip() == ticks), None)
        if end is None:
            raise Failure(f"{page}:{at + 1}: this block does not end")
        text = "\n".join(line[len(indent):] for line in lines[at + 1:end]) + "\n"
        if not info.startswith("{"):  # directives of the documentation
            blocks.append(Block(at + 1, info.strip(), text))
        at = end + 1
    return blocks


class Runner:
    def __init__(self, folder, build, compile_words):
        self.folder, self.program, self.compile_words = folder, build / "bin" / "kreisel", compile_words
        self.names = {"__name__": "__main__"}
        self.count = 0

    def run(self, page, block):
        if "file" in block.options:
            (self.folder / block.options["file"]).write_text(block.text, encoding="utf-8")
        if block.language in NOT_RUN:
            if block.language == "console":
                for line in block.text.splitlines():
                    if not CANNOT_RUN_HERE.match(line):
                        raise Failure(f"'{line}' can be run: make it a ```sh block")
            return
        if block.language not in RUN:
            raise Failure(f"language '{block.language}' is unknown here; known: {', '.join(RUN + sorted(NOT_RUN))}")
        self.count += 1
        getattr(self, "run_" + block.language)(page, block)

    def call(self, words, expected=0):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != expected:
            raise Failure(f"exit code {done.returncode}, expected {expected}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")

    def run_sh(self, page, block):
        self.call(["bash", "-euo", "pipefail", "-c", block.text], int(block.options.get("exit", 0)))

    def run_python(self, page, block):
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * block.line + block.text, str(page), "exec"), self.names)  # pylint: disable=exec-used
        except Exception:
            raise Failure(out.getvalue() + traceback.format_exc(limit=-3)) from None

    def run_json(self, page, block):
        try:
            data = json.loads(block.text)
        except json.JSONDecodeError as error:
            raise Failure(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            return
        file = self.folder / block.options.get("file", f"block{block.line}.json")
        file.write_text(block.text, encoding="utf-8")
        if "bodies" in data:
            self.call([self.program, "check", file], int(block.options.get("exit", 0)))
        elif "measures" in data or data.get("kind") == "analysis":
            command = "optimize" if "variables" in data else "study"
            self.call([self.program, command, file, "--quiet", "--out", self.folder / f"study{block.line}"])

    def run_cpp(self, page, block):
        if "int main" not in block.text:
            raise Failure("not a program: show a complete one, or make it a ```text block")
        source = self.folder / block.options.get("file", f"block{block.line}.cpp")
        source.write_text(block.text, encoding="utf-8")
        before, _, after = self.compile_words.partition("SOURCE")
        self.call([*shlex.split(before), source, *shlex.split(after), "-o", source.with_suffix("")])
        self.call([source.with_suffix("")])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--compile", default="", help="compiler and options, SOURCE where the file goes")
    parser.add_argument("--languages", nargs="*", default=RUN, help="which blocks are run")
    parser.add_argument("--pictures", type=Path, help="where the figures of the page go")
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{arguments.build / 'bin'}:{os.environ['PATH']}"
    os.environ["XDG_CACHE_HOME"] = str(arguments.build / "tests" / "docs" / "cache")
    os.environ["MPLBACKEND"] = "agg"
    with tempfile.TemporaryDirectory(prefix="kreisel-docs-") as name:
        folder = Path(name)
        os.chdir(folder)
        (folder / "build").symlink_to(arguments.build)
        for part in ("studies", "models", "data", "share"):
            (folder / part).symlink_to(arguments.source / part)
        runner = Runner(folder, arguments.build, arguments.compile)
        try:
            for block in blocks_of(arguments.page):
                if block.language in RUN and block.language not in arguments.languages:
                    continue
                try:
                    runner.run(arguments.page, block)
                except Failure as failure:
                    raise Failure(f"{arguments.page}:{block.line}: {failure}\n\n{block.text}") from None
        except Failure as failure:
            print(failure, file=sys.stderr)
            return 1
        if arguments.pictures and (folder / "pictures").is_dir():
            shutil.copytree(folder / "pictures", arguments.pictures, dirs_exist_ok=True)
        print(f"{runner.count} blocks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
