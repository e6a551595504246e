"""The part of Cypher that cgc's writer uses, run on a graph in memory.

Responsible for: doing to a MemoryGraph what the database would have done, one query text at a time, and for
refusing (UnknownQuery) every shape that it does not know. Must never: guess.
"""

import re

from memory_graph import Node


class UnknownQuery(Exception):
    """A query shape that this interpreter does not know; whoever asked falls back to a slower way."""


_TOKEN = re.compile(
    r"""\s+|(?P<text>'[^']*'|"[^"]*")|(?P<parameter>\$\w+)|(?P<number>-?\d+)|(?P<name>`\w+`|\w+)"""
    r"""|(?P<sign><=|>=|\+=|->|[()\[\]{}:,.=<>\-])"""
)


def compile_query(text, schema):
    """A callable `run(graph, parameters) -> list of environments`.

    Raises UnknownQuery for an unknown shape and BinderError where a typed database would.
    """
    return _Compiler(text, schema).compile()


class _Compiler:
    def __init__(self, text, schema):
        self.text = text
        self.schema = schema
        self.labels = {}
        self.kinds = {}
        self.tokens = self._tokenize(text)
        self.at = 0

    def compile(self):
        unwind, steps = None, []
        while self.at < len(self.tokens):
            word = self._take().upper()
            if word == "UNWIND" and unwind is None and not steps:
                parameter = self._take()[1:]
                self._expect("AS")
                unwind = (parameter, self._take())
            elif word == "MATCH":
                steps.append(self._match())
            elif word == "WHERE":
                steps.append(self._where())
            elif word == "MERGE":
                steps.append(self._merge())
            elif word == "SET":
                steps.append(self._set())
            elif word == "RETURN":
                self.at = len(self.tokens)
            else:
                raise UnknownQuery(f"{word} in: {' '.join(self.text.split())[:160]}")
        return _plan(unwind, steps, self.schema.typed)

    def _tokenize(self, text):
        tokens, at = [], 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise UnknownQuery(f"{text[at:at + 20]!r} in: {' '.join(text.split())[:160]}")
            at = found.end()
            if found.lastgroup is not None:
                tokens.append(found.group().strip("`"))
        return tokens

    def _peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self):
        token = self._peek()
        if not token:
            raise UnknownQuery(f"unexpected end of: {' '.join(self.text.split())[:160]}")
        self.at += 1
        return token

    def _accept(self, token):
        if self._peek().upper() == token:
            self.at += 1
            return True
        return False

    def _expect(self, token):
        if not self._accept(token):
            raise UnknownQuery(f"expected {token} in: {' '.join(self.text.split())[:160]}")

    def _node(self):
        """`(variable:Label {name: value})` or `(variable)`: variable, label or None, pairs."""
        self._expect("(")
        variable = self._take()
        if self._accept(")"):
            return variable, None, []
        self._expect(":")
        label = self._take()
        self.schema.check_label(label)
        self.labels[variable] = label
        pairs = self._pairs()
        self._expect(")")
        for name, _ in pairs:
            self.schema.check_property(label, name)
        return variable, label, pairs

    def _pairs(self):
        pairs = []
        if self._accept("{"):
            while True:
                name = self._take()
                self._expect(":")
                pairs.append((name, self._expression()))
                if not self._accept(","):
                    break
            self._expect("}")
        return pairs

    def _match(self):
        variable, label, pairs = self._node()
        if label is None or self._peek() in ("-", ",", "<"):
            raise UnknownQuery(f"pattern in: {' '.join(self.text.split())[:160]}")

        def step(graph, environments, parameters):
            found = []
            for environment in environments:
                wanted = {name: value(environment, parameters) for name, value in pairs}
                for node in graph.find(label, wanted):
                    found.append({**environment, variable: node})
            return found

        return step

    def _where(self):
        condition = self._expression()

        def step(graph, environments, parameters):
            return [each for each in environments if condition(each, parameters) is True]

        return step

    def _merge(self):
        variable, label, pairs = self._node()
        if self._accept("-"):
            return self._merge_edge(variable)
        if label is None:
            raise UnknownQuery(f"MERGE in: {' '.join(self.text.split())[:160]}")
        schema = self.schema
        columns = schema.columns[label] if schema.typed else None

        def step(graph, environments, parameters):
            for environment in environments:
                key = {n: schema.stored(columns, n, value(environment, parameters)) for n, value in pairs}
                _refuse_null(key, label)
                nodes = graph.find(label, key) or [graph.add(label, key)]
                environment[variable] = nodes[0]
            return environments

        return step

    def _merge_edge(self, source):
        self._expect("[")
        variable = None if self._peek() == ":" else self._take()
        self._expect(":")
        kind = self._take()
        pairs = self._pairs()
        self._expect("]")
        self._expect("->")
        target, label, _ = self._node()
        if label is not None or target not in self.labels or source not in self.labels:
            raise UnknownQuery(f"MERGE in: {' '.join(self.text.split())[:160]}")
        schema = self.schema
        schema.check_edge(kind, self.labels[source], self.labels[target], [name for name, _ in pairs])
        if variable is not None:
            self.kinds[variable] = kind
        columns = schema.edge_columns.get(kind)

        def step(graph, environments, parameters):
            for environment in environments:
                key = {n: schema.stored(columns, n, value(environment, parameters)) for n, value in pairs}
                _refuse_null(key, kind)
                edge = graph.merge_edge(kind, environment[source], environment[target], key)
                if variable is not None:
                    environment[variable] = edge
            return environments

        return step

    def _set(self):
        assignments = []
        while True:
            variable = self._take()
            if self._accept("+="):
                assignments.append(self._set_map(variable, self._take()))
            else:
                self._expect(".")
                name = self._take()
                self._expect("=")
                assignments.append(self._set_one(variable, name, self._expression()))
            if not self._accept(","):
                break

        def step(graph, environments, parameters):
            # Every value is computed before the first is stored: FalkorDB's SET never sees what it has set.
            stores = [assign(graph, each, parameters) for each in environments for assign in assignments]
            for store in stores:
                store()
            return environments

        return step

    def _set_map(self, variable, source):
        label, schema = self.labels[variable], self.schema
        columns = schema.columns[label] if schema.typed else None

        def assign(graph, environment, _parameters):
            node = environment[variable]
            values = [(name, schema.stored(columns, name, value)) for name, value in environment[source].items()
                      if columns is None or name in columns]
            return lambda: [graph.set_property(node, name, value) for name, value in values]

        return assign

    def _set_one(self, variable, name, value):
        schema = self.schema
        if variable in self.labels:
            columns = schema.columns[self.labels[variable]] if schema.typed else None
            if columns is not None and name not in columns:
                if "UNWIND" in self.text:
                    return lambda graph, environment, parameters: lambda: None
                schema.check_property(self.labels[variable], name)
        elif variable in self.kinds:
            columns = schema.edge_columns.get(self.kinds[variable])
            if columns is not None and name not in columns:
                schema.check_property(self.kinds[variable], name)
        else:
            raise UnknownQuery(f"SET {variable} in: {' '.join(self.text.split())[:160]}")

        def assign(graph, environment, parameters):
            item = environment[variable]
            stored = schema.stored(columns, name, value(environment, parameters))
            if isinstance(item, Node):
                return lambda: graph.set_property(item, name, stored)
            return lambda: graph.put(item.properties, name, stored)

        return assign

    def _expression(self):
        terms = [self._conjunction()]
        while self._accept("OR"):
            terms.append(self._conjunction())
        return terms[0] if len(terms) == 1 else _three_valued(terms, True)

    def _conjunction(self):
        terms = [self._comparison()]
        while self._accept("AND"):
            terms.append(self._comparison())
        return terms[0] if len(terms) == 1 else _three_valued(terms, False)

    def _comparison(self):
        left = self._operand()
        word = self._peek().upper()
        if word in _COMPARE:
            self.at += 1
            return _compare(_COMPARE[word], left, self._operand())
        if word in ("STARTS", "ENDS"):
            self.at += 1
            self._expect("WITH")
            test = str.startswith if word == "STARTS" else str.endswith
            return _compare(test, left, self._operand())
        if word == "IS":
            self.at += 1
            negated = self._accept("NOT")
            self._expect("NULL")
            return lambda environment, parameters: (left(environment, parameters) is None) != negated
        return left

    def _operand(self):
        token = self._take()
        if token == "(":
            inner = self._expression()
            self._expect(")")
            return inner
        if token[0] in "'\"":
            return lambda environment, parameters, value=token[1:-1]: value
        if token[0] == "$":
            return lambda environment, parameters, name=token[1:]: parameters.get(name)
        if re.fullmatch(r"-?\d+", token):
            return lambda environment, parameters, value=int(token): value
        if token.lower() == "coalesce":
            return self._coalesce()
        self._expect(".")
        name = self._take()
        if token in self.labels:
            self.schema.check_property(self.labels[token], name)

        def read(environment, parameters):
            item = environment[token]
            return (item if isinstance(item, dict) else item.properties).get(name)

        return read

    def _coalesce(self):
        self._expect("(")
        choices = [self._expression()]
        while self._accept(","):
            choices.append(self._expression())
        self._expect(")")

        def first(environment, parameters):
            values = (choice(environment, parameters) for choice in choices)
            return next((value for value in values if value is not None), None)

        return first


