// Shows one message of a conversation.

import { copyButton, element, iconButton } from "./dom.js";
import { renderMarkdown } from "./markdown.js";

const SHORTEST_S = 0.1;  // rates of shorter streams say nothing

const count = new Intl.NumberFormat("en-US");

function tokens(n) {
    return `${count.format(n)} ${n === 1 ? "token" : "tokens"}`;
}

// The facts below an answer: tokens, rate, time to the first token, and why it ended.
function facts({ usage, seconds, finish }) {
    const parts = [];
    if (finish === "stopped") parts.push("Stopped");
    if (finish === "length") parts.push("Reached the limit of tokens");
    if (finish === undefined) parts.push("Interrupted");
    if (usage?.completion !== undefined) {
        parts.push(tokens(usage.completion));
        const streaming = seconds ? seconds.total - seconds.first : 0;
        if (usage.completion > 1 && streaming > SHORTEST_S) {
            const rate = (usage.completion - 1) / streaming;
            parts.push(`${rate < 100 ? rate.toFixed(1) : count.format(Math.round(rate))} tokens/s`);
        }
    }
    if (seconds?.first !== undefined) parts.push(`first after ${seconds.first.toFixed(2)} s`);
    if (usage?.prompt !== undefined) parts.push(`prompt ${tokens(usage.prompt)}`);
    return parts.join(" · ");
}

// Splits thoughts that a model writes into its answer, <think>...</think>, from the answer itself.
function splitThought(message) {
    const match = /^\s*<think>([\s\S]*?)(?:<\/think>\s*|$)/.exec(message.content);
    if (!match) return { thought: message.thought ?? "", text: message.content };
    return { thought: match[1].trim(), text: message.content.slice(match[0].length) };
}

export class MessageView {
    constructor(message) {
        this.message = message;
        this.own = message.role === "user";
        this.body = element("div", { class: "message-body" });
        this.problem = element("p", { class: "problem", role: "alert", hidden: true });
        this.facts = element("span", { class: "facts" });
        this.actions = element("div", { class: "actions" });
        this.foot = element("div", { class: "message-foot" }, this.actions, this.facts);
        this.node = element("article", {
            class: `message ${this.own ? "own" : "answer"}`,
            "aria-label": this.own ? "You" : message.model || "Model",
        }, this.body, this.problem, this.foot);
        if (!this.own) this.node.prepend(element("p", { class: "who", "aria-hidden": "true" }, message.model || "Model"));
    }

    // Shows the message as it is now. `running`: its answer still arrives.
    show(running) {
        const { message } = this;
        this.node.classList.toggle("running", running);
        if (this.own) {
            this.body.textContent = message.content;
        } else {
            const { thought, text } = splitThought(message);
            if (thought) this.#showThought(thought);
            this.body.classList.toggle("waiting", running && !text);
            renderMarkdown(this.body, text);
        }
        this.problem.hidden = !message.error;
        this.problem.textContent = message.error ?? "";
        this.facts.textContent = this.own || running || message.error ? "" : facts(message);
    }

    #showThought(thought) {
        if (!this.thoughts) {
            this.thoughts = element("div", { class: "message-body" });
            this.body.before(element("details", { class: "thoughts" }, element("summary", {}, "Thoughts"), this.thoughts));
        }
        renderMarkdown(this.thoughts, thought);
    }

    // Shows the buttons below the message. `retry` and `edit`: listeners, or undefined for no such button.
    setActions({ retry, edit }) {
        const buttons = [];
        const { message } = this;
        if (message.content) {
            buttons.push(copyButton(this.own ? "Copy your message" : "Copy the answer", () => message.content));
        }
        if (edit) buttons.push(iconButton("edit", "Edit your message", edit, { text: "Edit" }));
        if (retry) buttons.push(iconButton("retry", "Answer again", retry, { text: "Retry" }));
        this.actions.replaceChildren(...buttons);
    }

    // Turns the message into a form. `save(text)` receives the new text, `cancel()` is called without one.
    startEdit(save, cancel) {
        const field = element("textarea", { class: "editor", rows: "3", "aria-label": "Edit your message" });
        field.value = this.message.content;
        const submit = (event) => {
            event.preventDefault();
            if (field.value.trim()) save(field.value.trim());
        };
        const form = element("form", { class: "edit-form", submit }, field,
            element("div", { class: "sheet-foot" },
                element("button", { type: "button", class: "button", click: cancel }, "Cancel"),
                element("button", { type: "submit", class: "button primary" }, "Send")));
        form.addEventListener("keydown", (event) => {
            if (event.key === "Escape") cancel();
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === field) submit(event);
        });
        this.body.replaceChildren(form);
        this.foot.hidden = true;
        this.node.classList.add("editing");
        field.focus();
        field.setSelectionRange(field.value.length, field.value.length);
    }
}
