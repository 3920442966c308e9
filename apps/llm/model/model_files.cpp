#include "llm/model/model_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "job/fingerprint.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/eagle_head.h"
#include "llm/model/expert_tensors.h"
#include "llm/model/fused_tensors.h"
#include "llm/model/gguf_config.h"
#include "llm/model/hf_config.h"
#include "llm/model/packed/expert_stacks.h"
#include "llm/model/packed/sort_columns.h"
#include "llm/model/packed/unpack_tensors.h"
#include "llm/model/prediction_layer.h"
#include "llm/model/safetensors_file.h"
#include "llm/model/tensor_names.h"
#include "llm/model/tensor_table.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostProblems = 12;  // in one message

TensorFiles open_files(const std::string& path) {
    if (!fs::exists(path)) throw FileError(path + " does not exist", ExitCode::BadInput);
    if (!fs::is_directory(path)) {
        if (fs::path(path).extension() == ".safetensors")
            throw FileError(path + ": give the folder that holds it and config.json", ExitCode::BadInput);
        return open_gguf(path);
    }
    if (fs::exists(fs::path(path) / "config.json")) return open_safetensors(path);
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path))
        if (entry.path().extension() == ".gguf") found.push_back(entry.path());
    std::ranges::sort(found);
    const bool one_model =
        found.size() == 1 || (!found.empty() && found[0].find("-00001-of-") != std::string::npos);
    if (!one_model)
        throw FileError(found.empty() ? path + " has neither config.json nor a .gguf in it"
                                      : fmt::format("{} holds {} .gguf files: name one", path, found.size()),
                        ExitCode::BadInput);
    return open_gguf(found[0]);
}

std::string first_path(const TensorFiles& files) {
    return files.gguf ? files.gguf->path() : files.folder;
}

void erase_prediction_layers(const ModelConfig& config, TensorFiles& files) {
    std::erase_if(files.tensors, [&](const auto& entry) { return is_for_prediction(entry.first, config); });
}

// Reads the description and gives all tensors their canonical names. prediction: those of the prediction
// layers, and their description.
ModelConfig config_of(TensorFiles& files, bool prediction) {
    const auto keep = [&](const ModelConfig& config) {
        if (prediction)
            keep_prediction_layers(config, files);
        else
            erase_prediction_layers(config, files);
    };
    if (files.gguf) {
        ModelConfig config = config_from_gguf(*files.gguf, files.tensors);
        keep(config);
        if (!config.family->gguf_names.empty())
            files.rename([&](std::string_view name) { return canonical_name_of_gguf(name, *config.family); });
        if (prediction) config = as_model(config, files);
        unstack_experts(config, files);
        return config;
    }
    if (is_eagle_head(files.folder))
        throw FileError(files.folder +
                            " is an EAGLE 3 head, which guesses for a model: give it as --draft "
                            "(engine.draft in a job) beside the model",
                        ExitCode::BadInput);
    ModelConfig config = config_from_folder(files.folder);
    std::erase_if(files.tensors,
                  [&](const auto& entry) { return is_for_images(entry.first, *config.family); });
    keep(config);
    unpack_tensors(files, config);
    unpack_expert_stacks(files, config);
    check_only_weights(files.tensors, files.folder);
    files.rename([&](std::string_view name) { return canonical_name(name, *config.family); });
    return prediction ? as_model(config, files) : config;
}

// Whether a file may have this tensor beside those of the table: transformers recomputes it, it is the copy
// of a tied head, or the description has its numbers already.
bool may_be_left(std::string_view name, const ModelConfig& config) {
    return name.ends_with(".rotary_emb.inv_freq") || (name == "output.weight" && config.tied_embeddings) ||
           (name.starts_with("rope_factors_") && config.rope_scaling.kind == RopeScalingKind::LongRope);
}

