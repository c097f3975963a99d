"""The analysis of one submission: from its source to a report of plain data."""

from __future__ import annotations

import ast
import difflib
import sys
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence

from grader.policy import alike, findings
from grader.policy import bundle as bundles
from grader.policy.certainty import SHIFTING
from grader.policy.findings import Finding, Inspector
from grader.policy.folding import words
from grader.policy.names import Resolver, is_member
from grader.policy.pieces import CELL, MAIN, MODULE, error_place, name_line, split_lines
from grader.policy.program import Program, TooDeep
from grader.policy.reach import Reach
from grader.policy.rules import ARGUMENTS, Rule, Rules
from grader.policy.scopes import Binding, Block, ModuleScope, Store, Unit
from grader.policy.values import Namespace, Table, Unknown

LONGEST_SOURCE = 2_000_000
MOST_NODES = 400_000
MOST_REPORTED = 200
# Following names through a loop of many variables takes a few frames for each.
DEEPEST_STACK = 5_000
MOST_ROUNDS = 8
MOST_TEXTS = 32
# Notebooks have few cells that redefine something; beyond it, any that ended early counts.
MOST_CELLS = 12

_TOO_DEEP = "The code is nested too deeply to be read."
# Without one of these, nothing in a source hides what it runs; most have none, and are spared the search.
_HIDING_NAMES = words(
    "exec eval compile getattr vars dir globals locals __import__ __builtins__ __loader__ __spec__"
)
_HIDING_ATTRIBUTES = words(
    """
    __dict__ __getattribute__ __getattr__ __subclasses__ __globals__ __code__ __closure__ __wrapped__
    __import__ __build_class__
    cell_contents __recorded__ f_globals f_locals f_back f_builtins tb_frame gi_frame cr_frame ag_frame
    ctypeslib cpp_extension load_library load modules sys builtins importlib operator __builtins__
    CompilationUnit overrides library _C _ops _decomp _prims _prims_common _refs _python_dispatch _mode_utils
    redispatch redispatch_boxed py_kernels
    """
)
# What Python asks for members that are not there.
_LOOKING_UP = frozenset({"__getattr__", "__getattribute__"})
_HIDING_MODULES = words(
    """
    builtins importlib operator pkgutil pydoc inspect ctypes _ctypes cffi _cffi_backend sys gc threading
    pickle _pickle cloudpickle dill joblib shelve marshal traceback types runpy timeit code subprocess os
    doctest
    """
)


def analyze(
    source: str,
    rules: Rules,
    entry: str | Sequence[str],
    parts: Sequence[Part] = (),
    module: str = "",
    *,
    driven: bool = False,
) -> dict[str, object]:
    """Find the banned helpers that a submission uses, without running any of it.

    Args:
        source: the submission's source text.
        rules: what is banned and allowed.
        entry: the name of the function or class that the exercise asks for, or the names of several.
        parts: the cells and helper modules that the text consists of (`grader.positions.Part` as plain
            data); none when it is one file.
        module: the name of the module as which the file runs.
        driven: a driver of the exercise's author uses what the entry points are and return: it makes
            instances, calls their methods, reads their properties, hands them to libraries.

    Returns:
        Plain data, ready for JSON: `syntax_error`, `imports`, `entry` (see `Report.entry_found`),
        `violations` (helpers that the entry points can reach; with `if_failed` where that rests on cells
        that end early, see `Study.conditions`), `suspicious` (code that hides what it runs), `notes`
        (helpers that nothing reaches) and `alike` (see `grader.policy.alike`). Lists are in order of line and
        column; columns are 1-based and count characters. Of a text with parts also `parts`, the name and
        first line of each, and `broken_cells` and `broken_modules`, which are not valid Python and run
        nothing: `name`, `line`, `column` and `message` of each.
    """
    if not parts:
        source = source.removeprefix("\ufeff")
    entries = (entry,) if isinstance(entry, str) else tuple(dict.fromkeys(entry))
    if len(source) > LONGEST_SOURCE:
        return _unread(source, entries)
    try:
        bundle = bundles.read(source, parts, module)
    except bundles.Broken as error:
        return _with_parts(_broken(error.line, error.column, error.message), parts)
    except (RecursionError, MemoryError, OverflowError):
        return _with_parts(_broken(1, 1, _TOO_DEEP), parts)
    lines = split_lines(source)
    texts = [bundle.main, *bundle.modules]
    nodes = [node for text in texts for body in text.bodies for node in body]
    if len(source) * 3 > MOST_NODES and _size(nodes) > MOST_NODES:
        return _with_parts(_unread(source, entries), parts)
    begins = [("" if piece.kind == MAIN else piece.name, piece.first) for piece in bundle.pieces]
    study = Study(bundle, rules, entries, lines, begins, driven=driven)
    twins = ""
    limit = sys.getrecursionlimit()
    try:
        report = study.report()
        sys.setrecursionlimit(max(limit, DEEPEST_STACK))
        twins = alike.digest(texts)
        report = study.made(report)
        conditions = study.conditions(report)
    except TooDeep as error:
        column = _column(lines, error.line, error.column)
        return _with_parts(_broken(error.line, column, _TOO_DEEP), parts)
    except RecursionError:
        return _with_parts(_broken(1, 1, _TOO_DEEP), parts)
    finally:
        sys.setrecursionlimit(limit)
    made = report.as_dict(conditions)
    made["alike"] = twins
    if bundle.pieces:
        made["broken_cells"] = [_broken_piece(piece) for piece in bundle.broken if piece.kind == CELL]
        made["broken_modules"] = [_broken_piece(piece) for piece in bundle.broken if piece.kind == MODULE]
    return _with_parts(made, parts)


