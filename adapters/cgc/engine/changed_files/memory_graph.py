"""A property graph in memory that obeys the rules of the database it stands for.

Responsible for: nodes, edges and the look-ups that cgc's writer asks for, with every value in the form the
database would store. Must never: talk to a database, or know what a query looks like.
"""


class BinderError(Exception):
    """What a typed database answers to a label, property or connection it does not have.

    The text contains "Binder exception", which is what cgc 0.6.13's writer looks for before it skips a query.
    """

    def __init__(self, what):
        super().__init__(f"Binder exception: {what}")


class Node:
    """One node; `properties` holds no None, as no database stores one."""

    __slots__ = ("label", "properties")

    def __init__(self, label, properties):
        self.label = label
        self.properties = properties


class Edge:
    """One edge; parallel edges of one kind between two nodes differ in the properties they were merged on."""

    __slots__ = ("kind", "source", "target", "properties")

    def __init__(self, kind, source, target, properties):
        self.kind = kind
        self.source = source
        self.target = target
        self.properties = properties


class Schema:
    """What a typed database declares; `columns` is None where the database takes any property."""

    def __init__(self, columns=None, edge_columns=None, connections=None):
        self.columns = columns
        self.edge_columns = edge_columns or {}
        self.connections = connections or {}

    @property
    def typed(self):
        return self.columns is not None

    def check_property(self, label, name):
        if self.typed and name not in self.columns.get(label, ()):
            raise BinderError(f"cannot find property {name} for {label}")

    def check_label(self, label):
        if self.typed and label not in self.columns:
            raise BinderError(f"table {label} does not exist")

    def check_edge(self, kind, source, target, names):
        if not self.typed:
            return
        if (source, target) not in self.connections.get(kind, ()):
            raise BinderError(f"{kind} does not connect {source} with {target}")
        for name in names:
            if name not in self.edge_columns[kind]:
                raise BinderError(f"cannot find property {name} for {kind}")

    def stored(self, columns, name, value):
        """The form in which the database keeps `value`."""
        if value is None or not self.typed:
            return list(value) if isinstance(value, tuple) else value
        return _cast(columns[name], value)


def _cast(column, value):
    if column == "STRING":
        return value if isinstance(value, str) else _as_text(value)
    if column == "BOOL":
        return bool(value)
    if column.startswith("INT"):
        return int(value)
    if column == "DOUBLE":
        return float(value)
    if column == "STRING[]":
        return [_as_text(item) for item in value] if isinstance(value, (list, tuple)) else [_as_text(value)]
    return value


def _as_text(value):
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_as_text(item) for item in value) + "]"
    return str(value)


class MemoryGraph:
    """Nodes and edges with the indexes that cgc's writer needs."""

    def __init__(self, schema):
        self.schema = schema
        self.nodes = []
        self.edges = {}
        self._by_label = {}
        self._by_name_path = {}
        self._by_path = {}
        self._by_name = {}

    def find(self, label, wanted):
        """Nodes of `label` whose properties equal `wanted`; a None in `wanted` matches nothing, as in Cypher."""
        if None in wanted.values():
            return []
        name, path = wanted.get("name"), wanted.get("path")
        if name is not None and path is not None:
            candidates = self._by_name_path.get((label, name, path), ())
        elif path is not None:
            candidates = self._by_path.get((label, path), ())
        elif name is not None:
            candidates = self._by_name.get((label, name), ())
        else:
            candidates = self._by_label.get(label, ())
        rest = [(key, value) for key, value in wanted.items() if key not in ("name", "path")]
        if not rest:
            return list(candidates)
        return [node for node in candidates if all(node.properties.get(key) == value for key, value in rest)]

    def add(self, label, properties):
        """A new node. Raises UnicodeEncodeError for text that no database takes (a file name that is not UTF-8)."""
        for value in properties.values():
            if isinstance(value, str):
                value.encode()
        node = Node(label, dict(properties))
        self.nodes.append(node)
        self._by_label.setdefault(label, []).append(node)
        self._enter(node)
        return node

    def set_property(self, node, name, value):
        """Sets one property; None removes it, as both databases do."""
        if name in ("name", "path") and node.properties.get(name) != value:
            self._leave(node)
            self.put(node.properties, name, value)
            self._enter(node)
        else:
            self.put(node.properties, name, value)

    def merge_edge(self, kind, source, target, key):
        """The edge of `kind` whose properties contain `key`, made if there is none."""
        pair = self.edges.setdefault((id(source), kind, id(target)), [])
        for edge in pair:
            if all(edge.properties.get(name) == value for name, value in key.items()):
                return edge
        edge = Edge(kind, source, target, dict(key))
        pair.append(edge)
        return edge

    def all_edges(self):
        for pair in self.edges.values():
            yield from pair

    @staticmethod
    def put(properties, name, value):
        """Sets one property of a node or edge; None removes it."""
        if value is None:
            properties.pop(name, None)
        else:
            properties[name] = value

    def _keys(self, node):
        name, path = node.properties.get("name"), node.properties.get("path")
        yield self._by_name_path, (node.label, name, path)
        yield self._by_path, (node.label, path)
        yield self._by_name, (node.label, name)

    def _enter(self, node):
        for index, key in self._keys(node):
            index.setdefault(key, []).append(node)

    def _leave(self, node):
        for index, key in self._keys(node):
            index[key].remove(node)
