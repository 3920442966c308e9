// All the files of a model, opened, with their tensors under canonical names.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/model/gguf_file.h"
#include "llm/model/mapped_file.h"
#include "llm/model/stored_tensor.h"

namespace voltpile::llm {

struct TensorFiles {
    std::vector<std::unique_ptr<MappedFile>> files;  // those with tensors
    std::vector<std::size_t> header_bytes;           // of each
    StoredTensors tensors;
    std::map<std::string, int, std::less<>> file_of;  // tensor -> index into `files`
    std::unique_ptr<GgufFile> gguf;  // the first file, with the metadata; null for safetensors
    std::string folder;              // of safetensors

    // Throws FileError for a tensor that occurs in two files.
    void add(const StoredTensors& found, std::string (*canonical)(std::string_view), std::size_t header);
};

// `path`: a .gguf, or any of a split one's (-00001-of-00003.gguf), whose others lie beside it. Throws
// FileError; all missing files are named in one.
TensorFiles open_gguf(const std::string& path);

// model.safetensors, or all that model.safetensors.index.json lists, or the folder's only .safetensors.
TensorFiles open_safetensors(const std::string& folder);

// GGUF's name for a tensor of a Hugging Face model: "model.layers.3.self_attn.q_proj.weight" ->
// "blk.3.attn_q.weight". Names that it does not know stay as they are.
std::string canonical_name(std::string_view hugging_face_name);

}  // namespace voltpile::llm
