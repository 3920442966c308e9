// What Markdown has inside a line: emphasis, code, links, line breaks. Emphasis follows CommonMark's rules for runs of
// delimiters. Time grows linearly with the text, whatever a model writes.

import { element } from "./dom.js";

const SAFE_SCHEMES = new Set(["http:", "https:", "mailto:"]);
const DESTINATION = /\(\s?(<[^<>\n]*>|[^\s()<]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s{1,3}(?:"[^"]*"|'[^']*'))?\s?\)/y;
const AUTOLINK = /<((?:https?:\/\/|mailto:)[^\s<>]+)>/y;
const BARE_LINK = /https?:\/\/[^\s<>"'`\\*|]+/y;
const PLAIN = /[^\\`*_~![\]<&h\n]+/y;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/y;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };
const PUNCTUATION = /[\p{P}\p{S}]/u;
const MAX_NESTING = 16;  // of emphasis in emphasis, and of brackets in brackets

// Returns the absolute address if its scheme is safe to follow, or undefined. Addresses without a scheme are not links: they
// would lead into this page.
export function safeAddress(text) {
    try {
        const url = new URL(text);
        return SAFE_SCHEMES.has(url.protocol) ? url.href : undefined;
    } catch {
        return undefined;
    }
}

function link(address, ...children) {
    return element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

function matchAt(pattern, text, at) {
    pattern.lastIndex = at;
    return pattern.exec(text);
}

// Drops what belongs to the sentence around an address: "(see http://a/b_(c))." links http://a/b_(c).
function withoutSentenceMarks(text) {
    let open = 0;
    for (const c of text) open += c === "(" ? 1 : c === ")" ? -1 : 0;
    let end = text.length;
    for (; end > 0; end--) {
        const last = text[end - 1];
        if (last === ")" && open < 0) open++;
        else if (!".,:;!?_~]}".includes(last)) break;
    }
    return text.slice(0, end);
}

// Returns a fragment with the nodes of `text`, one paragraph's lines.
export function inline(text) {
    return new InlineParser(text).parse();
}

class InlineParser {
    constructor(text) {
        this.text = text;
        this.at = 0;
        this.root = document.createDocumentFragment();
        this.delimiters = [];  // runs of * _ ~ that may open or close, in order
        this.brackets = [];    // [ and ![ that are still open
        this.unclosed = new Set();  // lengths of runs of backticks that no later run closes
    }

    parse() {
        while (this.at < this.text.length) {
            if (!this.special()) this.plain();
        }
        resolveEmphasis(this.delimiters);
        this.root.normalize();
        return this.root;
    }

    plain() {
        const match = matchAt(PLAIN, this.text, this.at);
        this.take(match ? match[0].length : 1);
    }

    // Appends the next `length` characters as they are.
    take(length) {
        const node = document.createTextNode(this.text.slice(this.at, this.at + length));
        this.root.append(node);
        this.at += length;
        return node;
    }

    put(node, length) {
        this.root.append(node);
        this.at += length;
        return true;
    }

    special() {
        const { text, at } = this;
        switch (text[at]) {
            case "\\": return this.escape();
            case "`": return this.code();
            case "*": case "_": case "~": return this.delimiter();
            case "[": return this.openBracket(1);
            case "!": return text[at + 1] === "[" && this.openBracket(2);
            case "]": return this.closeBracket();
            case "<": return this.autolink(matchAt(AUTOLINK, text, at));
            case "h": return !/\w/.test(text[at - 1] ?? " ") && this.bareLink(matchAt(BARE_LINK, text, at));
            case "&": return this.entity(matchAt(ENTITY, text, at));
            case "\n": return this.newline();
            default: return false;
        }
    }

    escape() {
        const next = this.text[this.at + 1];
        if (next === "\n") return this.put(element("br"), 2);
        return next !== undefined && /[!-/:-@[-`{-~]/.test(next) && this.put(document.createTextNode(next), 2);
    }

    newline() {
        const last = this.root.lastChild;
        const hard = last?.nodeType === Node.TEXT_NODE && last.data.endsWith("  ");
        return hard ? this.put(element("br"), 1) : this.put(document.createTextNode("\n"), 1);
    }

    code() {
        const length = /`+/y.exec(this.text.slice(this.at, this.at + 64))[0].length;
        const from = this.at + length;
        if (!this.unclosed.has(length)) {
            for (let end = this.text.indexOf("`", from); end >= 0;) {
                let stop = end;
                while (this.text[stop] === "`") stop++;
                if (stop - end === length) {
                    const inner = this.text.slice(from, end).replace(/\n/g, " ");
                    const stripped = /^ .*[^ ].* $/.test(inner) ? inner.slice(1, -1) : inner;
                    return this.put(element("code", {}, stripped), stop - this.at);
                }
                end = this.text.indexOf("`", stop);
            }
            this.unclosed.add(length);
        }
        this.take(length);
        return true;
    }

    entity(match) {
        if (!match) return false;
        const code = match[1] ? parseInt(match[1], 10) : parseInt(match[2], 16);
        const valid = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
        const character = match[3] ? ENTITIES[match[3]] : valid ? String.fromCodePoint(code) : "\ufffd";
        return this.put(document.createTextNode(character), match[0].length);
    }

    autolink(match) {
        const address = match && safeAddress(match[1]);
        return Boolean(address) && this.put(link(address, match[1]), match[0].length);
    }

    bareLink(match) {
        if (!match) return false;
        const text = withoutSentenceMarks(match[0]);
        const address = safeAddress(text);
        return Boolean(address) && this.put(link(address, text), text.length);
    }

    delimiter() {
        const { text, at } = this;
        const mark = text[at];
        let end = at;
        while (text[end] === mark) end++;
        const length = end - at;
        const before = text[at - 1] ?? " ";
        const after = text[end] ?? " ";
        const node = this.take(length);
        const space = (c) => /\s/.test(c);
        const left = !space(after) && (!PUNCTUATION.test(after) || space(before) || PUNCTUATION.test(before));
        const right = !space(before) && (!PUNCTUATION.test(before) || space(after) || PUNCTUATION.test(after));
        if (mark === "~" && length !== 2) return true;
        const inWord = mark === "_";
        this.delimiters.push({
            mark, node, length,
            opens: left && (!inWord || !right || PUNCTUATION.test(before)),
            closes: right && (!inWord || !left || PUNCTUATION.test(after)),
        });
        return true;
    }

    openBracket(length) {
        const from = this.delimiters.length;
        this.brackets.push({ node: this.take(length), delimiters: from });
        if (this.brackets.length > MAX_NESTING) this.brackets.shift();
        return true;
    }

    // Turns [label](address) into a link; so too ![label](address), since the page loads nothing from elsewhere.
    closeBracket() {
        const open = this.brackets.pop();
        const match = open && this.text[this.at + 1] === "(" && matchAt(DESTINATION, this.text, this.at + 1);
        const address = match && safeAddress(match[1].replace(/^<|>$/g, ""));
        if (!address) {
            this.take(1);
            return true;
        }
        resolveEmphasis(this.delimiters.splice(open.delimiters));
        const node = link(address);
        while (open.node.nextSibling) node.append(open.node.nextSibling);
        for (const inner of node.querySelectorAll("a")) inner.replaceWith(...inner.childNodes);
        open.node.remove();
        if (!node.textContent) node.append(address);
        return this.put(node, 1 + match[0].length);
    }
}

// Wraps what stands between matching delimiters in em, strong and del, by CommonMark's procedure. All delimiters have the same
// parent.
function resolveEmphasis(delimiters) {
    const stack = [];  // delimiters that may still open
    for (const closer of delimiters) {
        while (closer.closes && closer.length > 0) {
            const found = findOpener(stack, closer);
            if (found < 0) break;
            const opener = stack[found];
            stack.length = found + 1;
            const size = Math.min(opener.length, closer.length) >= 2 ? 2 : 1;
            wrap(opener, closer, size);
            if (opener.length === 0) stack.pop();
        }
        if (closer.opens && closer.length > 0) stack.push(closer);
    }
}

// How far down the stack to look: a paragraph with so many open delimiters is not prose.
const REACH = 64;

function findOpener(stack, closer) {
    for (let i = stack.length - 1; i >= Math.max(0, stack.length - REACH); i--) {
        const opener = stack[i];
        if (opener.mark !== closer.mark) continue;
        const both = opener.closes || closer.opens;
        const odd = (opener.length + closer.length) % 3 === 0 && (opener.length % 3 || closer.length % 3);
        if (!(both && odd)) return i;
    }
    return -1;
}

function wrap(opener, closer, size) {
    const name = opener.mark === "~" ? "del" : size === 2 ? "strong" : "em";
    for (const delimiter of [opener, closer]) {
        delimiter.length -= size;
        delimiter.node.data = delimiter.mark.repeat(delimiter.length);
    }
    const node = element(name);
    let depth = 0;
    while (opener.node.nextSibling !== closer.node) {
        const child = opener.node.nextSibling;
        depth = Math.max(depth, child.nesting ?? 0);
        node.append(child);
    }
    node.nesting = depth + 1;
    if (node.nesting > MAX_NESTING) {
        node.replaceChildren(node.textContent);
        node.nesting = 0;
    }
    opener.node.after(node);
}
