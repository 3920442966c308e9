"""Starts `voltpile serve` with the tiny model for a test, and talks to it."""

import http.client
import json
import time

from harness import PATIENCE, Case
from tiny_model import MODELS

MODEL = MODELS / "tiny-q8_0.gguf"

# Requests that keep a server busy; their server needs LONG_CONTEXT. LONG is a stream of nearly as many events as a client
# may leave unread (stream_bytes in src/http/server.h: 1 MiB). ENDLESS takes minutes, without a stream.
LONG_CONTEXT = ("--context", 60000)
LONG = {"prompt": "And", "max_tokens": 1000, "n": 4, "ignore_eos": True, "temperature": 1, "seed": 3, "stream": True}
ENDLESS = {**LONG, "max_tokens": 50000, "n": 64, "stream": False}


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class ServeCase(Case):
    metric_headers = {}  # with the API key, if the server needs one

    def serve(self, *options, model=MODEL, ranks=None, environment={}):
        """Starts a server on a free port and waits until it listens. Sets self.server and self.port."""
        address = self.folder / "address"
        self.start_server(address, "serve", model, "--port", 0, "--address-file", address, "--cpu", *options, ranks=ranks, environment=environment)

    def start_server(self, address, *arguments, ranks=None, environment={}):
        """Runs a command that serves, and waits for its address file."""
        self.server = self.start(*arguments, ranks=ranks, environment=environment)
        self.addCleanup(self.end_server)
        deadline = time.monotonic() + 120 * PATIENCE
        while not address.exists():
            if self.server.poll() is not None or time.monotonic() > deadline:
                self.fail(f"the server does not listen: {self.server.communicate()}")
            time.sleep(0.02)
        self.url = address.read_text().strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def end_server(self):
        if self.server.poll() is None:
            self.server.kill()
        return self.server.communicate()

    def connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120 * PATIENCE)
        self.addCleanup(connection.close)
        return connection

    def get(self, path, headers={}):
        connection = self.connection()
        connection.request("GET", path, headers=headers)
        return Answer(connection.getresponse())

    def send_post(self, path, body, headers={}):
        """Sends a request and returns the connection; closing it is how the client leaves."""
        connection = self.connection()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, data, {"Content-Type": "application/json", **headers})
        return connection

    def open_post(self, path, body, headers={}):
        """Sends a request and returns the response, whose body may still be on its way."""
        connection = self.send_post(path, body, headers)
        response = connection.getresponse()
        response.leave = connection.close
        return response

    def post(self, path, body, headers={}):
        return Answer(self.open_post(path, body, headers))

    def metric(self, name, labels=""):
        for line in self.get("/metrics", self.metric_headers).body.decode().splitlines():
            if line.startswith(name + "{") and labels in line:
                return float(line.rsplit(" ", 1)[1])
        self.fail(f"no metric {name}")

    def wait_for_metric(self, name, wanted):
        deadline = time.monotonic() + 60 * PATIENCE
        while (value := self.metric(name)) != wanted:
            self.assertLess(time.monotonic(), deadline, f"{name} stays at {value}")
            time.sleep(0.02)


def events(response):
    """Yields the data of server-sent events as they arrive; [DONE] ends them."""
    for line in response:
        if line.startswith(b"data: "):
            data = line[6:].strip()
            if data == b"[DONE]":
                return
            yield json.loads(data)
    raise AssertionError("the stream ended without [DONE]")
