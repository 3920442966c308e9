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

}  // namespace

int expert_matvec_split(const ExpertArgs& args, int multiprocessors) {
    const DeviceMatrix& w = args.matrix[0].first;
    const int steps = (w.columns / unit_weights(w.format) + 31) / 32 * (args.gated ? 2 : args.routing.used);
    return best_split(items_in(args), steps, 1, multiprocessors);
}

std::size_t expert_matvec_scratch_bytes(const ExpertArgs& args) {
    const int x_rows = args.gated ? args.rows : args.rows * args.routing.used;
    return static_cast<std::size_t>(x_rows * quantized_row_bytes(args.matrix[0].first.columns));
}

void launch_expert_matvec(const ExpertArgs& args, int multiprocessors, const Stream& stream) {
    const int blocks =
        min(static_cast<int>(matvec_sets(items_in(args), args.split)), most_matvec_blocks(multiprocessors));
    with_format(args.matrix[0].first.format,
                [&](auto format) { launch_expert_matvec_of<format.value>(args, blocks, stream); });
}

void launch_expert_tiles(const ExpertArgs& args, int multiprocessors, const Stream& stream) {
    with_format(args.matrix[0].first.format,
                [&](auto format) { launch_expert_tiles_of<format.value>(args, multiprocessors, stream); });
}

}  // namespace voltpile::llm
