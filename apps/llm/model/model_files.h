// A model in files: a GGUF file, the files of a split one, or a Hugging Face folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/model/model_source.h"
#include "llm/model/tensor_files.h"

namespace voltpile::llm {

// Whether the columns of matrices may be sorted, see sort_columns(). Not for adapters, which are made for the
// columns of the model, nor for files made of the tensors.
enum class Columns { Sorted, AsStored };

class ModelFiles : public ModelSource {
  public:
    // Opens a model. path: a .gguf, or a folder with config.json or with one GGUF model in it. Reads headers
    // only and maps the weights. Throws FileError for damaged files, for unsupported models, and one for all
    // tensors that are missing, have the wrong shape, or do not belong to the family.
    explicit ModelFiles(const std::string& path, Columns columns = Columns::Sorted);

    // Opens an EAGLE 3 head for a model, see eagle_head.h. Throws FileError as read_eagle_head() does, and as
    // above if its tensors are not complete.
    static std::unique_ptr<ModelSource> eagle_head(const std::string& folder, const ModelConfig& model);

    void read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const override;
    std::string fingerprint() const override;
    std::unique_ptr<ModelSource> prediction_layers() const override;

    std::vector<std::string> paths() const;  // of the files with weights
    // Returns the file with the metadata; null for a Hugging Face folder.
    const GgufFile* gguf() const { return files_.gguf.get(); }
    std::uint64_t file_bytes() const;  // of all files in paths()

  private:
    ModelFiles(const std::string& path, TensorFiles files, bool prediction, Columns columns);
    ModelFiles(const std::string& path, TensorFiles& files, const ModelConfig& config,
               Columns columns);  // takes the files

    std::string path_;
    TensorFiles files_;
};

}  // namespace voltpile::llm
