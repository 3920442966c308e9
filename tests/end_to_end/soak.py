"""A mixed load on a server: short and long answers, clients that leave, that read slowly or that send nonsense, and bursts.
Every answer is compared with the text that its request got alone."""

import asyncio
import collections
import json
import random
import socket

CLIENTS = 16
PERIOD_S = 10  # of load, between two looks at the idle server
LONG = 300  # tokens
# What the server must answer with status 400 (404 for the model) and a message, in OpenAI's form.
BAD_BODIES = (
    b"{",
    b"[]",
    b'{"prompt": "\xff"}',
    b'{"prompt": {}}',
    b'{"prompt": "And", "max_tokens": -1}',
    b'{"prompt": "And", "temperature": 1e300}',
    b'{"prompt": "And", "no_such_field": 1}',
    b'{"prompt": "And", "model": "other"}',
    b'{"prompt": "And", "max_tokens": 100000}',
    b'{"prompt": "And", "regex": "("}',
    b'{"prompt": [99999999]}',
    b'{"prompt": "' + 5000 * b"and " + b'"}',
    b"[" * 100000,
)
BAD_BYTES = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # the beginning of TLS
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
    b"GET /v1/models HTTP/1.1\r\nHost: a\r\nX: " + 100000 * b"x" + b"\r\n\r\n",
    b"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n",
)


class Response:
    def __init__(self, reader, status, headers):
        self.reader, self.status, self.headers = reader, status, headers

    async def pieces(self):
        """Yields the body as it arrives. Raises IncompleteReadError if it is cut off."""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                yield await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
        else:
            yield await self.reader.readexactly(int(self.headers["content-length"]))

    async def body(self):
        return b"".join([piece async for piece in self.pieces()])


