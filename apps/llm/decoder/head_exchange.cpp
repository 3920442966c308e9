#include "llm/decoder/head_exchange.h"

#include <algorithm>
#include <utility>

namespace voltpile::llm {

HeadExchangeShape head_exchange_shape(const ModelConfig& config, int rank, int ranks, std::int64_t rows) {
    const bool latent = config.latent.kv_rank > 0;
    return {rank,
            ranks,
            config.heads,
            config.kv_heads,
            config.head_dim,
            latent ? config.latent.value_dim : config.head_dim,
            rows};
}

HeadExchange::HeadExchange(Ops& ops, DecoderLinks& links, const HeadExchangeShape& shape)
    : ops_(ops), links_(links), shape_(shape) {
    const auto hidden = [&](std::int64_t numbers) {
        return ops.allocate(static_cast<std::size_t>(numbers) * bytes_of(ops.hidden_element()));
    };
    sent_ = hidden(shape.ranks * shape.part());
    received_ = hidden(shape.ranks * shape.part());
    outputs_ = hidden(joint_share(shape.rows, shape.ranks) * shape.heads * shape.value_dim);
}

IndexRange HeadExchange::own(std::int64_t rows) const {
    const std::int64_t share = joint_share(rows, shape_.ranks), begin = std::min(shape_.rank * share, rows);
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(begin + share, rows))};
}

void HeadExchange::exchange(std::int64_t share, std::int64_t columns) {
    links_.all_to_all({sent_->data(), shape_.ranks * share, columns},
                      {received_->data(), shape_.ranks * share, columns});
}

// One call copies the parts for all ranks, as heads that lie one part apart.
HiddenRows HeadExchange::to_heads(HiddenRows qkv, std::int64_t rows) {
    const std::int64_t share = joint_share(rows, shape_.ranks), apart = share * shape_.width();
    const std::int64_t dim = shape_.head_dim, heads = shape_.heads_here(), kv_heads = shape_.kv_heads_here();
    const HiddenRows to{sent_->data(), qkv.rows, shape_.width()};
    const auto copy = [&](std::int64_t from, std::int64_t step, std::int64_t count, std::int64_t begin,
                          std::int64_t parts) {
        ops_.copy_heads(qkv, {from, step, count * dim}, static_cast<int>(parts), to,
                        {begin, apart, count * dim});
    };
    copy(0, heads * dim, heads, 0, shape_.ranks);
    const std::int64_t keys = shape_.heads * dim, values = keys + shape_.kv_heads * dim;
    const std::int64_t key_part = heads * dim, value_part = key_part + kv_heads * dim;
    for (const auto& [from, begin] : {std::pair(keys, key_part), std::pair(values, value_part)}) {
        if (shape_.kv_heads >= shape_.ranks) {
            copy(from, kv_heads * dim, kv_heads, begin, shape_.ranks);
            continue;
        }
        const std::int64_t sharing = shape_.ranks / shape_.kv_heads;
        for (std::int64_t head = 0; head < shape_.kv_heads; ++head)
            copy(from + head * dim, 0, 1, head * sharing * apart + begin, sharing);
    }
    exchange(share, shape_.width());
    return {received_->data(), rows, shape_.width()};
}

HiddenRows HeadExchange::to_rows(std::int64_t rows) {
    const std::int64_t share = joint_share(rows, shape_.ranks), columns = shape_.value_width();
    exchange(share, columns);
    const auto mine = static_cast<std::int64_t>(own(rows).size());
    const HiddenRows all{outputs_->data(), mine, shape_.ranks * columns};
    ops_.copy_heads({received_->data(), mine, columns}, {0, share * columns, columns}, shape_.ranks, all,
                    {0, columns, columns});
    return all;
}

}  // namespace voltpile::llm
