#include "llm/ops/cuda/latent_attention.h"

#include <climits>

#include "llm/ops/cuda/early_launch.cuh"
#include "llm/ops/cuda/latent_rows.cuh"

namespace voltpile::llm {

namespace {

// Blocks per multiprocessor; without copies that run alone, registers hold the next tile.
template <int row_tiles>
constexpr int latent_blocks = row_tiles == 1 && copies_run_alone ? 2 : 1;

// Grid: (pieces, parts of their contexts).
template <int row_tiles, int stages>
__global__ void __launch_bounds__(latent_threads, latent_blocks<row_tiles>)
    attend_latent(const AttentionArgs a, const LatentShare share) {
    extern __shared__ __align__(128) unsigned char latent_memory[];
    using Rows = LatentRows<row_tiles, stages>;
    let_next_kernel_begin();
    const Piece piece = latent_piece<Rows::rows>(a, share);
    const LatentView view(a, piece, Rows::rows, share.parts);
    const bool works = piece.sequence >= 0 && view.first <= view.last;
    const bool clears = share.clears && blockIdx.y == 0;
    const auto clear = [&] {
        if (clears)
            clear_empty_rows(a, static_cast<int>(threadIdx.x), latent_threads, static_cast<int>(blockIdx.x),
                             static_cast<int>(gridDim.x));
    };
    if (!works) {
        wait_for_earlier_kernels();
        clear();
        return;
    }
    Rows rows(a, share, piece, view, *reinterpret_cast<typename Rows::Shared*>(latent_memory));
    rows.load_early();
    wait_for_earlier_kernels();
    clear();
    rows.compute();
}

template <int row_tiles, int stages>
LatentKernel kernel_of() {
    using Shared = LatentShared<row_tiles, stages>;
    return {attend_latent<row_tiles, stages>, Shared::rows, latent_threads, static_cast<int>(sizeof(Shared)),
            row_tiles == 1};
}
static_assert(sizeof(LatentShared<2, 1>) <= 96 * 1024);

// Returns the kernel for sequences with `rows` rows of all heads together. Two stages need copies that run
// alone, and memory.
LatentKernel choose_kernel(std::int64_t rows, int most_bytes) {
    const bool copies = device_copies_alone();
    const auto fits = [&](const LatentKernel& kernel) { return copies && kernel.shared_bytes <= most_bytes; };
    if (rows <= 16) return fits(kernel_of<1, 2>()) ? kernel_of<1, 2>() : kernel_of<1, 1>();
#if VOLTPILE_SM90  // Other builds leave 64 rows out, to compile faster.
    if (rows > 32 && current_compute_capability() == 90) return latent_prompt_kernel();
    if (rows > 32 && fits(kernel_of<4, 2>())) return kernel_of<4, 2>();
#endif
    return fits(kernel_of<2, 2>()) ? kernel_of<2, 2>() : kernel_of<2, 1>();
}

// Returns the number of parts, at most `fit`, that takes the least time, in units of what a block takes for a
// tile. pieces: of the launch; blocks: that run at once.
int choose_parts(int pieces, int blocks, int context, int fit) {
    constexpr int block_costs = 3, join_costs = 4, joined_in_a_tile = 32, most_waves = 4;
    const int tiles = (context + latent_tokens - 1) / latent_tokens;
    const int most = min(min(tiles, fit), min(most_latent_parts, most_waves * blocks / max(pieces, 1)));
    int best = 1, least = INT_MAX;
    for (int parts = 1; parts <= max(most, 1); ++parts) {
        const int waves = (pieces * parts + blocks - 1) / blocks;
        const int joining = parts > 1 ? join_costs + parts / joined_in_a_tile : 0;
        const int costs = waves * ((tiles + parts - 1) / parts + block_costs) + joining;
        if (costs < least) best = parts;
        least = min(least, costs);
    }
    return best;
}

class Launcher {
  public:
    Launcher(const AttentionArgs& args, std::size_t scratch_bytes, int multiprocessors, const Stream& stream)
        : args_(args),
          scratch_bytes_(scratch_bytes),
          multiprocessors_(multiprocessors),
          most_bytes_(current_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)),
          stream_(stream) {}

