#include "llm/model/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/model/expert_load.h"

namespace voltpile::llm {
namespace {

// Smaller cuts would leave rows that kernels cannot load with aligned vector loads.
constexpr std::size_t kLeastFfnUnit = 32;

std::size_t ffn_unit(const ModelSource& model, CutGroup group) {
    std::size_t unit = kLeastFfnUnit;
    for (const ModelTensor& tensor : model.tensors())
        if (tensor.cut_group == group && tensor.cut_axis == CutAxis::Columns)
            unit = std::max(unit, block_size(tensor.format));
    return unit;
}

// A part of the feed-forward layer that is split by itself.
struct FfnPart {
    CutGroup group;
    std::size_t size;
    IndexRange RankShare::*share;
    const char* owner;  // for messages
};

std::vector<FfnPart> ffn_parts(const ModelConfig& config) {
    const Experts& experts = config.experts;
    const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    std::vector<FfnPart> parts;
    if (has_dense_layers(config)) parts.push_back({CutGroup::Ffn, size(config.ffn), &RankShare::ffn, ""});
    if (experts.count == 0) return parts;
    parts.push_back({CutGroup::Experts, size(experts.ffn), &RankShare::expert_ffn, " of an expert"});
    if (experts.shared_ffn > 0)
        parts.push_back(
            {CutGroup::SharedFfn, size(experts.shared_ffn), &RankShare::shared_ffn, " of the shared expert"});
    return parts;
}

// Returns the rank's part of `count` elements, split as evenly as whole units allow.
IndexRange even_part(std::size_t count, std::size_t unit, int rank, int ranks) {
    const std::size_t units = (count + unit - 1) / unit;
    const auto bound = [&](int r) {
        return std::min(count, units * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks) * unit);
    };
    return {bound(rank), bound(rank + 1)};
}

IndexRange elements(const ModelSource& model, const RankShare& share, const ModelTensor& tensor) {
    const auto head_dim = static_cast<std::size_t>(model.config().head_dim);
    // Heads have different sizes in the matrices of latent attention.
    const std::size_t of_head = (tensor.cut_axis == CutAxis::Rows ? tensor.rows : tensor.columns) /
                                static_cast<std::size_t>(model.config().heads);
    switch (tensor.cut_group) {
        case CutGroup::Heads:
            return {share.heads.begin * of_head, share.heads.end * of_head};
        case CutGroup::HeadNumbers:
            return share.heads;
        case CutGroup::KvHeads:
            return {share.kv_heads.begin * head_dim, share.kv_heads.end * head_dim};
        case CutGroup::Ffn:
            return share.ffn;
        case CutGroup::Experts:
            return share.expert_ffn;
        case CutGroup::SharedFfn:
            return share.shared_ffn;
        case CutGroup::Vocabulary:
            return share.words;
        case CutGroup::None:
            break;
    }
    return {0, 0};
}

}  // namespace

std::string tensor_parallel_obstacle(const ModelSource& model, int ranks) {
    const ModelConfig& config = model.config();
    if (ranks < 1) return fmt::format("{} is not a number of GPUs", ranks);
    if (config.heads % ranks != 0) return fmt::format("{} does not divide the {} heads", ranks, config.heads);
    if (config.kv_heads % ranks != 0 && ranks % config.kv_heads != 0)
        return fmt::format("{} neither divides the {} KV heads nor is a multiple of them", ranks,
                           config.kv_heads);
    if (config.blocks.qk_norm == QkNorm::Row && ranks > config.kv_heads)
        return fmt::format("the norm of all keys needs {} KV heads on different GPUs", config.kv_heads);
    for (const FfnPart& part : ffn_parts(config)) {
        const std::size_t unit = ffn_unit(model, part.group);
        const std::size_t units = (part.size + unit - 1) / unit;
        if (part.group == CutGroup::Experts && ranks <= config.experts.count) continue;
        if (units < static_cast<std::size_t>(ranks))
            return fmt::format("the feed-forward size {}{} has only {} blocks of {}{}", part.size, part.owner,
                               units, unit,
                               part.group == CutGroup::Experts
                                   ? fmt::format(", and there are only {} experts", config.experts.count)
                                   : "");
    }
    if (config.vocab < ranks) return fmt::format("the vocabulary has only {} words", config.vocab);
    return {};
}

bool has_whole_experts(const ModelSource& model, int ranks) {
    const Experts& experts = model.config().experts;
    if (ranks == 1 || experts.count < ranks) return false;
    const std::size_t size = static_cast<std::size_t>(experts.ffn), unit = ffn_unit(model, CutGroup::Experts);
    const std::size_t units = (size + unit - 1) / unit, all = static_cast<std::size_t>(ranks);
    if (units < all) return true;
    const double most = static_cast<double>((units + all - 1) / all * unit * all) / static_cast<double>(size);
    const auto count = static_cast<double>(experts.count);
    return busiest_rank(count, ranks, static_cast<double>(experts.used) / count) < most;
}

RankShare rank_share(const ModelSource& model, int rank, int ranks) {
    const ModelConfig& config = model.config();
    const auto heads = static_cast<std::size_t>(config.heads);
    const auto kv_heads = static_cast<std::size_t>(config.kv_heads);
    RankShare share{};
    share.heads = even_part(heads, 1, rank, ranks);
    const std::size_t heads_per_kv = heads / kv_heads;
    share.kv_heads = {share.heads.begin / heads_per_kv, (share.heads.end - 1) / heads_per_kv + 1};
    for (const FfnPart& part : ffn_parts(config))
        share.*part.share = even_part(part.size, ffn_unit(model, part.group), rank, ranks);
    share.experts = {0, static_cast<std::size_t>(config.experts.count)};
    if (has_whole_experts(model, ranks)) {
        share.experts = even_part(share.experts.size(), 1, rank, ranks);
        share.expert_ffn = {0, static_cast<std::size_t>(config.experts.ffn)};
    }
    share.words = even_part(static_cast<std::size_t>(config.vocab), 1, rank, ranks);
    return share;
}

TensorShard tensor_shard(const ModelSource& model, const ModelTensor& tensor, const RankShare& share) {
    TensorShard shard{whole(tensor), {0, tensor.columns}};
    const IndexRange part = elements(model, share, tensor);
    if (tensor.cut_axis == CutAxis::Rows) {
        shard.stored.row_begin = part.begin;
        shard.stored.row_end = part.end;
    } else if (tensor.cut_axis == CutAxis::Columns) {
        const std::size_t block = block_size(tensor.format);
        shard.used_columns = part;
        shard.stored.column_begin = part.begin / block * block;
        shard.stored.column_end = (part.end + block - 1) / block * block;
    }
    if (tensor.cut_group != CutGroup::Experts) return shard;
    if (tensor.expert < 0) {
        shard.stored.row_begin = share.experts.begin;
        shard.stored.row_end = share.experts.end;
    } else if (!share.experts.has(static_cast<std::size_t>(tensor.expert))) {
        shard.stored.row_end = shard.stored.row_begin;
    }
    return shard;
}

}  // namespace voltpile::llm
