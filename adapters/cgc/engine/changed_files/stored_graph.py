"""The graph of one repository as the database holds it: read it, and write a difference to it.

Responsible for: which nodes and edges belong to the repository, and for changing exactly those. Must never:
touch a node or an edge of another repository in the same database, or decide what the graph should be.
"""

from memory_graph import Schema

SHARED = ("Module", "ExternalClass")
"""Labels whose nodes cgc keys on the name alone, so that repositories in one database share them."""

_BY_PATH = ("Repository", "File", "Directory")
_POSITIONAL = (
    "Function Class Trait Variable Interface Macro Struct Enum Union Record Property Mixin Extension Object EnumMember"
).split()

IDENTITY = {
    **{label: ("path",) for label in _BY_PATH},
    **{label: ("name",) for label in SHARED},
    **{label: ("name", "path", "line_number", "occurrence_index") for label in _POSITIONAL},
    "Parameter": ("name", "path", "function_line_number"),
}
"""What cgc 0.6.13's writer merges nodes of each label on; labels that are not here are not supported."""

_ROWS_PER_QUERY = 1000


class UnsupportedGraph(Exception):
    """The database holds something that this program does not know how to keep apart or compare."""


def key_of(label, properties):
    """The identity of a node: its label and the properties that cgc merges it on."""
    return (label, *(properties.get(name) for name in IDENTITY[label]))


def owned(key, prefix):
    """Whether a node's key says that it belongs to the repository whose paths start with `prefix`."""
    label = key[0]
    if label in SHARED:
        return False
    path = key[1] if label in _BY_PATH else key[2]
    return path is not None and (path + "/").startswith(prefix)


class Content:
    """Nodes by key, edges by (source key, kind, target key); `duplicates` are keys that more than one node has."""

    def __init__(self):
        self.nodes = {}
        self.edges = {}
        self.duplicates = set()
        self.foreign = set()

    def add_node(self, key, properties):
        if key in self.nodes:
            self.duplicates.add(key)
        self.nodes[key] = properties

    def add_edge(self, source, kind, target, properties):
        self.edges.setdefault((source, kind, target), []).append(properties)


class Difference:
    """What has to happen to a stored graph so that it equals the wanted one."""

    def __init__(self, stored, wanted):
        self.delete_nodes, self.create_nodes, self.change_nodes = set(stored.duplicates), {}, {}
        for key, properties in wanted.nodes.items():
            if key not in stored.nodes or key in stored.duplicates:
                self.create_nodes[key] = properties
            elif key in stored.foreign:
                continue
            elif changes := _changes(stored.nodes[key], properties):
                self.change_nodes[key] = changes
        self.delete_nodes |= {key for key in stored.nodes if key not in wanted.nodes and key not in stored.foreign}
        self.delete_edges, self.create_edges = set(), {}
        for pair, edges in wanted.edges.items():
            there = [] if self._detached(pair) else stored.edges.get(pair, [])
            if not _same_edges(there, edges):
                self.create_edges[pair] = edges
                if there:
                    self.delete_edges.add(pair)
        for pair in stored.edges:
            if pair not in wanted.edges or self._detached(pair):
                self.delete_edges.add(pair)

    def _detached(self, pair):
        return pair[0] in self.delete_nodes or pair[2] in self.delete_nodes

    def __bool__(self):
        return any((self.delete_nodes, self.create_nodes, self.change_nodes, self.delete_edges, self.create_edges))

    def counts(self):
        return {
            "nodes_deleted": len(self.delete_nodes),
            "nodes_created": len(self.create_nodes),
            "nodes_changed": len(self.change_nodes),
            "edge_pairs_deleted": len(self.delete_edges),
            "edge_pairs_created": len(self.create_edges),
        }


def _changes(stored, wanted):
    changes = {name: value for name, value in wanted.items() if stored.get(name) != value}
    changes.update({name: None for name in stored if name not in wanted})
    return changes


def _same_edges(left, right):
    return len(left) == len(right) and sorted(map(_sortable, left)) == sorted(map(_sortable, right))


def _sortable(properties):
    return sorted((name, repr(value)) for name, value in properties.items())


