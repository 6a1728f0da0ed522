"""The places that hold pages."""

import sys

# httpx imports its own command line wherever click is installed, and with it rich and pygments: a tenth of a second
# of every run. It goes on without when that import fails.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None is how a module is said to be absent
