// A way in which Hugging Face folders pack the matrices of linear layers. Each has a source file of its own,
// in which its constant is; packed_formats.cpp lists them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "llm/model/packed/packed_parts.h"
#include "llm/model/packed/quantization.h"

namespace voltpile::llm {

struct PackedFormat {
    Packing packing = Packing::None;
    // "quant_method" in config.json, and what of it is supported, for messages; none if another format's
    // method leads to this one.
    std::string_view method{};
    std::string_view supported{};
    // Reads the rest of "quantization_config". Throws FileError for what is not supported.
    Quantization (*read)(const JsonKeys& keys) = nullptr;
    std::string (*text)(const Quantization& quantization) = nullptr;  // "GPTQ, 4 bits, groups of 128"
    // How the parts of a layer are named, and the type of the first, which has the weights; none if the
    // format is not one of linear layers.
    std::span<const std::string_view> parts{};
    StoredType element{};
    // Finds the parts of a matrix. Throws FileError for parts that are missing or contradict each other.
    std::unique_ptr<PackedMatrix> (*open)(const PackedParts& parts,
                                          const Quantization& quantization) = nullptr;
};

// In the order in which messages name them.
std::span<const PackedFormat* const> packed_formats();

}  // namespace voltpile::llm
