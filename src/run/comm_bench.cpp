#include "run/comm_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/standard_streams.h"
#include "results/hdf5/table_file.h"
#include "run/agreement.h"
#include "run/comm_bench_table.h"
#include "run/discover_topology.h"
#include "run/parent_launcher.h"

namespace voltpile {
namespace {

using nlohmann::json;

// A live line on rank 0's terminal; nothing elsewhere.
class Progress {
  public:
    explicit Progress(bool here) : shown_(here && terminal_columns() > 0) {}
    ~Progress() { say(""); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void say(const std::string& text) const {
        if (shown_) print_stderr("\r\x1b[K" + text);
    }

  private:
    bool shown_;
};

Plan plan_of(const Communicator& world, const CommBenchOptions& options) {
    const Topology topology = discover_topology(world);
    Workload nothing;
    nothing.points = world.size();
    PlanOptions plan_options;
    if (options.host) plan_options.device = DeviceChoice::Cpu;
    return agreed([&] { return make_plan(nothing, plan_options, topology); });
}

// Returns the largest message whose all_gather buffers take no more than a quarter of the memory.
std::int64_t room_for(const Plan& plan, bool on_gpus) {
    std::int64_t least = std::int64_t{1} << 62;
    const std::vector<TeamCandidate> ranks = team_candidates(plan);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        const auto on_host = std::ranges::count(plan.ranks, plan.ranks[r].host, &RankPlan::host);
        const std::int64_t memory =
            on_gpus ? ranks[r].memory_bytes : plan.host_of(plan.ranks[r]).memory_bytes / on_host;
        least = std::min(least, memory / 4 / (2 * static_cast<std::int64_t>(ranks.size())));
    }
    return least;
}

class CommBench {
  public:
    CommBench(const Communicator& world, CommBenchOptions options)
        : world_(world), options_(std::move(options)), plan_(plan_of(world, options_)) {
        on_gpus_ = std::ranges::all_of(plan_.ranks, [](const RankPlan& rank) { return rank.gpu >= 0; });
        if (on_gpus_) device_ = plan_.ranks[static_cast<std::size_t>(world.rank())].device;
        const std::int64_t room = room_for(plan_, on_gpus_);
        while (options_.max_bytes > room && options_.max_bytes > options_.min_bytes) {
            options_.max_bytes /= 2;
            lowered_ = true;
        }
        if (options_.collectives.empty())
            for (int i = 0; i < collective_count; ++i)
                options_.collectives.push_back(static_cast<Collective>(i));
    }

    void run() {
        decide_on_root(world_, [&] {  // refuse before hours of measuring
            if (!options_.output.empty()) check_table_place(options_.output, comm_bench_title, "--output");
            check_path();
            return std::string();
        });
        print(fmt::format("{} rank{}{} on {}\n", world_.size(), world_.size() == 1 ? "" : "s",
                          on_gpus_ ? " with a GPU each" : "", plan_.topology.hosts.front().name) +
              (lowered_ ? fmt::format("messages of at most {} bytes: more would not fit into memory\n",
                                      options_.max_bytes)
                        : ""));
        for (const Collective collective : options_.collectives) measure_collective(collective);
        if (options_.pairs && world_.size() > 1) measure_pairs();
        const auto has_rows = [](const PairResult& pair) { return !pair.rows.empty(); };
        if (result_.collectives.empty() && !std::ranges::any_of(result_.pairs, has_rows))
            throw_agreed(ExitCode::BadInput,
                         fmt::format("--path: no path of these links has a name with {}", options_.path));
        if (world_.rank() == 0 && !options_.output.empty()) {
            write_comm_bench(result_, plan_, options_);
            fmt::print("-> {}, and charts of it beside it (.svg)\n", options_.output.string());
        }
    }

