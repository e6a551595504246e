"""Syncs, or compares, the graph of one repository with its tree: one JSON request in, one JSON answer out.

Run by cgc's own interpreter as `python DIRECTORY`. Responsible for the protocol: request on stdin, progress lines
`{"progress": …}` and one last line `{"status": …}` on stdout, exit code 0 only for success. Must never: print
anything else to stdout (cgc's own chatter goes to stderr), or leave the database open.

Request: {"protocol": 1, "mode": "probe" | "sync" | "verify", "root": PATH, "context": NAME or null,
"cache": PATH or null}. Paths are percent-encoded bytes. The database is chosen by the environment, as for cgc.
What changed is not taken from the request but found by content, so that a wrong list cannot make a wrong graph.

Status: "ok" (probe: usable; sync: the stored graph was read again and equals a fresh index; verify: it equals
one), "different" (verify only), "unindexed", "unsupported", "interrupted", "failed".

A crash while Kùzu is being written leaves the graph as it was (one transaction); on a FalkorDB server it may leave
a part of the difference, which the next run finds and completes.
"""

import contextlib
import json
import os
import signal
import sys
import time
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path

PROTOCOL = 1
_MOST_NAMED = 200


class Interrupted(BaseException):
    """SIGINT or SIGTERM: BaseException, so that no handler of cgc's takes it for a file that failed."""


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="surrogateescape")
    os.dup2(2, 1)  # cgc prints to stdout; only answers may go there
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    run = Run(answers)
    try:
        answer = run.carry_out(json.load(sys.stdin))
    except Interrupted:
        answer = {"status": "interrupted"}
    except BaseException as error:  # the caller reads one line, whatever happened
        answer = {"status": _status_of(error), "why": f"{type(error).__name__}: {error}"}
    run.say({**answer, "timings": run.timings})
    return 0 if answer["status"] == "ok" else 1


def _interrupt(_number, _frame):
    raise Interrupted


def _status_of(error):
    return "unsupported" if type(error).__name__ in ("UnsupportedCgc", "UnsupportedGraph") else "failed"


class Run:
    """One request carried out."""

    def __init__(self, answers):
        self._answers = answers
        self.timings = {}
        self._since = time.monotonic()

    def say(self, value):
        self._answers.write(json.dumps(value) + "\n")
        self._answers.flush()

    def _done(self, phase):
        now = time.monotonic()
        self.timings[phase] = round(now - self._since, 3)
        self._since = now
        self.say({"progress": phase})

    def carry_out(self, request):
        if request.get("protocol") != PROTOCOL:
            return {"status": "unsupported", "why": f"protocol {request.get('protocol')}"}
        from installed_cgc import InstalledCgc

        cgc = InstalledCgc()
        self._done("import")
        if request["mode"] == "probe":
            return {"status": "ok", "cgc": cgc.version}
        if request["mode"] not in ("sync", "verify"):
            return {"status": "unsupported", "why": f"mode {request['mode']}"}
        root = Path(_path(request["root"])).resolve()
        try:
            cgc.open(root, request.get("context"))
            self._done("open")
            cache = _path(request["cache"]) if request.get("cache") else None
            return self._compare(cgc, root, cache, writing=request["mode"] == "sync")
        finally:
            cgc.close()

    def _compare(self, cgc, root, cache_directory, writing):
        from parsed_files import ParsedFiles
        from stored_graph import Difference, FalkorStore, KuzuStore

        with cgc.session() as session:
            store = (KuzuStore if cgc.embedded else FalkorStore)(session, root.as_posix())
            store.check_neighbours()
            schema = store.schema()
            cache = ParsedFiles(cache_directory, root.as_posix(), cgc.fingerprint())
            wanted = _wanted(cgc, root, schema, cache, writing)
            self._done("compute")
            cache.save()
            self._done("cache")
            stored = store.read()
            self._done("read")
            if ("Repository", root.as_posix()) not in stored.nodes:
                return {"status": "unindexed"}
            difference = _without_provenance(Difference(stored, wanted), root)
            answer = {"cgc": cgc.version, "backend": cgc.backend, "counts": difference.counts(),
                      "parsed": cache.misses, "from_cache": cache.hits, "cache_error": cache.error,
                      **_by_file(stored, wanted, difference)}
            if not writing:
                return {**answer, **_named(difference), "status": "different" if difference else "ok"}
            if difference:
                store.apply(difference)
            store.set_repository(datetime.now(timezone.utc).isoformat(), cgc.commit_hash(root))
            self._done("write")
            left = _without_provenance(Difference(store.read() if difference else stored, wanted), root) if difference else None
            self._done("proof")
            if left:
                return {**answer, **_named(left), "status": "failed", "why": "the graph differs after it was written"}
            return {**answer, "status": "ok"}


def _path(text):
    return os.fsdecode(urllib.parse.unquote_to_bytes(text))


def _wanted(cgc, root, schema, cache, writing):
    import wanted_graph

    ignore = root / ".cgcignore"
    made_here = not ignore.exists()
    try:
        return wanted_graph.build(cgc, root, cgc.context.cgcignore_path, schema, cache)
    finally:
        if made_here and not writing:  # cgc's discovery writes it where there is none; a comparison writes nothing
            with contextlib.suppress(OSError):
                ignore.unlink(missing_ok=True)


def _without_provenance(difference, root):
    """`indexed_at` and `commit_hash` say when an index was made, not what it holds: no drift, but set by a sync."""
    changes = difference.change_nodes.get(("Repository", root.as_posix()))
    if changes is not None:
        for name in ("indexed_at", "commit_hash"):
            changes.pop(name, None)
        if not changes:
            del difference.change_nodes[("Repository", root.as_posix())]
    return difference


def _by_file(stored, wanted, difference):
    added = {key[1] for key in difference.create_nodes if key[0] == "File" and key not in stored.nodes}
    deleted = {key[1] for key in difference.delete_nodes if key[0] == "File" and key not in wanted.nodes}
    touched = {key[2] for part in (difference.create_nodes, difference.delete_nodes, difference.change_nodes)
               for key in part if len(key) > 2}
    return {"files": {"added": len(added), "deleted": len(deleted), "changed": len(touched - added - deleted)}}


def _named(difference):
    """The differences by name, at most _MOST_NAMED of each sort."""
    return {"differences": {
        "missing_nodes": sorted(map(repr, difference.create_nodes))[:_MOST_NAMED],
        "surplus_nodes": sorted(map(repr, difference.delete_nodes))[:_MOST_NAMED],
        "changed_nodes": sorted(f"{key!r}: {', '.join(sorted(names))}" for key, names in difference.change_nodes.items())[:_MOST_NAMED],
        "missing_edges": sorted(map(repr, difference.create_edges))[:_MOST_NAMED],
        "surplus_edges": sorted(map(repr, difference.delete_edges))[:_MOST_NAMED],
    }}


if __name__ == "__main__":
    # os._exit: the embedded engine's threads must not hold up a process whose database is closed.
    code = main()
    sys.stderr.flush()
    os._exit(code)
