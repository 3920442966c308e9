// Adapters of routers and experts, on every implementation: rows with an adapter have the results of matrices
// to which the products of its factors have been added.
#include "llm/ops/dequantize.h"
#include "llm/ops_experts_fixture.h"

namespace voltpile::llm {
namespace {

class OpsExpertAdaptersTest : public ExpertsFixture {
  protected:
    // Adapters of all matrices of a mixture.
    struct Sources {
        AdapterSource router, gate_up, down;
        int count = 0;  // of adapters
    };

    AdapterSource source_of(std::int64_t columns, const std::vector<std::int64_t>& rows) {
        AdapterSource made;
        made.columns = columns;
        made.rows = rows;
        return made;
    }
    // rank 0: the adapter leaves the matrices as they are.
    void add(AdapterSource& to, int rank, float spread) {
        std::int64_t outputs = 0;
        for (const std::int64_t rows : to.rows) outputs += rows;
        to.adapters.push_back(
            {rank,
             normals(std::ssize(to.rows) * rank * to.columns, 1 / std::sqrt(static_cast<float>(to.columns))),
             normals(outputs * rank, spread)});
    }

    // The factors of adapter n for expert e have rank (rank + e) % (rank + 1), of some experts 0.
    Sources sources(const Mixture& m, const std::vector<int>& ranks) {
        Sources made{source_of(m.hidden, {m.experts, 1}), source_of(m.hidden, {m.ffn, m.ffn}),
                     source_of(m.ffn, {m.hidden}), static_cast<int>(ranks.size())};
        for (const int rank : ranks) {
            add(made.router, rank, 0.5F);
            for (int e = 0; e < m.experts; ++e) {
                add(made.gate_up, (rank + e) % (rank + 1), 0.5F);
                add(made.down, (rank + e + 1) % (rank + 1), 0.5F);
            }
        }
        return made;
    }

    // The adapters of the experts begin to end - 1.
    static Sources part(Sources s, int experts, int begin, int end) {
        for (AdapterSource* of : {&s.gate_up, &s.down}) {
            std::vector<AdapterFactors> kept;
            for (int n = 0; n < s.count; ++n)
                for (int e = begin; e < end; ++e)
                    kept.push_back(of->adapters[static_cast<std::size_t>(n * experts + e)]);
            of->adapters = kept;
        }
        return s;
    }

    // w (rows, columns) + b a, of one of the matrices of an adapter.
    static void merge(std::vector<float>& w, const AdapterSource& source, std::size_t factors,
                      std::size_t matrix) {
        const AdapterFactors& f = source.adapters[factors];
        const auto columns = static_cast<std::size_t>(source.columns),
                   rank = static_cast<std::size_t>(f.rank);
        std::size_t begin = 0;
        for (std::size_t m = 0; m < matrix; ++m) begin += static_cast<std::size_t>(source.rows[m]);
        for (std::size_t j = 0; j < static_cast<std::size_t>(source.rows[matrix]); ++j)
            for (std::size_t c = 0; c < columns; ++c) {
                double sum = static_cast<double>(w[j * columns + c]);
                for (std::size_t k = 0; k < rank; ++k)
                    sum += static_cast<double>(f.b[(begin + j) * rank + k]) *
                           static_cast<double>(f.a[(matrix * rank + k) * columns + c]);
                w[j * columns + c] = static_cast<float>(sum);
            }
    }

    // Returns the mixture that an adapter makes of `m`, in F32.
    static Mixture merged(const Mixture& m, const Sources& s, int adapter) {
        Mixture made = m;
        made.format = WeightFormat::F32;
        merge(made.router, s.router, static_cast<std::size_t>(adapter), 0);
        merge(made.shared_gate, s.router, static_cast<std::size_t>(adapter), 1);
        const auto merge_experts = [&](std::vector<std::vector<std::byte>>& of, const AdapterSource& source,
                                       std::size_t matrix) {
            for (std::size_t e = 0; e < of.size(); ++e) {
                std::vector<float> w(static_cast<std::size_t>(m.hidden * m.ffn));
                dequantize_row(m.format, of[e].data(), m.hidden * m.ffn, w.data());
                if (adapter >= 0) merge(w, source, static_cast<std::size_t>(adapter) * of.size() + e, matrix);
                of[e].resize(w.size() * sizeof(float));
                std::memcpy(of[e].data(), w.data(), of[e].size());
            }
        };
        merge_experts(made.gate, s.gate_up, 0);
        merge_experts(made.up, s.gate_up, 1);
        merge_experts(made.down, s.down, 0);
        return made;
    }

    // The memory of the experts. Passes of `streaming` rows stream their weights if no row has an adapter.
    enum class Memory { Device, Host };
    static constexpr std::int64_t streaming = 8;

