// The list of conversations: a column beside the chat, or a drawer over it on narrow screens.

import { element, iconButton } from "./dom.js";

export class Sidebar {
    // `open(id)` shows a conversation, `remove(id)` deletes one after the reader confirmed, `create()` starts one.
    constructor({ open, remove, create }) {
        this.onOpen = open;
        this.onRemove = remove;
        this.list = document.getElementById("conversations");
        this.toggle = document.getElementById("open-sidebar");
        this.confirm = document.getElementById("confirm");
        this.narrow = window.matchMedia("(max-width: 52rem)");
        this.narrow.addEventListener("change", () => this.setDrawer(false));
        this.toggle.addEventListener("click", () => this.setDrawer(!this.drawer));
        document.getElementById("backdrop").addEventListener("click", () => this.setDrawer(false));
        document.getElementById("sidebar").addEventListener("keydown", (event) => {
            if (event.key !== "Escape" || !this.drawer) return;
            this.setDrawer(false);
            this.toggle.focus();
        });
        document.getElementById("new-conversation").addEventListener("click", () => {
            this.setDrawer(false);
            create();
        });
    }

    get drawer() { return document.body.classList.contains("drawer-open"); }

    // Opens or closes the drawer. What it covers cannot be reached meanwhile.
    setDrawer(open) {
        const shown = open && this.narrow.matches;
        document.body.classList.toggle("drawer-open", shown);
        document.getElementById("conversation").inert = shown;
        this.toggle.setAttribute("aria-expanded", String(shown));
        if (shown) document.getElementById("new-conversation").focus();
    }

    // Shows the conversations; `current` and `running` are ids.
    show(conversations, current, running) {
        const focused = document.activeElement?.closest?.("#conversations li")?.dataset.id;
        this.list.replaceChildren(...conversations.map(({ id, title }) => element("li", { "data-id": id },
            element("button", {
                type: "button", class: "conversation-link", "aria-current": id === current && "true", title,
                click: () => {
                    this.setDrawer(false);
                    this.onOpen(id);
                },
            }, running.has(id) ? `● ${title}` : title),
            iconButton("remove", `Delete ${title}`, () => this.#askToRemove(id, title), { quiet: true }))));
        if (focused) this.list.querySelector(`li[data-id="${CSS.escape(focused)}"] button`)?.focus();
    }

    #askToRemove(id, title) {
        document.getElementById("confirm-text").textContent = `“${title}” cannot be restored.`;
        this.confirm.returnValue = "";
        this.confirm.addEventListener("close", () => {
            if (this.confirm.returnValue === "delete") this.onRemove(id);
        }, { once: true });
        this.confirm.showModal();
    }
}