class _Store:
    """What both backends share. `root` is the repository's path as cgc stores it."""

    def __init__(self, session, root):
        self.session = session
        self.root = root
        self.prefix = root.rstrip("/") + "/"

    def check_neighbours(self):
        """Raises UnsupportedGraph where another repository lies inside this one or around it: files would be shared."""
        for (path,) in self.rows("MATCH (r:Repository) RETURN r.path", {}):
            if path and path != self.root and ((path + "/").startswith(self.prefix) or self.root.startswith(path + "/")):
                raise UnsupportedGraph(f"the repository {path} overlaps with {self.root} in the same database")

    def apply(self, difference):
        """Writes the difference; where the backend has transactions, all of it or nothing."""
        self.begin()
        try:
            self._apply(difference)
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def set_repository(self, indexed_at, commit_hash):
        """Says when, and at which commit, the graph was last known to equal the tree, as a fresh index would."""
        assignments = "r.indexed_at = $indexed_at" + (", r.commit_hash = $commit_hash" if commit_hash else "")
        parameters = {"path": self.root, "indexed_at": indexed_at}
        if commit_hash:
            parameters["commit_hash"] = commit_hash
        self.rows(f"MATCH (r:Repository {{path: $path}}) SET {assignments}", parameters)

    def _apply(self, difference):
        # Edges first and each by itself: Kùzu 0.11.3 keeps some of the edges of a node that DETACH DELETE takes,
        # and a plain DELETE refuses to take a node that still has one.
        for (source, kind, target), pairs in _grouped(difference.delete_edges):
            match = f"MATCH {self.pattern('a', source, 's')}-[r:`{kind}`]->{self.pattern('b', target, 't')}"
            rows = [{**self.key_row("s", a), **self.key_row("t", b)} for a, _, b in pairs]
            self._batched(f"UNWIND $rows AS row {match} DELETE r", rows)
        for label, keys in _by_label(difference.delete_nodes):
            rows = [self.key_row("k", key) for key in keys]
            self._batched(f"UNWIND $rows AS row MATCH {self.pattern('n', label, 'k')} DELETE n", rows)
        self._write_nodes(difference.create_nodes, "CREATE (n:`{label}` {{{fields}}})")
        self._change_nodes(difference.change_nodes)
        self._create_edges(difference.create_edges)

    def _write_nodes(self, nodes, template):
        groups = {}
        for key, properties in nodes.items():
            stored = self.with_primary_key(key, properties)
            groups.setdefault((key[0], tuple(sorted(stored))), []).append(stored)
        for (label, names), rows in groups.items():
            fields = ", ".join(f"`{name}`: row.`{name}`" for name in names)
            self._batched("UNWIND $rows AS row " + template.format(label=label, fields=fields), rows)

    def _change_nodes(self, changes):
        groups = {}
        for key, changed in changes.items():
            removed = tuple(sorted(name for name, value in changed.items() if value is None))
            kept = {name: value for name, value in changed.items() if value is not None}
            row = {**self.key_row("k", key), **{f"v_{name}": value for name, value in kept.items()}}
            groups.setdefault((key[0], tuple(sorted(kept)), removed), []).append(row)
        for (label, kept, removed), rows in groups.items():
            sets = [f"n.`{name}` = row.`v_{name}`" for name in kept] + [f"n.`{name}` = NULL" for name in removed]
            match = f"UNWIND $rows AS row MATCH {self.pattern('n', label, 'k')}"
            self._batched(f"{match} SET {', '.join(sets)}", rows)

    def _create_edges(self, edges):
        groups = {}
        for (source, kind, target), parallel in edges.items():
            for properties in parallel:
                row = {**self.key_row("s", source), **self.key_row("t", target)}
                row.update({f"v_{name}": value for name, value in properties.items()})
                groups.setdefault((source[0], kind, target[0], tuple(sorted(properties))), []).append(row)
        for (source, kind, target, names), rows in groups.items():
            fields = ", ".join(f"`{name}`: row.`v_{name}`" for name in names)
            match = f"UNWIND $rows AS row MATCH {self.pattern('a', source, 's')} MATCH {self.pattern('b', target, 't')}"
            self._batched(f"{match} CREATE (a)-[r:`{kind}` {{{fields}}}]->(b)", rows)

    def _batched(self, query, rows):
        for start in range(0, len(rows), _ROWS_PER_QUERY):
            self.rows(query, {"rows": rows[start : start + _ROWS_PER_QUERY]})


