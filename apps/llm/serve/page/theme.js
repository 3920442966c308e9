// The switch between light, dark, and what the system prefers. Runs before the page is first drawn.

const STORAGE = "voltpile.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const NAMES = { system: "as the system", light: "light", dark: "dark" };

function storedTheme() {
    try {
        const theme = localStorage.getItem(STORAGE);
        return theme in NEXT ? theme : "system";
    } catch {
        return "system";
    }
}

function show(theme) {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.setAttribute("aria-label", `Colors: ${NAMES[theme]}. Switch to ${NAMES[NEXT[theme]]}`);
    button.title = `Colors: ${NAMES[theme]}`;
}

function switchTheme() {
    const theme = NEXT[document.documentElement.dataset.theme];
    try {
        localStorage.setItem(STORAGE, theme);
    } catch {
        // The choice lasts as long as the page.
    }
    show(theme);
}

show(storedTheme());
export function connectThemeButton() {
    show(storedTheme());
    document.getElementById("theme").addEventListener("click", switchTheme);
}
