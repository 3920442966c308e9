#include "llm/quantize/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <span>

#include "base/error.h"
#include "base/parallel.h"
#include "llm/model/forget_pages.h"
#include "llm/model/packed/packed_matrix.h"
#include "llm/ops/dequantize.h"
#include "llm/quantize/quantize_row.h"

namespace voltpile::llm {
namespace {

struct Squares {
    double weights = 0;
    double errors = 0;

    void add(const Squares& other) {
        weights += other.weights;
        errors += other.errors;
    }
    double relative() const { return weights > 0 ? std::sqrt(errors / weights) : 0; }
};

// The rows of a tensor of the original, for one thread.
class OriginalRows {
  public:
    // end: behind the last row that is read.
    OriginalRows(const QuantizeInput& input, std::size_t index, std::size_t end)
        : input_(input), index_(index), tensor_(input.tensors()[index]), end_(end) {}

    // Returns a row in the format of the original, valid until the next call. Row after row is fastest.
    const std::byte* row(std::size_t row) {
        if (tensor_.packed == nullptr) return input_.row(index_, row);
        const std::size_t stride = row_bytes(tensor_.format, tensor_.columns);
        if (row < converted_begin_ || row >= converted_end_) {
            converted_begin_ = row;
            converted_end_ = std::min(row + kPackedRows, end_);
            converted_.resize((converted_end_ - converted_begin_) * stride);
            const std::size_t first = tensor_.packed_row;
            tensor_.packed->read({first + converted_begin_, first + converted_end_, 0, tensor_.columns},
                                 converted_.data());
        }
        return converted_.data() + (row - converted_begin_) * stride;
    }

  private:
    static constexpr std::size_t kPackedRows = 64;  // packed matrices convert so many on the calling thread

    const QuantizeInput& input_;
    std::size_t index_;
    const ModelTensor& tensor_;
    std::size_t end_;
    std::size_t converted_begin_ = 0, converted_end_ = 0;
    std::vector<std::byte> converted_;
};

class ModelQuantizer {
  public:
    ModelQuantizer(const QuantizeInput& input, const QuantizeSettings& settings)
        : input_(input), settings_(settings) {}

    // Quantizes rows of tensor `index` to `out`.
    void rows(std::size_t index, const ModelTensor& to, std::size_t begin, std::size_t end, std::byte* out) {
        const ModelTensor& from = input_.tensors()[index];
        const float* importance = importance_of(to);
        const std::size_t stride = row_bytes(to.format, to.columns);
        const std::size_t rows_of_matrix = to.rows / to.matrices;
        std::atomic<bool> bad = false;
        std::mutex mutex;
        in_parallel(end - begin, settings_.threads, [&](std::size_t first, std::size_t last) {
            std::vector<float> original(to.columns), quantized(to.columns);
            Squares squares;
            OriginalRows original_rows(input_, index, begin + last);
            for (std::size_t i = begin + first; i < begin + last; ++i) {
                std::byte* to_row = out + (i - begin) * stride;
                const std::byte* row = original_rows.row(i);
                if (from.format == to.format) {
                    std::memcpy(to_row, row, stride);
                    continue;
                }
                const auto columns = static_cast<std::int64_t>(to.columns);
                dequantize_row(from.format, row, columns, original.data());
                if (!fits(original, to.format)) {
                    bad = true;
                    return;
                }
                const float* of_matrix =
                    importance == nullptr ? nullptr : importance + i / rows_of_matrix * to.columns;
                quantize_row(to.format, original.data(), of_matrix, columns, to_row);
                dequantize_row(to.format, to_row, columns, quantized.data());
                squares.add(squares_of(original, quantized));
            }
            const std::lock_guard lock(mutex);
            of_tensor_.add(squares);
        });
        if (bad)
            throw Error(
                ExitCode::Failed,
                fmt::format("{} has weights that are not finite or beyond {}, the largest number of F16",
                            to.name, kLargestWeight));
        forget(index, begin, end);
        done_ += (end - begin) * to.columns;
        settings_.progress(done_);
        if (end == to.rows) finish(to);
    }

    QuantizeResult result() const {
        QuantizeResult result = result_;
        result.error = all_.relative();
        return result;
    }

