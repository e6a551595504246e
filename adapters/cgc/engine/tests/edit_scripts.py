"""Seeded random repositories and edit scripts in Python, TypeScript and Rust.

Responsible for: trees whose files import, call and inherit across each other, and edits that a day's work brings.
Must never: use randomness that the seed does not decide, or know anything about the graph.
"""

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

_NAMES = "load save parse merge split check build fetch render update remove total index close open_it label".split()
_PLACES = ["", "core", "core/deep", "util", "odd [x] näme"]


@dataclass
class Function:
    name: str
    arguments: list
    calls: list
    nested: bool = False


@dataclass
class Class:
    name: str
    base: str = None
    methods: list = field(default_factory=list)


@dataclass
class Module:
    functions: list = field(default_factory=list)
    classes: list = field(default_factory=list)
    variables: list = field(default_factory=list)
    comment_lines: int = 0
    broken: bool = False


class Repository:
    """A tree of modules on disk in git, edited by `edit`; the model and the files always agree."""

    def __init__(self, directory, language, seed):
        self.directory = Path(directory)
        self.language = language
        self.random = random.Random(f"{language}-{seed}")
        self.modules = {}
        self.others = {"README.md": "# read me\n", "settings.toml": "a = 1\n"}
        self._branches = {}
        self._serial = 0
        for _ in range(5):
            self._add_file()
        self._git("init", "-q")
        self._write()
        self._commit()

    def edit(self, steps):
        """Applies so many random edits; returns their names."""
        kinds = [self._change_calls, self._change_arguments, self._insert_lines, self._add_file, self._delete_file,
                 self._rename_file, self._move_function, self._change_base, self._break_or_mend, self._switch_branch,
                 self._change_other, self._duplicate_function, self._change_variable]
        done = []
        for _ in range(steps):
            kind = self.random.choice(kinds)
            kind()
            done.append(kind.__name__.strip("_"))
            self._write()
        return done

    # Edits

    def _module(self):
        return self.modules[self.random.choice(sorted(self.modules))]

    def _function(self, module):
        pool = module.functions + [method for each in module.classes for method in each.methods]
        return self.random.choice(pool) if pool else None

    def _change_calls(self):
        if function := self._function(self._module()):
            function.calls = self._some_calls()

    def _change_arguments(self):
        if function := self._function(self._module()):
            function.arguments = [f"arg{n}" for n in range(self.random.randint(0, 4))]

    def _insert_lines(self):
        self._module().comment_lines = self.random.randint(0, 5)

    def _add_file(self):
        self._serial += 1
        place = self.random.choice(_PLACES[:4] if self.language == "rust" else _PLACES)
        name = f"mod_{self._serial}"
        module = Module(variables=[f"LIMIT_{self.random.randint(1, 4)}"])
        for _ in range(self.random.randint(1, 4)):
            module.functions.append(self._new_function())
        for _ in range(self.random.randint(0, 2)):
            self._serial += 1
            base = self.random.choice(self._class_names() + ["Outside", None])
            module.classes.append(Class(f"Kind{self._serial}", base, [self._new_function() for _ in range(2)]))
        self.modules[f"{place}/{name}".lstrip("/")] = module

    def _new_function(self):
        arguments = [f"arg{n}" for n in range(self.random.randint(0, 3))]
        return Function(self.random.choice(_NAMES), arguments, self._some_calls(), self.random.random() < 0.2)

    def _some_calls(self):
        known = sorted({function.name for module in self.modules.values() for function in module.functions})
        pool = known + self._class_names() + ["print", "unknown_thing"]
        return [self.random.choice(pool) for _ in range(self.random.randint(0, 3))]

    def _class_names(self):
        return sorted(each.name for module in self.modules.values() for each in module.classes)

    def _delete_file(self):
        if len(self.modules) > 2:
            del self.modules[self.random.choice(sorted(self.modules))]

    def _rename_file(self):
        old = self.random.choice(sorted(self.modules))
        self._serial += 1
        self.modules[f"{self.random.choice(_PLACES[:3])}/moved_{self._serial}".lstrip("/")] = self.modules.pop(old)

    def _move_function(self):
        source, target = self._module(), self._module()
        if source.functions:
            target.functions.append(source.functions.pop(self.random.randrange(len(source.functions))))

    def _duplicate_function(self):
        source, target = self._module(), self._module()
        if source.functions:
            target.functions.append(self.random.choice(source.functions))

    def _change_base(self):
        module = self._module()
        if module.classes:
            changed = self.random.choice(module.classes)
            changed.base = self.random.choice([n for n in self._class_names() if n != changed.name] + [None, "Outside"])

    def _break_or_mend(self):
        module = self._module()
        module.broken = not module.broken

    def _change_variable(self):
        module = self._module()
        module.variables = [f"LIMIT_{self.random.randint(1, 4)}" for _ in range(self.random.randint(0, 3))]

    def _change_other(self):
        name = self.random.choice(["README.md", "docs/guide.md", "conf/a.yaml", "settings.toml"])
        if name in self.others:
            del self.others[name]
        else:
            self.others[name] = f"text {self.random.random()}\n"

    def _switch_branch(self):
        self._commit()
        branch = self.random.choice(["one", "two"])
        here = self._git("rev-parse", "--abbrev-ref", "HEAD").strip()
        self._branches[here] = (_copy(self.modules), dict(self.others))
        if branch in self._branches:
            self._git("checkout", "-q", branch)
            modules, self.others = self._branches[branch]
            self.modules = _copy(modules)
        elif branch != here:
            self._git("checkout", "-q", "-b", branch)

    # The tree

    def _git(self, *arguments):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", *arguments]
        return subprocess.run(command, cwd=self.directory, check=True, capture_output=True, text=True).stdout

    def _commit(self):
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "state")

    def _write(self):
        render, suffix = _RENDER[self.language]
        owners = {}
        for path, module in sorted(self.modules.items()):
            for item in module.functions + module.classes:
                owners.setdefault(item.name, path)
        wanted = {f"{path}{suffix}": render(path, module, owners) for path, module in self.modules.items()}
        wanted.update(self.others)
        for path in sorted(self.directory.rglob("*")):
            name = path.relative_to(self.directory).as_posix()
            if path.is_file() and not name.startswith(".git/") and name != ".cgcignore" and name not in wanted:
                path.unlink()
        for name, text in wanted.items():
            path = self.directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)