    // Returns the output of a mixture with adapters. shared: the output of its shared expert.
    static std::vector<float> run_adapted(Side& side, const Mixture& m, const Sources& s,
                                          const std::vector<float>& x,
                                          const std::vector<std::int32_t>& sequence,
                                          const std::vector<std::int32_t>& adapter,
                                          const std::vector<float>& shared, Memory memory = Memory::Device) {
        const auto rows = static_cast<std::int64_t>(sequence.size());
        std::unique_ptr<HostExperts> host;
        if (memory == Memory::Host) host = side.ops->make_host_experts({rows, m.hidden, m.used, streaming});
        const Loaded loaded = load(side, m, true, host.get());
        Ops& of_experts = host ? host->cores() : *side.ops;
        const auto router = side.ops->load_adapters(s.router), gate_up = of_experts.load_adapters(s.gate_up),
                   down = of_experts.load_adapters(s.down);
        const ExpertLayer layer{loaded.gate.get(), loaded.up.get(), loaded.down.get(),
                                m.activation,      gate_up.get(),   down.get()};
        const Routing routing =
            make_routing(side, rows, loaded.settings, static_cast<int>(loaded.gate->count()));
        BatchView batch = batch_of(side, sequence);
        batch.adapter = side.up(adapter);
        batch.adapter_order = side.up(order_of(adapter));
        const HiddenRows rows_of_x = side.hidden(x, m.hidden);
        const auto pairs = static_cast<std::size_t>(rows * m.used);
        const auto ffn = static_cast<std::size_t>(m.ffn);
        const HiddenRows gated = side.hidden(std::vector<float>(pairs * ffn), m.ffn);
        const FloatRows added = side.rows(std::vector<float>(pairs * 2 * ffn, 7), 2 * m.ffn);
        const FloatRows out = side.rows(shared, m.hidden);
        side.ops->route(rows_of_x, loaded.settings, batch, routing, router.get());
        if (host) {
            host->prepare(layer);
            host->sum(rows_of_x, layer, batch, routing, gated, out, {});
        } else {
            run_experts(*side.ops, rows_of_x, layer, batch, routing, added.data, gated, out);
        }
        return side.down(out);
    }

    // The same of merged matrices by the reference, row by row with its adapter.
    static std::vector<float> run_merged(const Mixture& m, const Sources& s, const std::vector<float>& x,
                                         const std::vector<std::int32_t>& sequence,
                                         const std::vector<std::int32_t>& adapter,
                                         const std::vector<float>& shared) {
        std::vector<float> out(shared.size());
        for (int n = -1; n < s.count; ++n) {
            Side side(std::make_unique<ReferenceOps>());
            const std::vector<float> all = run(side, n < 0 ? m : merged(m, s, n), x, sequence, shared);
            for (std::size_t i = 0; i < all.size(); ++i)
                if (adapter[i / static_cast<std::size_t>(m.hidden)] == n) out[i] = all[i];
        }
        return out;
    }

    void replay_with_other_adapters(Memory memory);
};
VOLTPILE_FOR_ALL_OPS(OpsExpertAdaptersTest);

// Few rows and many, with an empty row, several adapters and rows without one; ranks that are no multiple of
// 8, and the largest.
TEST_P(OpsExpertAdaptersTest, HaveTheResultsOfMergedMatrices) {
    for (const auto& [ranks, ffn] : {std::pair<std::vector<int>, int>{{3, 8}, 96}, {{1, 256}, 70}}) {
        const Mixture m = mixture(WeightFormat::F16, 7, 3, 64, ffn);
        const Sources s = sources(m, ranks);
        for (const std::int64_t rows : {1, 3, 8, 70, 200}) {
            SCOPED_TRACE(std::to_string(rows) + " rows");
            const auto x = normals(rows * m.hidden), shared = normals(rows * m.hidden);
            std::vector<std::int32_t> sequence(static_cast<std::size_t>(rows), 0), adapter;
            if (rows > 3) sequence[4] = -1;
            for (std::int64_t r = 0; r < rows; ++r) adapter.push_back(static_cast<int>((r + 1) % 3) - 1);
            Side side(GetParam().make());
            const bool halves = side.ops->hidden_element() == Element::F16;
            const auto wanted = run_merged(m, s, x, sequence, adapter, shared);
            for (const Memory memory : {Memory::Device, Memory::Host})
                EXPECT_LT(nmse(run_adapted(side, m, s, x, sequence, adapter, shared, memory), wanted),
                          halves ? 1e-5 : 1e-10);
        }
    }
}

TEST_P(OpsExpertAdaptersTest, OfRanksWithWholeExpertsAddUp) {
    const Mixture m = mixture(WeightFormat::F16, 8, 3, 64, 96);
    const Sources s = sources(m, {4});
    const auto x = normals(5 * m.hidden), shared = normals(5 * m.hidden);
    const std::vector<std::int32_t> sequence(5, 0), adapter{0, -1, 0, 0, 0};
    std::vector<float> sum(shared.size());
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 8}}) {
        Side side(GetParam().make());
        const auto of_rank =
            run_adapted(side, ExpertsFixture::part(m, begin, end), part(s, m.experts, begin, end), x,
                        sequence, adapter, begin == 0 ? shared : std::vector<float>(shared.size()));
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_rank[i];
    }
    const bool halves = GetParam().make()->hidden_element() == Element::F16;
    EXPECT_LT(nmse(sum, run_merged(m, s, x, sequence, adapter, shared)), halves ? 1e-5 : 1e-10);
}

