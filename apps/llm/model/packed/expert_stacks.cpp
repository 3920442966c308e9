#include "llm/model/packed/expert_stacks.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/packed/number_arrays.h"
#include "llm/model/packed/packed_format.h"

namespace voltpile::llm {
namespace {

constexpr std::uint64_t kMxfpBlock = 32;  // weights with one scale

// Which rows of the stack a matrix has: row r of all experts together is row step * r + first.
struct StackRows {
    std::uint64_t step, first;
    std::uint64_t of(std::uint64_t row) const { return step * row + first; }
};

class MxfpStack final : public PackedMatrix {
  public:
    MxfpStack(PackedShape shape, const StoredTensor& blocks, const StoredTensor& scales, StackRows rows)
        : PackedMatrix(std::move(shape), WeightFormat::MXFP4),
          blocks_(blocks.data, blocks.bytes),
          scales_(scales.data, scales.bytes),
          rows_(rows) {}

    std::vector<std::span<const std::byte>> parts() const override { return {blocks_, scales_}; }

  private:
    // A block of MXFP4 has the scale, the codes of weights 0 to 15 in low nibbles, and those of 16 to 31 in
    // high ones.
    bool convert(const TensorSlice& tile, std::byte* out) const override {
        constexpr std::size_t bytes = kMxfpBlock / 2;
        for (std::size_t r = tile.row_begin; r < tile.row_end; ++r) {
            const std::uint64_t first = rows_.of(r) * (columns() / kMxfpBlock);
            for (std::size_t b = tile.column_begin / kMxfpBlock; b < tile.column_end / kMxfpBlock; ++b) {
                const std::byte* from = blocks_.data() + (first + b) * bytes;
                *out++ = scales_[first + b];
                for (std::size_t i = 0; i < bytes; ++i) {
                    const auto code = [&](std::size_t weight) {
                        return from[weight / 2] >> (weight % 2 * 4) & std::byte{15};
                    };
                    *out++ = code(i) | code(bytes + i) << 4;
                }
            }
        }
        return true;
    }

    std::span<const std::byte> blocks_, scales_;
    StackRows rows_;
};

// Numbers of a stack whose matrices are transposed.
class TransposedStack final : public PackedMatrix {
  public:
    // rows_of_expert: of this matrix.
    TransposedStack(PackedShape shape, const StoredTensor& stack, std::uint64_t rows_of_expert,
                    StackRows rows)
        : PackedMatrix(std::move(shape), stack.format),
          stack_(stack.data, stack.bytes),
          stack_columns_(stack.columns),
          rows_of_expert_(rows_of_expert),
          rows_(rows) {}

    std::vector<std::span<const std::byte>> parts() const override { return {stack_}; }

  private:
    bool convert(const TensorSlice& tile, std::byte* out) const override {
        const std::size_t size = block_bytes(format());
        // Column by column, so that the numbers of adjacent rows come from the same cache lines.
        for (std::size_t c = tile.column_begin; c < tile.column_end; ++c) {
            for (std::size_t r = tile.row_begin; r < tile.row_end; ++r) {
                const std::uint64_t expert = r / rows_of_expert_, row = r % rows_of_expert_;
                const std::uint64_t at = (expert * columns() + c) * stack_columns_ + rows_.of(row);
                std::memcpy(out + ((r - tile.row_begin) * tile.columns() + c - tile.column_begin) * size,
                            stack_.data() + at * size, size);
            }
        }
        return true;
    }

    std::span<const std::byte> stack_;
    std::uint64_t stack_columns_, rows_of_expert_;
    StackRows rows_;
};

// Every second column of a matrix of numbers.
class AlternateColumns final : public PackedMatrix {
  public:
    AlternateColumns(PackedShape shape, const StoredTensor& numbers, std::uint64_t first)
        : PackedMatrix(std::move(shape), numbers.format),
          numbers_(numbers.data, numbers.bytes),
          first_(first) {}

    std::vector<std::span<const std::byte>> parts() const override { return {numbers_}; }

  private:
    bool convert(const TensorSlice& tile, std::byte* out) const override {
        const std::size_t size = block_bytes(format());
        for (std::size_t r = tile.row_begin; r < tile.row_end; ++r)
            for (std::size_t c = tile.column_begin; c < tile.column_end; ++c, out += size)
                std::memcpy(out, numbers_.data() + (2 * (r * columns() + c) + first_) * size, size);
        return true;
    }

    std::span<const std::byte> numbers_;
    std::uint64_t first_;
};

// The stacks of one layer.
class StackReader {
  public:
    StackReader(TensorFiles& files, const ModelConfig& config, std::int64_t layer)
        : files_(files),
          prefix_(fmt::format("model.layers.{}.mlp.experts.", layer)),
          layer_(layer),
          experts_(static_cast<std::uint64_t>(config.experts.count)),
          hidden_(static_cast<std::uint64_t>(config.hidden)),
          ffn_(static_cast<std::uint64_t>(config.experts.ffn)) {}

    void read() {
        const Matrix gate_and_up[] = {{"ffn_gate", ffn_, {2, 0}}, {"ffn_up", ffn_, {2, 1}}};
        const Matrix down[] = {{"ffn_down", hidden_, {1, 0}}};
        matrices("gate_up_proj", 2 * ffn_, hidden_, gate_and_up);
        matrices("down_proj", hidden_, ffn_, down);
        biases();
    }

  private:
    struct Matrix {
        std::string_view kind;
        std::uint64_t rows;  // of an expert
        StackRows of_stack;
    };

