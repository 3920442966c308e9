"""Drives a headless Chromium over the DevTools protocol, through a pair of pipes: no package but the browser is needed."""

import base64
import fcntl
import itertools
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE

# The browser reads commands from descriptor 3 and writes to 4.
START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
BROWSER = os.environ.get("VOLTPILE_BROWSER")  # set by ctest; see tests/CMakeLists.txt
MODIFIERS = {"Shift": 8}
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowRight": 39, " ": 32}


class Browser:
    """One page in a browser with a profile of its own. Use it in one thread."""

    def __init__(self):
        self.profile = pathlib.Path(tempfile.mkdtemp(prefix="voltpile-browser-"))
        (reader, self.output), (self.input, writer) = os.pipe(), os.pipe()
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   f"--user-data-dir={self.profile}", "--disable-dev-shm-usage", "--hide-scrollbars", "about:blank"]
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (reader, writer)]  # out of the way of 3 and 4
        start = [sys.executable, "-c", START, *map(str, ends), *command]
        self.process = subprocess.Popen(start, pass_fds=ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in (reader, writer, *ends):
            os.close(fd)
        self.numbers = itertools.count(1)
        self.received = b""
        self.problems = []  # errors and exceptions that the page's console showed
        self.session = None
        targets = self.wait(lambda: [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"])
        self.session = self.call("Target.attachToTarget", targetId=targets[0]["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.output)
        os.close(self.input)  # the browser ends when its pipe does
        try:
            self.process.wait(10 * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    # ---- Protocol ----
    def call(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 30 * PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _next(self, deadline):
        while b"\0" not in self.received:
            if not select.select([self.input], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.input, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self.received += data
        line, self.received = self.received.split(b"\0", 1)
        return json.loads(line)

    def _note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(str([a.get("value", a.get("description")) for a in parameters["args"]]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")

    # ---- The page ----
    def wait(self, condition, what="", timeout=20):
        """Waits until `condition` is true, a function or a JavaScript expression. Returns its result."""
        deadline = time.monotonic() + timeout * PATIENCE
        test = condition if callable(condition) else lambda: self.evaluate(f"Boolean({condition})")
        while True:
            result = test()
            if result:
                return result
            if time.monotonic() > deadline:
                raise AssertionError(f"did not happen within {timeout} s: {what or condition}")
            time.sleep(0.03)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def reload(self):
        self.evaluate("window.beforeReload = true")
        self.call("Page.reload")
        self.wait("!window.beforeReload && document.readyState === 'complete'")

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def prefer(self, **features):
        """Sets media features: prefer(color_scheme="dark", reduced_motion="reduce")."""
        named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=named)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key, shift=False):
        parameters = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": MODIFIERS["Shift"] * shift}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **parameters,
                  **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def click(self, selector):
        """Clicks in the middle of an element with the mouse."""
        where = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView("
                              "{block: 'nearest'}); const r = e.getBoundingClientRect();"
                              " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=where[0], y=where[1])
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def accessibility(self):
        """The accessibility tree as [(role, name, focusable)], without what screen readers skip."""
        found = []
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            if node.get("ignored"):
                continue
            focusable = any(p["name"] == "focusable" and p["value"].get("value") for p in node.get("properties", []))
            found.append((node["role"]["value"], node.get("name", {}).get("value", ""), focusable))
        return found
