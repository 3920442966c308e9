// The weights that the 4-bit codes of bitsandbytes stand for, in units of the scale of their block. Constants
// are not inline, so that code for several instruction sets does not share them.
#pragma once

namespace voltpile::llm {

struct alignas(64) CodeLevels {
    float of_code[16];
};

// NormalFloat: quantiles of the normal distribution ("QLoRA", arXiv:2305.14314, appendix E).
constexpr CodeLevels nf4_levels{{-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
                                 -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
                                 0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F,
                                 0.33791524171829224F, 0.44070982933044434F, 0.5626170039176941F,
                                 0.7229568362236023F, 1.0F}};

// A sign and a number of 3 bits, in bitsandbytes' own order. Code 8 is 0 like code 0.
constexpr CodeLevels fp4_levels{{0.0F, 0.0625F / 12, 8.0F / 12, 1.0F, 4.0F / 12, 0.5F, 2.0F / 12, 0.25F, 0.0F,
                                 -0.0625F / 12, -8.0F / 12, -1.0F, -4.0F / 12, -0.5F, -2.0F / 12, -0.25F}};

}  // namespace voltpile::llm
