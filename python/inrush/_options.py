"""Options as keyword arguments. The engine checks them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

_SECRETS = ("password", "api_key", "bearer")


@dataclass(frozen=True)
class Options:
    """The options of a load. They can be pickled; their text never shows a secret."""

    table: dict[str, Any]
    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Options:
        """Separates secrets from other options, and converts Python values to plain ones."""
        table = {name: _plain(name, value) for name, value in options.items() if name not in _SECRETS}
        secrets = {name: options[name] for name in _SECRETS if options.get(name) is not None}
        for name, secret in secrets.items():
            if not isinstance(secret, str):
                raise TypeError(f"{name} has to be a str, not {type(secret).__name__}")
        return cls(table, secrets)

    def but(self, **changes: Any) -> Options:
        """A copy with changed options. None removes an option."""
        table = {**self.table, **{name: _plain(name, value) for name, value in changes.items()}}
        return Options({name: value for name, value in table.items() if value is not None}, self.secrets)

    def with_secret(self, name: str, secret: str | None) -> Options:
        """A copy with one more secret. The text of the options does not show it."""
        return self if secret is None else Options(self.table, {**self.secrets, name: secret})

    def as_json(self) -> str:
        return json.dumps(self.table)

    def secret_list(self) -> list[str | None]:
        return [self.secrets.get(name) for name in _SECRETS]


def _plain(name: str, value: Any) -> Any:
    """A value that a job file could have."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, timedelta):
        return f"{round(value.total_seconds() * 1000)}ms"
    if isinstance(value, Mapping):
        return {str(key): _plain(name, item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(name, item) for item in value]
    raise TypeError(f"{name} is of type {type(value).__name__}; expected a string, a number, True or False, or a list or dict of them")
