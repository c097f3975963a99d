"""Texts: the constants that an expression may work out to, through names, loops and calls.

A lookup such as getattr(torch, "soft" + "max") is judged by the name it works out to. An expression may
have several values (a loop's variable, a parameter); what cannot be worked out is UNKNOWN among them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import product

from grader.policy import folding
from grader.policy.folding import Unfoldable
from grader.policy.scopes import Binding, Call, Func

MOST_VALUES = 64
DEEPEST = 40
MOST_STEPS = 200_000
MOST_AT_ONCE = 4_000  # what one lookup may cost; beyond it, its name counts as unknown
MOST_FOR_A_KEY = 200


class _Unknown:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
Constants = list[object]
Env = dict[Binding, Constants]


class Scenery:
    """What the evaluation of texts needs to know about names; `names.Resolver` is one."""

    def candidates(self, node: ast.Name) -> Sequence[Binding]:
        """The bindings that a read of a name may see."""
        raise NotImplementedError

    def origins(self, item: Binding) -> Sequence[Binding]:
        """What a name that was taken from another module of the submission was bound by there."""
        raise NotImplementedError

    def library_name(self, node: ast.expr) -> str | None:
        """The canonical dotted name of a library member that an expression surely is."""
        raise NotImplementedError

    def own_function(self, node: ast.expr) -> Func | None:
        """The function of the source that an expression surely is."""
        raise NotImplementedError

    def attribute_values(self, node: ast.Attribute) -> list[ast.expr] | None:
        """The expressions an attribute of the student's own objects was given, None when unknown."""
        raise NotImplementedError

    def call_sites(self, func: Func) -> tuple[list[Call], bool]:
        """The calls of a function, and whether it may be called from elsewhere too."""
        raise NotImplementedError


