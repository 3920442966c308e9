// Starts the page: connects to the server, chooses between chat and dashboard.

import { listModels } from "./api.js";
import { Chat } from "./chat.js";
import { ConversationStore } from "./conversations.js";
import { Dashboard } from "./dashboard.js";
import { Settings, SettingsDialog } from "./settings.js";
import { connectThemeButton } from "./theme.js";

const RETRY_MS = 5000;

// What is known of the server: its models, or why they are unknown.
class Server {
    constructor(settings) {
        this.settings = settings;
        this.models = [];
        this.error = undefined;
        this.asked = false;
    }

    async refresh() {
        try {
            this.models = await listModels(this.settings.key);
            this.error = undefined;
            const offered = this.models.some((model) => model.id === this.settings.model);
            if (!offered && this.models.length) this.settings.model = this.models[0].id;
        } catch (error) {
            this.error = error;
        }
        this.asked = true;
        this.#showState();
    }

    // What an empty conversation says: {title, text, field}, `field` the setting that helps, if any does.
    welcome() {
        if (!this.asked) return { title: "Connecting…", text: "" };
        if (this.error?.status === 401) {
            return { title: "Enter the API key", text: this.error.message, field: "key" };
        }
        if (this.error) return { title: "No connection", text: this.error.message };
        const model = this.models.find((m) => m.id === this.settings.model);
        const room = model?.context ? ` Its context holds ${model.context.toLocaleString("en-US")} tokens.` : "";
        return { title: "What would you like to know?", text: `${this.settings.model || "The model"} answers here.${room}` };
    }

    #showState() {
        const state = this.error ? (this.error.status === 401 ? "locked" : "broken") : "ready";
        const words = { locked: "API key needed", broken: "No connection", ready: this.settings.model };
        const node = document.getElementById("server");
        node.dataset.state = state;
        const text = document.getElementById("server-text");
        if (text.textContent !== words[state]) text.textContent = words[state];  // else it would be read out again
    }
}

const settings = new Settings();
const server = new Server(settings);
const dialog = new SettingsDialog(settings, refresh);
const openSettings = (field) => dialog.open(server.models, field);
const store = new ConversationStore(() => chat.refreshList());
const chat = new Chat({ settings, store, server, openSettings });
const dashboard = new Dashboard(() => settings.key);

let retry;
async function refresh() {
    const error = server.error?.message;
    await server.refresh();
    if (!server.error || server.error.message !== error) chat.refreshWelcome();
    clearTimeout(retry);
    if (server.error && server.error.status !== 401) retry = setTimeout(refresh, RETRY_MS);
}

// The address's fragment names the view, so that Back works and a view can be bookmarked.
function showView() {
    const name = location.hash === "#dashboard" ? "dashboard" : "chat";
    for (const view of ["chat", "dashboard"]) {
        document.getElementById(view).hidden = view !== name;
        const tab = document.getElementById(`tab-${view}`);
        if (view === name) tab.setAttribute("aria-current", "page");
        else tab.removeAttribute("aria-current");
    }
    document.body.dataset.view = name;
    dashboard.setVisible(name === "dashboard");
}

connectThemeButton();
document.getElementById("open-settings").addEventListener("click", () => openSettings());
document.querySelector("[data-skip]").addEventListener("click", (event) => {
    event.preventDefault();  // the fragment is the view's name
    document.getElementById(document.body.dataset.view === "chat" ? "message" : "dashboard").focus();
});
window.addEventListener("hashchange", showView);
showView();
refresh();
