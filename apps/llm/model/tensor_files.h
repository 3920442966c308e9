// Opens the files of a model and lists their tensors.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/model/gguf_file.h"
#include "llm/model/mapped_file.h"
#include "llm/model/packed/packed_matrix.h"
#include "llm/model/stored_tensor.h"

namespace voltpile::llm {

struct TensorFiles {
    std::vector<std::unique_ptr<MappedFile>> files;  // the files with tensors
    std::vector<std::size_t> header_bytes;           // of each
    StoredTensors tensors;
    std::map<std::string, int, std::less<>> file_of;    // by tensor: index into `files`
    std::vector<std::unique_ptr<PackedMatrix>> packed;  // those of `tensors`
    std::unique_ptr<GgufFile> gguf;  // the first file, with the metadata; null for safetensors
    std::string folder;              // the Hugging Face folder; empty for GGUF

    // Adds the tensors of the last file. Throws FileError for a tensor that occurs in two files.
    void add(const StoredTensors& found, std::size_t header);
    // Renames all tensors. Throws FileError if two get the same name.
    void rename(const std::function<std::string(std::string_view)>& new_name);
};

// Opens a .gguf, or all files of a split one. path: the file, or any file of the split one
// (-00001-of-00003.gguf); the others must be beside it. Throws FileError; one error names all missing files.
TensorFiles open_gguf(const std::string& path);

// Opens model.safetensors, all files in model.safetensors.index.json, or the folder's only .safetensors.
TensorFiles open_safetensors(const std::string& folder);

}  // namespace voltpile::llm
