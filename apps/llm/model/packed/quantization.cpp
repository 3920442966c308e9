#include "llm/model/packed/quantization.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

#include "llm/model/byte_cursor.h"

namespace voltpile::llm {
namespace {

constexpr std::string_view kSupported =
    "GPTQ with 4 or 8 bits, AWQ gemm with 4 bits, compressed-tensors pack-quantized, int-quantized and "
    "float-quantized, FP8 E4M3, bitsandbytes NF4 and FP4, MXFP4 of gpt-oss; F16, BF16, F32; quantized models "
    "as GGUF";

[[noreturn]] void refuse(const JsonKeys& keys, const std::string& what) {
    keys.fail(fmt::format("the weights are quantized by {}, which is not supported (supported: {})", what,
                          kSupported));
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

void set_bits(const JsonKeys& keys, std::int64_t bits, bool eight, const char* method, Quantization& out) {
    if (bits != 4 && !(eight && bits == 8)) refuse(keys, fmt::format("{} with {} bits", method, bits));
    out.bits = static_cast<unsigned>(bits);
}

void set_group(const JsonKeys& keys, std::int64_t group, Quantization& out) {
    if (group != -1 && (group < 8 || group > 1 << 20))
        keys.fail(fmt::format("\"group_size\": {} is not supported (supported: -1, 32, 64, 128...)", group));
    out.group = group < 0 ? 0 : static_cast<std::uint64_t>(group);
}

Quantization gptq(const JsonKeys& keys) {
    Quantization out{Packing::Gptq};
    set_bits(keys, keys.required_integer("bits"), true, "GPTQ", out);
    set_group(keys, keys.required_integer("group_size"), out);
    const std::string format = keys.text("checkpoint_format").value_or("gptq");
    if ((format != "gptq" && format != "gptq_v2") || keys.boolean("is_marlin_format").value_or(false))
        refuse(keys, fmt::format("GPTQ in the format {} (formats supported: gptq, gptq_v2)",
                                 printable(format == "gptq" ? "marlin" : format)));
    out.zeros_minus_one = format == "gptq";
    return out;
}

Quantization awq(const JsonKeys& keys) {
    Quantization out{Packing::Awq};
    set_bits(keys, keys.integer("bits").value_or(keys.integer("w_bit").value_or(4)), false, "AWQ", out);
    set_group(keys, keys.integer("group_size").value_or(keys.integer("q_group_size").value_or(128)), out);
    if (const std::string version = lower(keys.text("version").value_or("gemm")); version != "gemm")
        refuse(keys, fmt::format("AWQ in version {} (supported: gemm)", printable(version)));
    return out;
}

void read_block(const JsonKeys& keys, const char* key, Quantization& out) {
    const auto block = keys.find(key) ? keys.integers(key) : std::vector<std::int64_t>{};
    if (block.empty()) return;
    if (block.size() != 2 || block[0] < 1 || block[1] < 1)
        keys.fail(fmt::format("\"{}\" is not two positive numbers", key));
    out.block_rows = static_cast<std::uint64_t>(block[0]);
    out.block_columns = static_cast<std::uint64_t>(block[1]);
}

// All groups of layers must store their weights alike.
void read_config_groups(const JsonKeys& keys, Quantization& out) {
    const auto groups = keys.object("config_groups");
    const nlohmann::json* all = keys.find("config_groups");
    if (!groups || all->empty()) keys.fail("\"config_groups\" is missing");
    for (const auto& [name, value] : all->items()) {
        const auto group = groups->object(name);
        const auto weights = group ? group->object("weights") : std::nullopt;
        if (!weights) keys.fail(fmt::format("\"{}\" has no \"weights\"", printable(name)));
        const std::int64_t bits = weights->integer("num_bits").value_or(8);
        const bool floats = weights->text("type").value_or("int") == "float";
        if (floats != (out.packing == Packing::Float8) || (floats && bits != 8))
            refuse(keys, fmt::format("{} with {} bits", floats ? "floats" : "integers", bits));
        if (!floats) set_bits(keys, bits, true, "compressed-tensors", out);
        if (out.packing == Packing::Integers && bits != 8)
            refuse(keys, fmt::format("int-quantized with {} bits", bits));
        if (&value != &*all->begin() && static_cast<unsigned>(bits) != out.bits && !floats)
            refuse(keys, "different numbers of bits");
        if (weights->text("strategy").value_or("") == "group")
            set_group(keys, weights->integer("group_size").value_or(-1), out);
        if (weights->find("block_structure")) read_block(*weights, "block_structure", out);
    }
}

Quantization compressed_tensors(const JsonKeys& keys) {
    Quantization out;
    const std::string format = keys.text("format").value_or("");
    if (format == "pack-quantized")
        out.packing = Packing::PackedIntegers;
    else if (format == "int-quantized")
        out.packing = Packing::Integers;
    else if (format == "float-quantized")
        out.packing = Packing::Float8;
    else
        refuse(keys, fmt::format("compressed-tensors in the format \"{}\"", printable(format)));
    if (const auto sparsity = keys.object("sparsity_config"))
        if (const std::string kind = sparsity->text("format").value_or("dense"); kind != "dense")
            refuse(keys, fmt::format("compressed-tensors with sparsity \"{}\"", printable(kind)));
    if (const auto* transforms = keys.find("transform_config"); transforms && !transforms->empty())
        refuse(keys, "compressed-tensors with transforms of activations");
    read_config_groups(keys, out);
    return out;
}

Quantization bitsandbytes(const JsonKeys& keys) {
    const auto is_on = [&](const char* key) { return keys.boolean(key).value_or(false); };
    if (is_on("load_in_8bit") || is_on("_load_in_8bit")) refuse(keys, "bitsandbytes with 8 bits");
    return {Packing::Bitsandbytes, 4};
}

}  // namespace

Quantization read_quantization(const JsonKeys& model) {
    auto keys = model.object("quantization_config");
    if (!keys) {
        if (const auto older = model.object("compression_config")) keys.emplace(*older);
    }
    if (!keys) return {};
    const std::string method = keys->text("quant_method").value_or("an unnamed method");
    if (method == "gptq") return gptq(*keys);
    if (method == "awq") return awq(*keys);
    if (method == "compressed-tensors") return compressed_tensors(*keys);
    if (method == "bitsandbytes") return bitsandbytes(*keys);
    if (method == "mxfp4") return {Packing::Mxfp4, 4, 32};
    if (method != "fp8") refuse(*keys, printable(method));
    Quantization out{Packing::Float8, 8};
    if (const std::string format = keys->text("fmt").value_or("e4m3"); format != "e4m3")
        refuse(*keys, fmt::format("FP8 {}", printable(format)));
    read_block(*keys, "weight_block_size", out);
    return out;
}

std::string quantization_text(const Quantization& quantization) {
    const std::string group =
        quantization.group == 0 ? "" : fmt::format(", groups of {}", quantization.group);
    switch (quantization.packing) {
        case Packing::Gptq:
            return fmt::format("GPTQ, {} bits{}", quantization.bits, group);
        case Packing::Awq:
            return fmt::format("AWQ, {} bits{}", quantization.bits, group);
        case Packing::PackedIntegers:
        case Packing::Integers:
            return fmt::format("compressed-tensors, integers of {} bits{}", quantization.bits, group);
        case Packing::Float8:
            return quantization.block_rows == 0
                       ? "FP8 E4M3"
                       : fmt::format("FP8 E4M3, blocks of {} x {}", quantization.block_rows,
                                     quantization.block_columns);
        case Packing::Bitsandbytes:
            return "bitsandbytes, 4 bits";
        case Packing::Mxfp4:
            return "MXFP4 (experts)";
        case Packing::None:
            break;
    }
    return "";
}

}  // namespace voltpile::llm
