#include "llm/ops/cpu/cpu_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "llm/ops/cpu/rotate_blocks.h"
#include "llm/ops/cpu/row_groups.h"
#include "llm/ops/cpu/strip_matrix.h"
#include "llm/ops/cpu/work_items.h"
#include "llm/ops/sampling_host.h"

namespace voltpile::llm {
CpuOps::CpuOps(const std::vector<int>& pus, const CpuKernels& kernels, bool clamp)
    : HostOps(clamp), kernels_(kernels), team_(pus), scratch_(static_cast<std::size_t>(team_.size())) {
    for (Scratch& scratch : scratch_) {
        scratch.panel.resize(product_weights * product_columns);
        scratch.integer_panel.resize(integer_panel_bytes / sizeof(AlignedBytes));
    }
}

std::string CpuOps::describe() const {
    return fmt::format("{}{}, {} thread{}", name(kernels_.level), with_amx(kernels_) ? " and AMX" : "",
                       team_.size(), team_.size() == 1 ? "" : "s");
}

void CpuOps::add_rms_norm(FloatRows x, AddedRows delta, const float* weight, float eps, HiddenRows out,
                          SentinelPlace place) {
    means_.resize(static_cast<std::size_t>(x.rows));
    team_.for_each(x.rows, [&](std::int64_t r, int) {
        const std::int64_t at = r * x.columns;
        means_[static_cast<std::size_t>(r)] =
            kernels_.add_rms_norm(x.data + at, delta.data == nullptr ? nullptr : delta.data + at, delta.bias,
                                  weight, eps, x.columns, host(out).data + at);
    });
    for (std::int64_t r = 0; r < x.rows; ++r) {
        if (!std::isfinite(means_[static_cast<std::size_t>(r)])) trip(place, static_cast<int>(r));
    }
}

void CpuOps::rms_norm(FloatRows x, const float* weight, float eps, SentinelPlace place) {
    add_rms_norm(x, {}, weight, eps, {x.data, x.rows, x.columns}, place);
}

std::unique_ptr<WeightMatrix> CpuOps::load_matrix(const MatrixSource& source) {
    if (llm::by_integers(kernels_, source.format))
        return std::make_unique<StripMatrix>(source, weight_slabs_, team_);
    return HostOps::load_matrix(source);
}

void CpuOps::prepare(FloatRows x, std::span<const std::int32_t> begins,
                     std::span<const WeightMatrix* const> weights) {
    if (std::ranges::any_of(weights, [&](const WeightMatrix* weight) { return by_integers(*weight); }))
        quantize_rows(x.rows, x.columns, [&](std::int64_t r) { return x.data + r * x.columns; });
    group_rows(x, begins, weights);
}

void CpuOps::group_rows(FloatRows x, std::span<const std::int32_t> begins,
                        std::span<const WeightMatrix* const> weights) {
    std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
    for (const WeightMatrix* weight : weights) {
        if (!by_integers(*weight)) fewest = std::min(fewest, kernels_.rows_for_panel(weight->format()));
    }
    row_groups_.clear();
    for (std::size_t part = 0; part + 1 < begins.size(); ++part) {
        const std::int64_t begin = begins[part], end = begins[part + 1];
        if (end - begin < fewest) continue;
        std::int64_t place = first_group_of(begin, static_cast<std::int64_t>(part));
        for (std::int64_t r = begin; r < end; r += rows_of_group, ++place)
            row_groups_.push_back({r, std::min(rows_of_group, end - r), place});
    }
    if (row_groups_.empty()) return;
    const std::int64_t numbers = numbers_of_group(x.columns);
    groups_.resize(
        std::max(groups_.size(), static_cast<std::size_t>((row_groups_.back().place + 1) * numbers)));
    team_.for_each(static_cast<std::int64_t>(row_groups_.size()), [&](std::int64_t i, int) {
        const RowGroup& group = row_groups_[static_cast<std::size_t>(i)];
        kernels_.group(x.data + group.begin * x.columns, group.rows, x.columns,
                       groups_.data() + group.place * numbers);
    });
}

Product CpuOps::product_of(const WeightMatrix& weight, const PreparedRows& rows, std::int64_t item,
                           int thread) {
    Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
    const FloatRows& x = rows.x;
    Product p;
    p.format = weight.format();
    p.columns = weight.columns();
    const std::int64_t each = weights_of_item(weight.rows(), x.rows, team_.size());
    p.begin = item * each;
    p.end = std::min(weight.rows(), p.begin + each);
    p.x = x.data;
    p.rows = x.rows;
    p.panel = scratch.panel.data();
    if (!by_integers(weight)) {
        p.w = host(weight).row(0);
        p.row_bytes = host(weight).row(1) - p.w;
        if (x.rows >= kernels_.rows_for_panel(p.format))
            p.groups = groups_.data() + first_group_of(rows.begin, rows.part) * numbers_of_group(p.columns);
        return p;
    }
    p.w = in_strips(weight).strips();
    p.row_bytes = static_cast<std::int64_t>(row_bytes(weight.format(), static_cast<std::size_t>(p.columns)));
    scratch.sums.resize(
        std::max(scratch.sums.size(), static_cast<std::size_t>(x.rows * std::max(each, product_weights))));
    p.quantized = quantized_.data() + rows.begin * quantized_stride(x.columns);
    p.integer_panel = scratch.integer_panel.front().bytes;
    p.sums = scratch.sums.data();
    return p;
}

void CpuOps::run(const Product& p) const {
    if (p.quantized != nullptr)
        kernels_.integer_product(p);
    else
        kernels_.product(p);
}

void CpuOps::multiply(FloatRows x, std::span<const WeightMatrix* const> weights, FloatRows out) {
    prepare(x, weights);
    std::int64_t items = 0;
    for (const WeightMatrix* weight : weights) items += items_of(weight->rows(), x.rows, team_.size());
    team_.for_each(items, [&](std::int64_t item, int thread) {
        std::int64_t column = 0;
        std::size_t i = 0;
        for (;; ++i) {
            const std::int64_t of_weight = items_of(weights[i]->rows(), x.rows, team_.size());
            if (item < of_weight) break;
            item -= of_weight;
            column += weights[i]->rows();
        }
        Product p = product_of(*weights[i], {x}, item, thread);
        p.out = out.data + column + p.begin;
        p.out_stride = out.columns;
        run(p);
    });
}

void CpuOps::matmul(HiddenRows x, std::span<const WeightMatrix* const> weights, HiddenRows out) {
    multiply(host(x), weights, host(out));
}

void CpuOps::matmul(HiddenRows x, const WeightMatrix& weight, FloatRows out) {
    const WeightMatrix* const one[] = {&weight};
    multiply(host(x), one, out);
}

void CpuOps::add_matmul(HiddenRows x, const WeightMatrix& weight, const float* bias, FloatRows out) {
    const WeightMatrix* const one[] = {&weight};
    prepare(host(x), one);
    const std::int64_t stride = weights_of_item(weight.rows(), x.rows, team_.size());
    team_.for_each(items_of(weight.rows(), x.rows, team_.size()), [&](std::int64_t item, int thread) {
        std::vector<float>& sums = scratch_[static_cast<std::size_t>(thread)].other;
        sums.resize(std::max(sums.size(), static_cast<std::size_t>(x.rows * stride)));
        Product p = product_of(weight, {host(x)}, item, thread);
        p.out = sums.data();
        p.out_stride = stride;
        run(p);
        for (std::int64_t r = 0; r < x.rows; ++r) {
            float* const to = out.data + r * out.columns + p.begin;
            for (std::int64_t i = 0; i < p.end - p.begin; ++i) {
                to[i] += p.out[r * stride + i];
                if (bias != nullptr) to[i] += bias[p.begin + i];
            }
        }
    });
}

void CpuOps::run_gated(const WeightMatrix& gate, const WeightMatrix& up, const PreparedRows& rows,
                       std::int64_t item, int thread, const GateSettings& settings, FloatRows out) {
    const FloatRows& x = rows.x;
    Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
    const std::int64_t stride = weights_of_item(up.rows(), x.rows, team_.size());
    scratch.other.resize(std::max(scratch.other.size(), static_cast<std::size_t>(x.rows * stride)));
    Product p = product_of(gate, rows, item, thread);
    p.out = out.data + p.begin;
    p.out_stride = out.columns;
    run(p);
    float* const gates = p.out;
    p = product_of(up, rows, item, thread);
    p.out = scratch.other.data();
    p.out_stride = stride;
    run(p);
    for (std::int64_t r = 0; r < x.rows; ++r) {
        float *const g = gates + r * out.columns, *const u = p.out + r * stride;
        const std::int64_t count = p.end - p.begin;
        for (std::int64_t i = 0; settings.gate_bias != nullptr && i < count; ++i)
            g[i] += settings.gate_bias[p.begin + i];
        for (std::int64_t i = 0; settings.up_bias != nullptr && i < count; ++i)
            u[i] += settings.up_bias[p.begin + i];
        if (settings.added != nullptr) {
            const float* const added = settings.added + r * 2 * gate.rows() + p.begin;
            for (std::int64_t i = 0; i < count; ++i) {
                g[i] += added[i];
                u[i] += added[gate.rows() + i];
            }
        }
        kernels_.gate(settings.activation, g, u, count);
    }
}

void CpuOps::gated_matmul(HiddenRows x, const WeightMatrix& gate, const WeightMatrix& up,
                          Activation activation, HiddenRows out) {
    const WeightMatrix* const both[] = {&gate, &up};
    prepare(host(x), both);
    team_.for_each(items_of(gate.rows(), x.rows, team_.size()), [&](std::int64_t item, int thread) {
        run_gated(gate, up, {host(x)}, item, thread, {activation}, host(out));
    });
}

void CpuOps::attention(HiddenRows qkv, const QkvSettings& settings, const BatchView& batch,
                       const KvLayer& cache, const AttentionSettings& attention, HiddenRows out) {
    // A work item has at most this many of the heads that share a KV head: latent attention has one for all.
    constexpr int most_heads = 8;
    const int of_kv_head = settings.heads / settings.kv_heads, order = rotation_of(settings, cache);
    const int pieces = (of_kv_head + most_heads - 1) / most_heads;
    find_adjacent_rows(batch, settings.kv_heads * pieces, (of_kv_head + pieces - 1) / pieces);
    const auto blocks = static_cast<std::int64_t>(adjacent_rows_.size());
    team_.for_each(blocks * settings.kv_heads * pieces, [&](std::int64_t item, int thread) {
        const AdjacentRows& block =
            adjacent_rows_[static_cast<std::size_t>(item / pieces / settings.kv_heads)];
        const auto kv_head = item / pieces % settings.kv_heads;
        const int piece = static_cast<int>(item % pieces);
        const int first_head = piece * of_kv_head / pieces;
        const int group = (piece + 1) * of_kv_head / pieces - first_head;
        const std::int64_t column = (kv_head * of_kv_head + first_head) * settings.head_dim;
        float* const to = host(out).data + block.begin * out.columns + column;
        const std::int32_t sequence = batch.sequence[block.begin];
        if (sequence < 0) {
            for (int r = 0; r < block.rows; ++r)
                std::fill_n(to + r * out.columns, group * settings.head_dim, 0.0F);
            return;
        }
        AttentionRows rows;
        rows.q = host(qkv).data + block.begin * qkv.columns + column;
        rows.out = to;
        rows.q_stride = qkv.columns;
        rows.out_stride = out.columns;
        rows.rows = block.rows;
        rows.group = group;
        rows.head_dim = settings.head_dim;
        rows.element = cache.element;
        const auto first_token = static_cast<std::size_t>(kv_head) * kv_page_tokens;
        const auto dim = static_cast<std::size_t>(settings.head_dim);
        const std::size_t first_byte = first_token * kv_number_bytes(cache.element, dim);
        rows.keys = static_cast<const std::byte*>(cache.keys) + first_byte;
        rows.values = static_cast<const std::byte*>(cache.values) + first_byte;
        if (is_quantized(cache.element)) {
            const std::size_t first_scale = first_token * kv_scale_bytes(cache.element, dim);
            rows.key_scales = static_cast<const std::byte*>(cache.key_scales) + first_scale;
            rows.value_scales = static_cast<const std::byte*>(cache.value_scales) + first_scale;
        }
        rows.page_stride = static_cast<std::int64_t>(settings.kv_heads) * kv_page_tokens;
        rows.pages = batch.page_table + static_cast<std::int64_t>(sequence) * batch.max_pages;
        rows.position = batch.position[block.begin];
        rows.window = attention.window;
        rows.scale = attention.scale;
        rows.soft_cap = attention.soft_cap;
        if (attention.sinks != nullptr) rows.sinks = attention.sinks + kv_head * of_kv_head + first_head;
        const std::int64_t page = std::int64_t{kv_page_tokens} * settings.head_dim;
        const std::int64_t keys = rows.last_of(rows.rows - 1) - rows.first_of(0) + 1;
        auto& scratch = scratch_[static_cast<std::size_t>(thread)].other;
        scratch.resize(std::max(
            scratch.size(),
            static_cast<std::size_t>(page + std::int64_t{rows.rows} * group * attention_scores(keys))));
        rows.page = scratch.data();
        rows.scores = scratch.data() + page;
        kernels_.attention(rows);
        for (int r = 0; r < rows.rows; ++r)
            rotate_blocks(rows.out + r * rows.out_stride, std::ptrdiff_t{group} * settings.head_dim, order);
    });
}

void CpuOps::find_adjacent_rows(const BatchView& batch, int pieces, int group) {
    // Scores of 1 MB stay in the second-level cache. Each thread should have a few work items.
    constexpr int most_scores = 1 << 18;
    const int most_rows = std::clamp(batch.rows * pieces / (4 * team_.size()), 1, 8);
    adjacent_rows_.clear();
    for (int r = 0; r < batch.rows; ++r) {
        if (!adjacent_rows_.empty()) {
            AdjacentRows& last = adjacent_rows_.back();
            const bool follows = batch.sequence[r] == batch.sequence[last.begin] &&
                                 batch.position[r] == batch.position[last.begin] + last.rows;
            const std::int64_t scores = std::int64_t{last.rows + 1} * group * (batch.position[r] + 1);
            if (follows && last.rows < most_rows && scores <= most_scores) {
                ++last.rows;
                continue;
            }
        }
        adjacent_rows_.push_back({r, 1});
    }
}

void CpuOps::soft_cap(FloatRows x, float cap) {
    team_.for_each(x.rows,
                   [&](std::int64_t r, int) { kernels_.soft_cap(x.data + r * x.columns, x.columns, cap); });
}

void CpuOps::sample(FloatRows logits, const SamplingView& sampling, std::int32_t* tokens,
                    float* log_probability) {
    team_.for_each(logits.rows, [&](std::int64_t r, int) {
        const SampledToken sampled = sample_row(
            {logits.data + r * logits.columns, static_cast<std::size_t>(logits.columns)}, sampling, r);
        tokens[r] = sampled.token;
        if (log_probability != nullptr) log_probability[r] = sampled.log_probability;
    });
}

void CpuOps::top_log_probabilities(FloatRows logits, int n, std::int32_t* tokens, float* log_probabilities) {
    team_.for_each(logits.rows, [&](std::int64_t r, int) {
        top_row({logits.data + r * logits.columns, static_cast<std::size_t>(logits.columns)}, n,
                tokens + r * n, log_probabilities + r * n);
    });
}

}  // namespace voltpile::llm
