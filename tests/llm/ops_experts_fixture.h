// Mixtures of experts for tests of the operations, with random weights in a file's layout.
#pragma once

#include "llm/ops/routing.h"
#include "llm/ops_fixture.h"

namespace voltpile::llm {

class ExpertsFixture : public OpsTest {
  protected:
    // A router whose weights are the unit vectors: the logits of a row are the row itself.
    static RouterSettings unit_router(Side& side, int experts, int used, bool normalized) {
        std::vector<float> weight(static_cast<std::size_t>(experts * experts));
        for (int e = 0; e < experts; ++e) weight[static_cast<std::size_t>(e * experts + e)] = 1;
        RouterSettings settings;
        settings.weight = side.up(weight);
        settings.experts = experts;
        settings.used = used;
        settings.normalized = normalized;
        return settings;
    }
    // held: experts of this side; 0: all.
    static Routing make_routing(Side& side, std::int64_t rows, const RouterSettings& settings, int held = 0) {
        const int experts = held > 0 ? held : settings.experts;
        const std::size_t bytes = routing_bytes(rows, experts, settings.used);
        Routing routing = routing_in(side.up(std::vector<float>(bytes / sizeof(float))), rows, experts,
                                     settings.used, settings.shared_gate != nullptr);
        routing.all_experts = settings.experts;
        return routing;
    }
    static BatchView batch_of(Side& side, const std::vector<std::int32_t>& sequence) {
        BatchView batch;
        batch.rows = static_cast<int>(sequence.size());
        batch.sequence = side.up(sequence);
        return batch;
    }
    template <class T>
    static std::vector<T> download(Side& side, const T* from, std::size_t count) {
        std::vector<T> values(count);
        side.ops->download(values.data(), from, count * sizeof(T));
        return values;
    }

    // All matrices of a mixture, in a file's layout.
    struct Mixture {
        WeightFormat format;
        int experts, used;
        std::int64_t hidden, ffn;
        std::vector<float> router, shared_gate;
        std::vector<std::vector<std::byte>> gate, up, down;
        bool normalized = true;
        Activation activation = Activation::Silu;
        std::vector<float> router_bias, gate_bias, up_bias, down_bias;  // empty: none
        int held_begin = 0;  // the matrices and their biases are those of the experts from here on
    };
    // Returns a rank's share of a mixture: the experts begin to end - 1.
    static Mixture part(Mixture m, int begin, int end) {
        const auto keep = [&](auto& values) {
            const auto each = std::ssize(values) / m.experts;
            values.assign(values.begin() + begin * each, values.begin() + end * each);
        };
        for (auto* of : {&m.gate, &m.up, &m.down}) {
            auto kept = std::vector(of->begin() + begin, of->begin() + end);
            of->swap(kept);
        }
        for (auto* of : {&m.gate_bias, &m.up_bias, &m.down_bias}) keep(*of);
        m.held_begin = begin;
        return m;
    }
    Mixture mixture(WeightFormat format, int experts, int used, std::int64_t hidden, std::int64_t ffn) {
        Mixture made{};
        made.format = format;
        made.experts = experts;
        made.used = used;
        made.hidden = hidden;
        made.ffn = ffn;
        made.router = normals(experts * hidden, 0.06F);
        made.shared_gate = normals(hidden, 0.06F);
        for (int e = 0; e < experts; ++e) {
            made.gate.push_back(weights(format, ffn, hidden));
            made.up.push_back(weights(format, ffn, hidden));
            made.down.push_back(weights(format, hidden, ffn));
        }
        return made;
    }
    static std::unique_ptr<ExpertWeights> load(Ops& ops, const Mixture& m, std::int64_t rows,
                                               std::int64_t columns,
                                               const std::vector<std::vector<std::byte>>& of,
                                               const std::vector<float>& bias) {
        std::vector<std::unique_ptr<WeightMatrix>> matrices;
        for (const auto& bytes : of)
            matrices.push_back(ops.load_matrix(source(m.format, rows, columns, bytes)));
        if (bias.empty()) return ops.join_experts(std::move(matrices));
        auto memory = ops.allocate(bias.size() * sizeof(float));
        ops.upload(memory->data(), bias.data(), bias.size() * sizeof(float));
        return ops.join_experts(std::move(matrices), std::move(memory));
    }
    // A mixture in the memory of a side.
    struct Loaded {
        RouterSettings settings;
        std::unique_ptr<ExpertWeights> gate, up, down;
    };
    // host: the experts are loaded into host memory; nullptr: into that of the side.
    static Loaded load(Side& side, const Mixture& m, bool shared, HostExperts* host = nullptr) {
        Ops& ops = host != nullptr ? host->cores() : *side.ops;
        RouterSettings settings;
        settings.weight = side.up(m.router);
        settings.shared_gate = shared ? side.up(m.shared_gate) : nullptr;
        settings.experts = m.experts;
        settings.held_begin = m.held_begin;
        settings.used = m.used;
        settings.normalized = m.normalized;
        settings.bias = m.router_bias.empty() ? nullptr : side.up(m.router_bias);
        return {settings, load(ops, m, m.ffn, m.hidden, m.gate, m.gate_bias),
                load(ops, m, m.ffn, m.hidden, m.up, m.up_bias),
                load(ops, m, m.hidden, m.ffn, m.down, m.down_bias)};
    }
    // Returns the output of a mixture. former: what is in it before: the output of its shared expert, empty
    // if it has none, or with `adds` any numbers.
    static std::vector<float> run(Side& side, const Mixture& m, const Loaded& loaded,
                                  const std::vector<float>& x, const std::vector<std::int32_t>& sequence,
                                  std::vector<float> former, bool adds = false) {
        const auto rows = static_cast<std::int64_t>(sequence.size());
        Routing routing = make_routing(side, rows, loaded.settings, static_cast<int>(loaded.gate->count()));
        routing.adds = adds;
        const HiddenRows rows_of_x = side.hidden(x, m.hidden);
        side.ops->route(rows_of_x, loaded.settings, batch_of(side, sequence), routing, nullptr);
        const HiddenRows gated =
            side.hidden(std::vector<float>(static_cast<std::size_t>(rows * m.used * m.ffn)), m.ffn);
        side.ops->gated_experts(rows_of_x, *loaded.gate, *loaded.up, m.activation, routing, nullptr, gated);
        if (former.empty()) former.assign(static_cast<std::size_t>(rows * m.hidden), 7);
        const FloatRows out = side.rows(former, m.hidden);
        side.ops->sum_experts(gated, *loaded.down, routing, out);
        return side.down(out);
    }
    static std::vector<float> run(Side& side, const Mixture& m, const std::vector<float>& x,
                                  const std::vector<std::int32_t>& sequence,
                                  const std::vector<float>& shared) {
        return run(side, m, load(side, m, !shared.empty()), x, sequence, shared);
    }
};

}  // namespace voltpile::llm
