// Settings of the page: model, sampling, system prompt, API key. Everything but the key is kept in localStorage; the key only
// for this tab unless its owner asks to keep it.

import { element } from "./dom.js";

const STORAGE = "voltpile.settings";
const KEY_STORAGE = "voltpile.api_key";

// The sampling fields: the server's names, ranges and what they do. An empty field leaves the choice to the server.
export const SAMPLING = [
    { name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.05, hint: "0 always takes the likeliest token" },
    { name: "max_tokens", label: "Max. tokens", min: 1, step: 1, hint: "length of an answer" },
    { name: "top_p", label: "Top p", min: 0, max: 1, step: 0.01, hint: "likeliest tokens that make up this share" },
    { name: "top_k", label: "Top k", min: 0, step: 1, hint: "this many likeliest tokens; 0: all" },
    { name: "min_p", label: "Min. p", min: 0, max: 1, step: 0.01, hint: "tokens at least this likely, relative to the likeliest" },
    { name: "seed", label: "Seed", min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, hint: "same seed, same answer" },
    { name: "presence_penalty", label: "Presence penalty", min: -2, max: 2, step: 0.1, hint: "against tokens that occurred" },
    { name: "frequency_penalty", label: "Frequency penalty", min: -2, max: 2, step: 0.1, hint: "against frequent tokens" },
    { name: "repetition_penalty", label: "Repetition penalty", min: 0.1, max: 2, step: 0.05, hint: "1: none" },
];

function stored(storage, name, fallback) {
    try {
        return JSON.parse(storage.getItem(name)) ?? fallback;
    } catch {
        return fallback;
    }
}

function store(storage, name, value) {
    try {
        if (value === undefined) storage.removeItem(name);
        else storage.setItem(name, JSON.stringify(value));
    } catch {
        // Without storage, settings last as long as the page.
    }
}

export class Settings {
    constructor() {
        const kept = stored(localStorage, STORAGE, {});
        this.model = String(kept.model ?? "");
        this.system = String(kept.system ?? "");
        this.stop = Array.isArray(kept.stop) ? kept.stop.map(String) : [];
        this.sampling = {};
        for (const { name } of SAMPLING) {
            if (Number.isFinite(kept.sampling?.[name])) this.sampling[name] = kept.sampling[name];
        }
        const lasting = stored(localStorage, KEY_STORAGE, "");
        this.keepKey = lasting !== "";
        this.key = lasting || stored(sessionStorage, KEY_STORAGE, "");
    }

    save() {
        const { model, system, stop, sampling } = this;
        store(localStorage, STORAGE, { model, system, stop, sampling });
        store(localStorage, KEY_STORAGE, this.keepKey && this.key ? this.key : undefined);
        store(sessionStorage, KEY_STORAGE, !this.keepKey && this.key ? this.key : undefined);
    }

    // The fields of a chat request, apart from the messages.
    requestFields() {
        return { model: this.model, ...this.sampling, ...(this.stop.length ? { stop: this.stop } : {}) };
    }
}

function numberField(field, value) {
    const id = `setting-${field.name}`;
    const input = element("input", {
        id, name: field.name, type: "number", inputmode: field.step === 1 ? "numeric" : "decimal",
        min: field.min, max: field.max, step: field.step === 1 ? 1 : "any", placeholder: "default",
        "aria-describedby": `${id}-hint`,
    });
    if (value !== undefined) input.value = value;
    return element("div", { class: "field" }, element("label", { for: id }, field.label), input,
        element("small", { id: `${id}-hint` }, field.hint));
}

// Connects the dialog of index.html with `settings`. `onSave()` is called after the reader saved.
export class SettingsDialog {
    constructor(settings, onSave) {
        this.settings = settings;
        this.dialog = document.getElementById("settings");
        this.form = this.dialog.querySelector("form");
        this.numbers = document.getElementById("sampling-fields");
        this.form.addEventListener("submit", () => {  // the browser has checked the ranges
            this.#read();
            settings.save();
            onSave();
        });
        document.getElementById("reset-sampling").addEventListener("click", () => {
            for (const { name } of SAMPLING) this.form.elements[name].value = "";
            this.form.elements.stop.value = "";
        });
        for (const button of this.dialog.querySelectorAll("[data-close]")) {
            button.addEventListener("click", () => this.dialog.close());
        }
        this.dialog.addEventListener("click", (event) => {
            if (event.target === this.dialog) this.dialog.close();  // a click outside of it
        });
    }

    // Opens the dialog. `models`: what the server offers. `focus`: the name of the field to start in.
    open(models, focus) {
        const { settings } = this;
        const fields = this.form.elements;
        const names = models.map((model) => model.id);
        if (settings.model && !names.includes(settings.model)) names.push(settings.model);
        fields.model.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
        fields.model.value = settings.model;
        fields.system.value = settings.system;
        fields.stop.value = settings.stop.join("\n");
        fields.key.value = settings.key;
        fields.keep_key.checked = settings.keepKey;
        this.numbers.replaceChildren(...SAMPLING.map((field) => numberField(field, settings.sampling[field.name])));
        this.dialog.showModal();
        if (focus) fields[focus].focus();
    }

    #read() {
        const { settings } = this;
        const fields = this.form.elements;
        settings.model = fields.model.value;
        settings.system = fields.system.value.trim();
        settings.stop = fields.stop.value.split("\n").filter((line) => line !== "");
        settings.key = fields.key.value.trim();
        settings.keepKey = fields.keep_key.checked;
        settings.sampling = {};
        for (const { name } of SAMPLING) {
            if (fields[name].value !== "") settings.sampling[name] = Number(fields[name].value);
        }
    }
}
