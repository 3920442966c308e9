#include "llm/ops/cuda/experts.h"

#include "llm/ops/cuda/matvec.h"
#include "llm/ops/cuda/quantize.cuh"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

// Items of 4 results: see expert_matvec.cuh.
int items_in(const ExpertArgs& args) {
    return groups_of(args.matrix[0].first.rows) * args.rows * (args.gated ? args.routing.used : 1);
}
int blocks_at_once(int multiprocessors) {
    return multiprocessors * matvec_blocks_per_multiprocessor;
}

}  // namespace

int expert_matvec_split(const ExpertArgs& args, int multiprocessors) {
    const DeviceMatrix& w = args.matrix[0].first;
    const int steps = (w.columns / unit_weights(w.format) + 31) / 32 * (args.gated ? 2 : args.routing.used);
    const int blocks = blocks_at_once(multiprocessors);
    int best = 1;
    std::int64_t best_time = 0;
    for (int split = 1; split <= 8 && split <= steps; split *= 2) {
        const int slots = 8 / split, sets = (items_in(args) + slots - 1) / slots;
        const std::int64_t time =
            static_cast<std::int64_t>((sets + blocks - 1) / blocks) * ((steps + split - 1) / split);
        if (split == 1 || time < best_time) {
            best = split;
            best_time = time;
        }
    }
    return best;
}

std::size_t expert_matvec_scratch_bytes(const ExpertArgs& args) {
    const int x_rows = args.gated ? args.rows : args.rows * args.routing.used;
    return static_cast<std::size_t>(x_rows * quantized_row_bytes(args.matrix[0].first.columns));
}

void launch_expert_matvec(const ExpertArgs& args, int multiprocessors, const Stream& stream) {
    const int slots = 8 / args.split;
    const int blocks = min((items_in(args) + slots - 1) / slots, blocks_at_once(multiprocessors));
    with_format(args.matrix[0].first.format,
                [&](auto format) { launch_expert_matvec_of<format.value>(args, blocks, stream); });
}

void launch_expert_tiles(const ExpertArgs& args, int multiprocessors, const Stream& stream) {
    with_format(args.matrix[0].first.format,
                [&](auto format) { launch_expert_tiles_of<format.value>(args, multiprocessors, stream); });
}

}  // namespace voltpile::llm
