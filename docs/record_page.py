#!/usr/bin/env python3
"""Draws docs/pictures/page_*.png: the web page of `voltpile serve`.

  VOLTPILE=build/release/voltpile VOLTPILE_BROWSER=$(which chromium-shell) python3 docs/record_page.py

The pictures of the chat show an example answer, those of the dashboard the tiny model under the load of sixteen clients.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "tests/end_to_end"))

from browser import Browser  # noqa: E402
from harness import ENVIRONMENT, VOLTPILE  # noqa: E402
from mock_serve import MockServer  # noqa: E402

PICTURES = SOURCE / "docs/pictures"
MODEL = SOURCE / "data/tiny_model/tiny-q8_0.gguf"
SECONDS = 57  # of load before the dashboard's picture

QUESTION = "Compare fp16 and Q8_0. How is a block of Q8_0 dequantized?"
ANSWER = """Both hold the same weights; they differ in **bytes per weight**, and so in speed.

| format | bytes per weight | 8B model |
|---|---:|---:|
| fp16 | 2 | 16.1 GB |
| Q8_0 | 1.0625 | 8.5 GB |

Q8_0 keeps 32 weights as `int8` with *one* fp16 scale:

```cpp
const float d = half_to_float(block.scale);
for (int i = 0; i < 32; ++i) out[i] = d * block.q[i];
```

Decoding is bound by memory, so half the bytes are nearly twice the speed.
"""


def draw_chat(browser):
    server = MockServer(model="example-model")
    browser.size(1280, 700)
    browser.open(server.address)
    browser.wait("document.getElementById('server').dataset.state === 'ready'")
    for question, answer in (("How do I start a server on four GPUs?", "Start four ranks: `mpirun -np 4 voltpile serve model.gguf`."),
                             (QUESTION, ANSWER)):
        browser.evaluate("document.getElementById('new-conversation').click()")
        server.actions.append({"text": answer, "delay": 0.02})
        browser.type(question)
        browser.press("Enter")
        browser.wait("document.querySelector('.answer .facts')?.textContent && document.getElementById('stop').hidden")
    browser.prefer(color_scheme="light")
    browser.screenshot(PICTURES / "page_chat.png")
    browser.prefer(color_scheme="dark")
    browser.size(360, 740, 2)
    browser.evaluate("document.getElementById('log').scrollTop = 0")
    browser.evaluate("document.activeElement.blur()")
    time.sleep(0.3)
    browser.screenshot(PICTURES / "page_phone.png")
    server.close()


def client(url, seed, stop):
    """Sends requests one after the other, with pauses, until `stop` is set."""
    draw = random.Random(seed)
    while not stop.is_set():
        prompt = "And it came to pass " * draw.randint(1, 12)
        body = {"prompt": prompt, "max_tokens": draw.randint(20, 300), "seed": draw.randrange(1000)}
        request = urllib.request.Request(f"{url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request).read()
        stop.wait(draw.uniform(0, 0.5))


def draw_dashboard(browser):
    with tempfile.TemporaryDirectory() as folder:
        address = pathlib.Path(folder) / "address"
        server = subprocess.Popen([VOLTPILE, "serve", MODEL, "--cpu", "--port", "0", "--address-file", address, "--sequences", "8"],
                                  env=ENVIRONMENT)
        stop = threading.Event()
        try:
            browser.wait(address.exists, "listens", 60)
            url = address.read_text().strip()
            browser.prefer(color_scheme="light")
            browser.size(1280, 720)
            browser.open(f"{url}/#dashboard")
            clients = [threading.Thread(target=client, args=(url, seed, stop)) for seed in range(16)]
            for thread in clients:
                thread.start()
            time.sleep(SECONDS)
            browser.screenshot(PICTURES / "page_dashboard.png")
            stop.set()
            for thread in clients:
                thread.join()
        finally:
            stop.set()
            server.terminate()
            server.wait()


if __name__ == "__main__":
    page = Browser()
    draw_chat(page)
    draw_dashboard(page)
    page.close()
