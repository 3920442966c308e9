#include <algorithm>
#include <stdexcept>

#include "llm/model/weight_format.h"
#include "llm/ops/cuda/formats/q3_k.cuh"
#include "llm/ops/cuda/formats/q4_k.cuh"
#include "llm/ops/cuda/formats/q5_k.cuh"
#include "llm/ops/cuda/formats/q6_k.cuh"
#include "llm/ops/cuda/matvec.cuh"
#include "llm/ops/cuda/with_format.h"

namespace voltpile::llm {

namespace {

struct PairLaunch {
    const MatmulArgs &first, &second;
    int blocks, blocks_of_second;
};

// Returns the bytes of all matrices, which have one format.
double weight_bytes(const MatmulArgs& args) {
    const DeviceMatrix& w = args.matrix[0];
    return static_cast<double>(args.first_group[args.matrices]) * rows_in_group *
           static_cast<double>(row_bytes(w.format, static_cast<std::size_t>(w.columns)));
}

// If both products need more blocks than run at once, they share these by their bytes of weights.
PairLaunch pair_of(const MatmulArgs& first, const MatmulArgs& second, int multiprocessors) {
    const int most = most_matvec_blocks(multiprocessors);
    const int needed[] = {matvec_blocks(first, multiprocessors), matvec_blocks(second, multiprocessors)};
    const int both = needed[0] + needed[1];
    if (both <= most) return {first, second, both, needed[1]};
    const double share = weight_bytes(second) / (weight_bytes(first) + weight_bytes(second));
    return {
        first, second, most,
        std::clamp(static_cast<int>(share * most + 0.5), max(1, most - needed[0]), min(needed[1], most - 1))};
}

template <WeightFormat first, WeightFormat second>
void launch_pair(const PairLaunch& pair, const Stream& stream) {
    const auto start = [&](auto kernel, std::int64_t shared) {
        launch_matvec_kernel(kernel, pair.blocks, shared, stream, pair.first, pair.second,
                             pair.blocks_of_second);
    };
    const int rows = pair.first.rows;
    if (rows == 1) return start(matvec_pair<first, second, 1, true>, prepared_bytes<first>(pair.first));
    launch_quantize(pair.first, rows == 2 ? 2 : matvec_rows, stream);
    if (rows == 2) return start(matvec_pair<first, second, 2, false>, 0);
    start(matvec_pair<first, second, matvec_rows, false>, 0);
}

}  // namespace

void launch_matvec_pair(const MatmulArgs& first, const MatmulArgs& second, int multiprocessors,
                        const Stream& stream) {
    bool supported = false;
    with_format(first.matrix[0].format, [&](auto of_first) {
        with_format(second.matrix[0].format, [&](auto of_second) {
            if constexpr (multiplies_in_pairs(of_first.value, of_second.value)) {
                supported = true;
                launch_pair<of_first.value, of_second.value>(pair_of(first, second, multiprocessors), stream);
            }
        });
    });
    if (!supported) throw std::logic_error("no kernel multiplies by matrices in these two formats");
}

}  // namespace voltpile::llm
