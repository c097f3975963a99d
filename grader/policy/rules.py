"""The rules of an exercise: which helpers are banned, which are allowed, and what to write instead."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ARGUMENTS = "numpy"  # arguments are its arrays, whatever a text imports
LONGEST_NAME = 300  # a dotted name beyond this is no library's; matching it would only cost time


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    translated = [fnmatch.translate(pattern) for pattern in patterns]
    return re.compile("|".join(translated)) if translated else None


@dataclass(frozen=True)
class Rule:
    """One family of banned helpers, with the sentence that tells a student what to write instead."""

    id: str
    title: str
    why: str
    instead: str
    names: tuple[str, ...]
    methods: frozenset[str]

    @property
    def kind(self) -> str:
        """The title as it stands in a sentence: "Softmax helpers" gives "a softmax helper"."""
        noun = self.title.strip()
        if not noun.lower().endswith(" helpers"):
            return f"banned here ({noun})"
        noun = _lower_first(noun)[:-1]
        return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"

    @property
    def advice(self) -> str:
        """`instead` as the end of a sentence."""
        return _lower_first(" ".join(self.instead.split())).rstrip(".") + "."


def _lower_first(text: str) -> str:
    # An abbreviation ("GELU helpers") keeps its capitals.
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


@dataclass(frozen=True)
class Rules:
    """What is banned and what is allowed, by canonical dotted name.

    Patterns are those of `fnmatch`, case-sensitive; a star also crosses dots. `allowed` wins over
    every rule's `names`; where two rules match, the first one is named.
    """

    rules: tuple[Rule, ...]
    allowed: tuple[str, ...]
    array_libraries: frozenset[str]
    aliases: Mapping[str, str]
    roots: frozenset[str]
    _matchers: tuple[tuple[Rule, re.Pattern[str] | None], ...] = field(repr=False, compare=False)
    _allowed: re.Pattern[str] | None = field(repr=False, compare=False)
    _methods: dict[str, Rule] = field(repr=False, compare=False)
    _last_names: dict[frozenset[str], re.Pattern[str] | None] = field(
        default_factory=dict, repr=False, compare=False
    )
    _known: dict[str, Rule | None] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Rules:
        """Build the rules from the content of a policy file.

        Args:
            data: a mapping with `rules` (each with id, title, why, instead, names, methods) and,
                optionally, `allowed`, `array_libraries` and `aliases` (operator to helper).

        Raises:
            ValueError: when a key is missing or is not of the expected kind.
        """
        listed = data.get("rules")
        if not isinstance(listed, list | tuple):
            raise ValueError(f"policy: expected a list under 'rules', found {type(listed).__name__}")  # noqa: TRY004
        rules = tuple(_rule(entry, at) for at, entry in enumerate(listed))
        allowed = _texts(data, "allowed", "policy")
        libraries = frozenset(_texts(data, "array_libraries", "policy"))
        aliases = _pairs(data, "aliases", "policy")
        methods: dict[str, Rule] = {}
        for rule in rules:
            for name in rule.methods:
                methods.setdefault(name, rule)
        return cls(
            rules=rules,
            allowed=allowed,
            array_libraries=libraries,
            aliases=aliases,
            roots=frozenset(name.split(".")[0] for rule in rules for name in rule.names),
            _matchers=tuple((rule, _any_of(rule.names)) for rule in rules),
            _allowed=_any_of(allowed),
            _methods=methods,
        )

    def banned(self, name: str) -> Rule | None:
        """The rule that bans a canonical dotted name, or None."""
        try:
            return self._known[name]
        except KeyError:
            rule = self._banned(name)
            if len(self._known) < 4096:
                self._known[name] = rule
            return rule

    def _banned(self, name: str) -> Rule | None:
        if len(name) > LONGEST_NAME:
            return None
        rule = self._match(self.canonical(name))
        if rule is not None:
            return rule
        # A library that another module imported is still that library: helpers.torch.softmax.
        parts = name.split(".")
        for at in range(1, len(parts) - 1):
            if parts[at] in self.roots:
                rule = self._match(".".join(parts[at:]))
                if rule is not None:
                    return rule
        return None

    def canonical(self, name: str) -> str:
        """The helper's own name, where a name is listed as an alias of it."""
        return self.aliases.get(name, name)

    def helper(self, name: str) -> Rule | None:
        """The rule that bans a name, or a method taken from its class (`torch.Tensor.relu`), or None."""
        rule = self.banned(name)
        owner, _, last = name.rpartition(".")
        is_class = owner.rpartition(".")[2][:1].isupper()
        if (
            rule is None
            and is_class
            and owner.split(".")[0] in self.array_libraries
            and not self.allows(name)
        ):
            rule = self.method(last)
        return rule

    def _match(self, name: str) -> Rule | None:
        if self.allows(name):
            return None
        for rule, pattern in self._matchers:
            if pattern is not None and pattern.match(name):
                return rule
        return None

    def is_owner(self, name: str) -> bool:
        """Whether a banned helper is a member of a library's module of this very name."""
        return any(
            pattern.rpartition(".")[0] == name for rule in self.rules for pattern in rule.names
        ) and self.may_hold(name)

    def last_names(self, mentioned: frozenset[str]) -> re.Pattern[str] | None:
        """What the last name of a banned one may look like, None when it may be anything.

        A cheap first look at an attribute: of `x.reshape`, neither a rule's name nor what x is matters.
        Libraries that the source does not mention are left out.
        """
        roots = mentioned & self.roots
        if roots not in self._last_names and len(self._last_names) < 256:
            self._last_names[roots] = self._ends(roots)
        return self._last_names.get(roots)

    def _ends(self, mentioned: frozenset[str]) -> re.Pattern[str] | None:
        ends: set[str] = set()
        for rule in self.rules:
            for pattern in rule.names:
                root = pattern.split(".")[0]
                if root.isidentifier() and root not in mentioned:
                    continue
                # A star crosses dots, so only what follows the last dot and stands between stars is sure.
                stars = pattern.rstrip("*").split("*")
                end = stars[-1].rpartition(".")[2]
                if not end or "!" in end:
                    return None
                ends.add(f"*{end}*" if pattern.endswith("*") else f"*{end}")
        ends.update(self._methods)
        return _any_of(sorted(ends)) or re.compile("(?!)")

    def allows(self, name: str) -> bool:
        """Whether a name is allowed by its own pattern."""
        return self._allowed is not None and self._allowed.match(name) is not None

    def method(self, name: str) -> Rule | None:
        """The rule that bans a method of that name on the arrays of an array library, or None."""
        return self._methods.get(name)

    def may_hold(self, library: str) -> bool:
        """Whether a member of this library, of any name, could be banned."""
        root = library.split(".")[0]
        if not any(fnmatch.fnmatchcase(root, pattern) for pattern in self.roots):
            return False
        return f"{root}.*" not in self.allowed and f"{library}.*" not in self.allowed


def _rule(entry: object, at: int) -> Rule:
    if not isinstance(entry, Mapping):
        raise ValueError(f"policy: expected a mapping as rule {at + 1}, found {type(entry).__name__}")  # noqa: TRY004
    texts: dict[str, str] = {}
    for key in ("id", "title", "why", "instead"):
        value = entry.get(key)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"policy: rule {at + 1} needs a text under {key!r}, found {value!r}")
        texts[key] = value
    where = f"policy: rule {texts['id']!r}"
    return Rule(
        **texts, names=_texts(entry, "names", where), methods=frozenset(_texts(entry, "methods", where))
    )


def _texts(data: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    value = data.get(key, ())
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{where}: expected a list of texts under {key!r}, found {value!r}")
    return tuple(value)


def _pairs(data: Mapping[str, object], key: str, where: str) -> dict[str, str]:
    value = data.get(key, {})
    if not isinstance(value, Mapping) or not all(isinstance(t, str) for pair in value.items() for t in pair):
        raise ValueError(f"{where}: expected a mapping of texts under {key!r}, found {value!r}")
    return dict(value)
