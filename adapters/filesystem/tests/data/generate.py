"""Asks cgc's own discovery which files of a tree it indexes, and writes the answers as JSON.

Run with the interpreter of an installed cgc 0.6.13 and HOME set to an empty directory:

    HOME=$(mktemp -d) …/bin/python generate.py > cgc-0.6.13.json

Each case is a tree, its ignore files and the settings; the answer holds the files, and whether they are parsed.
"""

import json
import os
import random
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

NAMES = ["build", "src", "docs", "gen", "a.b", "out", "Build", "x y", "node_modules", "été", "deep", "b[1]"]
FILES = ["a.py", "b.ts", "c.md", "d.txt", "e.png", "f.rs", "gen.py", "keep.py", "Makefile", ".env", "a.PY", "x.xml",
         "noext", "we[i]rd.py", "back\u00e9.py", "a b.py", ".hidden.py", "t.d.ts", "n.ipynb", ".gitignore2", "#x.py"]
PATTERNS = ["build/", "/build/", "gen", "gen/", "!gen/", "*.py", "!keep.py", "src/*.py", "src/**", "**/deep", "**/deep/",
            "src/**/keep.py", "a.b", "a.?", "?.py", "[ab].py", "[!a].py", "[a-c].*", "b[[]1]", "we[[]i]rd.py", "\\#x.py",
            "#x.py", "  docs  ", "docs/ ", "/docs", "docs/gen", "/src/gen/", "*", "!*", "!src/", "*/gen", "x y/", "!x y/a.py",
            "d*", "*d*", "**", "/**", "src/", "!src/a.py", "été", "*.m[d]", "[z-a].py", "[", "a[", "!build/", "!/build/",
            "!dist/", "build/**/a.py", "**/src/**/a.py", "*.tx?", "/", "!", "./a.py", "src//a.py", "\\!x", "!!gen"]


def tree(rng):
    directories = [""]
    for _ in range(rng.randint(1, 9)):
        directories.append(os.path.join(rng.choice(directories), rng.choice(NAMES)))
    files = set()
    for directory in directories:
        for _ in range(rng.randint(1, 5)):
            files.add(os.path.join(directory, rng.choice(FILES)))
    directories = {os.path.dirname(f) for f in files}
    ancestors = {str(p) for d in directories for p in [Path(d), *Path(d).parents]}
    return sorted(f for f in files if f not in ancestors)


def patterns(rng):
    return "".join(rng.choice(PATTERNS) + rng.choice(["\n", "\n", "\r\n", "\n\n"]) for _ in range(rng.randint(1, 5)))


def cases():
    every = ["a.py", "src/a.py", "src/deep/a.py", "build/a.py", "obj/a.py", ".idea/a.py", ".tox/a.py", "coverage/a.py",
             "Node_Modules/a.py", "gen/a.py", "gen/keep.py", "src/gen/a.py", "README.md", "pom.xml", "a.svg", "a.html",
             ".github/workflows/ci.yml", ".env", "Makefile", "src/Dockerfile", "docs/x.md", "env.py"]
    yield {"files": every}
    yield {"files": every, "git": True}
    yield {"files": every, "gitignore": "gen/\n!build/\n"}
    yield {"files": every, "cgcignore": "gen/\n", "gitignore": "docs/\n"}
    yield {"files": every, "cgcignore": "!build/\n!docs/\n", "gitignore": "docs/\n", "git": True}
    yield {"files": every, "context": "*.md\n.tox/\ncoverage/\n!gen/\n", "cgcignore": "gen/\n"}
    yield {"files": every, "directories": "src, .GitHub"}
    yield {"files": every, "directories": ""}
    yield {"files": every + ["sub/.gitignore", "sub/a.py"], "nested": {"sub/.gitignore": "*.py\n", "sub/.cgcignore": "*\n"}}
    rng = random.Random(613)
    for _ in range(160):
        case = {"files": tree(rng), "git": rng.random() < 0.5}
        for name in ["gitignore", "cgcignore", "context"]:
            if rng.random() < 0.6:
                case[name] = patterns(rng)
        if rng.random() < 0.3:
            case["directories"] = ",".join(rng.sample(NAMES, 2))
        yield case


def ask(case):
    from codegraphcontext.tools.indexing.discovery import discover_files_to_index
    from codegraphcontext.tools.graph_builder import GraphBuilder

    class Builder(GraphBuilder):
        def create_schema(self):
            pass

    class Database:
        def get_driver(self, *_):
            return None

    parsers = Builder(Database(), None, None).parsers
    generic = Builder(Database(), None, None)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "root"
        root.mkdir()
        for file in case["files"]:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text("")
        for file, text in case.get("nested", {}).items():
            (root / file).write_text(text)
        if case.get("git"):
            (root / ".git").mkdir()
        for name in ["gitignore", "cgcignore"]:
            if name in case:
                (root / f".{name}").write_bytes(case[name].encode())
        context = None
        if "context" in case:
            context = root.parent / "context"
            context.write_bytes(case["context"].encode())
        if "directories" in case:
            os.environ["IGNORE_DIRS"] = case["directories"]
        else:
            os.environ.pop("IGNORE_DIRS", None)
        files, _ = discover_files_to_index(root, context and str(context), set(parsers))
        bare = lambda f: f.suffix in generic.generic_extensions or f.name in generic.generic_filenames
        return {str(f.relative_to(root)): "bare" if bare(f) else "parsed" for f in files}


def main():
    assert version("codegraphcontext") == "0.6.13", version("codegraphcontext")
    answered = [json.dumps(case | {"indexed": ask(case)}, sort_keys=True) for case in cases()]
    sys.stdout.write("[\n" + ",\n".join(answered) + "\n]\n")


main()
