// The dashboard's part about GPUs: memory, power and temperature of each rank's.

import { LineChart } from "./chart.js";
import { element } from "./dom.js";

const GIB = 2 ** 30;
const MEMORY = "voltpile:gpu_memory_used_bytes";
const TOTAL = "voltpile:gpu_memory_total_bytes";
const POWER = "voltpile:gpu_power_watts";
const TEMPERATURE = "voltpile:gpu_temperature_celsius";

const gib = (bytes) => `${(bytes / GIB).toFixed(1)} GiB`;

function keyOf({ rank = "?", host = "", gpu = "" }) {
    return [rank, host, gpu].join("/");
}

// Values of a metric by GPU.
function byGpu(reading, name) {
    return new Map(reading.all(name).map(({ labels, value }) => [keyOf(labels), value]));
}

function newRow({ rank = "?", host, gpu }, total) {
    const where = [host, gpu !== undefined && `GPU ${gpu}`].filter(Boolean).join(", ");
    const charts = {
        memory: new LineChart({ title: "Memory", series: [total ? `of ${gib(total)}` : "in use"], format: gib, maximum: total, atLeast: GIB, heading: "h5" }),
        power: new LineChart({ title: "Power", series: ["drawn"], format: (w) => `${Math.round(w)} W`, atLeast: 100, heading: "h5" }),
        temperature: new LineChart({ title: "Temperature", series: [""], format: (c) => `${Math.round(c)} °C`, maximum: 100, heading: "h5" }),
    };
    const plots = element("div", { class: "gpu-plots" });
    const name = `Rank ${rank}`;
    const node = element("section", { class: "gpu", "aria-label": `${name}, ${where}` },
        element("h4", {}, name, " ", element("small", {}, where)), plots);
    return { node, plots, charts, rank: Number(rank) };
}

// Shows the GPUs of `reading`. `rows` remembers what is on the page between calls.
export function showGpus(rows, reading) {
    const [memory, totals] = [byGpu(reading, MEMORY), byGpu(reading, TOTAL)];
    const [power, temperature] = [byGpu(reading, POWER), byGpu(reading, TEMPERATURE)];
    const before = rows.size;
    for (const name of [MEMORY, POWER, TEMPERATURE]) {
        for (const { labels } of reading.all(name)) {
            const key = keyOf(labels);
            if (!rows.has(key)) rows.set(key, newRow(labels, totals.get(key)));
        }
    }
    for (const [key, { plots, charts }] of rows) {
        const values = { memory: memory.get(key), power: power.get(key), temperature: temperature.get(key) };
        for (const [name, value] of Object.entries(values)) {
            if (value === undefined && !charts[name].samples.length) continue;
            if (!charts[name].node.isConnected) plots.append(charts[name].node);
            charts[name].add(reading.seconds, [value]);
        }
    }
    document.getElementById("gpus-title").hidden = rows.size === 0;
    if (rows.size === before) return;
    const ordered = [...rows.values()].sort((a, b) => a.rank - b.rank).map((row) => row.node);
    document.getElementById("gpus").replaceChildren(...ordered);
}
