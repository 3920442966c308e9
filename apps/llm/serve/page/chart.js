// A line chart of the last minutes in SVG, with the current figures above it. Its values can be read by pointer, by arrow keys
// and by a screen reader.

import { element, svg } from "./dom.js";

const SPANS_SECONDS = [60, 120, 300];  // the chart shows the first that holds all readings
const KEPT_SECONDS = SPANS_SECONDS.at(-1);
const GAP_SECONDS = 5;  // readings farther apart are not connected
const HEIGHT = 96;
const TOP = 14;
const BOTTOM = 4;

// The smallest round number that is at least `value`.
function niceMaximum(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * power).find((n) => n >= value * (1 - 1e-9)) ?? value;
}

function clock(seconds) {
    return new Date(seconds * 1000).toLocaleTimeString();
}

export class LineChart {
    // `title`: the chart's name. `series`: names of its lines, one to three. `format(value)` writes a value with its unit.
    // `maximum`: top of the scale, if it is fixed; `atLeast`: the smallest top otherwise.
    // `note`: a remark beside the title.
    constructor({ title, series, format, maximum, atLeast = 1, note = "", heading = "h3" }) {
        Object.assign(this, { title, series, format, maximum, atLeast, note });
        this.samples = [];  // [{seconds, values}], oldest first; seconds since 1970; undefined where a series has no value
        this.width = 300;
        this.cursor = undefined;  // index of the sample that the reader points at
        this.figures = series.map(() => element("b", {}, "–"));
        this.when = element("span", { class: "card-when" }, note);
        const legend = series.map((name, i) => element("span", { class: "figure" }, this.figures[i],
            element("span", { class: "figure-name" }, series.length > 1 ? element("i", { class: `key key-${i}` }) : "", name)));
        this.plot = svg("svg", { class: "plot", role: "img", tabindex: "0", height: HEIGHT });
        this.node = element("article", { class: "card", "aria-label": title },
            element("div", { class: "card-head" }, element(heading, {}, title), this.when),
            element("p", { class: "figures" }, ...legend), this.plot);
        this.#listen();
    }

    #listen() {
        new ResizeObserver(([entry]) => {
            this.width = Math.max(entry.contentRect.width, 50);
            this.draw();
        }).observe(this.plot);
        this.plot.addEventListener("pointermove", (event) => {
            const share = event.offsetX / this.width;
            const seconds = this.#end() - this.#span() * (1 - share);
            this.#point(this.#nearest(seconds));
        });
        this.plot.addEventListener("pointerleave", () => this.#point(undefined));
        this.plot.addEventListener("blur", () => this.#point(undefined));
        this.plot.addEventListener("keydown", (event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
            const last = this.samples.length - 1;
            if (event.key === "Escape") this.#point(undefined);
            if (step === undefined || last < 0) return;
            event.preventDefault();
            this.#point(Math.min(Math.max((this.cursor ?? last) + step, 0), last));
        });
    }

    // Adds a reading: one value for each series, undefined for none.
    add(seconds, values) {
        this.samples.push({ seconds, values });
        const outdated = this.samples.findIndex((sample) => sample.seconds > seconds - KEPT_SECONDS);
        this.samples.splice(0, outdated);
        if (this.cursor !== undefined) this.cursor = Math.max(this.cursor - outdated, 0);
        this.draw();
    }

    #end() { return this.samples.at(-1)?.seconds ?? 0; }

    #span() {
        const seconds = this.#end() - (this.samples[0]?.seconds ?? 0);
        return SPANS_SECONDS.find((span) => seconds < span) ?? KEPT_SECONDS;
    }

    #nearest(seconds) {
        let best;
        this.samples.forEach((sample, i) => {
            const better = best === undefined ||
                Math.abs(sample.seconds - seconds) < Math.abs(this.samples[best].seconds - seconds);
            if (better) best = i;
        });
        return best;
    }

    #point(index) {
        if (index === this.cursor) return;
        this.cursor = index;
        this.draw();
    }

    draw() {
        const shown = this.samples[this.cursor] ?? this.samples.at(-1);
        if (!shown) return;
        this.figures.forEach((figure, i) => { figure.textContent = this.#write(shown.values[i]); });
        this.when.textContent = this.cursor === undefined ? this.note : clock(shown.seconds);
        const known = this.samples.flatMap((sample) => sample.values).filter((value) => value !== undefined);
        const top = this.maximum ?? niceMaximum(Math.max(this.atLeast, ...known));
        this.plot.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
        this.plot.setAttribute("aria-label", this.#words(shown));
        const parts = [TOP, (TOP + HEIGHT - BOTTOM) / 2, HEIGHT - BOTTOM].map((y) =>
            svg("line", { class: "grid", x1: 0, x2: this.width, y1: y, y2: y }));
        this.series.forEach((_, i) => parts.push(...this.#line(i, top)));
        const minutes = this.#span() / 60;
        parts.push(svg("text", { class: "scale", x: 0, y: TOP - 4 }, this.format(top)),
            svg("text", { class: "scale end", x: this.width, y: TOP - 4 }, `${minutes} min`));
        if (this.cursor !== undefined) {
            const x = this.#x(shown.seconds);
            parts.push(svg("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
        }
        this.plot.replaceChildren(...parts);
    }

    #write(value) { return value === undefined ? "–" : this.format(value); }
    #x(seconds) { return this.width * (1 - (this.#end() - seconds) / this.#span()); }
    #y(value, top) { return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * Math.min(Math.max(value / top, 0), 1); }

    // The line of a series, broken where readings are missing, and for a chart's only series the area below it.
    #line(index, top) {
        const runs = [[]];
        let previous;
        for (const { seconds, values } of this.samples) {
            if (values[index] === undefined || seconds - (previous ?? seconds) > GAP_SECONDS) runs.push([]);
            if (values[index] !== undefined) {
                runs.at(-1).push([this.#x(seconds), this.#y(values[index], top)]);
                previous = seconds;
            }
        }
        return runs.filter((run) => run.length > 0).flatMap((run) => {
            const path = run.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
            const floor = HEIGHT - BOTTOM;
            const area = `${path}L${run.at(-1)[0].toFixed(1)} ${floor}L${run[0][0].toFixed(1)} ${floor}Z`;
            const line = svg("path", { class: `line line-${index}`, d: run.length > 1 ? path : `${path}h0.1` });
            return this.series.length === 1 ? [svg("path", { class: "area", d: area }), line] : [line];
        });
    }

    // What a screen reader says of the chart.
    #words(shown) {
        const parts = this.series.map((name, i) => {
            const known = this.samples.map((sample) => sample.values[i]).filter((value) => value !== undefined);
            const value = this.#write(shown.values[i]);
            if (this.cursor !== undefined || known.length === 0) return `${value} ${name}`;
            const [low, high] = [Math.min(...known), Math.max(...known)].map(this.format);
            return `${value} ${name}, between ${low} and ${high}`;
        });
        const minutes = this.#span() / 60;
        const when = this.cursor === undefined ? `last ${minutes} min` : clock(shown.seconds);
        return `${this.title}, ${when}. ${parts.join("; ")}.`;
    }
}
