#!/usr/bin/env python3
"""Checks sizes of files and functions, and names of folders and files. Exceptions stand in scripts/allow.txt with a reason."""
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_P95, FILE_MAX, FUNCTION_P95, FUNCTION_MAX = 500, 1000, 50, 120
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|struct|class|enum|union|extern|typedef|using|#|//|template\s*<[^{]*$|\}|public|private|protected)")


def functions(lines):
    """(name line, length) of each function: a line that ends in `{` at one or two levels, up to the `}` at the same indent."""
    index = 0
    while index < len(lines):
        line = lines[index]
        match = re.match(r"^( {0,2})(?! )[^\s].*[\)\w>] *\{$", line)
        if match and not NOT_A_FUNCTION.match(line) and "(" in "".join(lines[max(0, index - 4): index + 1]):
            indent = match[1]
            for end in range(index + 1, len(lines)):
                if lines[end].startswith(indent + "}"):
                    yield index + 1, end - index + 1
                    index = end
                    break
        index += 1


def percentile(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else 0


def main() -> int:
    allow = {}
    for line in (ROOT / "scripts/allow.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rule, path, reason = line.split(None, 2)
            allow[(rule, path)] = reason
    used = set()
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    errors, file_sizes, function_sizes = [], [], []
    for name in sorted(tracked):
        path = ROOT / name
        if re.search(r"(^|/)(util|utils|common|misc|helpers?)(/|\.[a-z]+$)", name):
            errors.append(f"{name}: a name that says nothing")
        if path.suffix not in (".cc", ".h", ".cpp", ".hpp") or not path.is_file() or name.startswith("tests/data"):
            continue
        lines = path.read_text().split("\n")
        file_sizes.append(len(lines))
        if len(lines) > FILE_MAX:
            if ("file", name) in allow:
                used.add(("file", name))
            else:
                errors.append(f"{name}: {len(lines)} lines, at most {FILE_MAX}")
        for start, length in functions(lines):
            function_sizes.append(length)
            if length > FUNCTION_MAX:
                if ("function", name) in allow:
                    used.add(("function", name))
                else:
                    errors.append(f"{name}:{start}: a function of {length} lines, at most {FUNCTION_MAX}")
    for what, sizes, limit in (("files", file_sizes, FILE_P95), ("functions", function_sizes, FUNCTION_P95)):
        p95 = percentile(sizes, 0.95)
        print(f"{len(sizes)} {what}: median {percentile(sizes, 0.5)}, 95th percentile {p95} lines (budget {limit})")
        if p95 > limit:
            errors.append(f"{what}: 95th percentile {p95}, budget {limit}")
    for rule, path in sorted(set(k for k in allow if k[0] in ("file", "function")) - used):
        errors.append(f"scripts/allow.txt: {rule} {path} is no longer needed")
    print("\n".join(errors) if errors else "budgets hold")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
