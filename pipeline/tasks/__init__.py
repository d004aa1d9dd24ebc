"""The handlers of background work: each loads by id and calls one service.

The engine finds this package by its name (`tasks.apps`), and so all modules in it.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