  private:
    void forget(std::size_t index, std::size_t begin, std::size_t end) const {
        const ModelTensor& from = input_.tensors()[index];
        if (from.packed != nullptr)
            for (const auto part : from.packed->parts()) forget_pages(part.data(), part.size());
        if (from.file < 0) return;
        for (std::size_t i = begin; i < end; ++i)
            forget_pages(input_.row(index, i), row_bytes(from.format, from.columns));
    }

    const float* importance_of(const ModelTensor& tensor) const {
        if (settings_.importance == nullptr) return nullptr;
        const auto found = settings_.importance->columns.find(tensor.name);
        return found == settings_.importance->columns.end() ? nullptr : found->second.data();
    }

    static bool fits(const std::vector<float>& weights, WeightFormat format) {
        const float most = format == WeightFormat::F32 || format == WeightFormat::BF16
                               ? std::numeric_limits<float>::max()
                               : kLargestWeight;
        for (const float weight : weights)
            if (!(std::abs(weight) <= most)) return false;
        return true;
    }

    static Squares squares_of(const std::vector<float>& original, const std::vector<float>& quantized) {
        Squares squares;
        for (std::size_t i = 0; i < original.size(); ++i) {
            const double difference = original[i] - quantized[i];
            squares.weights += double{original[i]} * original[i];
            squares.errors += difference * difference;
        }
        return squares;
    }

    void finish(const ModelTensor& tensor) {
        result_.bytes += tensor.bytes();
        if (tensor.rows > 1) {
            ++result_.tensors[tensor.format];
            result_.weights += tensor.rows * tensor.columns;
            if (of_tensor_.relative() > result_.worst_error) {
                result_.worst_error = of_tensor_.relative();
                result_.worst = tensor.name;
            }
            all_.add(of_tensor_);
        }
        of_tensor_ = {};
    }

    const QuantizeInput& input_;
    const QuantizeSettings& settings_;
    Squares of_tensor_, all_;
    std::uint64_t done_ = 0;
    QuantizeResult result_;
};

void add_quantization(const QuantizeSettings& settings, std::span<const ModelTensor> tensors,
                      GgufWriter& file) {
    // llama.cpp's type of all files that have experts in MXFP4, whatever the others are in.
    const bool mxfp4 = std::ranges::find(tensors, WeightFormat::MXFP4, &ModelTensor::format) != tensors.end();
    file.add("general.file_type", info(mxfp4 ? QuantMixture::MXFP4_MOE : settings.mixture).file_type);
    file.add("general.quantization_version", std::uint32_t{2});
    if (settings.importance == nullptr) return;
    file.add("quantize.imatrix.dataset", settings.importance->text);
    file.add("quantize.imatrix.entries_count",
             static_cast<std::uint32_t>(settings.importance->columns.size()));
    file.add("quantize.imatrix.chunks_count", static_cast<std::uint32_t>(settings.importance->windows));
}

}  // namespace

std::vector<ModelTensor> quantized_tensors(const QuantizeInput& input, const ModelConfig& config,
                                           const QuantizeSettings& settings) {
    std::vector<ModelTensor> tensors = input.tensors();
    for (ModelTensor& tensor : tensors) {
        tensor.data = nullptr;
        if (tensor.format == WeightFormat::MXFP4) continue;  // made for it
        tensor.format =
            mixture_format_or_fallback(settings.mixture, tensor, config, settings.importance != nullptr);
    }
    return tensors;
}

QuantizeResult quantize_model(const QuantizeInput& input, const ModelConfig& config, const std::string& path,
                              const QuantizeSettings& settings) {
    GgufWriter file;
    input.add_metadata(file);
    ModelQuantizer quantizer(input, settings);
    const std::vector<ModelTensor> tensors = quantized_tensors(input, config, settings);
    add_quantization(settings, tensors, file);
    file.write(
        path, tensors, [&](const ModelTensor& tensor, std::size_t begin, std::size_t end, std::byte* out) {
            quantizer.rows(static_cast<std::size_t>(&tensor - tensors.data()), tensor, begin, end, out);
        });
    return quantizer.result();
}

}  // namespace voltpile::llm