class Soak:
    """requests: list of (path, body, text), where text is what a greedy request gets alone."""

    def __init__(self, host, port, requests, seed=1):
        self.host, self.port, self.requests = host, port, requests
        self.random = random.Random(seed)
        self.counts = collections.Counter()
        self.failures = []

    async def connect(self, small=False):
        """small: with little room for what is not read yet."""
        if not small:
            return await asyncio.open_connection(self.host, self.port)
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (self.host, self.port))
        return await asyncio.open_connection(sock=connection, limit=1024)

    async def post(self, reader, writer, path, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        writer.write(b"POST %s HTTP/1.1\r\nHost: soak\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)))
        writer.write(data)
        return await self.response(reader)

    async def response(self, reader):
        status = int((await reader.readuntil(b"\r\n")).split()[1])
        headers = {}
        while line := (await reader.readuntil(b"\r\n")).strip().decode():
            name, value = line.split(": ", 1)
            headers[name.lower()] = value
        return Response(reader, status, headers)

    async def get(self, path):
        reader, writer = await self.connect()
        writer.write(b"GET %s HTTP/1.1\r\nHost: soak\r\n\r\n" % path.encode())
        response = await self.response(reader)
        body = await response.body()
        writer.close()
        return response.status, body

    async def metrics(self):
        """Values by name, added up over labels."""
        values = collections.Counter()
        for line in (await self.get("/metrics"))[1].decode().splitlines():
            if not line.startswith("#"):
                values[line.split("{")[0]] += float(line.rsplit(" ", 1)[1])
        return values

    def fail(self, kind, what):
        self.failures.append(f"{kind}: {what}")

    async def refused(self, kind, response):
        """Whether the server had no room, which it must say clearly."""
        if response.status != 429:
            return False
        error = json.loads(await response.body())["error"]
        if error["code"] != "queue_full" or int(response.headers["retry-after"]) < 1:
            self.fail(kind, f"429 without a clear reason: {error}")
        self.counts["refused with 429"] += 1
        return True

    async def whole(self, kind, reader, writer, request):
        path, body, text = request
        response = await self.post(reader, writer, path, body)
        if await self.refused(kind, response):
            return
        answer = json.loads(await response.body())
        if response.status != 200:
            return self.fail(kind, f"status {response.status}: {answer}")
        choice = answer["choices"][0]
        got = choice.get("text") or choice.get("message", {}).get("content")
        if got != text:
            self.fail(kind, f"{body} got {got!r}, expected {text!r}")
        self.counts[kind] += 1

    async def stream(self, kind, reader, writer, request, leave_after=None, pause_s=0):
        path, body, text = request
        response = await self.post(reader, writer, path, {**body, "stream": True})
        if await self.refused(kind, response):
            return
        if response.status != 200:
            return self.fail(kind, f"status {response.status}: {await response.body()}")
        data, events = b"", 0
        async for piece in response.pieces():
            data += piece
            events += piece.count(b"\n\n")
            if leave_after is not None and events >= leave_after:
                break
            if pause_s:
                await asyncio.sleep(pause_s)
        chunks = [line[6:] for line in data.split(b"\n\n") if line.startswith(b"data: ")]
        if leave_after is None and chunks.pop() != b"[DONE]":
            return self.fail(kind, f"the stream ended with {data[-200:]}")
        choices = [choice for chunk in chunks for choice in json.loads(chunk)["choices"]]
        got = "".join(choice["text"] if "text" in choice else choice["delta"].get("content", "") for choice in choices)
        if got != text if leave_after is None else not text.startswith(got):
            self.fail(kind, f"{body} got {got!r}, expected {text!r}")
        self.counts[kind] += 1

    async def bad_body(self):
        reader, writer = await self.connect()
        body = self.random.choice(BAD_BODIES)
        response = await self.post(reader, writer, "/v1/completions", body)
        if await self.refused("bad request", response):  # before its grammar was compiled
            return writer.close()
        error = json.loads(await response.body())["error"]
        if response.status not in (400, 404) or not error["message"]:
            self.fail("bad request", f"{body[:80]} got {response.status}: {error}")
        self.counts["bad request"] += 1
        writer.close()

    async def bad_bytes(self):
        reader, writer = await self.connect()
        sent = self.random.choice(BAD_BYTES)
        writer.write(sent)
        if b"Content-Length: 500" in sent:
            writer.write_eof()
        response = await self.response(reader)
        if not 400 <= response.status <= 505:
            self.fail("no HTTP", f"{sent[:80]} got {response.status}")
        self.counts["no HTTP"] += 1
        writer.close()

    async def one(self):
        """One thing that a client does."""
        kind = self.random.choices(
            ("whole", "stream", "long", "leaves midway", "leaves at once", "reads slowly", "bad request", "no HTTP", "burst"),
            (6, 10, 2, 4, 2, 3, 4, 2, 0.3),
        )[0]
        if kind == "bad request":
            return await self.bad_body()
        if kind == "no HTTP":
            return await self.bad_bytes()
        short, long = self.random.choice(self.requests[:-1]), self.requests[-1]
        if kind == "burst":
            self.counts["bursts"] += 1
            return await asyncio.gather(*(self.guarded("in a burst", short) for _ in range(40)))
        await self.guarded(kind, long if kind == "long" else short)

    async def guarded(self, kind, request):
        reader, writer = await self.connect(small=kind == "reads slowly")
        try:
            if kind == "leaves at once":
                path, body, _ = self.requests[-1]
                data = json.dumps({**body, "stream": True}).encode()
                writer.write(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data)
                await writer.drain()
                self.counts[kind] += 1
            elif kind == "whole":
                await self.whole(kind, reader, writer, request)
                await self.whole(kind, reader, writer, request)  # on the same connection
            elif kind == "leaves midway":
                await self.stream(kind, reader, writer, self.requests[-1], leave_after=self.random.randrange(1, 60))
            else:
                await self.stream(kind, reader, writer, request, pause_s=0.02 if kind == "reads slowly" else 0)
        finally:
            writer.close()

    async def client(self, until):
        loop = asyncio.get_running_loop()
        while loop.time() < until and not self.failures:
            try:
                await asyncio.wait_for(self.one(), 300)
            except Exception as error:
                self.fail("a client", f"{type(error).__name__}: {error}")

    async def idle(self):
        """Waits until the server has nothing to do. Returns its metrics."""
        deadline = asyncio.get_running_loop().time() + 300
        while True:
            now = await self.metrics()
            if now["vllm:num_requests_running"] == now["vllm:num_requests_waiting"] == 0 and now["voltpile:http_connections"] <= 1:
                return now
            if asyncio.get_running_loop().time() > deadline:
                self.fail("the idle server", f"does not become idle: {now}")
                return now
            await asyncio.sleep(0.1)

    async def run(self, seconds, look):
        """look(metrics): called with the idle server after each period of load."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end and not self.failures:
            until = min(end, loop.time() + PERIOD_S)
            await asyncio.gather(*(self.client(until) for _ in range(CLIENTS)))
            look(await self.idle())


async def texts_alone(host, port, requests):
    """Returns (path, body, text) for (path, body), with the text that each gets while the server does nothing else."""
    alone = []
    for path, body in requests:
        soak = Soak(host, port, [])
        reader, writer = await soak.connect()
        answer = json.loads(await (await soak.post(reader, writer, path, body)).body())
        choice = answer["choices"][0]
        alone.append((path, body, choice["text"] if "text" in choice else choice["message"]["content"]))
        writer.close()
    return alone
