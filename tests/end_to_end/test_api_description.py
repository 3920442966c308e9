"""Requests that schemathesis (tests/clients.txt) makes of /openapi.json: every answer is one that the description has."""

import os
import subprocess
import sys
import unittest

from harness import PATIENCE
from serving import ServeCase

# Not positive_data_acceptance: some fields exclude each other, and a context can be exceeded.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance"


class ApiDescription(ServeCase):
    def test_every_answer_is_as_described(self):
        self.serve("--template", "chatml")
        command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run", f"{self.url}/openapi.json"]
        options = ["--phases", "coverage,fuzzing", "--checks", CHECKS, "--max-examples", "10", "--generation-deterministic"]
        options += ["--continue-on-failure", "--request-timeout", str(60 * PATIENCE), "--suppress-health-check", "all", "--no-color"]
        done = subprocess.run([*command, *options], cwd=self.folder, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.get("/ready").status, 200)


if __name__ == "__main__":
    unittest.main()
