// The original of a quantized model: its tensors as a GGUF file has them, and the metadata to write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "llm/model/gguf_writer.h"
#include "llm/model/model_files.h"
#include "llm/model/model_tensor.h"
#include "llm/model/packed/quantization.h"

namespace voltpile::llm {

class QuantizeInput {
  public:
    virtual ~QuantizeInput() = default;

    // Named, shaped and ordered as in the file to write, in the formats of the original.
    const std::vector<ModelTensor>& tensors() const { return tensors_; }

    // Returns row `row` of tensors()[tensor], in its format; mapped if the tensor's `file` is not -1.
    // Thread-safe. Only for tensors that are not packed: the rows of others, with all their matrices, are
    // those of `packed` from packed_row on.
    virtual const std::byte* row(std::size_t tensor, std::size_t row) const = 0;

    // Adds all metadata but general.file_type, general.quantization_version and quantize.*.
    virtual void add_metadata(GgufWriter& file) const = 0;

  protected:
    std::vector<ModelTensor> tensors_;
};

// Returns the tensors of a GGUF file unchanged, with its metadata. Throws JobError if a matrix is in a format
// that has lost too much already: any but F32, F16, BF16, Q8_0 and MXFP4, which stays as it is. model: must
// outlive the result.
std::unique_ptr<QuantizeInput> open_gguf_input(const ModelFiles& model);

// Returns the tensors of a Hugging Face folder under the names, and with the rows in the order, of its GGUF
// architecture, with metadata made from its description and tokenizer. Throws JobError for models
// that are quantized already or have what GGUF files have no keys for, which it names, and for tokenizers
// without a name in GGUF.
std::unique_ptr<QuantizeInput> open_folder_input(const ModelFiles& model);

// Throws JobError for a matrix in a format that has lost too much to be the original. packing: of the model.
void check_original(const ModelTensor& tensor, Packing packing, const std::string& path);

}  // namespace voltpile::llm