// The columns of eh_proj, which multiply the embedding and the hidden state, are divided into halves.
std::int64_t half_unit(WeightFormat format) {
    return std::max<std::int64_t>(2, static_cast<std::int64_t>(block_size(format)));
}

std::string what_has(const ModelConfig& config) {
    if (eagle_head_of(config) != nullptr) return "an EAGLE 3 head";
    if (config.prediction)
        return fmt::format("a {} layer that predicts further tokens (--speculate mtp)", config.family->name);
    return fmt::format("a {} model with {} layers", config.family->name, config.layers);
}

std::vector<ModelTensor> matched_tensors(TensorFiles& files, const ModelConfig& config, Columns columns) {
    std::vector<ModelTensor> table = tensor_table(config);
    divide_fused_tensors(files, table);
    std::vector<std::string> problems;
    std::set<std::string_view> known;
    WeightFormat format_of_first{};  // of the experts of a layer
    const auto in_file = [&](const std::string& name) {
        return config.prediction ? name_in_model(name, *config.prediction) : name;
    };
    for (ModelTensor& tensor : table) {
        known.insert(tensor.name);
        const auto found = files.tensors.find(tensor.name);
        if (found == files.tensors.end()) {
            problems.push_back(in_file(tensor.name) + " is missing");
            continue;
        }
        const StoredTensor& stored = found->second;
        if (stored.rows != tensor.rows || stored.columns != tensor.columns)
            problems.push_back(fmt::format("{} is {} x {} instead of {} x {}", in_file(tensor.name),
                                           stored.rows, stored.columns, tensor.rows, tensor.columns));
        if ((tensor.rows == 1 || tensor.name.ends_with(".bias")) && block_size(stored.format) > 1)
            problems.push_back(
                fmt::format("{} is a vector in {}", in_file(tensor.name), name(stored.format)));
        if (tensor.expert == 0) format_of_first = stored.format;
        if (tensor.expert > 0 && stored.format != format_of_first)
            problems.push_back(fmt::format("{} is in {}, expert 0 in {}", in_file(tensor.name),
                                           name(stored.format), name(format_of_first)));
        if (tensor.name.ends_with("eh_proj.weight") && config.hidden % half_unit(stored.format) != 0)
            problems.push_back(fmt::format("{} is in {}, whose blocks do not end at its half",
                                           in_file(tensor.name), name(stored.format)));
        tensor.format = stored.format;
        tensor.packed = stored.packed;
        tensor.packed_row = stored.packed_row;
        if (stored.packed != nullptr) continue;
        tensor.data = stored.data;
        tensor.offset = stored.offset;
        tensor.file = files.file_of.at(tensor.name);
    }
    for (const auto& [stored_name, stored] : files.tensors)
        if (!known.contains(stored_name) && !may_be_left(stored_name, config))
            problems.push_back(fmt::format("{} does not belong to {}", printable(in_file(stored_name)),
                                           eagle_head_of(config) != nullptr
                                               ? what_has(config)
                                               : fmt::format("a {} model", config.family->name)));
    if (problems.empty()) {
        if (columns == Columns::Sorted) sort_columns(table, config, files.packed);
        return table;
    }
    const std::size_t count = problems.size();
    problems.resize(std::min(count, kMostProblems));
    throw FileError(
        fmt::format("{}: the tensors are not those of {}: {}{}", first_path(files), what_has(config),
                    fmt::join(problems, "; "),
                    count > kMostProblems ? fmt::format("; and {} more", count - kMostProblems) : ""),
        ExitCode::BadInput);
}

}  // namespace

ModelFiles::ModelFiles(const std::string& path, Columns columns)
    : ModelFiles(path, open_files(path), false, columns) {}

ModelFiles::ModelFiles(const std::string& path, TensorFiles files, bool prediction, Columns columns)
    : ModelFiles(path, files, config_of(files, prediction), columns) {}

