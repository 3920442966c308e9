#include "run/comm_bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "plot/size_chart.h"
#include "results/hdf5/table_file.h"
#include "results/parts/durable_file.h"
#include "run/provenance.h"

namespace voltpile {
namespace {

constexpr int way_width = 24;

std::vector<std::string> ways_of(const std::vector<PairBenchRow>& rows) {
    std::vector<std::string> ways;
    for (const PairBenchRow& row : rows)
        if (std::ranges::find(ways, row.way) == ways.end()) ways.push_back(row.way);
    return ways;
}

std::string heading(std::string_view first, int width, const std::vector<std::string>& ways) {
    std::string text = fmt::format("{:<{}}", first, width);
    for (const std::string& way : ways) text += fmt::format(" {:>{}}", way, way_width);
    return text + "\n";
}

std::string gb_text(double bytes_per_s) {
    return fmt::format("{:.2f} GB/s", 1e-9 * bytes_per_s);
}

// Returns "1.23 us  24.10 GB/s  96 %" over all sizes of one path.
std::string best_of(const PairResult& pair, const std::string& way) {
    double latency = 0, rate = 0;
    for (const PairBenchRow& row : pair.rows) {
        if (row.way != way) continue;
        latency = latency > 0 ? std::min(latency, row.one_way_s) : row.one_way_s;
        rate = std::max(rate, row.bytes_per_s);
    }
    if (rate <= 0) return "-";
    // The figure of the GPUs' link says nothing about host memory.
    const bool over_link = pair.link.text == "network" || (way != "channel" && way != "mpi");
    const std::string share = over_link && pair.link.theory_bytes_per_s > 0
                                  ? fmt::format(" {:3.0f} %", 100 * rate / pair.link.theory_bytes_per_s)
                                  : "";
    return fmt::format("{:.2f} us {}{}", 1e6 * latency, gb_text(rate), share);
}

std::string memory_of(const CollectiveBenchRow& row) {
    return row.on_host ? "host" : row.in_graph ? "gpu graph" : "gpu";
}

std::string memory_of(const PairBenchRow& row) {
    return row.way == "channel" || row.way == "mpi" ? "host" : "gpu";
}

// Draws a chart for each collective and memory, and one for the first pair of each kind of link.
std::vector<SizeChart> charts_of(const CommBenchResult& result) {
    std::vector<SizeChart> charts;
    const auto chart = [&charts](const std::string& title, const char* label) -> SizeChart& {
        for (SizeChart& each : charts)
            if (each.title == title) return each;
        return charts.emplace_back(SizeChart{title, label, {}});
    };
    for (const CollectiveBenchRow& row : result.collectives)
        chart(fmt::format("{}, {} memory", name_of(row.collective), memory_of(row)), "microseconds a call")
            .line(row.way)
            .points.emplace_back(row.bytes, 1e6 * row.seconds);
    std::vector<std::string> links;
    for (const PairResult& pair : result.pairs) {
        if (std::ranges::find(links, pair.link.text) != links.end()) continue;
        links.push_back(pair.link.text);
        const std::string title = fmt::format("ranks {} and {}, {}", pair.from, pair.to, pair.link.text);
        for (const PairBenchRow& row : pair.rows)
            chart(title, "GB/s of many messages")
                .line(row.way)
                .points.emplace_back(row.bytes, 1e-9 * row.bytes_per_s);
    }
    return charts;
}

void write_charts(const CommBenchResult& result, const std::filesystem::path& path) {
    const std::string svg = to_svg(charts_of(result));
    const std::filesystem::path temporary = temporary_name(path);
    write_temporary(temporary, std::as_bytes(std::span(svg)), path);
    publish_file(temporary, path);
}

}  // namespace

std::string pairs_text(const std::vector<PairResult>& pairs) {
    if (pairs.empty() || pairs.front().rows.empty()) return "";
    const std::vector<std::string> ways = ways_of(pairs.front().rows);
    constexpr int width = 38;
    std::string text = "every pair: one way in microseconds, GB/s of many messages, share of the link's\n" +
                       heading("ranks     link           theory", width, ways);
    for (const PairResult& pair : pairs) {
        text +=
            fmt::format("{:<{}}",
                        fmt::format("{:>3} - {:<3} {:<14} {}", pair.from, pair.to, pair.link.text,
                                    pair.link.theory_bytes_per_s > 0 ? gb_text(pair.link.theory_bytes_per_s)
                                                                     : "not known"),
                        width);
        for (const std::string& way : ways) text += fmt::format(" {:>{}}", best_of(pair, way), way_width);
        text += "\n";
    }
    return text;
}

std::string sizes_text(const PairResult& pair) {
    const std::vector<std::string> ways = ways_of(pair.rows);
    constexpr int width = 12;
    std::string text =
        fmt::format("ranks {} and {}, {}: one way, and many messages\n", pair.from, pair.to, pair.link.text) +
        heading("bytes", width, ways);
    std::vector<std::int64_t> sizes;
    for (const PairBenchRow& row : pair.rows)
        if (row.way == ways.front()) sizes.push_back(row.bytes);
    for (const std::int64_t bytes : sizes) {
        text += fmt::format("{:<{}}", bytes, width);
        for (const std::string& way : ways)
            for (const PairBenchRow& row : pair.rows)
                if (row.way == way && row.bytes == bytes)
                    text += fmt::format(
                        " {:>{}}", fmt::format("{:.2f} us {}", 1e6 * row.one_way_s, gb_text(row.bytes_per_s)),
                        way_width);
        text += "\n";
    }
    return text;
}

void write_comm_bench(const CommBenchResult& result, const Plan& plan, const CommBenchOptions& options) {
    std::vector<std::string> test, memory, way, link;
    std::vector<std::int64_t> from, to, bytes;
    std::vector<double> seconds, rate, theory;
    for (const CollectiveBenchRow& row : result.collectives) {
        test.emplace_back(name_of(row.collective));
        memory.push_back(memory_of(row));
        way.push_back(row.way);
        link.emplace_back("");
        from.push_back(-1);
        to.push_back(-1);
        bytes.push_back(row.bytes);
        seconds.push_back(row.seconds);
        rate.push_back(row.bus_bytes_per_s);
        theory.push_back(0);
    }
    for (const PairResult& pair : result.pairs)
        for (const PairBenchRow& row : pair.rows) {
            test.emplace_back("pair");
            memory.push_back(memory_of(row));
            way.push_back(row.way);
            link.push_back(pair.link.text);
            from.push_back(pair.from);
            to.push_back(pair.to);
            bytes.push_back(row.bytes);
            seconds.push_back(row.one_way_s);
            rate.push_back(row.bytes_per_s);
            theory.push_back(pair.link.theory_bytes_per_s);
        }
    std::vector<TableColumn> columns{
        {"test", "", "collective, or pair of ranks", test},
        {"memory", "", "host, gpu, or gpu inside a CUDA graph", memory},
        {"way", "", "implementation", way},
        {"link", "", "what connects the pair", link},
        {"from_rank", "1", "first rank of the pair, -1 of collectives", from},
        {"to_rank", "1", "second rank of the pair, -1 of collectives", to},
        {"bytes", "byte", "size of the message; of each rank's part in all_gather and reduce_scatter", bytes},
        {"time", "s", "of a call, of the slowest rank; of a pair one way; median", seconds},
        {"bandwidth", "byte/s", "bus bandwidth; of a pair that of many messages", rate},
        {"theory", "byte/s", "what the pair's link could carry, 0: not known", theory}};
    write_table(options.output, comm_bench_title, columns, make_provenance(plan, options.command_line),
                {{"ranks", std::to_string(plan.ranks.size())}});
    write_charts(result, std::filesystem::path(options.output).replace_extension(".svg"));
}

}  // namespace voltpile
