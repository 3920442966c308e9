// Writes a synthetic model as a GGUF file, with metadata and a synthetic tokenizer.
#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/gguf_file.h"
#include "llm/model/gguf_model_keys.h"
#include "llm/model/gguf_writer.h"
#include "llm/model/mapped_file.h"
#include "llm/model/synthetic_model.h"
#include "llm/model/synthetic_shapes.h"
#include "llm/model/synthetic_tokens.h"

namespace voltpile::llm {
namespace {

void add_tokenizer(std::int64_t vocab, GgufWriter& file) {
    const SyntheticTokens tokens = synthetic_tokens(vocab);
    file.add("tokenizer.ggml.model", "llama");
    file.add("tokenizer.ggml.pre", "default");
    file.add("tokenizer.ggml.tokens", tokens.texts);
    file.add("tokenizer.ggml.scores", tokens.scores);
    file.add("tokenizer.ggml.token_type", tokens.kinds);
    file.add("tokenizer.ggml.bos_token_id", std::uint32_t{kSyntheticBos});
    file.add("tokenizer.ggml.eos_token_id", std::uint32_t{kSyntheticEos});
    file.add("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
    file.add("tokenizer.ggml.add_bos_token", true);
}

}  // namespace

bool is_synthetic_gguf(const std::filesystem::path& path) {
    try {
        const MappedFile file(path.string());
        const auto name =
            GgufFile(file.bytes(), path.string()).find<std::string_view>("general.name").value_or("");
        return name.starts_with(kSyntheticName);
    } catch (const FileError&) {
        return false;
    }
}

void SyntheticModel::write_gguf(const std::string& path, const std::function<bool()>& stop) const {
    if (info(mixture_).file_type == kNoFileType)
        throw JobError(fmt::format("GGUF files have no {} weights: {} would not be a model that others read",
                                   info(mixture_).name, path));
    GgufWriter file;
    add_model_keys(config(), file);
    file.add("general.name", config().model_name);
    file.add("general.file_type", info(mixture_).file_type);
    file.add("general.quantization_version", std::uint32_t{2});
    add_tokenizer(config().vocab, file);
    file.write(path, stacked_tensors(*this),
               [&](const ModelTensor& tensor, std::size_t begin, std::size_t end, std::byte* out) {
                   if (stop()) throw Error(ExitCode::Failed, "stopped: " + path + " is not written");
                   read_stacked(*this, tensor, begin, end, out);
               });
}

}  // namespace voltpile::llm
