// The dashboard: reads /metrics once a second while it is visible and shows the readings as charts.

import { readMetrics } from "./api.js";
import { LineChart } from "./chart.js";
import { showGpus } from "./gpu_charts.js";
import { Reading, increase, quantile } from "./prometheus.js";

const PERIOD_MS = 1000;
const RATE_SECONDS = 3;        // rates are means over so long
const QUANTILE_SECONDS = 60;   // quantiles, shares of hits and answers a minute likewise

const count = (value) => Math.round(value).toLocaleString("en-US");
const rate = (value) => (value < 10 ? value.toFixed(1) : count(value));
const percent = (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
const duration = (seconds) => (seconds < 1 ? `${(1000 * seconds).toFixed(seconds < 0.01 ? 1 : 0)} ms` : `${seconds.toFixed(2)} s`);

// Every chart with the metrics that it needs. `read` takes the latest reading, one of RATE_SECONDS ago and one of
// QUANTILE_SECONDS ago, or the oldest there is, and returns a value for each series.
const CHARTS = [
    {
        title: "Requests", series: ["running", "waiting"], format: count, atLeast: 5,
        needs: "vllm:num_requests_running",
        read: ({ now }) => [now.sum("vllm:num_requests_running"), now.sum("vllm:num_requests_waiting")],
    },
    {
        title: "Tokens out", series: ["tokens/s generated"], format: rate, atLeast: 10,
        needs: "vllm:generation_tokens_total",
        read: (r) => [perSecond(r, "vllm:generation_tokens_total")],
    },
    {
        title: "Tokens in", series: ["tokens/s of prompts"], format: rate, atLeast: 10,
        needs: "vllm:prompt_tokens_total",
        read: (r) => [perSecond(r, "vllm:prompt_tokens_total")],
    },
    {
        title: "Time to first token", series: ["median", "p95"], format: duration, atLeast: 0.01,
        needs: "vllm:time_to_first_token_seconds_bucket",
        read: (r) => quantiles(r, "vllm:time_to_first_token_seconds"),
        note: "of the last minute",
    },
    {
        title: "Time between tokens", series: ["median", "p95"], format: duration, atLeast: 0.01,
        needs: "vllm:inter_token_latency_seconds_bucket",
        read: (r) => quantiles(r, "vllm:inter_token_latency_seconds"),
        note: "of the last minute",
    },
    {
        title: "Batch", series: ["sequences generating"], format: count, atLeast: 5,
        needs: "voltpile:batch_sequences",
        read: ({ now }) => [now.sum("voltpile:batch_sequences")],
    },
    {
        title: "KV cache", series: ["in use"], format: percent, maximum: 1,
        needs: "vllm:kv_cache_usage_perc",
        read: ({ now }) => [now.mean("vllm:kv_cache_usage_perc")],
    },
    {
        title: "Prefix cache", series: ["of prompt tokens found"], format: percent, maximum: 1,
        needs: "vllm:prefix_cache_queries_total",
        read: ({ now, minute }) => {
            const queries = increase(minute, now, "vllm:prefix_cache_queries_total");
            return [queries > 0 ? increase(minute, now, "vllm:prefix_cache_hits_total") / queries : undefined];
        },
        note: "of the last minute",
    },
    {
        title: "Answers", series: ["complete", "cut off", "aborted"], format: count, atLeast: 5,
        needs: "vllm:request_success_total",
        read: ({ now, minute }) => [["stop"], ["length", "context"], ["abort", "error"]].map((reasons) =>
            increase(minute, now, "vllm:request_success_total", (labels) => reasons.includes(labels.finished_reason))),
        note: "of the last minute",
    },
];

function perSecond({ now, recent }, name) {
    const seconds = now.seconds - recent.seconds;
    return seconds > 0 ? increase(recent, now, name) / seconds : undefined;
}

function quantiles({ now, minute }, name) {
    return [0.5, 0.95].map((fraction) => quantile(minute, now, name, fraction));
}

export class Dashboard {
    // `apiKey()` returns the key to send, if any.
    constructor(apiKey) {
        this.apiKey = apiKey;
        this.readings = [];
        this.charts = new Map();
        this.gpus = new Map();
        this.shown = false;
        this.state = document.getElementById("dashboard-state");
        document.addEventListener("visibilitychange", () => this.#restart());
    }

    setVisible(shown) {
        this.shown = shown;
        this.#restart();
    }

    #restart() {
        clearTimeout(this.timer);
        this.request?.abort();
        this.request = undefined;
        if (this.shown && document.visibilityState === "visible") this.#poll();
    }

    async #poll() {
        const request = new AbortController();
        this.request = request;
        const started = performance.now();
        try {
            this.#take(new Reading(await readMetrics(this.apiKey(), request.signal), Date.now() / 1000));
            this.#say("One reading a second");
        } catch (error) {
            if (error.name === "AbortError") return;
            this.#say(error.message);
        }
        if (this.request !== request) return;
        this.timer = setTimeout(() => this.#poll(), Math.max(PERIOD_MS - (performance.now() - started), 100));
    }

    #say(text) {
        if (this.state.textContent !== text) this.state.textContent = text;  // else it would be read out again
    }

    // Returns the latest reading at least `seconds` old, or the oldest.
    #before(seconds) {
        const limit = this.readings.at(-1).seconds - seconds + 0.1;
        return this.readings.findLast((reading) => reading.seconds <= limit) ?? this.readings[0];
    }

    #take(reading) {
        this.readings.push(reading);
        while (this.readings[1] && this.readings[1].seconds < reading.seconds - QUANTILE_SECONDS) this.readings.shift();
        const readings = { now: reading, recent: this.#before(RATE_SECONDS), minute: this.#before(QUANTILE_SECONDS) };
        for (const definition of CHARTS) {
            if (!reading.has(definition.needs)) continue;
            this.#chart(definition).add(reading.seconds, definition.read(readings));
        }
        showGpus(this.gpus, reading);
    }

    #chart(definition) {
        if (!this.charts.has(definition)) {
            this.charts.set(definition, new LineChart(definition));
            const ordered = CHARTS.filter((d) => this.charts.has(d)).map((d) => this.charts.get(d).node);
            document.getElementById("charts").replaceChildren(...ordered);
        }
        return this.charts.get(definition);
    }
}
