// CollectiveSelector::measure(): the switch-over sizes of this machine.
#if VOLTPILE_CUDA

#include <algorithm>
#include <limits>
#include <vector>

#include "comm/collective/enqueue.h"
#include "comm/collective/graph.h"
#include "comm/collective/selector.h"
#include "device/buffer.h"

namespace voltpile {
CollectiveTable CollectiveSelector::measure(const Communicator& group) {
    constexpr int launches = 5;
    const Stream stream;
    const auto largest = static_cast<std::size_t>(CollectiveTable::size(CollectiveTable::classes - 1));
    DeviceBuffer<char> in(largest * static_cast<std::size_t>(size()));
    DeviceBuffer<char> out(in.size());
    set_to_zero(in.data(), in.size(), stream);

    CollectiveTable table;
    for (int i = 0; i < collective_count; ++i) {
        const auto collective = static_cast<Collective>(i);
        // Sends from each rank to each would make NCCL keep connections for which plans have no memory.
        const bool nccl = nccl_ != nullptr && (collective != Collective::AllToAll || peer_ == nullptr);
        const auto ways = possible_ways(collective, size(), nccl, peer_ != nullptr);
        // Consecutive sizes at which an algorithm took more than twice the best time. Algorithms for small
        // messages only fall further behind as messages grow, while NCCL and the flagged wire catch up.
        std::vector<int> hopeless(ways.size(), 0);
        const auto for_small = [&](std::size_t w) {
            return !ways[w].nccl && ways[w].wire != PeerWire::Flagged;
        };
        for (int c = 0; c < CollectiveTable::classes; ++c) {
            const std::int64_t bytes = CollectiveTable::size(c);
            const int calls = bytes <= 256 << 10 ? 20 : 4;
            std::vector<double> seconds(ways.size(), std::numeric_limits<double>::infinity());
            for (std::size_t w = 0; w < ways.size(); ++w) {
                if (for_small(w) && hopeless[w] >= 2) continue;
                StreamCommunicator& it = by(ways[w]);
                enqueue_collective(it, collective, in.data(), out.data(), bytes,
                                   stream);  // connects if it has not yet
                seconds[w] = slowest_of(group, seconds_in_graph(stream, calls, launches, [&] {
                                            for (int k = 0; k < calls; ++k)
                                                enqueue_collective(it, collective, in.data(), out.data(),
                                                                   bytes, stream);
                                        }));
            }
            std::size_t best = static_cast<std::size_t>(std::ranges::min_element(seconds) - seconds.begin());
            // Ties go to the algorithm of the size below: fewer changes, and at the same sizes in every run.
            auto& row = table.ways[static_cast<std::size_t>(i)];
            for (std::size_t w = 0; c > 0 && w < ways.size(); ++w)
                if (ways[w] == row[static_cast<std::size_t>(c) - 1] && seconds[w] < 1.03 * seconds[best])
                    best = w;
            row[static_cast<std::size_t>(c)] = ways[best];
            for (std::size_t w = 0; w < ways.size(); ++w)
                hopeless[w] = seconds[w] > 2 * seconds[best] ? hopeless[w] + 1 : 0;
        }
    }
    return table;
}

}  // namespace voltpile

#endif
