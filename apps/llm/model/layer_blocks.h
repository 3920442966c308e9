// The parts of a layer that differ between families of models.
#pragma once

namespace voltpile::llm {

// RMS norm of queries and keys before RoPE. Heads: over each head. Row: over all heads together.
enum class QkNorm { None, Heads, Row };

// Of the gate in feed-forward parts. Silu: g / (1 + exp(-g)). GeluTanh: g / 2 * (1 + tanh(sqrt(2 / pi) *
// (g + 0.044715 g^3))). ClampedSwiglu: h / (1 + exp(-1.702 h)) with h = min(g, 7); the product then takes
// min(max(u, -7), 7) + 1 instead of u.
enum class Activation { Silu, GeluTanh, ClampedSwiglu };
constexpr float kSwigluLimit = 7;
constexpr float kSwigluSlope = 1.702F;

struct LayerBlocks {
    bool qkv_bias = false;
    bool output_bias = false;    // of attention's output product
    bool sinks = false;          // a number of each head in the softmax, see AttentionSettings
    bool expert_biases = false;  // of the router and of all products with experts
    QkNorm qk_norm = QkNorm::None;
    bool input_norms = true;    // RMS norms of the inputs of attention and feed-forward part
    bool output_norms = false;  // RMS norms of their outputs, before these are added to the residual stream
    Activation activation = Activation::Silu;

    bool operator==(const LayerBlocks&) const = default;
};

}  // namespace voltpile::llm
