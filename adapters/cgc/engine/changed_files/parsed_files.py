"""A cache of parsed files, by content, so that a sync parses only what changed.

Responsible for: handing out what cgc's parser said about the same bytes at the same path before, and for a file
that is private, bounded, replaced atomically and safe to delete. Must never: run anything that it reads
(JSON only), or hand out an entry made by another cgc, grammar or setting.
"""

import hashlib
import json
import os
import tempfile
from pathlib import Path

CACHED_LANGUAGES = ("python", "typescript", "tsx", "rust")
"""Languages whose parser and pre-scan look at nothing but the one file (read in cgc 0.6.13's source)."""

_LARGEST_FILE_BYTES = 256 * 1024 * 1024
_MOST_REPOSITORIES = 16
_TAGS = {"\u0000tuple": tuple, "\u0000set": set}


class NotJson(Exception):
    """A parser's answer that JSON cannot carry unchanged; it is parsed anew each time."""


def encode(value):
    """JSON values from a parser's answer, with tuples and sets told apart from lists."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"\u0000tuple": [encode(item) for item in value]}
    if isinstance(value, set):
        return {"\u0000set": [encode(item) for item in sorted(value)]}
    if isinstance(value, dict) and all(isinstance(key, str) and not key.startswith("\u0000") for key in value):
        return {key: encode(item) for key, item in value.items()}
    raise NotJson(type(value).__name__)


def _decode_object(found):
    if len(found) == 1:
        ((key, value),) = found.items()
        if key in _TAGS:
            return _TAGS[key](value)
    return found


class ParsedFiles:
    """Entries of one repository. `fingerprint` names everything, besides the bytes, that an answer depends on.

    `directory` None means no cache. A cache that cannot be read is an empty one; one that cannot be written is
    told in `error` and costs only time.
    """

    def __init__(self, directory, root, fingerprint):
        self.hits = self.misses = 0
        self.error = None
        self._fingerprint = fingerprint
        self._old, self._used, self._changed = {}, {}, False
        self._file = None
        if directory is not None:
            name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
            self._file = Path(directory) / f"parsed-{name}.jsonl"
            self._load()

    def get(self, path, content, make):
        """What `make()` answers for these bytes at this path, from the cache where it is there."""
        digest = hashlib.sha256(os.fsencode(path) + b"\0" + content).hexdigest()
        line = self._old.get(digest)
        if line is not None:
            try:
                value = json.loads(line, object_hook=_decode_object)
            except ValueError:
                self._changed = True
            else:
                self.hits += 1
                self._used[digest] = line
                return value
        self.misses += 1
        value = make()
        if self._file is not None:
            try:
                self._used[digest] = json.dumps(encode(value))
                self._changed = True
            except (NotJson, TypeError):
                pass
        return value

    def save(self):
        """Replaces the file by the entries that this run used. A crash leaves the old file or the new one."""
        if self._file is None or not (self._changed or len(self._used) != len(self._old)):
            return
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write()
            self._prune()
        except OSError as error:
            self.error = str(error)

    def _write(self):
        descriptor, temporary = tempfile.mkstemp(prefix=".parsed-", dir=self._file.parent)  # mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as out:
                size = out.write(json.dumps({"fingerprint": self._fingerprint}) + "\n")
                for digest, line in self._used.items():
                    size += out.write(f"{digest} {line}\n")
                    if size > _LARGEST_FILE_BYTES:
                        break
            os.replace(temporary, self._file)
        except BaseException:
            os.unlink(temporary)
            raise

    def _prune(self):
        files = sorted(self._file.parent.glob("parsed-*.jsonl"), key=lambda each: each.stat().st_mtime)
        for old in files[:-_MOST_REPOSITORIES]:
            old.unlink(missing_ok=True)

    def _load(self):
        try:
            if self._file.stat().st_size > 2 * _LARGEST_FILE_BYTES:
                return
            with open(self._file, encoding="ascii") as stored:
                if json.loads(stored.readline()) != {"fingerprint": self._fingerprint}:
                    return
                for line in stored:
                    digest, _, value = line.rstrip("\n").partition(" ")
                    self._old[digest] = value
        except (OSError, ValueError):
            self._old = {}
