// A model in files: a GGUF file (or the files of a split one), or a Hugging Face folder.
#pragma once

#include <string>
#include <vector>

#include "llm/model/model_source.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

class ModelFiles : public ModelSource {
  public:
    // `path`: a .gguf or a folder (with config.json, or with one GGUF model in it). Reads headers only;
    // weights are mapped. Throws FileError: for damaged files, for what is not supported, and one for all
    // tensors that are missing, have the wrong shape, or do not belong to the family.
    explicit ModelFiles(const std::string& path);

    void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override;
    std::string fingerprint() const override;

    std::vector<std::string> paths() const;  // of the files with weights
    const GgufFile* gguf() const {
        return files_.gguf.get();
    }  // with the metadata; null for a folder's model
    std::uint64_t file_bytes() const;  // of all of paths()

  private:
    explicit ModelFiles(TensorFiles files);
    ModelFiles(TensorFiles& files, const ModelConfig& config);  // takes the files over

    TensorFiles files_;
};

}  // namespace voltpile::llm
