#include "llm/model/packed/quantization.h"

#include <fmt/format.h>

#include <vector>

#include "llm/model/byte_cursor.h"
#include "llm/model/packed/packed_format.h"
#include "llm/model/packed/quantization_keys.h"

namespace voltpile::llm {

void refuse_quantization(const JsonKeys& keys, const std::string& what) {
    std::string supported;
    for (const PackedFormat* format : packed_formats())
        if (!format->supported.empty()) supported += fmt::format("{}, ", format->supported);
    supported.resize(supported.size() - 2);
    keys.fail(
        fmt::format("the weights are quantized by {}, which is not supported (supported: {}; F16, BF16, F32; "
                    "quantized models as GGUF)",
                    what, supported));
}

void set_bits(const JsonKeys& keys, std::int64_t bits, bool eight, const char* method, Quantization& out) {
    if (bits != 4 && !(eight && bits == 8))
        refuse_quantization(keys, fmt::format("{} with {} bits", method, bits));
    out.bits = static_cast<unsigned>(bits);
}

void set_group(const JsonKeys& keys, std::int64_t group, Quantization& out) {
    if (group != -1 && (group < 8 || group > 1 << 20))
        keys.fail(fmt::format("\"group_size\": {} is not supported (supported: -1, 32, 64, 128...)", group));
    out.group = group < 0 ? 0 : static_cast<std::uint64_t>(group);
}

void read_block(const JsonKeys& keys, const char* key, Quantization& out) {
    const auto block = keys.find(key) ? keys.integers(key) : std::vector<std::int64_t>{};
    if (block.empty()) return;
    if (block.size() != 2 || block[0] < 1 || block[1] < 1)
        keys.fail(fmt::format("\"{}\" is not two positive numbers", key));
    out.block_rows = static_cast<std::uint64_t>(block[0]);
    out.block_columns = static_cast<std::uint64_t>(block[1]);
}

Quantization read_quantization(const JsonKeys& model) {
    auto keys = model.object("quantization_config");
    if (!keys) {
        if (const auto older = model.object("compression_config")) keys.emplace(*older);
    }
    if (!keys) return {};
    const std::string method = keys->text("quant_method").value_or("an unnamed method");
    for (const PackedFormat* format : packed_formats())
        if (format->method == method) return format->read(*keys);
    refuse_quantization(*keys, printable(method));
}

std::string quantization_text(const Quantization& quantization) {
    for (const PackedFormat* format : packed_formats())
        if (format->packing == quantization.packing) return format->text(quantization);
    return "";
}

}  // namespace voltpile::llm
