"""Runs and checks the commands for doc_commands.sh, which documents the rules."""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

UNITS = r"(?: ?(?:us|ms|s|min|%|B|kB|MB|GB|KiB|MiB|GiB|GB/s|GFLOP/s|Gflop/s)\b)?"
NUMBER = re.compile(r"-?\b\d(?: ?\d)*(?:\.\d+)?(?:e[-+]?\d+)?" + UNITS)


class Block:
    """A fenced block of commands: lines, number of the first line, and text of the comment before the block."""

    def __init__(self, first, lines, marks):
        self.first, self.lines, self.marks = first, lines, marks

    def commands(self):
        """Returns pairs of a command and the lines below the command."""
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found


def blocks_of(lines):
    at = 0
    while at < len(lines):
        if lines[at].strip() == "```console":
            end = at + 1
            while lines[end].strip() != "```":
                end += 1
            before = lines[at - 1].strip() if at else ""
            marks = re.match(r"^<!-- run: (.*) -->$", before)
            yield Block(at + 1, lines[at + 1:end], marks[1] if marks else "")
            at = end
        at += 1


def masked(lines, marks):
    if marks == "keys":
        return re.findall(r'"([^"]+)":', "\n".join(lines))
    if marks == "numbers":
        text = [re.sub(r"_(portable|avx2|avx512)_cpu", "_SIMD_cpu", line) for line in lines]
        text = [NUMBER.sub("#", line).replace("# products", "# product") for line in text]
        return [re.sub(r"[\s]+", " ", line).strip() for line in text]
    return [line.rstrip() for line in lines]


def getting_ready(root):
    """Returns the commands at the beginning of the tutorial."""
    text = (root / "docs/tutorial/01-sparse-matrices.md").read_text(encoding="utf-8")
    return re.search(r"^```sh\n(.*?)^```$", text, re.M | re.S)[1]


class Folder:
    """Folder and environment that a page's commands run in."""

    def __init__(self, root, program, page):
        self.path = Path(tempfile.mkdtemp())
        self.work = tree = self.path / "tree"
        for name in ("examples", "docs/tutorial"):
            shutil.copytree(root / name, tree / name)
        (tree / "build").mkdir()
        (tree / "build/spry").symlink_to(program)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPRY_")}
        self.environment.update(
            HOME=str(self.path), XDG_CACHE_HOME=str(self.path / "cache"),
            COLUMNS="80", LC_ALL="C.UTF-8", SPRY_BENCH_COPY_BYTES="1048576", OMP_NUM_THREADS="2")
        if page != root / "README.md":
            self.get_ready(getting_ready(root))

    def get_ready(self, commands):
        """Runs commands and keeps their final folder and PATH."""
        script = f"set -e\n{commands}\nprintf '%s\\n' \"$PWD\" \"$PATH\""
        done = subprocess.run(["bash", "-c", script], cwd=self.work, env=self.environment, stdout=subprocess.PIPE,
                              text=True, check=True)
        folder, self.environment["PATH"] = done.stdout.split("\n")[:2]
        self.work = Path(folder)

    def run(self, command, with_errors, to_be_shown):
        environment = dict(self.environment)
        if to_be_shown:
            del environment["SPRY_BENCH_COPY_BYTES"]
        if "|" in command:  # with a pipe, the output has no terminal width
            del environment["COLUMNS"]
        result = subprocess.run(["bash", "-c", f"{command}\nexit ${{PIPESTATUS[0]}}"], cwd=self.work,
                                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT if with_errors else subprocess.PIPE, text=True, timeout=120)
        # A program may end by SIGPIPE if its reader ends first (| head).
        status = 0 if result.returncode == 141 else result.returncode
        return status, result.stdout.replace(str(self.work) + "/", "").rstrip("\n").split("\n"), result.stderr or ""

    def remove(self):
        shutil.rmtree(self.path)


