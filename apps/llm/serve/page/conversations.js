// The conversations, kept in the browser's localStorage, one entry each, so that two tabs do not overwrite each other's.

const PREFIX = "voltpile.conversation.";
const TITLE_LENGTH = 60;

// A conversation is {id, title, changed, messages}, `changed` in milliseconds since 1970. A message is {role, content} and for
// an answer also: thought, model, finish ("stop", "length", "stopped", "error", or undefined while it runs), error,
// usage {prompt, completion} in tokens, seconds {first, total}.
export function newConversation() {
    const random = crypto.getRandomValues(new Uint32Array(3));
    return { id: [...random].map((n) => n.toString(36)).join(""), title: "", changed: Date.now(), messages: [] };
}

// Names a conversation after its first message.
export function titleOf(conversation) {
    const first = conversation.messages.find((message) => message.role === "user")?.content ?? "";
    const line = first.trim().split("\n")[0].trim();
    const short = [...line].slice(0, TITLE_LENGTH).join("");
    return short === line ? line || "New conversation" : `${short.trimEnd()}…`;
}

export class ConversationStore {
    // `onChange()` is called when another tab changes a conversation.
    constructor(onChange) {
        window.addEventListener("storage", (event) => {
            if (event.key === null || event.key.startsWith(PREFIX)) onChange();
        });
    }

    // Returns all conversations that have messages, the latest first. Skips entries that are not ours.
    list() {
        const found = [];
        try {
            for (let i = 0; i < localStorage.length; i++) {
                const key = localStorage.key(i);
                const conversation = key.startsWith(PREFIX) ? this.#parse(localStorage.getItem(key)) : undefined;
                if (conversation) found.push(conversation);
            }
        } catch {
            return [];  // the browser forbids storage
        }
        return found.sort((a, b) => b.changed - a.changed);
    }

    get(id) {
        try {
            return this.#parse(localStorage.getItem(PREFIX + id));
        } catch {
            return undefined;
        }
    }

    // Returns whether it was stored: the browser's storage may be full or forbidden.
    save(conversation) {
        conversation.title = titleOf(conversation);
        try {
            localStorage.setItem(PREFIX + conversation.id, JSON.stringify(conversation));
            return true;
        } catch {
            return false;
        }
    }

    remove(id) {
        try {
            localStorage.removeItem(PREFIX + id);
        } catch {
            // Nothing was stored.
        }
    }

    #parse(text) {
        try {
            const conversation = JSON.parse(text);
            const sound = typeof conversation?.id === "string" && Array.isArray(conversation.messages) &&
                conversation.messages.every((m) => typeof m?.role === "string" && typeof m.content === "string");
            return sound ? conversation : undefined;
        } catch {
            return undefined;
        }
    }
}
