// Attention over latent vectors on the GPU (DeepSeek V2 and V3).
#pragma once

#include "llm/ops/cuda/attention.h"

namespace voltpile::llm {

constexpr int latent_key = 576;  // numbers of a key, rotated ones first
constexpr int latent_value = 512, latent_rotated = latent_key - latent_value;
constexpr int latent_part_floats = latent_value + 4;
constexpr int most_latent_parts = 256;

// The sequences that a launch takes, and how it divides their contexts.
struct LatentShare {
    int least_tokens = 1, most_tokens = 1;  // rows in the batch of these sequences
    int pieces = 0;                         // of each sequence; 0: as many as its rows need
    int parts = 1;                          // that a context has at most
    bool clears = true;                     // clears the output of empty rows

    // Returns the place in scratch memory of the results of a sequence's token.
    __host__ __device__ int place(int sequence, int batch_row, int token) const {
        return pieces > 0 ? sequence * most_tokens + token : batch_row + token;
    }
    // Returns the number of places.
    int places(const BatchView& batch) const {
        return pieces > 0 ? batch.sequences * most_tokens : batch.rows;
    }
};

// A kernel for pieces of at most `rows` rows.
struct LatentKernel {
    void (*kernel)(AttentionArgs, LatentShare);
    int rows;
    int threads;
    int shared_bytes;
    bool two_fit;  // blocks of a multiprocessor, if it has memory for them
};
// The kernel of GPUs of compute capability 9.0 for prompts; only if VOLTPILE_SM90 is 1.
LatentKernel latent_prompt_kernel();

// Returns whether launch_latent_attention() computes this on the current GPU. rope_dims: of QkvSettings.
bool takes_latent_attention(const AttentionArgs& args, int rope_dims);
// Enqueues the attention of all rows. Heads of the output lack their first latent_rotated columns, which keep
// their values. The order of sums depends on the batch.
void launch_latent_attention(const AttentionArgs& args, std::size_t scratch_bytes, int multiprocessors,
                             const Stream& stream);
// Joins the results of parts in scratch. launch_latent_attention() calls it.
void launch_join_latent(const AttentionArgs& args, const LatentShare& share, const Stream& stream);

}  // namespace voltpile::llm