def _with_parts(report: dict[str, object], parts: Sequence[Part]) -> dict[str, object]:
    """The report of a text that has parts: where they begin."""
    if parts:
        report["parts"] = [["" if part["kind"] == MAIN else part["name"], part["first"]] for part in parts]
        report.setdefault("broken_cells", [])
        report.setdefault("broken_modules", [])
    return report


def _broken_piece(piece: Piece) -> dict[str, object]:
    assert piece.error is not None
    line, column, message = error_place(piece.error)
    return {
        "name": piece.name,
        "line": max(line, piece.first),
        "column": max(column, 1),
        "message": message or bundles.value_message(piece.text, piece.error),
    }


class Study:
    """The reports on one text, which differ in what is taken for certain."""

    def __init__(
        self,
        bundle: Bundle,
        rules: Rules,
        entries: Sequence[str],
        lines: Sequence[str],
        begins: Sequence[tuple[str, int]],
        *,
        driven: bool,
    ) -> None:
        self._bundle = bundle
        self._rules = rules
        self._entries = entries
        self._driven = driven
        self._lines = lines
        self._begins = begins
        self._steady = True

    def report(self, sure: Collection[int] = ()) -> Report:
        """A report that is not made yet; for `sure` see `grader.policy.program.Program`.

        Raises:
            TooDeep, RecursionError: The text is nested too deeply.
        """
        rules = self._rules
        program = Program(
            self._bundle.main,
            self._bundle.modules,
            lambda root: bundles.may_be_real(root, rules),
            libraries=rules.roots | rules.array_libraries,
            sure=sure,
            steady=self._steady,
        )
        return Report(program, rules, self._entries, self._lines, self._begins, driven=self._driven)

    def made(self, report: Report, sure: Collection[int] = ()) -> Report:
        """The report filled; another one where what it took for certain turned out not to be."""
        _make(report)
        if report.shifts and self._steady:
            self._steady = False
            report = self.report(sure)
            _make(report)
        return report

    def conditions(self, report: Report) -> dict[Place, list[list[int]]]:
        """Which violations rest on cells that ended early, and on which.

        Returns:
            For the place of each the cells by their first lines: it stands where a cell of each list ended
            early. What stands in any case is left out.
        """
        places = report.violation_places()
        if not places or not report.program.tails:
            return {}
        cells = report.deciding_cells()
        every = set(report.program.tails.values())
        open_places = places - self._found(every)
        if not open_places:
            return {}
        needed: dict[Place, list[int]] = {place: [] for place in open_places}
        alone: dict[Place, set[int]] = {place: set() for place in open_places}
        if len(cells) <= MOST_CELLS:
            for cell in sorted(cells):
                without = self._found((every - cells) | {cell})
                only = self._found(every - {cell})
                for place in open_places:
                    if place not in without:
                        needed[place].append(cell)
                    if place in only:
                        alone[place].add(cell)
        firsts = [piece.first for piece in self._bundle.pieces if piece.kind != MODULE]
        left_over: dict[frozenset[int], set[Place]] = {}
        found: dict[Place, list[list[int]]] = {}
        for place in open_places:
            some = set(alone[place])
            left = frozenset(cells - some)
            if left and some:
                # Those that do not do it alone may do it together.
                if left not in left_over:
                    left_over[left] = self._found(every - left)
                some |= left if place in left_over[left] else set()
            groups = [[cell] for cell in needed[place]]
            if not groups or (some and some.isdisjoint(needed[place])):
                groups.append(sorted(some or cells or every))
            found[place] = [[firsts[cell] for cell in group] for group in groups]
        return found

    def _found(self, sure: Collection[int]) -> set[Place]:
        return self.made(self.report(sure), sure).violation_places()


