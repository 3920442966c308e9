// How the linear layers of a Hugging Face folder are packed: "quantization_config" in config.json.
#pragma once

#include <cstdint>
#include <string>

#include "llm/model/json_keys.h"

namespace voltpile::llm {

enum class Packing {
    None,            // F16, BF16 or F32
    Gptq,            // integers, packed along the columns
    Awq,             // integers, packed along the rows in AWQ's order
    PackedIntegers,  // compressed-tensors "pack-quantized"
    Integers,        // compressed-tensors "int-quantized": one byte each
    Float8,          // E4M3: "fp8", and compressed-tensors "float-quantized"
    Bitsandbytes,    // NF4 and FP4: 4-bit codes into a table
    Mxfp4,           // of stacks of experts alone (expert_stacks.h)
};

struct Quantization {
    Packing packing = Packing::None;
    unsigned bits = 0;             // of a weight
    std::uint64_t group = 0;       // columns that share a scale; 0: as many as the scales' shape says
    bool zeros_minus_one = false;  // GPTQ's first format stores zero points minus one
    std::uint64_t block_rows = 0;  // of FP8's scales; 0: by tensor or row
    std::uint64_t block_columns = 0;
};

// Reads "quantization_config" or "compression_config"; Packing::None without them. Throws FileError that
// names what is not supported and what is. Activation quantization is ignored: only weights are rounded.
Quantization read_quantization(const JsonKeys& keys);

std::string quantization_text(const Quantization& quantization);  // "GPTQ, 4 bits, groups of 128"

}  // namespace voltpile::llm