class Texts:
    """Works out the constants of expressions, within a bound on the work."""

    def __init__(self, scenery: Scenery, bound_at: dict[ast.AST, Binding]) -> None:
        self._scenery = scenery
        self._bound_at = bound_at
        self._memo: dict[ast.expr, Constants] = {}
        self._busy: set[object] = set()
        self._depth = 0
        self._steps = 0
        self._until = 0
        self.exhausted = False

    def names(self, node: ast.expr, env: Env | None = None) -> tuple[list[str], bool]:
        """The texts an expression may be, in order, and whether that is all it may be."""
        values = self.values(node, env)
        found = [value for value in values if isinstance(value, str)]
        return list(dict.fromkeys(found)), all(value is not UNKNOWN for value in values)

    def keys(self, node: ast.expr) -> Constants:
        """The constants a key may be; not worth much work, since without it every member counts."""
        return self.values(node, at_most=MOST_FOR_A_KEY)

    def values(self, node: ast.expr, env: Env | None = None, *, at_most: int = MOST_AT_ONCE) -> Constants:
        """The constants an expression may be, UNKNOWN among them for what cannot be told."""
        if isinstance(node, ast.Constant):
            return [node.value]
        if env is None and node in self._memo:
            return self._memo[node]
        if self._depth == 0:
            self._until = self._steps + at_most
        self._steps += 1
        if self._steps > self._until or self._depth > DEEPEST:
            return [UNKNOWN]
        if self._steps > MOST_STEPS:
            self.exhausted = True
            return [UNKNOWN]
        if env is None:
            if node in self._busy:
                return [UNKNOWN]
            self._busy.add(node)
        self._depth += 1
        try:
            result = self._evaluate(node, env)
        except Unfoldable:
            result = [UNKNOWN]
        finally:
            self._depth -= 1
            if env is None:
                self._busy.discard(node)
        if len(result) > MOST_VALUES:
            result = [*result[:MOST_VALUES], UNKNOWN]
        if env is None:
            self._memo[node] = result
        return result

    def _evaluate(self, node: ast.expr, env: Env | None) -> Constants:
        if isinstance(node, ast.Name):
            return self._name(node, env)
        if isinstance(node, ast.BinOp):
            return self._sum(node, env)
        if isinstance(node, ast.Call):
            return self._call(node, env)
        if isinstance(node, ast.JoinedStr):
            return self._combine(lambda *parts: folding.checked("".join(map(str, parts))), node.values, env)
        if isinstance(node, ast.FormattedValue):
            if node.format_spec is None:
                return self._combine(
                    lambda value: folding.formatted(value, node.conversion, ""), [node.value], env
                )
            return self._combine(
                lambda value, spec: folding.formatted(value, node.conversion, str(spec)),
                [node.value, node.format_spec],
                env,
            )
        if isinstance(node, ast.Subscript):
            return self._combine(folding.subscript, [node.value, node.slice], env)
        if isinstance(node, ast.Slice):
            parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
            return self._combine(lambda *ends: slice(*ends), parts, env)
        if isinstance(node, ast.Tuple):
            return self._combine(lambda *items: tuple(items), node.elts, env)
        if isinstance(node, ast.List):
            return self._combine(lambda *items: list(items), node.elts, env)
        if isinstance(node, ast.Dict):
            return self._dict(node, env)
        if isinstance(node, ast.UnaryOp):
            op = node.op
            return self._combine(lambda value: folding.unary(op, value), [node.operand], env)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            test = node.ops[0]
            return self._combine(
                lambda left, right: folding.compare(test, left, right),
                [node.left, node.comparators[0]],
                env,
            )
        if isinstance(node, ast.IfExp):
            return [*self.values(node.body, env), *self.values(node.orelse, env)]
        if isinstance(node, ast.BoolOp):
            return [value for item in node.values for value in self.values(item, env)]
        if isinstance(node, ast.NamedExpr):
            return self.values(node.value, env)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._comprehension(node, env)
        if isinstance(node, ast.Attribute):
            given = self._scenery.attribute_values(node)
            if given:
                return [value for item in given for value in self.values(item)]
        return [UNKNOWN]

    def _combine(
        self, operation: Callable[..., object], parts: Sequence[ast.expr], env: Env | None
    ) -> Constants:
        """The operation on every combination of what the parts may be."""
        if len(parts) > folding.LONGEST_CONTAINER:
            raise Unfoldable
        options: list[Constants] = []
        count = 1
        for part in parts:
            if isinstance(part, ast.Starred):
                raise Unfoldable
            options.append(self.values(part, env))
            count *= len(options[-1])
            if count > MOST_VALUES * 4:
                raise Unfoldable
        results: Constants = []
        for choice in product(*options):
            if any(value is UNKNOWN for value in choice):
                results.append(UNKNOWN)
                continue
            self._steps += 1
            try:
                results.append(folding.checked(operation(*choice)))
            except Unfoldable:
                results.append(UNKNOWN)
        return _distinct(results)

    def _sum(self, node: ast.BinOp, env: Env | None) -> Constants:
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        result = self.values(chain[-1].left, env)
        for link in reversed(chain):
            right = self.values(link.right, env)
            if len(result) * len(right) > MOST_VALUES * 4:
                raise Unfoldable
            result = _distinct(
                [_binary(link.op, left, value) for left in result for value in right],
            )
            self._steps += len(result)
        return result

    def _dict(self, node: ast.Dict, env: Env | None) -> Constants:
        keys = [key for key in node.keys if key is not None]
        if len(keys) < len(node.keys):
            raise Unfoldable
        size = len(keys)
        return self._combine(lambda *items: _hashable(items[:size], items[size:]), [*keys, *node.values], env)

    def _name(self, node: ast.Name, env: Env | None) -> Constants:
        results: Constants = []
        for binding in self._scenery.candidates(node):
            if env is not None and binding in env:
                results.extend(env[binding])
            else:
                results.extend(self._binding(binding, env))
        return _distinct(results) if results else [UNKNOWN]

    def _binding(self, binding: Binding, env: Env | None) -> Constants:
        if binding.kind == "param":
            return self._parameter(binding)
        if binding.kind == "member":
            return [value for item in self._scenery.origins(binding) for value in self._binding(item, None)]
        value = binding.value
        if value is None:
            return [] if binding.kind == "del" else [UNKNOWN]
        # Only what is bound in the function that the environment is about depends on it.
        if env is not None and not any(key.owner is binding.owner for key in env):
            env = None
        if binding.kind == "value":
            found = self.values(value, env)
        elif binding.kind == "element":
            found = [item for each in self.values(value, env) for item in _elements(each)]
        elif binding.kind == "aug" and isinstance(binding.node, ast.AugAssign):
            target, op = binding.node.target, binding.node.op
            if not isinstance(target, ast.Name) or binding.block.loop is not None:
                return [UNKNOWN]
            left, right = self.values(target, env), self.values(value, env)
            if len(left) * len(right) > MOST_VALUES:
                return [UNKNOWN]
            return [_binary(op, one, other) for one in left for other in right]
        else:
            return [UNKNOWN]
        for step in binding.path:
            if not isinstance(step, int):
                return [UNKNOWN]
            found = [_item(each, step) for each in found]
        return found

    def _parameter(self, binding: Binding) -> Constants:
        func = binding.func
        if func is None or binding in self._busy:
            return [UNKNOWN]
        self._busy.add(binding)
        try:
            sites, open_ended = self._scenery.call_sites(func)
            results: Constants = [] if sites and not open_ended else [UNKNOWN]
            for site in sites:
                argument = argument_of(site, func, binding)
                results.extend([UNKNOWN] if argument is None else self.values(argument))
            return _distinct(results)
        finally:
            self._busy.discard(binding)

    def _call(self, node: ast.Call, env: Env | None) -> Constants:
        keywords = [keyword for keyword in node.keywords if keyword.arg is not None]
        if len(keywords) < len(node.keywords):
            raise Unfoldable
        labels = [str(keyword.arg) for keyword in keywords]
        inputs = [*node.args, *(keyword.value for keyword in keywords)]
        count = len(node.args)
        name = self._scenery.library_name(node.func)
        if name in ("builtins.map", "builtins.filter") and len(node.args) == 2:
            return self._map(node, env)
        if name is not None and folding.knows(name):
            known = name
            return self._combine(
                lambda *items: folding.function(
                    known, items[:count], dict(zip(labels, items[count:], strict=True))
                ),
                inputs,
                env,
            )
        own = self._scenery.own_function(node.func)
        if own is not None:
            return self._own_call(own, node, env)
        if isinstance(node.func, ast.Attribute):
            attr = node.func.attr
            return self._combine(
                lambda value, *items: folding.method(
                    value, attr, items[:count], dict(zip(labels, items[count:], strict=True))
                ),
                [node.func.value, *inputs],
                env,
            )
        return [UNKNOWN]

    def _own_call(self, func: Func, node: ast.Call, env: Env | None) -> Constants:
        """A call of a function of the source, worked out with these arguments."""
        if func in self._busy or not func.returns:
            return [UNKNOWN]
        site = Call(node, node.func, node.args, node.keywords, func.body)
        inner: Env = {}
        for binding in func.params.values():
            argument = argument_of(site, func, binding)
            inner[binding] = [UNKNOWN] if argument is None else self.values(argument, env)
        self._busy.add(func)
        try:
            return _distinct([value for item in func.returns for value in self.values(item, inner)])
        finally:
            self._busy.discard(func)

    def _map(self, node: ast.Call, env: Env | None) -> Constants:
        function, source = node.args
        results: Constants = []
        for items in self.values(source, env):
            mapped: Constants = []
            for item in _elements(items):
                call = ast.Call(func=function, args=[ast.Constant(item)], keywords=[])  # type: ignore[arg-type]
                own = self._scenery.own_function(function)
                found = self._own_call(own, call, env) if own is not None else self._call(call, env)
                if len(found) != 1 or found[0] is UNKNOWN:
                    raise Unfoldable
                mapped.append(found[0])
            results.append(mapped)
        return results

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, env: Env | None) -> Constants:
        results: list[object] = []
        self._generate(node, 0, dict(env or {}), results)
        return [results]

    def _generate(
        self, node: ast.ListComp | ast.GeneratorExp, at: int, env: Env, results: list[object]
    ) -> None:
        if at == len(node.generators):
            found = self.values(node.elt, env)
            if len(found) != 1 or found[0] is UNKNOWN or len(results) >= folding.LONGEST_CONTAINER:
                raise Unfoldable
            results.append(found[0])
            return
        generator = node.generators[at]
        sources = self.values(generator.iter, env)
        if len(sources) != 1 or sources[0] is UNKNOWN:
            raise Unfoldable
        targets = [self._bound_at[name] for name in ast.walk(generator.target) if name in self._bound_at]
        for item in _elements(sources[0]):
            self._steps += 1
            if self._steps > self._until:
                raise Unfoldable
            inner = dict(env)
            for binding in targets:
                value = item
                for step in binding.path:
                    if not isinstance(step, int):
                        raise Unfoldable
                    value = _item(value, step)
                inner[binding] = [value]
            tests = [self.values(test, inner) for test in generator.ifs]
            if any(len(test) != 1 or test[0] is UNKNOWN for test in tests):
                raise Unfoldable
            if all(test[0] for test in tests):
                self._generate(node, at + 1, inner, results)