def _copy(modules):
    return {path: Module([Function(f.name, list(f.arguments), list(f.calls), f.nested) for f in module.functions],
                         [Class(c.name, c.base, [Function(m.name, list(m.arguments), list(m.calls), m.nested)
                                                 for m in c.methods]) for c in module.classes],
                         list(module.variables), module.comment_lines, module.broken)
            for path, module in modules.items()}


def _imports(path, module, owners):
    used = {name for function in module.functions for name in function.calls}
    used |= {name for each in module.classes for method in each.methods for name in method.calls}
    used |= {each.base for each in module.classes if each.base}
    own = {item.name for item in module.functions + module.classes}
    return sorted((name, owners[name]) for name in used - own if owners.get(name) not in (None, path))


def _python(path, module, owners):
    lines = [f"# line {n}" for n in range(module.comment_lines)] + ["import os", ""]
    lines += [f"from {owner.replace('/', '.')} import {name}" for name, owner in _imports(path, module, owners)]
    lines += [f"{name} = {at}" for at, name in enumerate(module.variables)]

    def function(item, indent, first=()):
        pad = " " * indent
        yield f"{pad}def {item.name}({', '.join([*first, *item.arguments])}):"
        yield f'{pad}    """Does {item.name}."""'
        if item.nested:
            yield f"{pad}    def inner(value):"
            yield f"{pad}        return os.path.join(value)"
        for at, name in enumerate(item.calls):
            yield f"{pad}    value{at} = {name}({', '.join(item.arguments[:1])})"
        yield f"{pad}    return {'self.' + item.name + '()' if first else 'inner(1)' if item.nested else '1'}"

    for item in module.functions:
        lines += ["", *function(item, 0)]
    for each in module.classes:
        lines += ["", f"class {each.name}({each.base or ''}):" if each.base else f"class {each.name}:", "    kind = 1"]
        for method in each.methods:
            lines += function(method, 4, ("self",))
    if module.broken:
        lines.insert(len(lines) // 2, "def broken(:\n   class ]]")
    return "\n".join(lines) + "\n"


def _typescript(path, module, owners):
    depth = "../" * path.count("/") or "./"
    lines = [f"// line {n}" for n in range(module.comment_lines)] + ['import * as fs from "fs";']
    lines += [f'import {{ {name} }} from "{depth}{owner}";' for name, owner in _imports(path, module, owners)]
    lines += [f"export const {name} = {at};" for at, name in enumerate(module.variables)]
    lines.append(f"export interface Shape{len(module.functions)} {{ size: number }}")

    def body(item):
        if item.nested:
            yield "  function inner(value: string) { return fs.readFileSync(value); }"
        for at, name in enumerate(item.calls):
            yield f"  const value{at} = {'new ' if name[0].isupper() else ''}{name}({', '.join(item.arguments[:1])});"
        yield "  return 1;"

    for item in module.functions:
        lines += [f"export function {item.name}({', '.join(f'{a}: number' for a in item.arguments)}) {{", *body(item), "}"]
    for each in module.classes:
        lines.append(f"export class {each.name}{f' extends {each.base}' if each.base else ''} {{")
        for method in each.methods:
            lines += [f"  {method.name}({', '.join(f'{a}: number' for a in method.arguments)}) {{", *body(method), "  }"]
        lines.append("}")
    if module.broken:
        lines.insert(len(lines) // 2, "export class { function ((")
    return "\n".join(lines) + "\n"


def _rust(path, module, owners):
    lines = [f"// line {n}" for n in range(module.comment_lines)] + ["use std::fmt::Display;"]
    lines += [f"use crate::{owner.replace('/', '::')}::{name};" for name, owner in _imports(path, module, owners)]
    lines += [f"pub const {name}: usize = {at};" for at, name in enumerate(module.variables)]

    def body(item):
        if item.nested:
            yield "    fn inner(value: usize) -> usize { value }"
        for at, name in enumerate(item.calls):
            yield f"    let value{at} = {name + '::make' if name[0].isupper() else name}({', '.join(item.arguments[:1])});"

    for item in module.functions:
        lines += [f"pub fn {item.name}({', '.join(f'{a}: usize' for a in item.arguments)}) {{", *body(item), "}"]
    for each in module.classes:
        lines += [f"pub trait Can{each.name} {{ fn can(&self); }}", f"pub struct {each.name} {{ size: usize }}"]
        lines += [f"impl {each.base} for {each.name} {{ }}"] if each.base else []
        lines.append(f"impl {each.name} {{")
        for method in each.methods:
            lines += [f"    pub fn {method.name}(&self{''.join(f', {a}: usize' for a in method.arguments)}) {{",
                      *body(method), f"        self.{method.name}();", "    }"]
        lines.append("}")
    lines += ["#[cfg(test)]", "mod tests {", "    use super::*;", "    #[test]", "    fn works() { }", "}"]
    if module.broken:
        lines.insert(len(lines) // 2, "pub fn ( { ]]")
    return "\n".join(lines) + "\n"


_RENDER = {"python": (_python, ".py"), "typescript": (_typescript, ".ts"), "rust": (_rust, ".rs")}
