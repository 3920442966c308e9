// Renders Markdown as DOM nodes: headings, lists, tables, quotes, code, emphasis, links. What a model writes never becomes
// markup: nodes come from createElement, and all text from text nodes. The blocks are here, what is inside a line in
// markdown_inline.js.

import { copyButton, element } from "./dom.js";
import { inline } from "./markdown_inline.js";

// None of these patterns can take more than linear time, whatever a model writes.
const FENCE = /^( {0,3})(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?: +(?=\S)|$)/;
const TABLE_RULE = /^[ \t|:-]*-[ \t|:-]*$/;
const MAX_DEPTH = 12;  // deeper quotes and lists are shown as they were written

// Shows `text` in `container`. Blocks that did not change since the last call keep their nodes, so that an answer that
// grows token by token costs little and a selection in it survives.
export function renderMarkdown(container, text) {
    const blocks = parseBlocks(expandIndents(text.split(/\r\n?|\n/)), 0);
    const shown = container.blocks ?? [];
    let same = 0;
    while (same < blocks.length && same < shown.length && shown[same] === blocks[same].source) same++;
    while (container.childNodes.length > same) container.lastChild.remove();
    for (const block of blocks.slice(same)) container.append(build(block));
    container.blocks = blocks.map((block) => block.source);
}

