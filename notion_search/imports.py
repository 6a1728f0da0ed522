"""Load a large package without the parts of it that are never used here."""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


def import_without(name: str, parts: Sequence[str]) -> ModuleType:
    """Return the package, imported with an empty module in the place of each of these submodules.

    Every name asked of such a module is `object`, which serves where a part is only named in annotations and unions.
    Whoever imports a part later gets the real one. A package that cannot be loaded so is loaded whole. Raises
    ImportError.
    """
    if name in sys.modules:
        return importlib.import_module(name)
    stand_ins = _StandIns([f"{name}.{part}" for part in parts])
    sys.meta_path.insert(0, stand_ins)
    try:
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001 - a package may make anything of a part it misses; what ails it itself comes again
        for module in [module for module in sys.modules if f"{module}.".startswith(f"{name}.")]:
            del sys.modules[module]
    finally:
        sys.meta_path.remove(stand_ins)
        stand_ins.leave()
    return importlib.import_module(name)


class _StandIns:
    """Finds an empty module for each of these names and for whatever is below them.

    A finder and a loader as importlib wants them; its base classes are ten milliseconds away.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(f"{name}." for name in names)
        self._made: list[ModuleType] = []

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return where the module is found: here, for one of the names."""
        return ModuleSpec(name, self, is_package=True) if f"{name}.".startswith(self._names) else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of the module to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Make the module answer every public name."""
        module.__dict__.update(__all__=[], __getattr__=_anything)
        self._made.append(module)

    def leave(self) -> None:
        """Take the stand-ins out of the places where an import would find them."""
        for module in self._made:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
            parent, _, child = module.__name__.rpartition(".")
            if vars(sys.modules.get(parent, module)).get(child) is module:
                delattr(sys.modules[parent], child)


def _anything(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return object
