#include "llm/quantize/quantize_model.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "base/parallel.h"
#include "llm/model/forget_pages.h"
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
            for (std::size_t i = begin + first; i < begin + last; ++i) {
                std::byte* to_row = out + (i - begin) * stride;
                const std::byte* row = input_.row(index, i);
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
        if (from.file >= 0)
            for (std::size_t i = begin; i < end; ++i)
                forget_pages(input_.row(index, i), row_bytes(from.format, from.columns));
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

void add_quantization(const QuantizeSettings& settings, GgufWriter& file) {
    file.add("general.file_type", info(settings.mixture).file_type);
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
        tensor.format =
            mixture_format_or_fallback(settings.mixture, tensor, config, settings.importance != nullptr);
        tensor.data = nullptr;
    }
    return tensors;
}

QuantizeResult quantize_model(const QuantizeInput& input, const ModelConfig& config, const std::string& path,
                              const QuantizeSettings& settings) {
    GgufWriter file;
    input.add_metadata(file);
    add_quantization(settings, file);
    ModelQuantizer quantizer(input, settings);
    const std::vector<ModelTensor> tensors = quantized_tensors(input, config, settings);
    file.write(
        path, tensors, [&](const ModelTensor& tensor, std::size_t begin, std::size_t end, std::byte* out) {
            quantizer.rows(static_cast<std::size_t>(&tensor - tensors.data()), tensor, begin, end, out);
        });
    return quantizer.result();
}

}  // namespace voltpile::llm
