# runners/suites/pytest/pytest_deadrank/__init__.py — deadrank's scenarios in a pytest suite: plugin.py
# collects them, program.py plays them.
from pytest_deadrank.program import Deadrank, Outcome

__all__ = ["Deadrank", "Outcome"]