    std::string full(std::string_view name) const { return prefix_ + std::string(name); }
    const StoredTensor* find(std::string_view name) const {
        const auto found = files_.tensors.find(full(name));
        return found == files_.tensors.end() ? nullptr : &found->second;
    }
    std::string place(std::string_view name) const {
        const auto file = files_.file_of.find(full(name));
        return fmt::format("{}: tensor {}", files_.files[static_cast<std::size_t>(file->second)]->path(),
                           printable(full(name)));
    }
    [[noreturn]] void fail(std::string_view name, const std::string& message) const {
        throw FileError(fmt::format("{} {}", place(name), message), ExitCode::BadInput);
    }
    void check(std::string_view name, const StoredTensor& tensor, StoredType element, std::uint64_t rows,
               std::uint64_t columns) const {
        if (tensor.element != element) fail(name, "has elements of another type than gpt-oss stores");
        if (tensor.rows != rows || tensor.columns != columns)
            fail(name, fmt::format("has {} rows of {} numbers where {} experts of {} x {} need {} rows of {}",
                                   tensor.rows, tensor.columns, experts_, ffn_, hidden_, rows, columns));
    }

    // stack_rows, columns: of an expert, as a product needs them.
    void matrices(std::string_view stack, std::uint64_t stack_rows, std::uint64_t columns,
                  std::span<const Matrix> parts) {
        const std::string blocks_name = fmt::format("{}_blocks", stack);
        const std::string scales_name = fmt::format("{}_scales", stack);
        if (const StoredTensor* blocks = find(blocks_name)) {
            const StoredTensor* scales = find(scales_name);
            if (scales == nullptr)
                fail(blocks_name, fmt::format("needs {}, which is missing", full(scales_name)));
            if (columns % kMxfpBlock != 0)
                fail(blocks_name, fmt::format("has rows of {} weights, which are not whole blocks of {}",
                                              columns, kMxfpBlock));
            const std::uint64_t rows = experts_ * stack_rows, across = columns / kMxfpBlock;
            check(blocks_name, *blocks, StoredType::U8, rows * across, kMxfpBlock / 2);
            check(scales_name, *scales, StoredType::U8, rows, across);
            for (const Matrix& part : parts)
                add_matrices(blocks_name, part,
                             std::make_unique<MxfpStack>(
                                 PackedShape{place(blocks_name), experts_ * part.rows, columns}, *blocks,
                                 *scales, part.of_stack));
            erase(blocks_name);
            erase(scales_name);
        } else if (const StoredTensor* numbers = find(stack)) {
            check(stack, *numbers, StoredType::Weight, experts_ * columns, stack_rows);
            for (const Matrix& part : parts)
                add_matrices(stack, part,
                             std::make_unique<TransposedStack>(
                                 PackedShape{place(stack), experts_ * part.rows, columns}, *numbers,
                                 part.rows, part.of_stack));
            erase(stack);
        }
    }

    void biases() {
        constexpr std::string_view name = "gate_up_proj_bias";
        const StoredTensor* both = find(name);
        if (both == nullptr) return;
        check(name, *both, StoredType::Weight, experts_, 2 * ffn_);
        for (const auto& [kind, first] : {std::pair{"ffn_gate", std::uint64_t{0}}, {"ffn_up", 1}})
            add(fmt::format("blk.{}.{}_exps.bias", layer_, kind), name, experts_, 0,
                keep(std::make_unique<AlternateColumns>(PackedShape{place(name), experts_, ffn_}, *both,
                                                        first)));
        erase(name);
    }

    const PackedMatrix& keep(std::unique_ptr<PackedMatrix> matrix) {
        return *files_.packed.emplace_back(std::move(matrix));
    }
    void add_matrices(std::string_view stack, const Matrix& matrix, std::unique_ptr<PackedMatrix> packed) {
        const PackedMatrix& all = keep(std::move(packed));
        for (std::uint64_t e = 0; e < experts_; ++e)
            add(fmt::format("blk.{}.{}.{}.weight", layer_, matrix.kind, e), stack, matrix.rows,
                e * matrix.rows, all);
    }
    void add(const std::string& name, std::string_view from, std::uint64_t rows, std::uint64_t first_row,
             const PackedMatrix& packed) {
        StoredTensor stored{};
        stored.format = packed.format();
        stored.dimensions = 2;
        stored.rows = rows;
        stored.columns = packed.columns();
        stored.bytes = rows * row_bytes(stored.format, stored.columns);
        stored.packed = &packed;
        stored.packed_row = first_row;
        files_.tensors.insert_or_assign(name, stored);
        files_.file_of.insert_or_assign(name, files_.file_of.at(full(from)));
    }
    void erase(std::string_view name) {
        files_.tensors.erase(full(name));
        files_.file_of.erase(full(name));
    }

    TensorFiles& files_;
    std::string prefix_;
    std::int64_t layer_;
    std::uint64_t experts_, hidden_, ffn_;
};

}  // namespace

void unpack_expert_stacks(TensorFiles& files, const ModelConfig& config) {
    if (config.experts.count == 0) return;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) StackReader(files, config, layer).read();
}

extern const PackedFormat kMxfp4Stacks;
const PackedFormat kMxfp4Stacks = {
    .packing = Packing::Mxfp4,
    .method = "mxfp4",
    .supported = "MXFP4 of gpt-oss",
    .read =
        [](const JsonKeys&) {
            return Quantization{Packing::Mxfp4, 4, 32};
        },
    .text = [](const Quantization&) { return std::string("MXFP4 (experts)"); },
};

}  // namespace voltpile::llm
