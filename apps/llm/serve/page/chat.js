// The chat: shows a conversation, sends messages, streams answers, stops, retries and edits them. Answers of several
// conversations may run at once; the one on screen shows its own.

import { streamChat } from "./api.js";
import { newConversation } from "./conversations.js";
import { announce, element } from "./dom.js";
import { MessageView } from "./message_view.js";
import { Sidebar } from "./sidebar.js";

const SAVE_EVERY_MS = 2000;
const HINT = "Enter sends, Shift+Enter starts a new line, Esc stops an answer.";
const SPOKEN_LENGTH = 600;  // characters; of a longer answer a screen reader hears only that it is there

export class Chat {
    // `server.welcome()` says what an empty conversation shows; `openSettings(field)` shows the settings.
    constructor({ settings, store, server, openSettings }) {
        Object.assign(this, { settings, store, server, openSettings });
        this.runs = new Map();  // conversation id -> {conversation, message, controller}
        this.stored = true;     // whether the browser kept the last change
        this.views = [];
        this.log = document.getElementById("log");
        this.field = document.getElementById("message");
        this.sendButton = document.getElementById("send");
        this.stopButton = document.getElementById("stop");
        this.latestButton = document.getElementById("to-latest");
        this.sidebar = new Sidebar({
            open: (id) => this.open(id),
            remove: (id) => this.#remove(id),
            create: () => this.start(),
        });
        this.#listen();
        this.conversation = store.list()[0] ?? newConversation();
        this.#showConversation();
    }