def run_page(page, root, program, write):
    """Runs a page's commands and returns the number of faults. With `write`, updates the page."""
    lines = page.read_text(encoding="utf-8").split("\n")
    folder, faults, count, new = Folder(root, program, page), 0, 0, {}
    for block in blocks_of(lines):
        if block.marks.startswith("no,"):
            continue
        expected_status = int(block.marks.split()[1]) if block.marks.startswith("status ") else 0
        printed = []
        for command, shown in block.commands():
            count += 1
            where = f"{page.relative_to(root)}:{block.first + 1 + block.lines.index('$ ' + command)}"
            status, out, err = folder.run(command, expected_status != 0, write and block.marks == "sample")
            out = out if out != [""] else []
            if status != expected_status:
                print(f"{where}: $ {command}\nended with status {status}, expected {expected_status}\n{err}")
                faults += 1
            same = block.marks == "sample" or masked(shown, block.marks) == masked(out, block.marks)
            if not same and not write:
                diff = difflib.unified_diff(shown, out, "the page", "the program", lineterm="")
                print(f"{where}: $ {command}\nprints something else:\n" + "\n".join(diff))
                faults += 1
            printed += ["$ " + command, *(shown if same and block.marks != "sample" else out)]
        new[block.first] = (len(block.lines), printed)
    folder.remove()
    if write:
        for first, (length, printed) in sorted(new.items(), reverse=True):
            lines[first:first + length] = [line.rstrip() for line in printed]
        page.write_text("\n".join(lines), encoding="utf-8")
    return faults, count


def commands_of(program):
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\w+)  +\S", text.split("Commands:")[1].split("\n\n")[0], re.M)


def check_command_line(page, program, write):
    text = page.read_text(encoding="utf-8")
    missing = [name for name in commands_of(program) if f"$ spry {name} --help" not in text]
    if missing and write:
        for name in missing:
            text += f"\n## spry {name}\n\n```console\n$ spry {name} --help\n```\n"
        page.write_text(text, encoding="utf-8")
        missing = []
    for name in missing:
        print(f"{page} does not show spry {name} --help; doc_commands.sh --write adds it")
    return len(missing)


def check_json(page):
    lines = page.read_text(encoding="utf-8").split("\n")
    named = set(re.findall(r"`([^`]+)`", "\n".join(line for line in lines if line.startswith("| `"))))
    faults = 0
    for block in blocks_of(lines):
        if block.marks == "keys":
            for key in dict.fromkeys(masked(block.lines, "keys")):
                if key not in named:
                    print(f"{page} does not explain the key {key}")
                    faults += 1
    return faults


def check_environment(page, root):
    text, faults = page.read_text(encoding="utf-8"), 0
    read = set()
    for folder in ("src", "cli", "bench", "common"):
        for source in (root / folder).rglob("*.c*"):
            read.update(re.findall(r'getenv\("(\w+)"\)', source.read_text(encoding="utf-8", errors="replace")))
    for name in sorted(read):
        if f"`{name}`" not in text:
            print(f"{page} does not name {name}, which the sources read")
            faults += 1
    return faults


def main():
    mode, root, program = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    write = mode == "--write"
    if mode not in ("--check", "--write"):
        sys.exit(f"{mode}: expected --check or --write")
    pages = [Path(page).resolve() for page in sys.argv[4:]]
    all_pages = [root / "README.md"]
    for folder in ("tutorial", "how-to", "reference"):
        all_pages += sorted((root / "docs" / folder).glob("*.md"))
    command_line, reference = root / "docs/reference/command-line.md", root / "docs/reference"
    faults = check_command_line(command_line, program, write)
    count = 0
    for page in pages or all_pages:
        more, commands = run_page(page, root, program, write)
        faults, count = faults + more, count + commands
    if not pages:
        faults += check_json(reference / "json.md") + check_environment(reference / "environment.md", root)
    print(f"{count} commands, {faults} faults")
    if count == 0 or faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
