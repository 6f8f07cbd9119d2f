#!/usr/bin/env python3
"""Writes the reference pages of the site from the program itself: the command's own help, the public headers, the Python package's source.

    scripts/make_reference.py --pteron build/release/bin/pteron -o FOLDER
"""
import argparse
import ast
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ["status", "tensor", "manifest", "program", "method", "generation", "llm", "compile", "allocator", "tensor_file"]


def fence(text, language=""):
    return f"```{language}\n{text.strip()}\n```\n"


# --- The command line ---


def command_page(pteron):
    def help_of(*words):
        return subprocess.run([pteron, *words, "--help"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"}).stdout

    top = help_of()
    verbs = re.findall(r"^  (\S+) {2,}\S", top.split("Subcommands:")[1].split("\n\n")[0], re.MULTILINE)
    page = ["# Commands and options\n", "What `--help` says, verb by verb. [The command line](../cli.md) says what stays the same between releases.\n", fence(top, "text")]
    for verb in verbs:
        page += [f"## {verb}\n", fence(help_of(verb), "text")]
    return "\n".join(page)


# --- C++ ---


def blocks_of(lines):
    """Top-level declarations with the comment lines before them: (comment, code)."""
    comment, code, depth = [], [], 0
    for line in lines:
        if depth == 0 and not code and line.startswith("//"):
            comment.append(re.sub(r"^//+ ?", "", line))
            continue
        if not line.strip() and depth == 0:
            if code:
                yield comment, code
            comment, code = [], []
            continue
        code.append(line)
        depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
    if code:
        yield comment, code


def without_private(code):
    """A class as its users see it."""
    out, hidden = [], False
    for line in code:
        if line.strip() in ("private:", "public:", "protected:"):
            hidden = line.strip() != "public:"
            if hidden:
                continue
        if hidden and line.startswith("}"):
            hidden = False
        if not hidden and not re.search(r"struct Impl;|\bImpl>? ?(const )?impl|const Impl& impl", line):
            out.append(line)
    while len(out) > 1 and not out[-2].strip():
        del out[-2]
    return out


def heading_of(code):
    for line in code:
        found = re.match(r"(?:enum class|class|struct)\s+(?:\[\[\w+\]\]\s+)?(\w+)", line)
        if found:
            return found[1]
    return None


def cpp_page():
    page = ["# C++\n", "Everything is in `namespace pteron`. `#include \"pteron/llm.h\"` brings what a language model needs, `pteron/program.h` what any program needs.\n"]
    for name in HEADERS:
        text = (ROOT / "include" / "pteron" / f"{name}.h").read_text()
        intro = re.match(r"(?:// ?.*\n)+", text)[0]
        page += [f"## pteron/{name}.h\n", re.sub(r"^// ?", "", intro, flags=re.MULTILINE)]
        body = text.split("namespace pteron {", 1)[1].rsplit("}  // namespace pteron", 1)[0]
        for comment, code in blocks_of(body.split("\n")):
            if re.fullmatch(r"(class|struct) \w+;", code[0].strip()):
                continue
            if heading := heading_of(code):
                page.append(f"### {heading}\n")
            page += ["\n".join(comment) + "\n", fence("\n".join(without_private(code)), "cpp")]
    return "\n".join(page)


# --- C ---


def c_page():
    text = (ROOT / "include" / "pteron" / "c_api.h").read_text()
    intro, body = text.split("#ifndef PTERON_C_API_H", 1)
    intro = re.sub(r"^ ?/?\* ?/?", "", intro.strip().removesuffix("*/"), flags=re.MULTILINE)
    body = body.split('extern "C" {\n#endif', 1)[1].split("#ifdef __cplusplus", 1)[0]
    page = ["# C\n", "`#include \"pteron/c_api.h\"`\n", intro.strip() + "\n"]
    for block in re.split(r"\n\s*\n", body.strip()):
        if title := re.fullmatch(r"/\* --- (.*) --- \*/", block.strip()):
            page.append(f"## {title[1]}\n")
        else:
            page.append(fence(block, "c"))
    return "\n".join(page)


# --- Python ---


def annotation(node):
    """A type as it is meant: names that are quoted because they exist for type checkers only lose their quotes."""
    return re.sub(r"'([^']*)'", r"\1", ast.unparse(node))


def signature(function, skip_self):
    groups = function.args
    for argument in [*groups.posonlyargs, *groups.args, *groups.kwonlyargs, *filter(None, [groups.vararg, groups.kwarg])]:
        if argument.annotation is not None:
            argument.annotation = ast.Name(annotation(argument.annotation))
    arguments = ast.unparse(groups)
    if skip_self:
        arguments = re.sub(r"^(self|cls)(, )?", "", arguments)
    return f"({arguments})" + ("" if function.returns is None else f" -> {annotation(function.returns)}")


def is_property(node):
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def python_class(node, lines):
    """A class: its docstring, fields with their comments, then what it can do."""
    page = [(ast.get_docstring(node) or "") + "\n"]
    fields = [lines[child.lineno - 1].strip() for child in node.body if isinstance(child, ast.AnnAssign)]
    if fields:
        page.append(fence("\n".join(fields), "python"))
    for child in node.body:
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) or (child.name.startswith("_") and child.name not in ("__init__", "__call__")):
            continue
        if is_property(child):
            title = f"{child.name}: {annotation(child.returns)}"
        else:
            title = {"__init__": node.name, "__call__": f"{node.name}.__call__"}.get(child.name, child.name) + signature(child, skip_self=True)
        text = " ".join((ast.get_docstring(child) or "").split())
        page.append(f"- `{title}`" + (f": {text}" if text else ""))
    return page + [""]


def python_page():
    package = ROOT / "python" / "pteron"
    names = ast.literal_eval(re.search(r"__all__ = (\[.*?\])", (package / "__init__.py").read_text(), re.DOTALL)[1])
    definitions = {}
    for path in sorted(package.glob("*.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                definitions.setdefault(node.name, (node, text.split("\n")))
    page = ["# Python\n", "`import pteron`\n"]
    wanted = [name for name in names if name in definitions] + ["Runner", "SamplingOptions", "GenerateOptions", "LoadOptions", "ExportOptions"]
    for name in sorted(wanted, key=lambda name: (name.endswith("Options"), name.lower())):
        node, lines = definitions[name]
        title = "hf_static.Runner" if name == "Runner" else name
        page.append(f"## {title}\n")
        if isinstance(node, ast.ClassDef):
            page += python_class(node, lines)
        else:
            page += [fence(f"{name}{signature(node, skip_self=False)}", "python"), (ast.get_docstring(node) or "") + "\n"]
    return "\n".join(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pteron", default=str(ROOT / "build" / "release" / "bin" / "pteron"), help="the command to ask")
    parser.add_argument("-o", "--output", required=True, help="folder for the pages")
    options = parser.parse_args()
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in {"commands": command_page(options.pteron), "cpp": cpp_page(), "c": c_page(), "python": python_page()}.items():
        (output / f"{name}.md").write_text(text)


if __name__ == "__main__":
    main()
