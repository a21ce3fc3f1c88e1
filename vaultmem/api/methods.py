"""The methods of a vault for memory verbs, made from the table of verbs; methods.pyi has their types."""

from __future__ import annotations

from types import MethodType

from vaultmem.api.params import LISTS
from vaultmem.api.verbs import PYTHON, every, own


class Methods:
    """Each method takes its verb's parameters: by position those that are positional on the command line, the others
    by name."""

    def ask(self, verb, /, **params):
        """The answer of a verb, carried out by the agent if one runs, else in this process."""
        from vaultmem.api.rpc import ask

        return ask(self, verb, params)

    def __getattr__(self, name):
        """The method of a verb from another package, found when it is first called."""
        for verb_name, verb in every().items() if not name.startswith("_") else ():
            if verb.run and method_name(verb_name, verb) == name:
                return MethodType(_method(verb_name, verb), self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _method(name, verb):
    def method(self, *args, **named):
        places = [param for param in verb.of(PYTHON) if param.place or param.leads]
        lists = {param.name for param in verb.params if param.kind in LISTS}
        key = verb.gives.partition(":")[0] if ":" in verb.gives else ""
        for place, value in zip(places, args, strict=False):
            named[place.name] = value
        rest = args[len(places) - 1 :]
        if len(args) >= len(places) > 0 and places[-1].kind in LISTS and places[-1].place == "*":
            named[places[-1].name] = rest
        elif len(args) > len(places):
            raise TypeError(f"{method.__name__}() takes {len(places)} positional arguments")
        params = {
            param_name: _plain(value, param_name in lists) for param_name, value in named.items()
        }
        answer = self.ask(name, **params)
        return answer[key] if key else answer

    method.__name__ = method_name(name, verb)
    method.__doc__ = f"{verb.summary or name}. The answer: {verb.returns or 'a report'}"
    return method


def _plain(value, is_list):
    return value if value is None or not is_list or isinstance(value, str) else [*value]


def method_name(name, verb):
    """The name of a verb in Python; "" if it has no method."""
    return "" if verb.method == "-" else verb.method or name.replace("-", "_")


for _name, _verb in own().items():
    if _verb.run and method_name(_name, _verb):
        setattr(Methods, method_name(_name, _verb), _method(_name, _verb))
