#!/usr/bin/python3
"""Runs one test module of this folder.

usage: run_tests.py [--at-once N] MODULE [CLASS | CLASS.test ...]

--at-once N: runs each test (or each named class or test) in its own process with its own rack, up to N at the same time,
for tests that mostly wait, such as for Slurm.

Exits with 0 if all passed, 1 if not, and 77 (skipped, for ctest) if this machine cannot run any of them.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess
import sys
import unittest

SKIPPED = 77

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def run_here(module, names):
    tests = unittest.defaultTestLoader.loadTestsFromNames([f"{module}.{name}" for name in names] or [module])
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}", file=sys.stderr)
    if not result.wasSuccessful():
        return 1
    if result.testsRun == len([test for test, _ in result.skipped if isinstance(test, unittest.TestCase)
                               and hasattr(test, "_testMethodName")]) and result.skipped:
        return SKIPPED
    return 0


def all_tests(suite):
    """Yields CLASS.test for each test; tests that cannot be loaded fail when they run."""
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from all_tests(each)
        else:
            yield f"{type(each).__name__}.{each._testMethodName}"


def run_apart(module, names, at_once):
    names = names or list(all_tests(unittest.defaultTestLoader.loadTestsFromName(module)))

    def run(name):
        return name, subprocess.run([sys.executable, "-B", __file__, module, name], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, check=False)
    codes = set()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, name) for name in names]):
            name, process = done.result()
            print(f"=== {name}: exit code {process.returncode}\n{process.stdout}", flush=True)
            codes.add(process.returncode)
    if codes == {SKIPPED}:
        return SKIPPED
    return 0 if codes <= {0, SKIPPED} else 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--at-once", type=int, default=0)
    parser.add_argument("module")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    module = arguments.module.removesuffix(".py")
    if arguments.at_once:
        return run_apart(module, arguments.names, arguments.at_once)
    return run_here(module, arguments.names)


if __name__ == "__main__":
    sys.exit(main())