def argument_of(site: Call, func: Func, binding: Binding) -> ast.expr | None:
    """What a call gives a parameter: its argument or the default; None when the source does not tell."""
    if site.decorated is not None:
        return None
    for keyword in site.keywords:
        if keyword.arg == binding.name:
            return keyword.value
        if keyword.arg is None:
            return None
    order = [arg.arg for arg in (*func.args.posonlyargs, *func.args.args)]
    if binding.name in order:
        at = order.index(binding.name)
        if func.cls is not None and func.static != "staticmethod":
            # The first parameter is the object; only Class.method(obj, …) by plain name passes it.
            at -= 1 if func.name == "__init__" or not isinstance(site.func, ast.Name) else 0
        if 0 <= at < len(site.args):
            if any(isinstance(item, ast.Starred) for item in site.args[: at + 1]):
                return None
            return site.args[at]
        if any(isinstance(item, ast.Starred) for item in site.args):
            return None
    return binding.default


def _binary(op: ast.operator, left: object, right: object) -> object:
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    try:
        return folding.binary(op, left, right)
    except Unfoldable:
        return UNKNOWN


def _elements(value: object) -> list[object]:
    if isinstance(value, str | tuple | list | dict | range | bytes):
        return list(value) if len(value) <= folding.LONGEST_CONTAINER else [UNKNOWN]
    return [UNKNOWN]


def _item(value: object, at: int) -> object:
    try:
        return folding.subscript(value, at)
    except Unfoldable:
        return UNKNOWN


def _hashable(keys: Sequence[object], values: Sequence[object]) -> object:
    try:
        return dict(zip(keys, values, strict=True))
    except TypeError as error:
        raise Unfoldable from error


def _distinct(values: Constants) -> Constants:
    """Without repetitions, in order; 1 and True and unhashable values stay apart."""
    seen: set[tuple[str, object]] = set()
    kept: Constants = []
    for value in values:
        key = (type(value).__name__, value if isinstance(value, str | int | bytes) else repr(value))
        if key not in seen:
            seen.add(key)
            kept.append(value)
    return kept