  private:
    // Checks --path against all algorithms, also those that these links do not have.
    void check_path() const {
        std::set<std::string> names;
        const auto add = [&](const std::vector<std::string>& more) {
            names.insert(more.begin(), more.end());
        };
        for (const Collective collective : options_.collectives)
            add(on_gpus_ ? collective_way_names(collective, world_.size()) : host_collective_way_names());
        if (options_.pairs && world_.size() > 1) add(pair_way_names(on_gpus_));
        const auto matches = [&](const std::string& name) { return name.find(options_.path) != name.npos; };
        if (!std::ranges::any_of(names, matches))
            throw JobError(fmt::format("--path: no path here has a name with {}; the names are {}",
                                       options_.path, fmt::join(names, ", ")));
    }

    void print(const std::string& text) const {
        if (world_.rank() != 0) return;
        progress_.say("");
        fmt::print("{}\n", text);
        std::fflush(stdout);
    }

    void measure_collective(Collective collective) {
        CollectiveBenchOptions options;
        options.min_bytes = options_.min_bytes;
        options.max_bytes = options_.max_bytes;
        options.factor = options_.factor;
        options.path = options_.path;
        const auto add = [&](const std::vector<CollectiveBenchRow>& rows) {
            if (rows.empty()) return;
            print(to_text(rows));
            result_.collectives.insert(result_.collectives.end(), rows.begin(), rows.end());
        };
        progress_.say(fmt::format("measuring {} ...", name_of(collective)));
        if (!on_gpus_) return add(bench_host_collective(world_, collective, options));
        for (const bool in_graph : {true, false}) {
            options.in_graph = in_graph;
            if (options_.graph || !in_graph) add(bench_collective(world_, device_, collective, options));
        }
    }

    void measure_pairs() {
        ChannelOptions channel_options;
        channel_options.gpu = device_;
        ChannelGroup channels(world_, channel_options);
        PairBenchOptions options;
        options.path = options_.path;
        options.device = device_;
        for (std::int64_t bytes = options_.min_bytes; bytes <= options_.max_bytes; bytes *= options_.factor)
            options.sizes.push_back(bytes);
        for (int a = 0; a < world_.size(); ++a)
            for (int b = a + 1; b < world_.size(); ++b) {
                progress_.say(fmt::format("measuring ranks {} and {} of {} ...", a, b, world_.size()));
                result_.pairs.push_back(
                    {a, b, link_between(plan_, a, b), measure_pair(channels, a, b, options)});
            }
        std::vector<std::string> links;
        for (const PairResult& pair : result_.pairs) {  // all sizes for one pair of each kind of link
            if (std::ranges::find(links, pair.link.text) != links.end() || pair.rows.empty()) continue;
            links.push_back(pair.link.text);
            print(sizes_text(pair));
        }
        if (!links.empty()) print(pairs_text(result_.pairs));
    }

    // Returns the rows on all ranks.
    std::vector<PairBenchRow> measure_pair(ChannelGroup& channels, int a, int b,
                                           const PairBenchOptions& options) const {
        const bool in = world_.rank() == a || world_.rank() == b;
        const Communicator pair = world_.split(in ? 0 : 1);
        json rows = json::array();
        if (in)
            for (const PairBenchRow& row : bench_pair(pair, channels, world_.rank() == a ? b : a, options))
                rows.push_back({row.way, row.bytes, row.one_way_s, row.bytes_per_s});
        world_.wait_asleep();
        std::vector<PairBenchRow> out;
        const auto all = world_.all_gather(world_.rank() == a ? rows.dump() : "");
        for (const json& row : json::parse(all[static_cast<std::size_t>(a)]))
            out.push_back({row[0], row[1], row[2], row[3]});
        return out;
    }

    const Communicator& world_;
    CommBenchOptions options_;
    const Plan plan_;
    bool on_gpus_ = false;
    bool lowered_ = false;
    int device_ = -1;
    Progress progress_{world_.rank() == 0};
    CommBenchResult result_;
};

}  // namespace

void run_comm_bench(const Communicator& world, CommBenchOptions options) {
    CommBench(world, std::move(options)).run();
}

}  // namespace voltpile
