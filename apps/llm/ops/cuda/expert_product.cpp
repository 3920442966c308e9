#include "llm/ops/cuda/expert_product.h"

#include <algorithm>

#include "base/error.h"
#include "llm/model/gpu_memory.h"
#include "llm/ops/cuda/adapter_product.h"
#include "llm/ops/cuda/loader.h"
#include "llm/ops/cuda/product.h"

namespace voltpile::llm {

namespace {

// The most rows that multiply as vectors. Experts that several of them use are then read again, from the L2
// cache.
constexpr int vector_rows = 8;

[[noreturn]] void needs_scratch() {
    throw DeviceError("products with experts need more scratch memory");
}

// Returns the bytes of scratch memory for a router's logits.
std::size_t logits_bytes(std::int64_t rows, int outputs) {
    return gpu_piece_bytes(static_cast<std::size_t>(rows) * static_cast<std::size_t>(outputs) *
                           sizeof(float));
}

}  // namespace

CudaExperts::CudaExperts(std::vector<std::unique_ptr<WeightMatrix>> experts, std::unique_ptr<OpsMemory> bias,
                         SlabMemory& slabs, PinnedCopies& copies, const Stream& stream)
    : ExpertWeights(std::move(experts), std::move(bias)) {
    matrices_.bias = this->bias();
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(count()));
    matrices_.first = cuda(of(0)).planes();
    for (std::size_t e = 0; e < offsets.size(); ++e)
        offsets[e] = cuda(of(static_cast<std::int64_t>(e))).planes().quants - matrices_.first.quants;
    // Usually, all are in one piece of memory, one after the other.
    bool regular = true;
    matrices_.stride = offsets.back() / std::max<std::int64_t>(1, std::ssize(offsets) - 1);
    for (std::int64_t e = 0; e < std::ssize(offsets); ++e)
        regular = regular && offsets[static_cast<std::size_t>(e)] == e * matrices_.stride;
    if (regular) return;
    const std::size_t bytes = offsets.size() * sizeof(offsets[0]);
    offsets_ = slabs.allocate(bytes);
    copies.upload(offsets_.data(), offsets.data(), bytes, stream);
    matrices_.offset = reinterpret_cast<const std::int64_t*>(offsets_.data());
}

void CudaExpertProduct::route(HiddenRows x, const RouterSettings& settings, const BatchView& batch,
                              const Routing& to, const AdapterWeights* adapters, const NormArgs& norm) {
    if (x.rows == 0) return;
    const std::size_t used = logits_bytes(x.rows, settings.experts + 1);
    auto* const scratch = reinterpret_cast<float*>(scratch_.data());
    AdapterArgs args;
    if (adapters != nullptr && batch.adapter != nullptr) {
        args = adapters_of_rows(*adapters, batch);
        args.x = x.data;
        args.rows = static_cast<int>(x.rows);
        args.reduced = scratch_.data() + used;
    }
    if (used + reduced_bytes(args, x.rows) > scratch_.size()) needs_scratch();
    launch_route(x.data, norm, static_cast<int>(x.rows), static_cast<int>(x.columns), settings, batch, to,
                 args.most_rank > 0 ? &args : nullptr, scratch, counter_.data(), stream_);
}

// The norm in the router sums in another order than the norms of more rows.
bool CudaExpertProduct::norms_in_router(HiddenRows x, const BatchView& batch,
                                        const AdapterWeights* adapters) const {
    const bool adapted = adapters != nullptr && batch.adapter != nullptr;
    return !batch_invariant_ && !adapted &&
           router_takes_norm(static_cast<int>(x.rows), static_cast<int>(x.columns));
}

ExpertArgs CudaExpertProduct::gated_args(HiddenRows x, const ExpertMatrices& gate, const ExpertMatrices& up,
                                         Activation activation, const Routing& routing,
                                         HiddenRows out) const {
    ExpertArgs args;
    args.matrix[0] = gate;
    args.matrix[1] = up;
    if (args.matrix[0].first.format != args.matrix[1].first.format)
        throw DeviceError("GPUs have no products with experts whose gate and up differ in format");
    args.gated = true;
    args.activation = activation;
    args.routing = routing;
    args.rows = static_cast<int>(x.rows);
    args.out = out.data;
    args.out_columns = static_cast<int>(out.columns);
    args.limit = limit_;
    return args;
}