    #listen() {
        document.getElementById("composer").addEventListener("submit", (event) => {
            event.preventDefault();
            this.#send();
        });
        this.field.addEventListener("keydown", (event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                event.preventDefault();
                this.#send();
            }
        });
        this.field.addEventListener("input", () => this.#fitField());
        this.stopButton.addEventListener("click", () => this.stop());
        document.getElementById("conversation").addEventListener("keydown", (event) => {
            if (event.key === "Escape") this.stop();
        });
        this.log.addEventListener("scroll", () => this.#showLatestButton());
        this.latestButton.addEventListener("click", () => {
            this.#scrollToEnd();
            this.field.focus();
        });
        window.addEventListener("pagehide", () => this.#leave());
        window.addEventListener("pageshow", (event) => {
            if (event.persisted) this.#showConversation();  // the browser kept the page and returned to it
        });
    }

    // Keeps what has arrived of running answers when the page closes or reloads.
    #leave() {
        const runs = [...this.runs.values()];
        this.runs.clear();
        for (const { conversation, controller } of runs) {
            this.store.save(conversation);
            controller.abort();
        }
    }

    // Starts an empty conversation.
    start() {
        this.conversation = newConversation();
        this.#showConversation();
        this.field.focus();
    }

    open(id) {
        const conversation = this.runs.get(id)?.conversation ?? this.store.get(id);
        if (!conversation) return this.refreshList();
        this.conversation = conversation;
        this.#showConversation();
        this.field.focus();
    }

    stop() {
        this.runs.get(this.conversation.id)?.controller.abort();
    }

    // Shows the list of conversations as it is now, after a change here or in another tab.
    refreshList() {
        this.sidebar.show(this.store.list(), this.conversation.id, this.runs);
    }

    // Shows what is known of the server where there are no messages yet.
    refreshWelcome() {
        if (this.conversation.messages.length === 0) this.#showConversation();
    }

    #remove(id) {
        this.runs.get(id)?.controller.abort();
        this.runs.delete(id);
        this.store.remove(id);
        if (id === this.conversation.id) this.conversation = this.store.list()[0] ?? newConversation();
        this.#showConversation();
        this.field.focus();
        announce("Conversation deleted");
    }

    #send() {
        const text = this.field.value.trim();
        if (!text || this.runs.has(this.conversation.id)) return;
        this.field.value = "";
        this.#fitField();
        this.conversation.messages.push({ role: "user", content: text });
        this.#answer(this.conversation);
    }

    // Replaces the last answer by a new one.
    #retry() {
        const { messages } = this.conversation;
        if (messages.at(-1)?.role === "assistant") messages.pop();
        this.field.focus();
        this.#answer(this.conversation);
    }

    #edit(view) {
        const { conversation } = this;
        view.startEdit((text) => {
            const at = conversation.messages.indexOf(view.message);
            conversation.messages.splice(at, Infinity, { role: "user", content: text });
            this.field.focus();
            this.#answer(conversation);
        }, () => {
            this.#showConversation();
            this.views.find((v) => v.message === view.message)?.actions.querySelector("button:last-child")?.focus();
        });
    }

    // What the model sees: the system prompt and all messages but failed answers. The questions before and after a failed
    // answer become one, because the chat templates of some models insist on alternating roles.
    #requestMessages(conversation) {
        const messages = this.settings.system ? [{ role: "system", content: this.settings.system }] : [];
        for (const { role, content } of conversation.messages) {
            if (role === "assistant" && !content) continue;
            if (messages.at(-1)?.role === role) messages.at(-1).content += `\n\n${content}`;
            else messages.push({ role, content });
        }
        return messages;
    }

    async #answer(conversation) {
        const body = { ...this.settings.requestFields(), messages: this.#requestMessages(conversation) };
        const message = { role: "assistant", content: "", model: body.model };
        const run = { conversation, message, controller: new AbortController() };
        conversation.messages.push(message);
        conversation.changed = Date.now();
        this.runs.set(conversation.id, run);
        this.#save(conversation);
        this.#showConversation();
        this.#scrollToEnd();
        try {
            await this.#stream(run, body);
        } catch (error) {
            if (error.name === "AbortError") message.finish = "stopped";
            else {
                message.finish = "error";
                message.error = error.message;
            }
        }
        this.#finish(run);
    }

    async #stream(run, body) {
        const { message, conversation } = run;
        const started = performance.now();
        const seconds = () => (performance.now() - started) / 1000;
        let saved = started;
        for await (const part of streamChat(body, { key: this.settings.key, signal: run.controller.signal })) {
            if (part.text || part.thought) {
                const now = seconds();
                message.seconds ??= { first: now };
                message.seconds.total = now;
                message.content += part.text ?? "";
                if (part.thought) message.thought = (message.thought ?? "") + part.thought;
            }
            if (part.finish) message.finish = part.finish;
            if (part.usage) message.usage = part.usage;
            this.#showSoon(run);
            if (performance.now() - saved > SAVE_EVERY_MS) {
                saved = performance.now();
                this.store.save(conversation);
            }
        }
    }

    #finish(run) {
        const { conversation, message } = run;
        if (this.runs.get(conversation.id) !== run) return;  // deleted, or the page is closing
        this.runs.delete(conversation.id);
        conversation.changed = Date.now();
        this.#save(conversation);
        if (conversation !== this.conversation) return;
        const hadFocus = document.activeElement === this.stopButton;
        this.#showLast(run);
        this.#showState();
        if (hadFocus) this.field.focus();
        if (!message.error) announce(this.#spoken(message));  // an error is an alert of its own
    }

    #spoken(message) {
        const text = this.views.at(-1).body.textContent.trim();
        if (message.finish === "stopped") return "Answer stopped";
        return text.length <= SPOKEN_LENGTH ? `Answer: ${text}` : `Answer complete, ${text.split(/\s+/).length} words`;
    }

    #save(conversation) {
        const stored = this.store.save(conversation);
        if (stored !== this.stored) {
            const hint = document.getElementById("composer-hint");
            hint.classList.toggle("warning", !stored);
            hint.textContent = stored ? HINT
                : "This browser's storage is full or off: this conversation will be lost. Delete others to make room.";
            this.stored = stored;
        }
        this.refreshList();
    }

    // Shows the new text of a running answer with the next frame, however many tokens arrive until then.
    #showSoon(run) {
        if (run.frame || run.conversation !== this.conversation) return;
        run.frame = requestAnimationFrame(() => {
            run.frame = undefined;
            if (run.conversation === this.conversation) this.#showLast(run);
        });
    }

    #showLast(run) {
        const follow = this.#atEnd();
        this.views.at(-1).show(this.runs.get(run.conversation.id) === run);
        if (follow) this.#scrollToEnd();
        this.#showLatestButton();
    }

    #showConversation() {
        const { messages, id } = this.conversation;
        const running = this.runs.get(id)?.message;
        this.views = messages.map((message) => new MessageView(message));
        for (const view of this.views) view.show(view.message === running);
        this.log.replaceChildren(...(messages.length ? this.views.map((view) => view.node) : [this.#welcome()]));
        this.#showState();
        this.#scrollToEnd();
        this.refreshList();
    }

    #welcome() {
        const { title, text, field } = this.server.welcome();
        const mark = document.querySelector(".brand svg").cloneNode(true);
        const node = element("div", { class: "welcome" }, mark, element("h2", {}, title), element("p", {}, text));
        if (field) {
            const click = () => this.openSettings(field);
            node.append(element("button", { type: "button", class: "button primary", click }, "Open settings"));
        }
        return node;
    }

    // Shows the buttons that fit: Stop while an answer runs; Retry and Edit at the last messages otherwise.
    #showState() {
        const running = this.runs.has(this.conversation.id);
        this.sendButton.hidden = running;
        this.stopButton.hidden = !running;
        const lastOwn = this.views.findLast((view) => view.own);
        for (const view of this.views) {
            const last = !running && view === this.views.at(-1);
            view.setActions({
                retry: last ? () => this.#retry() : undefined,
                edit: !running && view === lastOwn ? () => this.#edit(view) : undefined,
            });
        }
        document.title = this.conversation.title ? `${this.conversation.title} - Voltpile` : "Voltpile";
    }

    #fitField() {
        this.field.style.height = "auto";
        this.field.style.height = `${this.field.scrollHeight}px`;
    }

    #atEnd(tolerance = 40) {
        return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < tolerance;
    }

    #scrollToEnd() {
        this.log.scrollTop = this.log.scrollHeight;
        this.#showLatestButton();
    }

    #showLatestButton() {
        this.latestButton.hidden = this.#atEnd(120);
    }
}