def _make(report: Report) -> None:
    try:
        report.make()
    except RecursionError:
        # The bounds on depth make this unlikely; a caller deep in its own stack may still meet it.
        report.too_complex = True


class Report:
    """What the analysis of one program found.

    Args:
        parts: Name and first line of each part of the text.
    """

    def __init__(
        self,
        program: Program,
        rules: Rules,
        entries: Sequence[str],
        lines: Sequence[str],
        parts: Sequence[tuple[str, int]] = (),
        *,
        driven: bool = False,
    ) -> None:
        self.program = program
        self.parts = parts
        self.rules = rules
        self.entries = entries
        self.lines = lines
        self.too_complex = False
        self.resolver = Resolver(program, rules, entries, driven)
        self.violations: list[Finding] = []
        self.suspicious: list[Finding] = []
        self.notes: list[Finding] = []
        self.shifts = False  # a name that was taken to be left alone is bound by its text
        self._unnamed: list[Unit] = []  # values bound to names that cannot be told
        self._texts: set[ast.Call] = set()
        self._exemplified = False
        self._text_units: list[tuple[Unit, Unit]] = []

    def make(self) -> None:
        """Fill the lists, again when what is found changes what names may stand for."""
        if not self._may_name_helpers() and not self._may_hide():
            self._grader_imports()
            return
        self._bind_globals()
        for round_ in range(MOST_ROUNDS):
            inspector = self._round()
            grown = self._take_in(inspector.texts)
            if inspector.examples and not self._exemplified:
                grown = self._take_in_examples(inspector.examples[0]) or grown
            if not grown and not self.resolver.dirty:
                break
            if round_ == MOST_ROUNDS - 1:
                self.too_complex = True
                break
            self.resolver.restart()
        self.too_complex = self.too_complex or self.resolver.exhausted or self.resolver.texts.exhausted

    def _bind_globals(self) -> None:
        """Names that are put into the module's namespace as texts."""
        stores = self.program.global_stores
        for key, value, unit in stores:
            found, complete = self.resolver.constants(key)
            for name in found:
                self.program.bind_global(name, value, unit)
            self.shifts = self.shifts or not complete or not SHIFTING.isdisjoint(found)
            if not complete:
                self._unnamed.append(unit)
        for store in self.program.stores:
            if store.attr_expr is not None:
                names, complete = self.resolver.constants(store.attr_expr)
                store.attr = names[0] if complete and len(names) == 1 else None
                self.program.member_names.update(names)
                self.shifts = self.shifts or not SHIFTING.isdisjoint(names)
        if stores or any(store.attr_expr is not None for store in self.program.stores):
            self.program.expand_stars()
            self.resolver.index()
        if self.program.linked:
            self._bind_in_modules()
        if "modules" in self.program.attributes or any(
            item.lib == "sys.modules" for item in self.program.import_bindings
        ):
            self._replace_modules()

    def _replace_modules(self) -> None:
        """What is put into the table of modules under a name: sys.modules["heads"] = torch."""
        resolver = self.resolver
        found: list[tuple[str, ast.expr, Unit]] = []
        for store in self.program.stores:
            if store.into is None or store.unit.dead:
                continue
            if not any(isinstance(v, Table) and not v.name for v in resolver.resolve(store.into)):
                continue
            key = store.key
            if isinstance(key, ast.Name) and key.id == "__name__":
                found.extend((store.unit.home.name, value, store.unit) for value in store.values)
            elif key is not None:
                found.extend(
                    (name, value, store.unit) for name in resolver.constants(key)[0] for value in store.values
                )
        for name, value, unit in found[:MOST_TEXTS]:
            if name:
                self.program.replace_module(name, value, unit)
        self.too_complex = self.too_complex or len(found) > MOST_TEXTS
        if found:
            resolver.index()

    def _bind_in_modules(self) -> None:
        """Names that are put into another module's namespace: heads.attend = mine."""
        done: set[tuple[Store, ModuleScope, str]] = set()
        for _ in range(MOST_ROUNDS):
            found: list[tuple[Store, ModuleScope, str]] = []
            for store in self.program.stores:
                if store.receiver is None or store.cls is not None:
                    continue
                if store.called_on is not None:
                    # vars(heads).update(attend=mine): under which names is left open.
                    if store.unit not in self._unnamed and list(self._stored_into(store.receiver, ())):
                        self._unnamed.append(store.unit)
                    continue
                names = [store.attr] if store.attr is not None else []
                if store.attr_expr is not None:
                    names = self.resolver.constants(store.attr_expr)[0]
                for scope in self._stored_into(store.receiver, names):
                    found.extend((store, scope, name) for name in names if (store, scope, name) not in done)
            if not found:
                return
            for store, scope, name in found:
                for value in store.values:
                    self.program.bind_global(name, value, store.unit, scope)
            done.update(found)
            self.program.expand_stars()
            self.resolver.index()
        self.too_complex = True

    def _stored_into(self, receiver: ast.expr, names: Sequence[str]) -> Iterator[ModuleScope]:
        """The modules that a receiver of a value is; where it may be anything, those that have the names."""
        values = self.resolver.resolve(receiver)
        for value in values:
            if isinstance(value, Namespace):
                yield value.scope
        if any(isinstance(value, Unknown) for value in values):
            for scope in self.program.modules.values():
                if any(scope.names.get(name) for name in names):
                    yield scope

    def _round(self) -> Inspector:
        resolver, program = self.resolver, self.program
        self.violations, self.suspicious, self.notes = [], [], []
        hiding = self._may_hide()
        reach = Reach(resolver, hiding=hiding)
        executed: set[Unit] = set()
        if hiding:
            at_import = Reach(resolver, hiding=hiding, at_import=True)
            at_import.from_module()
            executed = at_import.units
        reach.from_entries(self.entries)
        for store in program.stores:
            if store.attr_expr is not None and store.attr is None and reach.units:
                reach.store_unnamed(store)
        for unit in self._unnamed:
            if reach.units and (unit.func is None or unit.func in reach.executed()):
                reach.add(unit)
        for outer, inner in self._text_units:
            if outer in executed or outer in reach.units:
                reach.add(inner)
        inspector = Inspector(resolver, hiding=hiding)
        self._inspect(inspector, reach, executed, hiding=hiding)
        if resolver.driven:
            self._handed_out(inspector, reach)
        if hiding:
            self._passing_on()
        self._imports(inspector, reach)
        return inspector

    def _may_name_helpers(self) -> bool:
        """Whether a library with banned helpers is named at all; in most submissions none is."""
        if ARGUMENTS in self.rules.array_libraries:
            return True
        roots = self.rules.roots | self.rules.array_libraries
        # A root that is a pattern stands for any library.
        return any(not root.isidentifier() for root in roots) or not roots.isdisjoint(
            self.program.mentioned()
        )

    def _may_hide(self) -> bool:
        program = self.program
        return (
            program.linked
            or bool(program.displaced)
            or not _LOOKING_UP.isdisjoint(program.member_names)
            or any(
                not _LOOKING_UP.isdisjoint(scope.names)
                for scope in (program.module, *program.modules.values())
            )
            or not findings.WATCHING.isdisjoint(program.attributes)
            or not _HIDING_NAMES.isdisjoint(program.reads)
            or not _HIDING_ATTRIBUTES.isdisjoint(program.attributes)
            or any(module.split(".")[0] in _HIDING_MODULES for module, _ in program.imports)
            or any(_HIDING_ATTRIBUTES.intersection(item.lib.split(".")) for item in program.import_bindings)
        )

    def _may_ask(self) -> bool:
        program, watching = self.program, findings.WATCHING
        return (
            not watching.isdisjoint(program.attributes)
            or "sys" in program.mentioned()
            or not {"overrides", "getattr"}.isdisjoint(program.mentioned())
            or any(not watching.isdisjoint(item.lib.split(".")) for item in program.import_bindings)
        )

    def _inspect(self, inspector: Inspector, reach: Reach, executed: set[Unit], *, hiding: bool) -> None:
        asks = self._may_ask()
        for unit in self.program.units:
            live = unit in reach.units
            for node in unit.items:
                # Lookups are noted as they are resolved, also in code that nothing reaches.
                if hiding and isinstance(node, ast.Call | ast.Subscript):
                    self.resolver.resolve(node)
                for found in inspector.helpers(node):
                    reached = (live or node in reach.nodes) and (
                        found.via is None or any(part in reach.units for part in found.via)
                    )
                    (self.violations if reached else self.notes).append(found)
            if hiding and asks:
                for node in unit.items:
                    self.suspicious.extend(inspector.watches(node))
            if hiding and (live or unit in executed):
                for node in unit.items:
                    self.suspicious.extend(inspector.suspicions(node))
                    if live:
                        self.suspicious.extend(inspector.handed_on(node))

    def _handed_out(self, inspector: Inspector, reach: Reach) -> None:
        """Whole modules of libraries that someone else gets."""
        for func in self.program.funcs:
            seen = func.name in self.entries or func.owner is not None or is_member(func)
            if seen and func.body in reach.units:
                for node in func.returns:
                    self.suspicious.extend(inspector.handed_out(node))
        for entry in self.entries:
            for binding in self.resolver.module_bindings(entry):
                if binding.kind == "import" and self.rules.is_owner(binding.lib):
                    self.suspicious.append(
                        Finding(findings.UNRESOLVED, binding.lib, binding.node, detail="handed on")
                    )
                elif binding.kind == "value" and binding.value is not None and not binding.path:
                    self.suspicious.extend(inspector.handed_out(binding.value))

    def _passing_on(self) -> None:
        """Modules and classes whose members are looked up by a value, so that any name may be one."""
        program = self.program
        for node in program.displaced:
            self.suspicious.append(Finding(findings.UNRESOLVED, "an import", node))
        for store in program.stores:
            names = {store.attr, getattr(store.key, "value", None), getattr(store.attr_expr, "value", None)}
            if store.into is not None and not store.unit.dead and not findings.BUILDING.isdisjoint(names):
                self.suspicious.append(
                    Finding(findings.DYNAMIC, "__import__", store.into, detail="is replaced here")
                )
        loaded = program.loaded()
        if self.resolver.imports_by_text():
            loaded |= set(program.modules.values())
        scopes = [scope for scope in {program.module, *program.modules.values()} if scope in loaded]
        for scope in [*scopes, *(cls.scope for cls in program.classes if cls.scope.home in loaded)]:
            for name in _LOOKING_UP:
                for item in scope.names.get(name, ()):
                    if item.kind not in ("func", "del") and not item.block.dead:
                        where = scope.home.name or "the file itself" if scope is scope.home else "a class"
                        self.suspicious.append(
                            Finding(findings.UNRESOLVED, where, item.node, detail="passed on")
                        )
        for store in program.stores:
            if store.attr in _LOOKING_UP and not store.unit.dead and store.receiver is not None:
                place = store.receiver
                self.suspicious.append(Finding(findings.UNRESOLVED, "an object", place, detail="passed on"))

    def _imports(self, inspector: Inspector, reach: Reach) -> None:
        for binding in self.program.import_bindings:
            rule = self.rules.banned(binding.lib)
            if rule is None:
                continue
            if binding in reach.imports:
                self.violations.append(Finding(rule.id, binding.lib, binding.node, banned=rule))
            elif binding not in inspector.used:
                self.notes.append(Finding(rule.id, binding.lib, binding.node, banned=rule, detail="imported"))
        self._grader_imports()

    def _grader_imports(self) -> None:
        for module, statement in [*self.program.imports, *self.resolver.imported]:
            # A notebook that is handed out checks itself where it is worked on.
            if module.split(".")[0] == "grader" and statement not in self.program.dead_imports:
                self.suspicious.append(
                    Finding(findings.DYNAMIC, module, statement, detail="is the grader itself")
                )

    def _take_in(self, texts: Iterable[tuple[ast.Call, list[str]]]) -> bool:
        """Read the constant texts given to exec and eval as code of the submission."""
        grown = False
        for call, sources in texts:
            if call in self._texts:
                continue
            self._texts.add(call)
            for text in sources:
                if len(self._text_units) >= MOST_TEXTS:
                    self.too_complex = True
                    return grown
                tree = self._small(text)
                if tree is None:
                    continue
                outer = self.program.call_units[call]
                try:
                    inner = self.program.add_text(tree, call, outer)
                except TooDeep:
                    self.too_complex = True
                    continue
                self._text_units.append((outer, inner))
                grown = True
        if grown:
            self.program.expand_stars()
            self.resolver.index()
        return grown

    def _small(self, text: str) -> ast.Module | None:
        """The tree of a text that is run as code; None where it is none, or is too large to be looked at."""
        tree = _parsed(text)
        if tree is not None and _size([tree]) > MOST_NODES // 10:
            self.too_complex = True
            return None
        return tree

    def _take_in_examples(self, call: ast.Call) -> bool:
        """Read the examples in docstrings as code of their modules that runs once, as self-tests do."""
        self._exemplified = True
        examples = self.program.examples()
        self.too_complex = self.too_complex or len(examples) > MOST_TEXTS
        for unit, text in examples[:MOST_TEXTS]:
            tree = self._small(text)
            if tree is None:
                continue
            try:
                self.program.add_text(tree, call, unit)
            except TooDeep:
                self.too_complex = True
        self.program.expand_stars()
        self.resolver.index()
        return True

    # --- as data ----------------------------------------------------------------------------------

    def violation_places(self) -> set[Place]:
        """Where helpers are used, with the rules that ban them."""
        return {(*self._place(item), item.rule) for item in self.violations}

    def deciding_cells(self) -> set[int]:
        """The cells that may end early before they bind what is bound elsewhere too."""
        program = self.program
        if program.stars:
            return set(program.tails.values())
        found: set[int] = set()
        for bindings in program.module.names.values():
            first = min((binding.pos for binding in bindings), default=0)
            for binding in bindings:
                if binding.pos == first:
                    continue  # there is nothing that it replaces
                block: Block | None = binding.block
                while block is not None and block not in program.tails:
                    block = block.parent
                if block is not None:
                    found.add(program.tails[block])
        return found

    def as_dict(self, conditions: Mapping[Place, list[list[int]]]) -> dict[str, object]:
        """The report as plain data.

        Args:
            conditions: As `Study.conditions` gives them.
        """
        violations = self._listed(self.violations, self._violation)
        by_place: dict[object, list[list[int]]] = dict(conditions.items())
        for item in violations:
            place = item["line"], item["column"], item["rule"]
            if place in by_place:
                item["if_failed"] = by_place[place]
        taken = {(item["line"], item["column"], item["rule"]) for item in violations}
        notes = [
            item
            for item in self._listed(self.notes, self._note)
            if (item["line"], item["column"], item["rule"]) not in taken
        ]
        suspicious = self._listed(self.suspicious, self._suspicion)
        cut = max(len(violations), len(notes), len(suspicious)) > MOST_REPORTED
        if self.too_complex or cut:
            suspicious = [_too_complex(), *suspicious]
        return {
            "syntax_error": None,
            "imports": self._import_list(),
            "entry": self.entry_found(),
            "violations": violations[:MOST_REPORTED],
            "suspicious": suspicious[:MOST_REPORTED],
            "notes": notes[:MOST_REPORTED],
        }

    def _listed(self, found: Sequence[Finding], tell: Teller) -> list[dict[str, object]]:
        """The findings in reading order, one for each place and rule; a library's name before a method's."""
        places: dict[tuple[int, int, str], Finding] = {}
        for item in found:
            line, column = self._place(item)
            before = places.get((line, column, item.rule))
            if before is None or (before.detail == "getter" and item.detail != "getter"):
                places[line, column, item.rule] = item
        return [
            tell(item, line, column)
            for (line, column, _), item in sorted(places.items(), key=lambda pair: pair[0])
        ]

    def _place(self, item: Finding) -> tuple[int, int]:
        node = item.node
        line: int = getattr(node, "lineno", 1)
        offset: int = getattr(node, "col_offset", 0)
        if item.at_end and isinstance(node, ast.Attribute) and node.end_lineno is not None:
            end = _column(self.lines, node.end_lineno, node.end_col_offset or 0) - 1
            if (node.end_lineno, node.end_col_offset) != (line, offset):
                return node.end_lineno, _start_of_word(self.lines, node.end_lineno, end) + 1
        return line, _column(self.lines, line, offset)

    def _at(self, line: int) -> str:
        return name_line(self.parts, line)

    def _violation(self, item: Finding, line: int, column: int) -> dict[str, object]:
        message = f"{self._at(line)} uses {item.helper}, {_kind(item.banned)}; {_advice(item.banned)}"
        return _entry_of(item, line, column, message, found=True)

    def _suspicion(self, item: Finding, line: int, column: int) -> dict[str, object]:
        if item.rule == findings.UNRESOLVED:
            if item.detail == "handed on":
                what = f"hands on {item.helper} as a whole, so that what is used of it cannot be told"
            elif item.detail == "table":
                what = f"takes the names of {item.helper} as a table"
            elif item.detail == "passed on":
                what = f"gives {item.helper} members whose names cannot be told before it runs"
            elif item.helper == "an import":
                what = "imports a module whose name cannot be told before it runs"
            else:
                what = f"looks up a name in {item.helper} that cannot be told before it runs"
        elif item.detail == "is the grader itself":
            what = f"imports {item.helper}, which is the grader itself"
        else:
            what = f"uses {item.helper}, which {item.detail}"
        message = f"{self._at(line)} {what}; this costs nothing by itself, but is shown to the teacher."
        return _entry_of(item, line, column, message, found=True)

    def _note(self, item: Finding, line: int, column: int) -> dict[str, object]:
        if item.detail == "imported":
            message = f"{self._at(line)} imports {item.helper} without using it; this costs nothing."
        else:
            where = f"where {_never_gets_to(self.entries)}"
            message = f"{self._at(line)} uses {item.helper} {where}; this costs nothing."
        return _entry_of(item, line, column, message, found=False)

    def _import_list(self) -> list[dict[str, object]]:
        first: dict[str, int] = {}
        found: list[tuple[str, ast.stmt | ast.expr]] = [*self.program.imports, *self.resolver.imported]
        for module, node in found:
            if module and (module not in first or node.lineno < first[module]):
                first[module] = node.lineno
        ordered = sorted(first.items(), key=lambda pair: (pair[1], pair[0]))
        return [{"module": module, "line": line} for module, line in ordered]

    def entry_found(self) -> dict[str, object]:
        """Whether the text defines what the exercise asks for, and where.

        Returns:
            `defined`, `line`, `near` (names that look like it, where it is missing) and `parameters` (their
            number, where that is certain). Of several names `defined` tells whether all of them are, `line`
            and `parameters` are those of the first that is, `near` are the near misses of all that are not,
            and `missing` has them by the name that is missing.
        """
        found = {name: self._entry(name) for name in self.entries}
        if len(found) == 1:
            (only,) = found.values()
            return only
        there = [item for item in found.values() if item["defined"]]
        missing = {name: self._near(name) for name, item in found.items() if not item["defined"]}
        return {
            "defined": not missing,
            "line": there[0]["line"] if there else None,
            "near": list(dict.fromkeys(name for names in missing.values() for name in names)),
            "parameters": there[0]["parameters"] if there else None,
            "missing": missing,
        }

    def _entry(self, entry: str) -> dict[str, object]:
        bindings = [item for item in self.resolver.module_bindings(entry) if item.kind != "del"]
        if not bindings:
            return {"defined": False, "line": None, "near": self._near(entry), "parameters": None}
        last = bindings[-1]
        return {
            "defined": True,
            "line": getattr(last.node, "lineno", None),
            "near": [],
            "parameters": _parameters(last) if len(bindings) == 1 else None,
        }

    def _near(self, entry: str) -> list[str]:
        """The names of the module that look like one that it lacks; none that is asked for itself."""
        names = [
            name
            for name, items in self.program.module.names.items()
            if name not in self.entries
            and any(not item.block.dead for item in items)
            and items[-1].kind != "del"
        ]
        return near(entry, names)


