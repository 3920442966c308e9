// Helpers that build DOM nodes. Strings always become text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

// Paths on a 24 x 24 grid, drawn as lines.
const ICONS = {
    copy: "M9 9h10v11H9z M5 15V4h10",
    check: "M5 13l4 4L19 7",
    retry: "M19 12a7 7 0 1 1-2.1-5 M19 4v4h-4",
    edit: "M5 19h3L19 8l-3-3L5 16z",
    remove: "M6 7h12 M9.5 7V4.5h5V7 M8 7l.7 12.5h6.6L16 7",
    close: "M6 6l12 12 M18 6L6 18",
};

function setAttributes(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false) continue;
        if (typeof value === "function") node.addEventListener(name, value);
        else node.setAttribute(name, value === true ? "" : String(value));
    }
}

// Builds an element, such as element("button", {type: "button", click: stop}, "Stop"). A function is a listener for the
// event of its name; false and undefined leave an attribute out. Children: nodes and strings.
export function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    setAttributes(node, attributes);
    node.append(...children);
    return node;
}

// Builds an SVG element.
export function svg(name, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, name);
    setAttributes(node, attributes);
    node.append(...children);
    return node;
}

// Builds an icon of the table above, hidden from screen readers.
export function icon(name) {
    return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

// Builds a button with an icon; `label` is its text, or only its accessible name if `quiet`.
export function iconButton(name, label, click, { quiet = false, text = "" } = {}) {
    const button = element("button", { type: "button", class: "icon-button", title: label, click }, icon(name));
    if (quiet) button.setAttribute("aria-label", label);
    else button.append(element("span", {}, text || label));
    return button;
}

// Copies text to the clipboard. Pages that arrive over plain HTTP from another host have no clipboard API; for them the
// text is selected in a hidden field. Returns whether it worked.
export async function copyText(text) {
    if (navigator.clipboard) {
        try {
            await navigator.clipboard.writeText(text);
            return true;
        } catch {
            // No permission: try the other path.
        }
    }
    const focused = document.activeElement;
    const field = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const copied = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return copied;
}

// A button that copies what `text()` returns and says so for two seconds.
export function copyButton(label, text) {
    const button = iconButton("copy", label, async () => {
        const copied = await copyText(text());
        button.replaceChildren(icon(copied ? "check" : "close"), element("span", {}, copied ? "Copied" : "Cannot copy"));
        announce(copied ? "Copied" : "Cannot copy");
        setTimeout(() => button.replaceChildren(icon("copy"), element("span", {}, "Copy")), 2000);
    }, { text: "Copy" });
    button.setAttribute("aria-label", label);
    return button;
}

// Says `text` to screen readers once they are idle.
export function announce(text) {
    const announcer = document.getElementById("announcer");
    announcer.replaceChildren();
    // An empty region first, so that the same text twice is said twice.
    setTimeout(() => announcer.replaceChildren(element("p", {}, text)), 50);
}