_COMPARE = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _compare(test, left, right):
    def run(environment, parameters):
        a, b = left(environment, parameters), right(environment, parameters)
        return None if a is None or b is None else test(a, b)

    return run


def _three_valued(terms, deciding):
    def run(environment, parameters):
        unknown = False
        for term in terms:
            value = term(environment, parameters)
            if value is deciding:
                return deciding
            unknown = unknown or value is None
        return None if unknown else not deciding

    return run


def _refuse_null(key, of):
    for name, value in key.items():
        if value is None:
            raise UnknownQuery(f"{of} merged on {name} without a value, which databases treat differently")


def _plan(unwind, steps, row_by_row):
    """cgc sends a typed database one row at a time where order matters; FalkorDB takes each clause for all rows."""

    def run(graph, parameters):
        if unwind is None:
            return _through(steps, graph, [{}], parameters)
        if not row_by_row:
            return _through(steps, graph, [{unwind[1]: row} for row in parameters[unwind[0]]], parameters)
        last = []
        for row in parameters[unwind[0]]:
            last = _through(steps, graph, [{unwind[1]: row}], parameters) or last
        return last

    return run


def _through(steps, graph, environments, parameters):
    for step in steps:
        environments = step(graph, environments, parameters)
        if not environments:
            break
    return environments
