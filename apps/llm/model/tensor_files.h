// Opens the files of a model and lists their tensors under canonical names.
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
    std::vector<std::unique_ptr<MappedFile>> files;  // the files with tensors
    std::vector<std::size_t> header_bytes;           // of each
    StoredTensors tensors;
    std::map<std::string, int, std::less<>> file_of;  // by tensor: index into `files`
    std::unique_ptr<GgufFile> gguf;  // the first file, with the metadata; null for safetensors
    std::string folder;              // the Hugging Face folder; empty for GGUF

    // Adds the tensors of the last file. Throws FileError for a tensor that occurs in two files.
    void add(const StoredTensors& found, std::string (*canonical)(std::string_view), std::size_t header);
};

// Opens a .gguf, or all files of a split one. path: the file, or any file of the split one
// (-00001-of-00003.gguf); the others must be beside it. Throws FileError; one error names all missing files.
TensorFiles open_gguf(const std::string& path);

// Opens model.safetensors, all files in model.safetensors.index.json, or the folder's only .safetensors.
TensorFiles open_safetensors(const std::string& folder);

// Returns GGUF's name for a tensor of a Hugging Face model: "blk.3.attn_q.weight" for
// "model.layers.3.self_attn.q_proj.weight". Leaves unknown names unchanged.
std::string canonical_name(std::string_view hugging_face_name);

}  // namespace voltpile::llm
