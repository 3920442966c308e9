"""A stand-in for `voltpile serve` for what the tiny model cannot show: Markdown, errors, GPUs. It serves the page's files from
the source tree and answers as the test wants."""

import http.server
import json
import mimetypes
import pathlib
import threading
import time

PAGE = pathlib.Path(__file__).resolve().parents[2] / "apps/llm/serve/page"
POLICY = (PAGE / "security_policy.txt").read_text().strip()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, kind="application/json", **headers):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, status, message, **headers):
        self.reply(status, json.dumps({"error": {"message": message, "type": "error", "code": None}}), **headers)

    def authorized(self):
        if not self.server.key or self.headers["Authorization"] == f"Bearer {self.server.key}":
            return True
        self.refuse(401, "this server needs an API key")
        return False

    def handle_one_request(self):
        if self.server.closed:  # as the end of a process closes its connections
            self.close_connection = True
        else:
            super().handle_one_request()

    def parse_request(self):
        return super().parse_request() and not self.server.closed

    def do_GET(self):
        path = self.path.split("?")[0]
        name = "index.html" if path == "/" else path.removeprefix("/page/")
        if "/" not in name and (PAGE / name).is_file():
            kind = mimetypes.guess_type(name)[0]
            self.reply(200, (PAGE / name).read_bytes(), kind, Content_Security_Policy=POLICY, Cache_Control="no-cache")
        elif path == "/v1/models" and self.authorized():
            self.reply(200, json.dumps({"object": "list", "data": [{"id": self.server.model, "max_model_len": 8192}]}))
        elif path == "/metrics" and self.authorized():
            self.reply(200, self.server.metrics(), "text/plain; version=0.0.4")
        elif path not in ("/v1/models", "/metrics"):
            self.refuse(404, f"no such path: {path}")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.authorized():
            return
        self.server.requests.append(body)
        action = self.server.actions.pop(0) if self.server.actions else {"text": "Nothing was planned."}
        if "status" in action:
            self.refuse(action["status"], action["message"], **action.get("headers", {}))
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.stream(action)
        except (BrokenPipeError, ConnectionResetError):
            self.server.disconnected.set()
        self.close_connection = True

    def event(self, **fields):
        self.wfile.write(f"data: {json.dumps(fields)}\n\n".encode())
        self.wfile.flush()

    def stream(self, action):
        pieces = [action["text"][i : i + 4] for i in range(0, len(action["text"]), 4)]
        delay = action.get("delay", 0)
        while True:
            for piece in pieces:
                self.event(choices=[{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
                time.sleep(delay)
            if not action.get("endless"):
                break
        if "error" in action:
            self.event(error={"message": action["error"], "type": "server_error"})
        if "error" in action or action.get("cut"):
            return
        self.event(choices=[{"index": 0, "delta": {}, "finish_reason": action.get("finish", "stop")}])
        self.event(choices=[], usage={"prompt_tokens": 11, "completion_tokens": len(pieces)})
        self.wfile.write(b"data: [DONE]\n\n")


class MockServer(http.server.ThreadingHTTPServer):
    """Listens on a free port until close(). `actions` says how it answers the next chat requests, each a dictionary: `text`
    (streamed four letters a token), `delay` (seconds a token), `endless`, `finish`, `error` (an event after the text), `cut` (no
    end), or `status` with `message` and `headers`. `requests` collects the bodies."""

    daemon_threads = True

    def __init__(self, model="mock-model", key="", metrics=lambda: ""):
        super().__init__(("127.0.0.1", 0), Handler)
        self.model, self.key, self.metrics = model, key, metrics
        self.actions, self.requests = [], []
        self.disconnected = threading.Event()
        self.closed = False
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # the browser closes connections as it likes

    def close(self):
        self.closed = True
        self.shutdown()
        self.server_close()
