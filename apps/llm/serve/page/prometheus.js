// Reads Prometheus's text format and derives rates and percentiles from successive readings.

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

function labelsOf(text = "") {
    const labels = {};
    for (const [, name, value] of text.matchAll(LABEL)) {
        labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    }
    return labels;
}

function number(text) {
    if (text === "+Inf") return Infinity;
    if (text === "-Inf") return -Infinity;
    return Number(text);
}

// One reading of /metrics. `seconds` is when it was taken, on any steady clock.
export class Reading {
    constructor(text, seconds) {
        this.seconds = seconds;
        this.samples = new Map();  // name -> [{labels, value}]
        for (const line of text.split("\n")) {
            const match = line.startsWith("#") ? null : SAMPLE.exec(line);
            if (!match) continue;
            const sample = { labels: labelsOf(match[2]), value: number(match[3]) };
            if (this.samples.has(match[1])) this.samples.get(match[1]).push(sample);
            else this.samples.set(match[1], [sample]);
        }
    }

    has(name) { return this.samples.has(name); }
    all(name) { return this.samples.get(name) ?? []; }

    // Sum over all labels that `choose(labels)` accepts; undefined if the metric is missing.
    sum(name, choose = () => true) {
        if (!this.has(name)) return undefined;
        return this.all(name).reduce((sum, { labels, value }) => (choose(labels) ? sum + value : sum), 0);
    }

    mean(name) { return this.has(name) ? this.sum(name) / this.all(name).length : undefined; }

    // Cumulative counts of a histogram by upper bound, added up over all other labels: sorted [[bound, count]].
    buckets(name) {
        const counts = new Map();
        for (const { labels, value } of this.all(`${name}_bucket`)) {
            const bound = number(labels.le ?? "+Inf");
            counts.set(bound, (counts.get(bound) ?? 0) + value);
        }
        return [...counts].sort((a, b) => a[0] - b[0]);
    }
}

// Increase of a counter from one reading to a later one. A restarted server counts from zero again.
export function increase(before, after, name, choose) {
    const [from, to] = [before.sum(name, choose), after.sum(name, choose)];
    if (from === undefined || to === undefined) return undefined;
    return to >= from ? to - from : to;
}

// The `fraction` quantile of what a histogram observed between two readings, linear within a bucket as in Prometheus.
// Returns undefined if nothing was observed. A quantile in the last bucket is that bucket's lower bound.
export function quantile(before, after, name, fraction) {
    const old = new Map(before.buckets(name));
    let buckets = after.buckets(name);
    const restarted = buckets.some(([bound, count]) => count < (old.get(bound) ?? 0));
    if (!restarted) buckets = buckets.map(([bound, count]) => [bound, count - (old.get(bound) ?? 0)]);
    const total = buckets.at(-1)?.[1] ?? 0;
    if (!(total > 0)) return undefined;
    const rank = fraction * total;
    let [low, below] = [0, 0];
    for (const [bound, count] of buckets) {
        if (count >= rank) {
            if (bound === Infinity) return low;
            return count === below ? bound : low + ((bound - low) * (rank - below)) / (count - below);
        }
        [low, below] = [bound, count];
    }
    return low;
}