TYPE_CHECKING = False  # typing itself is costly to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from grader.policy.bundle import Bundle
    from grader.policy.pieces import Part, Piece

    Place = tuple[int, int, str]

    Teller = Callable[[Finding, int, int], dict[str, object]]


def _entry_of(item: Finding, line: int, column: int, message: str, *, found: bool) -> dict[str, object]:
    entry: dict[str, object] = {"rule": item.rule, "helper": item.helper, "line": line, "column": column}
    if found:
        entry["found"] = "static"
    entry["message"] = message
    return entry


def _never_gets_to(entries: Sequence[str]) -> str:
    """The end of a sentence about code that nothing reaches: "mlm_forward never gets to"."""
    if len(entries) == 1:
        return f"{entries[0]} never gets to"
    if len(entries) == 2:
        return f"neither {entries[0]} nor {entries[1]} gets to"
    return f"none of {', '.join(entries[:-1])} and {entries[-1]} gets to"


def _kind(rule: Rule | None) -> str:
    return rule.kind if rule is not None else "a banned helper"


def _advice(rule: Rule | None) -> str:
    return rule.advice if rule is not None else "write it yourself."


def near(entry: str, names: Sequence[str]) -> list[str]:
    """The names that look like the entry point's, best first."""
    plain = _plain(entry)
    candidates = [name for name in names if len(name) <= 80][:2000]
    same = [name for name in candidates if _plain(name) == plain]
    close = difflib.get_close_matches(entry, candidates, n=3, cutoff=0.75)
    return list(dict.fromkeys([*same, *close]))[:5]


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def _parameters(binding: Binding) -> int | None:
    node = binding.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or node.args.vararg is not None:
        return None
    return len(node.args.posonlyargs) + len(node.args.args)


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip("\n ") if "\n" not in text.strip() else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _size(trees: Sequence[ast.AST]) -> int:
    """The number of nodes, counted no further than it matters."""
    size = 0
    waiting: list[ast.AST] = list(trees)
    while waiting and size <= MOST_NODES:
        size += 1
        waiting.extend(ast.iter_child_nodes(waiting.pop()))
    return size


