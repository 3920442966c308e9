#include "results/hdf5/hyperslab.h"

#include <algorithm>

namespace voltpile {

std::vector<Hyperslab> hyperslabs(std::span<const std::uint64_t> dims, WorkRange range) {
    const std::size_t rank = dims.size();
    std::vector<std::uint64_t> stride(rank, 1);  // points per step of each dimension
    for (std::size_t d = rank; d-- > 1;) stride[d - 1] = stride[d] * dims[d];

    std::vector<Hyperslab> boxes;
    auto at = static_cast<std::uint64_t>(range.begin);
    const auto end = static_cast<std::uint64_t>(range.end);
    if (rank == 0 && at < end) boxes.push_back({});
    while (rank > 0 && at < end) {
        // Find the slowest dimension along which whole slices fit.
        std::size_t d = rank - 1;
        while (d > 0 && at % stride[d - 1] == 0 && end - at >= stride[d - 1]) --d;
        const std::uint64_t index = at / stride[d] % dims[d];
        const std::uint64_t taken = std::min(dims[d] - index, (end - at) / stride[d]);
        Hyperslab box;
        for (std::size_t k = 0; k < rank; ++k) {
            box.start.push_back(at / stride[k] % dims[k]);
            box.count.push_back(k < d ? 1 : k == d ? taken : dims[k]);
        }
        boxes.push_back(std::move(box));
        at += taken * stride[d];
    }
    return boxes;
}

}  // namespace voltpile