ModelFiles::ModelFiles(const std::string& path, TensorFiles& files, const ModelConfig& config,
                       Columns columns)
    : ModelSource(config, matched_tensors(files, config, columns)), path_(path), files_(std::move(files)) {}

std::unique_ptr<ModelSource> ModelFiles::eagle_head(const std::string& folder, const ModelConfig& model) {
    TensorFiles files = open_safetensors(folder);
    const ModelConfig config = read_eagle_head(files, model);
    return std::unique_ptr<ModelSource>(new ModelFiles(folder, files, config, Columns::AsStored));
}

std::unique_ptr<ModelSource> ModelFiles::prediction_layers() const {
    if (config().prediction_layers == 0) return ModelSource::prediction_layers();
    return std::unique_ptr<ModelSource>(new ModelFiles(path_, open_files(path_), true, Columns::AsStored));
}

void ModelFiles::read(const ModelTensor& tensor, const TensorSlice& slice, std::byte* out) const {
    check_slice(tensor, slice);
    if (tensor.packed != nullptr) {
        TensorSlice in_packed = slice;
        in_packed.row_begin += tensor.packed_row;
        in_packed.row_end += tensor.packed_row;
        return tensor.packed->read(in_packed, out);
    }
    const std::size_t stride = row_bytes(tensor.format, tensor.columns);
    const std::size_t wanted = row_bytes(tensor.format, slice.columns());
    const std::byte* row =
        tensor.data + slice.row_begin * stride + row_bytes(tensor.format, slice.column_begin);
    if (wanted == stride) {
        std::memcpy(out, row, slice.rows() * stride);
        return;
    }
    for (std::size_t i = 0; i < slice.rows(); ++i) std::memcpy(out + i * wanted, row + i * stride, wanted);
}

// Covers the header and size of every file, two samples of each tensor and, for a folder, the JSON files.
// Does not depend on the names and places of the files.
std::string ModelFiles::fingerprint() const {
    constexpr std::size_t kSample = 512;
    std::string text;
    const auto append = [&](const std::byte* data, std::size_t bytes) {
        text.append(reinterpret_cast<const char*>(data), bytes);
    };
    const auto sample = [&](std::span<const std::byte> bytes) {
        const std::size_t size = std::min(bytes.size(), kSample);
        append(bytes.data(), size);
        append(bytes.data() + (bytes.size() - size) / 2, size);
    };
    for (std::size_t i = 0; i < files_.files.size(); ++i) {
        const auto bytes = files_.files[i]->bytes();
        text += fmt::format("file {} {}\n", bytes.size(), files_.header_bytes[i]);
        append(bytes.data(), files_.header_bytes[i]);
    }
    for (const ModelTensor& tensor : tensors()) {
        if (tensor.expert > 0) continue;  // there may be ten thousands
        if (tensor.packed == nullptr) sample({tensor.data, tensor.bytes()});
        if (tensor.packed != nullptr)
            for (const auto part : tensor.packed->parts()) sample(part);
    }
    if (const EagleHead* const eagle = eagle_head_of(config()))
        append(reinterpret_cast<const std::byte*>(eagle->tokens.data()),
               eagle->tokens.size() * sizeof(std::int32_t));
    if (!files_.folder.empty())
        for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json",
                                 "chat_template.jinja", "tokenizer.json", "tokenizer.model"}) {
            const fs::path path = fs::path(files_.folder) / name;
            if (!fs::exists(path)) continue;
            const MappedFile file(path);
            text += fmt::format("{} {}\n", name, file.bytes().size());
            append(file.bytes().data(), file.bytes().size());
        }
    return hash_128(text);
}

std::vector<std::string> ModelFiles::paths() const {
    std::vector<std::string> paths;
    for (const auto& file : files_.files) paths.push_back(file->path());
    return paths;
}

std::uint64_t ModelFiles::file_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& file : files_.files) bytes += file->bytes().size();
    return bytes;
}

}  // namespace voltpile::llm
