"""The graph that a fresh index of the tree would make, computed in memory by cgc's own pipeline.

Responsible for: running cgc's discovery, parsers, resolvers and writer, unchanged, against a graph in memory.
Must never: decide by itself what cgc would link, or touch the database.
"""

import asyncio

from cypher import UnknownQuery, compile_query
from memory_graph import BinderError, MemoryGraph
from parsed_files import CACHED_LANGUAGES
from stored_graph import IDENTITY, Content, UnsupportedGraph, key_of, owned


class _Session:
    """What cgc's writer takes for a database session."""

    def __init__(self, driver):
        self._driver = driver

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def run(self, query, **parameters):
        return self._driver.run(query, parameters)


class _Result:
    def __init__(self, environments):
        self._environments = environments

    def single(self):
        return self._environments[0] if self._environments else None

    def consume(self):
        return self


class MemoryDriver:
    """Stands where the database driver stands; `unknown` keeps the first query that nobody knew how to run.

    cgc's pipeline swallows a writer's errors file by file, so the caller has to look at `unknown` afterwards.
    """

    def __init__(self, graph, normalise):
        self.graph = graph
        self.unknown = None
        self._normalise = normalise
        self._plans = {}

    def session(self, **_):
        return _Session(self)

    def run(self, query, parameters):
        plan = self._plans.get(query)
        try:
            if plan is None:
                plan = self._plans[query] = self._compile(query)
            if isinstance(plan, BinderError):
                raise plan
            return _Result(plan(self.graph, {name: self._normalise(value) for name, value in parameters.items()}))
        except UnknownQuery as error:
            self.unknown = self.unknown or str(error)
            raise

    def _compile(self, query):
        try:
            return compile_query(query, self.graph.schema)
        except BinderError as error:
            return error


def build(cgc, root, cgcignore, schema, cache):
    """The Content of a fresh index of `root`. Raises UnsupportedGraph where that cannot be known in memory."""
    graph = MemoryGraph(schema)
    driver = MemoryDriver(graph, cgc.normalise)
    writer = cgc.GraphWriter(driver, db_manager=cgc.db_manager)
    parsed = _Parsed(cgc, root, cache)
    with cgc.patched_pre_scan(parsed.pre_scan):
        asyncio.run(
            cgc.run_index(root, False, None, cgcignore, writer, None, cgc.builder.parsers, cgc.builder.get_parser,
                          parsed.parse_file, writer.add_minimal_file_node)
        )
    if driver.unknown is not None:
        raise UnsupportedGraph(f"cgc's writer used a query that is not known here: {driver.unknown}")
    return _content(graph, root.as_posix())


class _Parsed:
    """cgc's parse and pre-scan of single files, through the cache."""

    def __init__(self, cgc, root, cache):
        self._cgc = cgc
        self._root = root
        self._cache = cache

    def parse_file(self, repository, path, is_dependency=False):
        return self._get("parse", path, lambda: self._cgc.builder.parse_file(repository, path, is_dependency))

    def pre_scan(self, files, extensions, get_parser):
        """cgc's pre_scan_for_imports, file by file: its merge is by extension, then by file, first come first."""
        by_extension = {}
        for path in files:
            extension = ".d.ts" if path.name.endswith(".d.ts") else path.suffix
            if extension in extensions:
                by_extension.setdefault(extension, []).append(path)
        imports = {}
        for paths in by_extension.values():
            for found in self._scans(paths, extensions, get_parser):
                for name, places in found.items():
                    known = imports.setdefault(name, [])
                    known.extend(place for place in dict.fromkeys(places) if place not in known)
        return imports

    def _scans(self, paths, extensions, get_parser):
        scan = self._cgc.pre_scan_for_imports
        if not self._cacheable(paths[0]):
            return [scan(paths, extensions, get_parser)]
        return [self._get("scan", path, lambda path=path: scan([path], extensions, get_parser)) for path in paths]

    def _get(self, what, path, make):
        if not self._cacheable(path):
            return make()
        try:
            content = path.read_bytes()
        except OSError:
            return make()
        return self._cache.get(f"{what}:{path}", content, make)

    def _cacheable(self, path):
        extension = ".d.ts" if path.name.endswith(".d.ts") else path.suffix
        return extension != ".ipynb" and self._cgc.builder.parsers.get(extension) in CACHED_LANGUAGES


def _content(graph, root):
    content, keys, prefix = Content(), {}, root.rstrip("/") + "/"
    for node in graph.nodes:
        if node.label not in IDENTITY:
            raise UnsupportedGraph(f"a fresh index would make {node.label} nodes, which are not supported")
        key = key_of(node.label, node.properties)
        if len(IDENTITY[node.label]) > 1 and (None in key or -1 in key):
            raise UnsupportedGraph(f"{node.label} {key[1]} in {key[2]} has no line number")
        if len(IDENTITY[node.label]) > 1 or node.label in ("File", "Directory", "Repository"):
            if not owned(key, prefix):
                raise UnsupportedGraph(f"{key} lies outside {root}")
        keys[id(node)] = key
        content.add_node(key, node.properties)
    for edge in graph.all_edges():
        source, target = keys[id(edge.source)], keys[id(edge.target)]
        if not (owned(source, prefix) or owned(target, prefix)):
            raise UnsupportedGraph(f"a fresh index would link {source} with {target}, which repositories share")
        content.add_edge(source, edge.kind, target, edge.properties)
    return content