void CudaExpertProduct::run_gated(HiddenRows x, const ExpertMatrices& gate, const ExpertMatrices& up,
                                  Activation activation, const Routing& routing, const float* added,
                                  HiddenRows out) {
    if (x.rows == 0) return;
    ExpertArgs args = gated_args(x, gate, up, activation, routing, out);
    args.added = added;
    std::size_t used = 0;
    args.x = padded_columns(x, args.matrix[0].first.columns, scratch_, used, stream_);
    if (by_vectors(args)) return multiply_vectors(args, used);
    args.tiles = (args.matrix[0].first.rows + gated_tile_columns - 1) / gated_tile_columns;
    launch_expert_tiles(args, multiprocessors_, stream_);
}

bool CudaExpertProduct::choose_and_run_gated(HiddenRows x, const NormArgs& norm,
                                             const RouterSettings& settings, const BatchView& batch,
                                             const Routing& to, const ExpertMatrices& gate,
                                             const ExpertMatrices& up, Activation activation,
                                             HiddenRows out) {
    ExpertArgs args = gated_args(x, gate, up, activation, to, out);
    if (x.rows == 0 || to.shared != nullptr || !chooses_in_product(settings.experts) ||
        x.columns != args.matrix[0].first.columns || !by_vectors(args))
        return false;
    const std::size_t used = logits_bytes(x.rows, settings.experts);
    if (used > scratch_.size()) needs_scratch();
    auto* const scratch = reinterpret_cast<float*>(scratch_.data());
    launch_router_logits(norm, args.rows, static_cast<int>(x.columns), settings, scratch, stream_);
    args.choice = {scratch, settings, batch.sequence};
    args.x = x.data;
    multiply_vectors(args, used);
    return true;
}

void CudaExpertProduct::sum(HiddenRows x, const ExpertMatrices& down, const Routing& routing, FloatRows out) {
    if (out.rows == 0) return;
    ExpertArgs args;
    args.matrix[0] = down;
    args.routing = routing;
    args.rows = static_cast<int>(out.rows);
    std::size_t used = 0;
    args.x = padded_columns(x, args.matrix[0].first.columns, scratch_, used, stream_);
    if (!by_vectors(args)) return sum_of_tiles(args, used, out);
    args.out = out.data;
    args.out_columns = static_cast<int>(out.columns);
    multiply_vectors(args, used);
}

// Tiles sum a row in one order, whatever the number of rows; vectors in another.
bool CudaExpertProduct::by_vectors(const ExpertArgs& args) const {
    const int pairs = args.rows * args.routing.used;
    return !batch_invariant_ && args.rows <= vector_rows &&
           pairs <= std::min(args.routing.all_experts, expert_matvec_pairs);
}

void CudaExpertProduct::multiply_vectors(ExpertArgs& args, std::size_t used) {
    args.scratch = scratch_.data() + used;
    args.split = expert_matvec_split(args, multiprocessors_);
    if (expert_matvec_scratch_bytes(args) > scratch_.size() - used) needs_scratch();
    launch_expert_matvec(args, multiprocessors_, stream_);
}

// Writes the products of all pairs to the scratch memory, as many columns at a time as fit there.
void CudaExpertProduct::sum_of_tiles(ExpertArgs& args, std::size_t used, FloatRows out) {
    const int each = tile_columns, outputs = args.matrix[0].first.rows;
    const int tiles = (outputs + each - 1) / each;
    const std::size_t pairs =
        static_cast<std::size_t>(args.rows) * static_cast<std::size_t>(args.routing.used);
    const std::size_t tile_bytes = pairs * static_cast<std::size_t>(each) * sizeof(float);
    const auto fit = static_cast<int>(
        std::min<std::size_t>((scratch_.size() - used) / tile_bytes, static_cast<std::size_t>(tiles)));
    if (fit == 0) needs_scratch();
    auto* const products = reinterpret_cast<float*>(scratch_.data() + used);
    args.out = products;
    for (args.first_tile = 0; args.first_tile < tiles; args.first_tile += fit) {
        args.tiles = std::min(fit, tiles - args.first_tile);
        const int begin = args.first_tile * each;
        args.out_columns = std::min(args.tiles * each, outputs - begin);
        launch_expert_tiles(args, multiprocessors_, stream_);
        const float* bias = args.matrix[0].bias == nullptr ? nullptr : args.matrix[0].bias + begin;
        launch_sum_pairs(products, bias, outputs, args.routing, args.rows, args.out_columns, out.data + begin,
                         static_cast<int>(out.columns), stream_);
    }
}

}  // namespace voltpile::llm
