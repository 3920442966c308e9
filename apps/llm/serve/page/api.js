// Client of the server's OpenAI-compatible API.

import { serverEvents } from "./server_events.js";

// A failed request. `message` is for people. `status` is the HTTP status, or 0 if no answer arrived.
export class ServerError extends Error {
    constructor(message, status = 0) {
        super(message);
        this.status = status;
    }
}

// What the reader can do about a status. The server's own message stands before it.
function advice(status, retryAfter) {
    const when = retryAfter ? `in ${retryAfter} s` : "later";
    switch (status) {
        case 403: return "This API key may not do that.";
        case 413: return "Shorten the message or start a new conversation.";
        case 429: return `The server is busy: try again ${when}.`;
        case 503: return `The server takes no new requests at the moment: try again ${when}.`;
        default: return "";
    }
}

function sentence(text) {
    const trimmed = text.trim();
    if (!trimmed) return "";
    const ended = /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
    return ended[0].toUpperCase() + ended.slice(1);
}

async function failure(response, key) {
    if (response.status === 401) {  // the server's message is for programmers
        const words = key ? "The server does not accept this API key." : "This server needs an API key.";
        return new ServerError(`${words} Enter it in Settings.`, 401);
    }
    let message = "";
    try {
        const body = await response.json();
        message = body?.error?.message ?? body?.message ?? "";
    } catch {
        // No JSON: the status has to do.
    }
    const words = sentence(String(message)) || `The server answered ${response.status} ${response.statusText}`.trim() + ".";
    const hint = advice(response.status, response.headers.get("Retry-After"));
    return new ServerError(hint ? `${words} ${hint}` : words, response.status);
}

async function request(path, { key, signal, body } = {}) {
    const headers = {};
    if (key) headers.Authorization = `Bearer ${key}`;
    if (body) headers["Content-Type"] = "application/json";
    let response;
    try {
        response = await fetch(path, {
            method: body ? "POST" : "GET",
            headers,
            signal,
            body: body && JSON.stringify(body),
            cache: "no-store",
        });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ServerError("Cannot reach the server. Check that it is still running, then try again.");
    }
    if (!response.ok) throw await failure(response, key);
    return response;
}

// Returns [{id, context}], `context` in tokens or undefined. Throws ServerError.
export async function listModels(key) {
    const answer = await (await request("v1/models", { key })).json();
    return (answer.data ?? []).map((model) => ({ id: String(model.id), context: model.max_model_len }));
}

// Returns the text of /metrics. Throws ServerError.
export async function readMetrics(key, signal) {
    return (await request("metrics", { key, signal })).text();
}

// Sends a chat request and yields the parts of the answer as they arrive: {text}, {thought}, {finish} and
// {usage: {prompt, completion}} (tokens). Throws ServerError, or an AbortError after signal.abort().
export async function* streamChat(body, { key, signal }) {
    const streamed = { ...body, stream: true, stream_options: { include_usage: true } };
    const response = await request("v1/chat/completions", { key, signal, body: streamed });
    let ended = false;
    try {
        for await (const { data } of serverEvents(response.body)) {
            if (data === "[DONE]") return;
            const chunk = parsed(data);
            if (chunk.error) throw new ServerError(sentence(String(chunk.error.message ?? "The server failed")), 500);
            const choice = chunk.choices?.[0];
            if (choice?.delta?.reasoning_content) yield { thought: choice.delta.reasoning_content };
            if (choice?.delta?.content) yield { text: choice.delta.content };
            if (choice?.finish_reason) {
                ended = true;
                yield { finish: choice.finish_reason };
            }
            if (chunk.usage) {
                yield { usage: { prompt: chunk.usage.prompt_tokens, completion: chunk.usage.completion_tokens } };
            }
        }
    } catch (error) {
        if (error.name === "AbortError" || error instanceof ServerError) throw error;
        throw new ServerError("The connection broke before the answer was complete.");
    }
    if (!ended) throw new ServerError("The connection closed before the answer was complete.");
}

function parsed(data) {
    try {
        return JSON.parse(data);
    } catch {
        throw new ServerError("The server sent an event that is not JSON.");
    }
}
