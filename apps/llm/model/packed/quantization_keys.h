// What the readers of "quantization_config" in config.json share.
#pragma once

#include <cstdint>
#include <string>

#include "llm/model/json_keys.h"
#include "llm/model/packed/quantization.h"

namespace voltpile::llm {

// Throws FileError: what is not supported, and what is.
[[noreturn]] void refuse_quantization(const JsonKeys& keys, const std::string& what);

// Set the bits of a weight (4, or 8 if `eight`) and the columns that share a scale (-1: all). Throw FileError
// for others.
void set_bits(const JsonKeys& keys, std::int64_t bits, bool eight, const char* method, Quantization& out);
void set_group(const JsonKeys& keys, std::int64_t group, Quantization& out);

// Reads the extents of blocks of weights that share a scale, if `key` is there.
void read_block(const JsonKeys& keys, const char* key, Quantization& out);

}  // namespace voltpile::llm
