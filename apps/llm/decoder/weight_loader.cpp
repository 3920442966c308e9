#include "llm/decoder/weight_loader.h"

#include <algorithm>

#include "base/half.h"
#include "llm/ops/dequantize.h"

namespace voltpile::llm {

std::unique_ptr<WeightMatrix> WeightLoader::matrix(const ModelTensor& tensor) const {
    return matrix(tensor, tensor_shard(model_, tensor, share_).stored);
}

std::unique_ptr<WeightMatrix> WeightLoader::matrix(const ModelTensor& tensor,
                                                   const TensorSlice& slice) const {
    check_slice(tensor, slice);
    MatrixSource source;
    source.format = tensor.format;
    source.rows = static_cast<std::int64_t>(slice.rows());
    source.columns = static_cast<std::int64_t>(slice.columns());
    if (tensor.data != nullptr) {
        source.row_bytes = row_bytes(tensor.format, tensor.columns);
        source.data =
            tensor.data + slice.row_begin * source.row_bytes + row_bytes(tensor.format, slice.column_begin);
        source.stays = true;
    } else {
        if (made_.size() < slice.bytes(tensor.format)) made_.resize(slice.bytes(tensor.format));
        model_.read(tensor, slice, made_.data());
        source.row_bytes = row_bytes(tensor.format, slice.columns());
        source.data = made_.data();
    }
    auto loaded = ops_.load_matrix(source);
    if (loaded_) loaded_(slice.bytes(tensor.format));
    return loaded;
}

std::vector<float> WeightLoader::vector(const ModelTensor& tensor) const {
    const TensorSlice slice = tensor_shard(model_, tensor, share_).stored;
    std::vector<std::byte> stored(slice.bytes(tensor.format));
    model_.read(tensor, slice, stored.data());
    std::vector<float> values(slice.rows() * slice.columns());
    dequantize_row(tensor.format, stored.data(), static_cast<std::int64_t>(values.size()), values.data());
    return values;
}

std::unique_ptr<WeightMatrix> WeightLoader::half_matrix(const std::vector<float>& values, std::int64_t rows,
                                                        std::int64_t columns) const {
    std::vector<std::uint16_t> halves(values.size());
    std::ranges::transform(values, halves.begin(), half_from_float);
    MatrixSource source;
    source.format = WeightFormat::F16;
    source.rows = rows;
    source.columns = columns;
    source.row_bytes = static_cast<std::size_t>(columns) * sizeof(std::uint16_t);
    source.data = reinterpret_cast<const std::byte*>(halves.data());
    auto loaded = ops_.load_matrix(source);
    if (loaded_) loaded_(halves.size() * sizeof(std::uint16_t));
    return loaded;
}

std::unique_ptr<OpsMemory> WeightLoader::memory(const std::vector<float>& values) const {
    auto memory = ops_.allocate(values.size() * sizeof(float));
    ops_.upload(memory->data(), values.data(), values.size() * sizeof(float));
    return memory;
}

}  // namespace voltpile::llm
