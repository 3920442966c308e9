// Server-sent events of a response body, as the HTML standard defines their format.

// Yields {event, data} for each event of `stream`, a ReadableStream of bytes. `data` lines are joined by newlines; comments
// and fields other than `event` and `data` are skipped; an event that the end of the stream cuts off is dropped.
export async function* serverEvents(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let event = "";
    let data = [];
    try {
        for (;;) {
            const { value, done } = await reader.read();
            if (done) return;
            rest += value;
            // A lone CR ends a line too, but one at the end of a chunk may be half of CR LF.
            const lines = rest.split(/\r\n|\n|\r(?!$)/);
            rest = lines.pop();
            for (const line of lines) {
                if (line === "") {
                    if (data.length) yield { event: event || "message", data: data.join("\n") };
                    event = "";
                    data = [];
                    continue;
                }
                const colon = line.indexOf(":");
                const field = colon < 0 ? line : line.slice(0, colon);
                const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
                if (field === "data") data.push(text);
                else if (field === "event") event = text;
            }
        }
    } finally {
        reader.cancel().catch(() => {});  // frees the connection if the caller stops early
    }
}
