#include "llm/ops/cuda/streamed_experts.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "llm/ops/convert_row.h"
#include "llm/ops/cpu/strip_layout.h"
#include "llm/ops/cuda/repack.h"
#include "llm/ops/host_ops.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t part_bytes = std::size_t{1} << 20;  // that one thread reads at once
constexpr std::size_t alignment = SlabMemory::alignment;

std::size_t rounded(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t bias_bytes(const ExpertWeights& experts) {
    if (experts.bias() == nullptr) return 0;
    return static_cast<std::size_t>(experts.count() * experts.rows()) * sizeof(float);
}

std::size_t stride_of(const ExpertWeights& experts) {
    return plane_bytes(experts.of(0).format(), experts.rows(), experts.columns()).total();
}

std::size_t bytes_of(const ExpertWeights& experts) {
    return static_cast<std::size_t>(experts.count()) * stride_of(experts) + rounded(bias_bytes(experts));
}
std::size_t bytes_of(const ExpertLayer& layer) {
    return bytes_of(*layer.gate) + bytes_of(*layer.up) + bytes_of(*layer.down);
}

// Writes rows [begin, end) to `to` in sent_format(), contiguously.
void read_rows_to_send(const HostWeights& from, std::int64_t begin, std::int64_t end, std::byte* to) {
    const WeightFormat format = sent_format(from.format());
    if (format == from.format()) return from.read_rows(begin, end, to);
    const auto columns = static_cast<std::size_t>(from.columns());
    const std::size_t bytes = row_bytes(format, columns), stored = row_bytes(from.format(), columns);
    std::vector<std::byte> strip(strip_rows * stored);
    for (std::int64_t first = begin; first < end; first += strip_rows) {
        const std::int64_t last = std::min<std::int64_t>(end, first + strip_rows);
        from.read_rows(first, last, strip.data());
        const std::byte* row = strip.data();
        for (std::int64_t r = first; r < last; ++r, row += stored, to += bytes)
            convert_row(from.format(), row, from.columns(), format, to);
    }
}

}  // namespace

bool StreamedExperts::takes(const ExpertLayer& layer) {
    return gpu_format(layer.gate->of(0).format()) == gpu_format(layer.up->of(0).format());
}

void StreamedExperts::prepare(const ExpertLayer& layer) {
    const std::size_t bytes = bytes_of(layer);
    if (memory_.bytes() >= bytes) return;
    stream_.synchronize();  // earlier work may still read the memory
    memory_ = {};
    memory_ = slabs_.allocate(bytes);
}

void StreamedExperts::load(const ExpertLayer& layer) {
    set_to_zero(memory_.data(), bytes_of(layer), stream_);  // the padding
    std::byte* at = memory_.data();
    gate_ = place(*layer.gate, at);
    up_ = place(*layer.up, at);
    down_ = place(*layer.down, at);
    send();
}

ExpertMatrices StreamedExperts::place(const ExpertWeights& experts, std::byte*& at) {
    ExpertMatrices matrices;
    const std::size_t stride = stride_of(experts);
    for (int e = 0; e < experts.count(); ++e)
        add(experts.of(e), planes_in(at + static_cast<std::size_t>(e) * stride, experts.of(e).format(),
                                     experts.rows(), experts.columns()));
    matrices.first = planes_in(at, experts.of(0).format(), experts.rows(), experts.columns());
    matrices.stride = static_cast<std::int64_t>(stride);
    at += static_cast<std::size_t>(experts.count()) * stride;
    if (const std::size_t bytes = bias_bytes(experts); bytes > 0) {
        copies_.upload(at, experts.bias(), bytes, stream_);
        matrices.bias = reinterpret_cast<const float*>(at);
        at += rounded(bytes);
    }
    return matrices;
}

void StreamedExperts::add(const WeightMatrix& from, const DeviceMatrix& to) {
    const std::size_t packed =
        row_bytes(sent_format(from.format()), static_cast<std::size_t>(from.columns()));
    constexpr std::size_t rows = strip_rows;  // whole strips are unpacked at once
    const auto each = static_cast<std::int64_t>(std::max(rows, part_bytes / packed / rows * rows));
    for (std::int64_t begin = 0; begin < from.rows(); begin += each) {
        const std::int64_t end = std::min(from.rows(), begin + each);
        const std::size_t bytes = rounded(static_cast<std::size_t>(end - begin) * packed);
        if (filled_ + bytes > std::min(load_piece_bytes, scratch_.size() / 2)) send();
        parts_.push_back({static_cast<const HostWeights*>(&from), to, begin, end, filled_});
        filled_ += bytes;
    }
}

void StreamedExperts::send() {
    if (parts_.empty()) return;
    std::byte* const pinned = staging_.next(filled_);
    in_parallel(parts_.size(), threads_, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            read_rows_to_send(*parts_[i].from, parts_[i].begin, parts_[i].end, pinned + parts_[i].place);
    });
    std::uint8_t* const blocks =
        scratch_.data() + static_cast<std::size_t>(staging_.piece()) * (scratch_.size() / 2);
    copy_to_device(blocks, pinned, filled_, stream_);
    staging_.sent(stream_);
    for (const Part& part : parts_)
        repack_rows(part.to, sent_format(part.from->format()), blocks + part.place,
                    static_cast<int>(part.begin), static_cast<int>(part.end - part.begin),
                    static_cast<int>(part.from->columns()), stream_);
    parts_.clear();
    filled_ = 0;
}

}  // namespace voltpile::llm