TEST_P(OpsExpertAdaptersTest, RowsDoNotDependOnOthers) {
    if (GetParam().name == "gpu") GTEST_SKIP() << "the number of rows chooses the products";
    const Mixture m = mixture(WeightFormat::F16, 4, 2, 64, 96);
    const Sources s = sources(m, {5, 16});
    constexpr std::size_t rows = 40;  // several ranges of pairs with the same factors
    const auto x = normals(rows * m.hidden), shared = normals(rows * m.hidden);
    std::vector<std::int32_t> adapter;
    for (std::size_t r = 0; r < rows; ++r) adapter.push_back(r % 7 == 0 ? -1 : r % 3 == 0 ? 1 : 0);
    Side side(GetParam().make());
    const auto together = run_adapted(side, m, s, x, std::vector<std::int32_t>(rows, 0), adapter, shared);
    const auto row_of = [&](const std::vector<float>& of, std::size_t row) {
        const auto begin = of.begin() + static_cast<std::ptrdiff_t>(row) * m.hidden;
        return std::vector<float>(begin, begin + m.hidden);
    };
    const auto by_cores =
        run_adapted(side, m, s, x, std::vector<std::int32_t>(rows, 0), adapter, shared, Memory::Host);
    for (std::size_t r = 0; r < rows; ++r)
        for (const Memory memory : {Memory::Device, Memory::Host})
            EXPECT_EQ(run_adapted(side, m, s, row_of(x, r), {0}, {adapter[r]}, row_of(shared, r), memory),
                      row_of(memory == Memory::Device ? together : by_cores, r))
                << r;
}

// Nothing that a recording holds depends on the adapters and experts of rows.
void OpsExpertAdaptersTest::replay_with_other_adapters(Memory memory) {
    const Mixture m = mixture(WeightFormat::F16, 6, 2, 64, 96);
    const Sources s = sources(m, {4, 8});
    Side side(GetParam().make());
    std::unique_ptr<HostExperts> host;
    if (memory == Memory::Host) host = side.ops->make_host_experts({3, m.hidden, m.used, 1});
    const Loaded loaded = load(side, m, false, host.get());
    Ops& of_experts = host ? host->cores() : *side.ops;
    AdapterSource router_source = s.router;  // without a gate of the shared expert
    router_source.rows.pop_back();
    for (AdapterFactors& each : router_source.adapters) {
        each.a.resize(each.a.size() / 2);
        each.b.resize(each.b.size() - static_cast<std::size_t>(each.rank));
    }
    const auto router = side.ops->load_adapters(router_source), gate_up = of_experts.load_adapters(s.gate_up),
               down = of_experts.load_adapters(s.down);
    const ExpertLayer layer{loaded.gate.get(), loaded.up.get(), loaded.down.get(),
                            m.activation,      gate_up.get(),   down.get()};
    if (host) host->prepare(layer);
    const std::vector<std::int32_t> sequence(3, 0);
    const Routing routing = make_routing(side, 3, loaded.settings);
    BatchView batch = batch_of(side, sequence);
    std::int32_t* const adapter = side.up(std::vector<std::int32_t>{-1, -1, -1});
    batch.adapter = adapter;
    auto* const order = side.up(std::vector<std::int32_t>{0, 1, 2});
    batch.adapter_order = order;
    const HiddenRows x = side.hidden(normals(3 * m.hidden), m.hidden);
    const HiddenRows gated = side.hidden(std::vector<float>(static_cast<std::size_t>(6 * m.ffn)), m.ffn);
    const FloatRows added = side.rows(std::vector<float>(static_cast<std::size_t>(12 * m.ffn)), 2 * m.ffn);
    const FloatRows out = side.rows(std::vector<float>(static_cast<std::size_t>(3 * m.hidden)), m.hidden);
    const auto enqueue = [&] {
        side.ops->route(x, loaded.settings, batch, routing, router.get());
        if (host)
            host->sum(x, layer, batch, routing, gated, out, {});
        else
            run_experts(*side.ops, x, layer, batch, routing, added.data, gated, out);
    };
    enqueue();
    const auto recording = side.ops->record(enqueue);
    for (const std::vector<std::int32_t>& chosen : {std::vector<std::int32_t>{0, 1, -1}, {1, 1, 0}}) {
        side.ops->upload(adapter, chosen.data(), chosen.size() * sizeof(chosen[0]));
        const auto order_of_chosen = order_of(chosen);
        side.ops->upload(order, order_of_chosen.data(), chosen.size() * sizeof(chosen[0]));
        recording->replay();
        const auto replayed = side.down(out);
        enqueue();
        EXPECT_EQ(replayed, side.down(out));
    }
}

TEST_P(OpsExpertAdaptersTest, ReplaysWithOtherAdapters) {
    replay_with_other_adapters(Memory::Device);
}

TEST_P(OpsExpertAdaptersTest, ReplaysWithOtherAdaptersOfExpertsInHostMemory) {
    replay_with_other_adapters(Memory::Host);
}

}  // namespace
}  // namespace voltpile::llm
