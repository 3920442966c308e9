// The parts of a layer that differ between families of models.
#pragma once

namespace voltpile::llm {

// RMS norm of queries and keys before RoPE. Heads: over each head.
enum class QkNorm { None, Heads };

struct LayerBlocks {
    bool qkv_bias = false;
    QkNorm qk_norm = QkNorm::None;

    bool operator==(const LayerBlocks&) const = default;
};

}  // namespace voltpile::llm
