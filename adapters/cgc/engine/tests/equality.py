"""Proves that a synced graph equals a fresh index, for seeded edit scripts; run by cgc's own interpreter.

usage: equality.py --language L --backend kuzudb|falkordb-remote [--first N] [--seeds N] [--steps N]

Responsible for: indexing, editing, syncing through the program's own entry point and comparing whole dumps that are
read without the program's code. Must never: call a graph equal that it did not compare in full. Left out of the
comparison: `Repository.indexed_at`, which two fresh indexes of one tree do not agree on either.

For FalkorDB a server must listen at FALKORDB_HOST:FALKORDB_PORT; every index goes into a graph of its own there.
Prints one JSON line per seed and exits 1 if any graph differs.
"""

import argparse
import asyncio
import collections
import io
import json
import os
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True
_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "changed_files")]


def main():
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(HOME=f"{scratch}/home", DEFAULT_DATABASE=options.backend, CGC_IGNORE_PROJECT_ENV="1")
        Path(scratch, "home").mkdir()
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        failed = sum(not Cell(options, Path(scratch), answers).run(seed) for seed in options.seed_numbers)
        print(json.dumps({"cell": [options.language, options.backend], "seeds": len(options.seed_numbers),
                          "failed": failed}), file=answers, flush=True)
    return 1 if failed else 0


def _options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--language", required=True, choices=("python", "typescript", "rust"))
    parser.add_argument("--backend", required=True, choices=("kuzudb", "falkordb-remote"))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    options.seed_numbers = range(options.first, options.first + options.seeds)
    return options


class Cell:
    """One language on one backend."""

    def __init__(self, options, scratch, answers):
        self._options = options
        self._scratch = scratch
        self._answers = answers

    def run(self, seed):
        from edit_scripts import Repository

        place = self._scratch / f"seed{seed}"
        root = place / "repo"
        root.mkdir(parents=True)
        repository = Repository(root, self._options.language, seed)
        self._index(place / "synced", root)
        done = repository.edit(self._options.steps)
        began = time.monotonic()
        answer = self._program("sync", place, root)
        seconds = time.monotonic() - began
        synced = self._dump(place / "synced")
        self._index(place / "fresh", root)
        fresh = self._dump(place / "fresh")
        verified = self._program("verify", place, root)
        missing, surplus = fresh - synced, synced - fresh
        equal = not missing and not surplus and answer["status"] == "ok" and verified["status"] == "ok"
        line = {"seed": seed, "equal": equal, "edits": done, "seconds": round(seconds, 2), "items": fresh.total(),
                "written": answer.get("counts"), "from_cache": answer.get("from_cache")}
        if not equal:
            line.update(answer=answer, verified=verified, missing=sorted(missing)[:12], surplus=sorted(surplus)[:12])
        print(json.dumps(line), file=self._answers, flush=True)
        return equal

    def _program(self, mode, place, root):
        program = _program_module()
        self._choose(place / "synced")
        request = {"protocol": 1, "mode": mode, "root": urllib.parse.quote(str(root)), "context": None,
                   "cache": urllib.parse.quote(str(place / "cache"))}
        try:
            return program.Run(io.StringIO()).carry_out(request)
        except Exception as error:
            return {"status": "failed", "why": f"{type(error).__name__}: {error}"}

    def _choose(self, database):
        """Points cgc at one database: a file, or a graph of the server."""
        os.environ["CGC_RUNTIME_DB_PATH"] = str(database)
        os.environ["FALKORDB_GRAPH_NAME"] = str(database).replace("/", "_")
        from codegraphcontext.core.database_falkordb_remote import FalkorDBRemoteManager

        FalkorDBRemoteManager._instance = None

    def _open(self, database, root):
        from installed_cgc import InstalledCgc

        self._choose(database)
        cgc = InstalledCgc()
        cgc.open(root, None)
        return cgc

    def _index(self, database, root):
        cgc = self._open(database, root)
        try:
            asyncio.run(cgc.builder.build_graph_from_path_async(root, False, None, cgc.context.cgcignore_path))
        finally:
            cgc.close()

    def _dump(self, database):
        cgc = self._open(database, database.parent / "repo")
        try:
            with cgc.session() as session:
                return collections.Counter(_items(cgc, session))
        finally:
            cgc.close()


def _program_module():
    import importlib.util

    spec = importlib.util.spec_from_file_location("changed_files_program", _HERE.parent / "changed_files" / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _items(cgc, session):
    """Every node and every edge of the whole database as text."""
    nodes = {}
    if cgc.embedded:
        labels = [r[1] for r in _rows(session.conn.execute("CALL SHOW_TABLES() RETURN *")) if r[2] == "NODE"]
        for label in labels:
            for (node,) in _rows(session.conn.execute(f"MATCH (n:`{label}`) RETURN n")):
                place = (node["_id"]["table"], node["_id"]["offset"])
                nodes[place] = _text(label, {k: v for k, v in node.items() if k not in ("_id", "_label")})
        kinds = [r[1] for r in _rows(session.conn.execute("CALL SHOW_TABLES() RETURN *")) if r[2] == "REL"]
        edges = []
        for kind in kinds:
            for (edge,) in _rows(session.conn.execute(f"MATCH ()-[r:`{kind}`]->() RETURN r")):
                ends = [(edge[end]["table"], edge[end]["offset"]) for end in ("_src", "_dst")]
                edges.append((*ends, kind, {k: v for k, v in edge.items() if not k.startswith("_")}))
    else:
        for (node,) in session.graph.query("MATCH (n) RETURN n").result_set:
            nodes[node.id] = _text("|".join(node.labels), node.properties)
        edges = [(edge.src_node, edge.dest_node, edge.relation, edge.properties)
                 for (edge,) in session.graph.query("MATCH ()-[r]->() RETURN r").result_set]
    yield from nodes.values()
    for source, target, kind, properties in edges:
        yield f"{nodes.get(source, 'NO NODE')} -> {_text(kind, properties)} -> {nodes.get(target, 'NO NODE')}"


def _rows(result):
    found = []
    while result.has_next():
        found.append(result.get_next())
    return found


def _text(label, properties):
    kept = {k: v for k, v in properties.items() if v is not None and k != "indexed_at"}
    return f"{label} {json.dumps(kept, sort_keys=True, default=str)}"


if __name__ == "__main__":
    code = main()
    os._exit(code)
