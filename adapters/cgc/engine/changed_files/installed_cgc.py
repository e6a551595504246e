"""The cgc that this interpreter belongs to: what is used of it, and whether it has the shape that is known.

Responsible for: every name that this program takes from cgc's package. Must never: let an unknown version or
shape through; the list of versions grows only when the equality tests pass with one.
"""

import contextlib
import importlib.metadata
import importlib.util
import inspect
from pathlib import Path

SUPPORTED_VERSIONS = ("0.6.13",)
_EMBEDDED = ("kuzudb",)
_SERVERS = ("falkordb-remote",)


class UnsupportedCgc(Exception):
    """The installed cgc, its settings or its backend are not ones that this program is proved with."""


_SHAPES = {
    "run_tree_sitter_index_async": (
        "path is_dependency job_id cgcignore_path writer job_manager parsers get_parser parse_file "
        "add_minimal_file_node call_resolution_diagnostics index_summary"
    ),
    "pre_scan_for_imports": "files parsers_keys get_parser",
    "_initialize_services": "cli_context_flag cwd",
    "GraphWriter": "driver db_manager",
    "parse_file": "self repo_path path is_dependency",
}


class InstalledCgc:
    """cgc's package, imported and checked. `open` gives it a database; `close` takes it away again."""

    def __init__(self):
        self.version = importlib.metadata.version("codegraphcontext")
        if self.version not in SUPPORTED_VERSIONS:
            raise UnsupportedCgc(f"cgc {self.version} is not in the list of supported versions")
        try:
            from codegraphcontext.cli import cli_helpers, config_manager
            from codegraphcontext.tools.graph_builder import GraphBuilder
            from codegraphcontext.tools.indexing import pipeline
            from codegraphcontext.tools.indexing.persistence.writer import GraphWriter
            from codegraphcontext.utils import git_utils
        except ImportError as error:
            raise UnsupportedCgc(f"cgc's package lacks what is needed: {error}") from error
        self._pipeline = pipeline
        self._helpers = cli_helpers
        self._setting = config_manager.get_config_value
        self.GraphWriter = GraphWriter
        self.run_index = pipeline.run_tree_sitter_index_async
        self.pre_scan_for_imports = pipeline.pre_scan_for_imports
        self.commit_hash = git_utils.get_repo_commit_hash
        self._check_shapes(GraphBuilder.parse_file)
        self._check_settings()
        self.db_manager = self.builder = self.context = None

    def _check_shapes(self, parse_file):
        found = {
            "run_tree_sitter_index_async": self.run_index,
            "pre_scan_for_imports": self.pre_scan_for_imports,
            "_initialize_services": self._helpers._initialize_services,
            "GraphWriter": self.GraphWriter,
            "parse_file": parse_file,
        }
        for name, function in found.items():
            shape = " ".join(inspect.signature(function).parameters)
            if shape != _SHAPES[name]:
                raise UnsupportedCgc(f"{name} takes ({shape})")

    def _check_settings(self):
        for name in ("SCIP_INDEXER", "ENABLE_VECTOR_RESOLVE", "ENABLE_INHERIT_RESOLVE"):
            if (self._setting(name) or "false").lower() == "true":
                raise UnsupportedCgc(f"{name} is on, which changes an index in ways that are not computed here")

    def open(self, root, context):
        """Opens the database that `cgc` itself would open for `root`. Raises what cgc raises (a held lock)."""
        manager, builder, _, self.context = self._helpers._initialize_services(context, cwd=root)
        if manager is None or builder is None:
            raise UnsupportedCgc("cgc could not open its database")
        self.db_manager, self.builder = manager, builder
        if self.backend not in _EMBEDDED + _SERVERS:
            raise UnsupportedCgc(f"the backend {self.backend} is not one that this program is proved with")

    @property
    def backend(self):
        return self.db_manager.get_backend_type()

    @property
    def embedded(self):
        return self.backend in _EMBEDDED

    def normalise(self, value):
        """What cgc's session does to a parameter before the database sees it."""
        if not self.embedded:
            return value
        from codegraphcontext.core.database_embedded_kuzu import EmbeddedSessionWrapper

        return EmbeddedSessionWrapper._sanitize_value(value)

    def session(self):
        return self.db_manager.get_driver().session()

    @contextlib.contextmanager
    def patched_pre_scan(self, replacement):
        """cgc's pipeline with another pre-scan of the same meaning."""
        original = self._pipeline.pre_scan_for_imports
        self._pipeline.pre_scan_for_imports = replacement
        try:
            yield
        finally:
            self._pipeline.pre_scan_for_imports = original

    def fingerprint(self):
        """Everything, besides a file's bytes and path, that a parser's answer depends on."""
        grammars = [importlib.metadata.version("tree-sitter"), importlib.metadata.version("tree-sitter-language-pack")]
        grammars += sorted(_grammar_files())
        return {"cgc": self.version, "grammars": grammars, "source": self._setting("INDEX_SOURCE"), "format": 1}

    def close(self):
        if self.db_manager is not None:
            self.db_manager.close_driver()


def _grammar_files():
    """Name, size and time of each grammar library that the language pack can load, wherever it keeps them."""
    import os

    places = [os.environ.get("TREE_SITTER_LANGUAGE_PACK_LIBS_DIR")]
    version = importlib.metadata.version("tree-sitter-language-pack")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    places.append(cache / "tree-sitter-language-pack" / f"v{version}" / "libs")
    pack = importlib.util.find_spec("tree_sitter_language_pack")
    if pack is not None and pack.origin:
        places.append(Path(pack.origin).parent / "bindings")
    for place in filter(None, places):
        for library in Path(place).glob("*.so"):
            stat = library.stat()
            yield f"{library} {stat.st_size} {stat.st_mtime_ns}"