// Replaces tabs that indent a line by four spaces, except in code.
function expandIndents(lines) {
    let code = false;
    return lines.map((line) => {
        const fenced = /^\s{0,12}(?:```|~~~)/.test(line);
        const expanded = code && !fenced ? line : line.replace(/^[ \t]+/, (blank) => blank.replaceAll("\t", "    "));
        code = code !== fenced;
        return expanded;
    });
}

// Splits lines into blocks: {type, source, ...}. `source` holds the block's lines and decides whether it changed.
function parseBlocks(lines, depth) {
    const blocks = [];
    let at = 0;
    const add = (block, end) => {
        blocks.push({ ...block, source: `${block.type}\n${lines.slice(at, end).join("\n")}` });
        at = end;
    };
    while (at < lines.length) {
        const line = lines[at];
        if (!line.trim()) at++;
        else if (FENCE.test(line)) add(...fence(lines, at));
        else if (HEADING.test(line)) {
            const [whole, marks] = HEADING.exec(line);
            add({ type: "heading", level: marks.length, text: headingText(line.slice(whole.length)) }, at + 1);
        } else if (RULE.test(line)) add({ type: "rule" }, at + 1);
        else if (depth < MAX_DEPTH && QUOTE.test(line)) add(...quote(lines, at, depth));
        else if (depth < MAX_DEPTH && ITEM.test(line)) add(...list(lines, at, depth));
        else if (startsTable(lines, at)) add(...table(lines, at));
        else add(...paragraph(lines, at, depth));
    }
    return blocks;
}

// "Title ##" is the heading "Title"; "C#" keeps its mark.
function headingText(rest) {
    const text = rest.trim();
    let end = text.length;
    while (text[end - 1] === "#") end--;
    return end === 0 || /\s/.test(text[end - 1]) ? text.slice(0, end).trimEnd() : text;
}

function startsTable(lines, at) {
    const next = lines[at + 1];
    if (!lines[at].includes("|") || next === undefined || !TABLE_RULE.test(next)) return false;
    const rule = cells(next);
    return rule.every((cell) => /^:?-+:?$/.test(cell)) && rule.length === cells(lines[at]).length;
}

// Whether a line ends the paragraph before it. Of numbered items only a first one does, so that "in\n1984. ..." stays text.
function interrupts(line, depth) {
    const item = depth < MAX_DEPTH && ITEM.exec(line);
    return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || (depth < MAX_DEPTH && QUOTE.test(line)) ||
        (item && item[0] !== line && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1));
}

function paragraph(lines, at, depth) {
    let end = at + 1;
    while (end < lines.length && lines[end].trim() && !interrupts(lines[end], depth) && !startsTable(lines, end)) end++;
    const text = lines.slice(at, end).map((line) => line.replace(/^ +/, "")).join("\n");
    return [{ type: "paragraph", text }, end];
}

function fence(lines, at) {
    const [, indent, marks, info] = FENCE.exec(lines[at]);
    let end = at + 1;
    const isClose = (line) => {
        const text = line.trim();
        return text.length >= marks.length && text === marks[0].repeat(text.length) && /^ {0,3}\S/.test(line);
    };
    while (end < lines.length && !isClose(lines[end])) end++;
    const strip = new RegExp(`^ {0,${indent.length}}`);
    const text = lines.slice(at + 1, end).map((line) => line.replace(strip, "")).join("\n");
    return [{ type: "code", language: info.trim().split(/\s+/)[0], text }, Math.min(end + 1, lines.length)];
}

function quote(lines, at, depth) {
    let end = at;
    while (end < lines.length && (QUOTE.test(lines[end]) || (lines[end].trim() && !interrupts(lines[end], depth)))) end++;
    const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
    return [{ type: "quote", blocks: parseBlocks(inner, depth + 1) }, end];
}

// Reads a list. Models often indent a nested list by two spaces where the standard wants three or four; two are enough here.
function list(lines, at, depth) {
    const [, outer, marker] = ITEM.exec(lines[at]);
    const ordered = /\d/.test(marker);
    const kind = marker.at(-1);
    const items = [];
    let loose = false;
    let blank = false;
    let room = 0;  // how far the lines of the current item are indented, at least
    let end = at;
    for (; end < lines.length; end++) {
        const line = lines[end];
        if (!line.trim()) {
            blank = true;
            items.at(-1).push("");
            continue;
        }
        const indent = line.length - line.trimStart().length;
        const item = ITEM.exec(line);
        if (item && indent < outer.length + 2 && !RULE.test(line)) {
            if (item[2].at(-1) !== kind) break;
            loose ||= blank && items.length > 0;
            room = Math.min(item[0].length, outer.length + 2);
            items.push([line.slice(item[0].length)]);
        } else if (indent >= room) {
            loose ||= blank && indent < room + 2 && !item;
            const full = outer.length + marker.length + 1;
            items.at(-1).push(line.slice(Math.min(indent, full)));
        } else if (blank || interrupts(line, depth)) break;
        else items.at(-1).push(line);
        blank = false;
    }
    while (end > at && !lines[end - 1].trim()) end--;
    return [{
        type: "list", ordered, loose, start: ordered ? parseInt(marker, 10) : 1,
        items: items.map((inner) => parseBlocks(inner, depth + 1)),
    }, end];
}

function cells(line) {
    const inner = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
    return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function table(lines, at) {
    const head = cells(lines[at]);
    const align = cells(lines[at + 1]).map((cell) => {
        if (cell.endsWith(":")) return cell.startsWith(":") ? "center" : "right";
        return "";
    });
    let end = at + 2;
    while (end < lines.length && lines[end].includes("|")) end++;
    const rows = lines.slice(at + 2, end).map(cells);
    return [{ type: "table", head, align, rows }, end];
}

const BUILDERS = {
    paragraph: ({ text }) => element("p", {}, inline(text)),
    // The page has headings of its own: a model's start at level 3.
    heading: ({ level, text }) => element(`h${Math.min(level + 2, 6)}`, { class: `level-${level}` }, inline(text)),
    rule: () => element("hr"),
    quote: ({ blocks }) => element("blockquote", {}, ...blocks.map(build)),
    code: ({ language, text }) => element("div", { class: "code" },
        element("div", { class: "code-bar" }, element("span", {}, language || "text"),
            copyButton(`Copy ${language || "code"}`, () => text)),
        element("pre", { tabindex: "0", role: "region", "aria-label": `Code, ${language || "text"}` },
            element("code", {}, text))),
    list: buildList,
    table: buildTable,
};

function build(block) {
    return BUILDERS[block.type](block);
}

function buildList({ ordered, loose, start, items }) {
    const node = element(ordered ? "ol" : "ul", start !== 1 ? { start } : {});
    for (const blocks of items) {
        const item = element("li");
        const task = blocks[0]?.type === "paragraph" && /^\[([ xX])\] /.exec(blocks[0].text);
        if (task) {
            const done = task[1] !== " ";
            item.className = "task";
            item.append(element("span", { role: "img", "aria-label": done ? "done" : "to do" }, done ? "☑ " : "☐ "));
            blocks[0] = { ...blocks[0], text: blocks[0].text.slice(4) };
        }
        for (const block of blocks) {
            if (block.type === "paragraph" && !loose) item.append(inline(block.text));
            else item.append(build(block));
        }
        node.append(item);
    }
    return node;
}

function buildTable({ head, align, rows }) {
    const row = (name, texts) => element("tr", {}, ...head.map((_, i) => {
        return element(name, { class: align[i] || false, scope: name === "th" ? "col" : false }, inline(texts[i] ?? ""));
    }));
    return element("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" },
        element("table", {}, element("thead", {}, row("th", head)),
            element("tbody", {}, ...rows.map((texts) => row("td", texts)))));
}
