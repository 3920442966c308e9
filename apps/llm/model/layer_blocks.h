// The parts of a layer that differ between families of models.
#pragma once

namespace voltpile::llm {

// RMS norm of queries and keys before RoPE. Heads: over each head. Row: over all heads together.
enum class QkNorm { None, Heads, Row };

// Of the gate in feed-forward parts. Silu: g / (1 + exp(-g)). GeluTanh: g / 2 * (1 + tanh(sqrt(2 / pi) *
// (g + 0.044715 g^3))).
enum class Activation { Silu, GeluTanh };

struct LayerBlocks {
    bool qkv_bias = false;
    QkNorm qk_norm = QkNorm::None;
    bool input_norms = true;    // RMS norms of the inputs of attention and feed-forward part
    bool output_norms = false;  // RMS norms of their outputs, before these are added to the residual stream
    Activation activation = Activation::Silu;

    bool operator==(const LayerBlocks&) const = default;
};

}  // namespace voltpile::llm
