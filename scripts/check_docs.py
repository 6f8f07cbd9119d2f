#!/usr/bin/env python3
"""Checks that every path that a document names exists, and that README and ARCHITECTURE keep their size."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP = ("src/", "include/", "tools/", "python/", "tests/", "docs/", "bench/", "scripts/", "examples/", "fuzz/", "cmake/", ".ci/")


def main() -> int:
    errors = []
    documents = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "src").rglob("*.md"))
    for document in documents:
        where = document.relative_to(ROOT)
        text = document.read_text()
        if where.name == "ARCHITECTURE.md" and text.count("\n") > 200:
            errors.append(f"{where}: {text.count(chr(10))} lines, at most 200")
        for number, line in enumerate(text.split("\n"), 1):
            for token in re.findall(r"`([^`\s]+)`", line) + re.findall(r"\]\(([^)#\s]+)", line):
                token = token.split("#")[0].rstrip(":,.")
                if token.startswith(("http://", "https://")) or any(c in token for c in "<>*$"):
                    continue
                if token.startswith(TOP):
                    candidates = [ROOT / re.sub(r":\d+$", "", token)]
                elif re.fullmatch(r"[\w./-]+\.(md|html)", token):
                    candidates = [document.parent / token, ROOT / token]
                else:
                    continue
                braces = re.match(r"(.*)\{([^}]*)\}(.*)", str(candidates[0]))
                if braces:
                    candidates = [pathlib.Path(braces[1] + part + braces[3]) for part in braces[2].split(",")]
                    missing = [c for c in candidates if not c.exists()]
                else:
                    missing = [] if any(c.exists() for c in candidates) else candidates[:1]
                for path in missing:
                    errors.append(f"{where}:{number}: {token} does not exist")
        if re.search(r"/work/|\.\./shared|subagent", text):
            errors.append(f"{where}: speaks of more than the project")
    print("\n".join(errors) if errors else f"{len(documents)} documents name only what exists")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
