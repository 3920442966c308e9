// How rotary position embeddings pair the elements of a head.
#pragma once

namespace voltpile::llm {

// Which elements of a head rotate together. Interleaved: 2i and 2i + 1, as in GGUF's llama architecture,
// whose Q and K are permuted for it. HalfSplit: i and i + head_dim / 2, as in Hugging Face folders and GGUF's
// qwen architectures.
enum class RopeStyle { Interleaved, HalfSplit };

}  // namespace voltpile::llm