def _column(lines: Sequence[str], line: int, offset: int) -> int:
    """The 1-based column, in characters, of an offset in UTF-8 bytes."""
    if not 1 <= line <= len(lines):
        return offset + 1
    text = lines[line - 1]
    if text.isascii():
        return offset + 1
    return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1


def _start_of_word(lines: Sequence[str], line: int, end: int) -> int:
    """Where the identifier that ends before `end` starts; its spelling may differ from its name."""
    text = lines[line - 1]
    start = min(end, len(text))
    while start > 0 and ("a" + unicodedata.normalize("NFKC", text[start - 1])).isidentifier():
        start -= 1
    return start


def _broken(line: int, column: int, message: str) -> dict[str, object]:
    return {
        "syntax_error": {"line": max(line, 1), "column": max(column, 1), "message": message},
        "imports": [],
        "entry": {"defined": False, "line": None, "near": [], "parameters": None},
        "violations": [],
        "suspicious": [],
        "notes": [],
        "alike": "",
    }


def _unread(source: str, entries: Sequence[str]) -> dict[str, object]:
    report = _broken(1, 1, "")
    report["syntax_error"] = None
    # Nothing was read; whether the entry points are there shows when the source is run.
    defined = all(entry in source for entry in entries)
    report["entry"] = {"defined": defined, "line": None, "near": [], "parameters": None}
    report["suspicious"] = [_too_complex()]
    return report


def _too_complex() -> dict[str, object]:
    return {
        "rule": findings.TOO_COMPLEX,
        "helper": "",
        "line": 1,
        "column": 1,
        "found": "static",
        "message": "This source is too large or too intricate to be read in full; helpers in it may "
        "have been overlooked, so it is shown to the teacher.",
    }