    // Launches the attention of all sequences with at most share.most_tokens rows, and the same number of
    // pieces each.
    void run_short(LatentShare share) const {
        const std::int64_t rows = std::int64_t{share.most_tokens} * args_.heads;
        const LatentKernel kernel = choose_kernel(rows, most_bytes_);
        share.pieces = static_cast<int>((rows + kernel.rows - 1) / kernel.rows);
        const int pieces = args_.batch.sequences * share.pieces;
        run(kernel, share, pieces, pieces);
    }
    // Launches the attention of all sequences with at least share.least_tokens rows.
    void run_long(const LatentShare& share) const {
        const std::int64_t rows = std::int64_t{args_.batch.rows} * args_.heads;
        const LatentKernel kernel = choose_kernel(rows, most_bytes_);
        // Each sequence needs at most one more piece than its share of the rows.
        const auto pieces = static_cast<int>((rows + kernel.rows - 1) / kernel.rows);
        run(kernel, share, pieces, pieces + args_.batch.sequences);
    }

  private:
    // pieces: expected; blocks: enough for any.
    void run(const LatentKernel& kernel, LatentShare share, int pieces, int blocks) const {
        const auto places = static_cast<std::size_t>(max(share.places(args_.batch), 1));
        const std::size_t part_bytes = places * args_.heads * latent_part_floats * sizeof(float);
        const auto fit = static_cast<int>(min(scratch_bytes_ / part_bytes, std::size_t{most_latent_parts}));
        share.parts =
            choose_parts(pieces, multiprocessors_ * blocks_at_once(kernel), args_.batch.max_context, fit);
        cuda_check(cudaFuncSetAttribute(kernel.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        kernel.shared_bytes),
                   "shared memory of the attention");
        launch_early(
            "attention over latent vectors", kernel.kernel,
            {max(blocks, 1), kernel.threads, static_cast<std::size_t>(kernel.shared_bytes), share.parts},
            stream_, args_, share);
        if (share.parts > 1) launch_join_latent(args_, share, stream_);
    }
    int blocks_at_once(const LatentKernel& kernel) const {
        constexpr int reserved = 1024;  // bytes of each block
        const int bytes = current_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
        return kernel.two_fit && 2 * (kernel.shared_bytes + reserved) <= bytes ? 2 : 1;
    }

    const AttentionArgs& args_;
    std::size_t scratch_bytes_;
    int multiprocessors_;
    int most_bytes_;  // of shared memory that a block may have
    const Stream& stream_;
};

}  // namespace

bool takes_latent_attention(const AttentionArgs& args, int rope_dims) {
    return args.head_dim == latent_key && rope_dims == latent_rotated && args.kv_heads == 1 &&
           args.cache.keys == args.cache.values && args.cache.element == KvElement::F16 && args.window == 0 &&
           args.soft_cap == 0 && args.sinks == nullptr &&
           current_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
               static_cast<int>(sizeof(LatentShared<2, 1>));
}

void launch_latent_attention(const AttentionArgs& args, std::size_t scratch_bytes, int multiprocessors,
                             const Stream& stream) {
    // Up to this many rows, as a token and guesses have, sequences are much alike.
    constexpr int most_alike = 16;
    const Launcher launcher(args, scratch_bytes, multiprocessors, stream);
    const BatchView& batch = args.batch;
    if (batch.max_new <= most_alike) return launcher.run_short({1, max(batch.max_new, 1)});
    // Single tokens beside prompts need other pieces.
    const bool mixed = batch.rows < batch.sequences * batch.max_new;
    launcher.run_long({mixed ? 2 : 1, batch.max_new});
    if (mixed) launcher.run_short({1, 1, 0, 1, false});
}

}  // namespace voltpile::llm
