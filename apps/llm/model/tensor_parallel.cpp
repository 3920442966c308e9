#include "llm/model/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>

namespace voltpile::llm {
namespace {

// Smaller cuts would leave rows that kernels cannot load with aligned vector loads.
constexpr std::size_t kLeastFfnUnit = 32;

std::size_t ffn_unit(const ModelSource& model) {
    std::size_t unit = kLeastFfnUnit;
    for (const ModelTensor& tensor : model.tensors())
        if (tensor.cut_group == CutGroup::Ffn && tensor.cut_axis == CutAxis::Columns)
            unit = std::max(unit, block_size(tensor.format));
    return unit;
}

// Returns the rank's part of `count` elements, split as evenly as whole units allow.
IndexRange even_part(std::size_t count, std::size_t unit, int rank, int ranks) {
    const std::size_t units = (count + unit - 1) / unit;
    const auto bound = [&](int r) {
        return std::min(count, units * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks) * unit);
    };
    return {bound(rank), bound(rank + 1)};
}

IndexRange elements(const ModelSource& model, const RankShare& share, CutGroup group) {
    const auto head_dim = static_cast<std::size_t>(model.config().head_dim);
    switch (group) {
        case CutGroup::Heads:
            return {share.heads.begin * head_dim, share.heads.end * head_dim};
        case CutGroup::KvHeads:
            return {share.kv_heads.begin * head_dim, share.kv_heads.end * head_dim};
        case CutGroup::Ffn:
            return share.ffn;
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
    const std::size_t unit = ffn_unit(model);
    const std::size_t units = (static_cast<std::size_t>(config.ffn) + unit - 1) / unit;
    if (units < static_cast<std::size_t>(ranks))
        return fmt::format("the feed-forward size {} has only {} blocks of {}", config.ffn, units, unit);
    if (config.vocab < ranks) return fmt::format("the vocabulary has only {} words", config.vocab);
    return {};
}

RankShare rank_share(const ModelSource& model, int rank, int ranks) {
    const ModelConfig& config = model.config();
    const auto heads = static_cast<std::size_t>(config.heads);
    const auto kv_heads = static_cast<std::size_t>(config.kv_heads);
    RankShare share{};
    share.heads = even_part(heads, 1, rank, ranks);
    const std::size_t heads_per_kv = heads / kv_heads;
    share.kv_heads = {share.heads.begin / heads_per_kv, (share.heads.end - 1) / heads_per_kv + 1};
    share.ffn = even_part(static_cast<std::size_t>(config.ffn), ffn_unit(model), rank, ranks);
    share.words = even_part(static_cast<std::size_t>(config.vocab), 1, rank, ranks);
    return share;
}

TensorShard tensor_shard(const ModelSource& model, const ModelTensor& tensor, const RankShare& share) {
    TensorShard shard{whole(tensor), {0, tensor.columns}};
    const IndexRange part = elements(model, share, tensor.cut_group);
    if (tensor.cut_axis == CutAxis::Rows) {
        shard.stored.row_begin = part.begin;
        shard.stored.row_end = part.end;
    } else if (tensor.cut_axis == CutAxis::Columns) {
        const std::size_t block = block_size(tensor.format);
        shard.used_columns = part;
        shard.stored.column_begin = part.begin / block * block;
        shard.stored.column_end = (part.end + block - 1) / block * block;
    }
    return shard;
}

}  // namespace voltpile::llm