class KuzuStore(_Store):
    """An embedded database of the Kùzu kind: typed tables, primary keys, transactions."""

    def rows(self, query, parameters):
        result = self.session.conn.execute(query, parameters)
        found = []
        while result.has_next():
            found.append(result.get_next())
        return found

    def schema(self):
        columns, edge_columns, connections = {}, {}, {}
        for _, name, kind, *_ in self.rows("CALL SHOW_TABLES() RETURN *", {}):
            types = {row[1]: row[2] for row in self.rows(f"CALL TABLE_INFO('{name}') RETURN *", {})}
            if kind == "NODE":
                columns[name] = types
            else:
                edge_columns[name] = types
                pairs = self.rows(f"CALL SHOW_CONNECTION('{name}') RETURN *", {})
                connections[name] = {(row[0], row[1]) for row in pairs}
        self._connections = connections
        return Schema(columns, edge_columns, connections)

    def read(self):
        content, keys = Content(), {}
        for label in IDENTITY:
            self._read_nodes(content, keys, label)
        for kind, connections in self._connections.items():
            self._read_edges(content, keys, kind, connections)
        return content

    def _read_nodes(self, content, keys, label):
        where, parameters = "", {}
        if label not in SHARED:
            where, parameters = "WHERE n.path STARTS WITH $prefix OR n.path = $root", {"prefix": self.prefix, "root": self.root}
        for (node,) in self.rows(f"MATCH (n:`{label}`) {where} RETURN n", parameters):
            place = node["_id"]
            properties = {k: v for k, v in node.items() if v is not None and k not in ("_id", "_label", "uid")}
            key = key_of(label, properties)
            keys[place["table"], place["offset"]] = key
            content.add_node(key, properties)

    def _read_edges(self, content, keys, kind, connections):
        known = [pair for pair in connections if pair[0] in IDENTITY and pair[1] in IDENTITY]
        for shared in (False, True):
            pairs = [pair for pair in known if (pair[0] in SHARED or pair[1] in SHARED) is shared]
            if pairs:
                self._read_edges_between(content, keys, kind, pairs, shared)

    def _read_edges_between(self, content, keys, kind, pairs, shared):
        sources = ":".join(sorted({f"`{source}`" for source, _ in pairs}))
        targets = ":".join(sorted({f"`{target}`" for _, target in pairs}))
        where, parameters = "", {}
        if not shared:  # where a shared node takes part, other repositories' edges count too
            where = "WHERE a.path STARTS WITH $prefix OR a.path = $root OR b.path STARTS WITH $prefix"
            parameters = {"prefix": self.prefix, "root": self.root}
        for (edge,) in self.rows(f"MATCH (a:{sources})-[r:`{kind}`]->(b:{targets}) {where} RETURN r", parameters):
            source = keys.get((edge["_src"]["table"], edge["_src"]["offset"]))
            target = keys.get((edge["_dst"]["table"], edge["_dst"]["offset"]))
            if not shared and None in (source, target):
                raise UnsupportedGraph(f"a {kind} edge of {source or target} has lost the node at its other end")
            shared_end = any(key is not None and key[0] in SHARED for key in (source, target))
            if shared_end is shared:  # the label sets multiply out to pairs of the other pass
                properties = {k: v for k, v in edge.items() if v is not None and not k.startswith("_")}
                _place_edge(content, self.prefix, source, kind, target, properties)

    def pattern(self, variable, label, prefix):
        return f"({variable}:`{label}` {{{_primary_key(label)}: row.{prefix}_0}})"

    def key_row(self, prefix, key):
        return {f"{prefix}_0": "".join(map(str, key[1:]))}

    def with_primary_key(self, key, properties):
        return properties if _primary_key(key[0]) != "uid" else {**properties, "uid": "".join(map(str, key[1:]))}

    def begin(self):
        self.rows("BEGIN TRANSACTION", {})

    def commit(self):
        self.rows("COMMIT", {})

    def rollback(self):
        self.rows("ROLLBACK", {})


class FalkorStore(_Store):
    """A FalkorDB server: no types, no uniqueness, each query atomic by itself."""

    def rows(self, query, parameters):
        return self.session.graph.query(query, parameters).result_set

    def schema(self):
        return Schema()

    def read(self):
        content, keys = Content(), {}
        for label in IDENTITY:
            where = "" if label in SHARED else "WHERE n.path STARTS WITH $prefix OR n.path = $root"
            parameters = {} if label in SHARED else {"prefix": self.prefix, "root": self.root}
            for (node,) in self.rows(f"MATCH (n:`{label}`) {where} RETURN n", parameters):
                key = key_of(label, node.properties)
                keys[node.id] = key
                content.add_node(key, node.properties)
        shared = " OR ".join(f"{end}:{label}" for end in "ab" for label in SHARED)
        where = f"WHERE a.path STARTS WITH $prefix OR a.path = $root OR {shared}"
        parameters = {"prefix": self.prefix, "root": self.root}
        for (edge,) in self.rows(f"MATCH (a)-[r]->(b) {where} RETURN r", parameters):
            source, target = keys.get(edge.src_node), keys.get(edge.dest_node)
            _place_edge(content, self.prefix, source, edge.relation, target, edge.properties)
        return content

    def pattern(self, variable, label, prefix):
        fields = ", ".join(f"{name}: row.{prefix}_{at}" for at, name in enumerate(IDENTITY[label]))
        return f"({variable}:`{label}` {{{fields}}})"

    def key_row(self, prefix, key):
        return {f"{prefix}_{at}": value for at, value in enumerate(key[1:])}

    def with_primary_key(self, key, properties):
        return properties

    def begin(self):
        """No transactions: a run that dies half way is found by the next comparison."""

    commit = rollback = begin


def _primary_key(label):
    return IDENTITY[label][0] if len(IDENTITY[label]) == 1 else "uid"


def _place_edge(content, prefix, source, kind, target, properties):
    """Files an edge under this repository, or marks the shared node at its end as used by another one."""
    ours = (source is not None and owned(source, prefix)) or (target is not None and owned(target, prefix))
    if ours and source is not None and target is not None:
        content.add_edge(source, kind, target, properties)
        return
    content.foreign.update(key for key in (source, target) if key is not None and key[0] in SHARED)


def _grouped(pairs):
    groups = {}
    for pair in pairs:
        groups.setdefault((pair[0][0], pair[1], pair[2][0]), []).append(pair)
    return groups.items()


def _by_label(keys):
    groups = {}
    for key in keys:
        groups.setdefault(key[0], []).append(key)
    return groups.items()
