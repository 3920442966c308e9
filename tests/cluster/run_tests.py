#!/usr/bin/python3
"""Runs one test module of this folder.

usage: run_tests.py MODULE [CLASS | CLASS.test ...]

Exits with 0 if all passed, 1 if not, and 77, which ctest shows as skipped, if this machine could run none of them.
"""

import pathlib
import sys
import unittest

SKIPPED = 77

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    module = sys.argv[1].removesuffix(".py")
    names = [f"{module}.{name}" for name in sys.argv[2:]] or [module]
    result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromNames(names))
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}", file=sys.stderr)
    if not result.wasSuccessful():
        return 1
    if result.testsRun == len([test for test, _ in result.skipped if isinstance(test, unittest.TestCase)
                               and hasattr(test, "_testMethodName")]) and result.skipped:
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
