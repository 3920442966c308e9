#include "llm/model/synthetic_model.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "job/fingerprint.h"
#include "llm/model/synthetic_blocks.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/model/tensor_table.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t reading_threads = 8;
constexpr std::size_t least_for_threads = std::size_t{1}
                                          << 20;  // bytes; fewer are not worth starting threads

QuantMixture mixture_named(std::string_view name) {
    std::string names;
    for (const auto& entry : kSyntheticMixtures) {
        if (entry.name == name) return entry.mixture;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    }
    throw JobError(fmt::format("there is no synthetic quantization {} (there are: {})", name, names));
}

std::vector<ModelTensor> tensors_in_mixture(const ModelConfig& config, QuantMixture mixture) {
    std::vector<ModelTensor> tensors = tensor_table(config);
    for (ModelTensor& tensor : tensors) tensor.format = mixture_format_or_fallback(mixture, tensor, config);
    return tensors;
}

}  // namespace

SyntheticModel::SyntheticModel(std::string_view shape, std::string_view mixture, std::uint64_t seed)
    : SyntheticModel(synthetic_shape(shape), shape, mixture_named(mixture), seed) {}

SyntheticModel::SyntheticModel(ModelConfig config, std::string_view shape, QuantMixture mixture,
                               std::uint64_t seed)
    : ModelSource(config, tensors_in_mixture(config, mixture)),
      shape_(shape),
      mixture_(mixture),
      seed_(seed) {}

void SyntheticModel::read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const {
    check_slice(tensor, slice);
    const std::uint64_t key = tensor_key(seed_, tensor.name);
    if (tensor.rows == 1) {  // norms near 1; biases small
        const bool bias = tensor.name.ends_with(".bias");
        const std::size_t count = slice.rows() * slice.columns();
        return make_vector(key, slice.column_begin, count, bias ? 0.0f : 1.0f, 0.1f, out);
    }
    const double deviation = 1 / std::sqrt(static_cast<double>(tensor.columns));
    const std::size_t block = block_size(tensor.format);
    const std::size_t blocks_per_row = tensor.columns / block;
    const std::size_t count = slice.columns() / block;
    const std::size_t first = slice.row_begin * blocks_per_row + slice.column_begin / block;
    const std::size_t threads = slice.bytes(tensor.format) < least_for_threads ? 1 : reading_threads;
    in_parallel(slice.rows(), threads, [&](std::size_t begin, std::size_t end) {
        if (count == blocks_per_row)
            return make_blocks(tensor.format, key, first + begin * count, (end - begin) * count, deviation,
                               out + begin * count * block_bytes(tensor.format));
        for (std::size_t row = begin; row < end; ++row)
            make_blocks(tensor.format, key, first + row * blocks_per_row, count, deviation,
                        out + row * count * block_bytes(tensor.format));
    });
}

std::string SyntheticModel::fingerprint() const {
    return hash_128(fmt::format("synthetic {} {} {}", shape_, info(mixture_).name, seed_));
}

}  // namespace voltpile::llm
