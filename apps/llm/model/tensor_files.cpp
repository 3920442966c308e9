#include "llm/model/tensor_files.h"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "llm/model/byte_cursor.h"
#include "llm/model/json_file.h"
#include "llm/model/safetensors_file.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxIndexBytes = 64 << 20;
constexpr std::uint64_t kMaxSplit = 99'999;  // five digits in the names

[[noreturn]] void fail(const std::string& path, const std::string& message) {
    throw FileError(fmt::format("{}: {}", path, message), ExitCode::BadInput);
}

void check_all_exist(const std::string& path, const std::vector<std::string>& paths) {
    constexpr std::size_t kMostNamed = 8;
    std::vector<std::string> missing;
    for (const auto& needed : paths)
        if (!fs::exists(needed)) missing.push_back(fs::path(needed).filename());
    if (missing.empty()) return;
    const std::size_t count = missing.size();
    missing.resize(std::min(count, kMostNamed));
    fail(path, fmt::format("{} of the model's {} files are missing: {}{}", count, paths.size(),
                           fmt::join(missing, ", "), count > kMostNamed ? ", ..." : ""));
}

// Returns the names of all files of a split model, given one of them.
std::vector<std::string> split_paths(const std::string& path, std::uint64_t count) {
    const std::string ending = fmt::format("-of-{:05d}.gguf", count);
    constexpr std::size_t kNumber = 6;  // "-00001"
    if (!path.ends_with(ending) || path.size() < ending.size() + kNumber)
        fail(path, fmt::format("this is one of {} files of a model, but its name does not end in -0000N{}",
                               count, ending));
    const std::string stem = path.substr(0, path.size() - ending.size() - kNumber);
    std::vector<std::string> paths;
    for (std::uint64_t i = 1; i <= count; ++i) paths.push_back(fmt::format("{}-{:05d}{}", stem, i, ending));
    return paths;
}

void check_part(const GgufFile& part, std::uint64_t number, std::uint64_t count) {
    const auto own_count = part.find<std::uint64_t>("split.count");
    const auto own_number = part.find<std::uint64_t>("split.no");
    if (own_count != count || own_number != number)
        fail(part.path(), fmt::format("its metadata do not say that it is file {} of {}", number + 1, count));
}

std::vector<std::string> index_paths(const fs::path& folder, const fs::path& index) {
    const nlohmann::json object = read_json_object(index, kMaxIndexBytes);
    const auto map = object.find("weight_map");
    if (map == object.end() || !map->is_object() || map->empty()) fail(index, "\"weight_map\" is missing");
    std::set<std::string> names;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string()) fail(index, fmt::format("the file of {} is not a text", printable(tensor)));
        const auto& name = file.get_ref<const std::string&>();
        if (name.empty() || fs::path(name).filename() != name)
            fail(index, fmt::format("{} is not a file of this folder", printable(name)));
        names.insert(name);
    }
    std::vector<std::string> paths;
    for (const auto& name : names) paths.push_back(folder / name);
    check_all_exist(index, paths);
    return paths;
}

std::vector<std::string> safetensors_paths(const fs::path& folder) {
    if (const fs::path index = folder / "model.safetensors.index.json"; fs::exists(index))
        return index_paths(folder, index);
    std::vector<std::string> paths;
    bool pickles = false;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
        pickles = pickles || entry.path().extension() == ".bin" || entry.path().extension() == ".pth";
    }
    if (const fs::path single = folder / "model.safetensors"; fs::exists(single)) return {single};
    if (paths.empty())
        fail(folder, pickles
                         ? "it has weights as PyTorch pickles (.bin, .pth) only: convert them to safetensors"
                         : "it has no model.safetensors and no model.safetensors.index.json");
    if (paths.size() > 1)
        fail(folder,
             fmt::format("it has {} .safetensors files but no model.safetensors.index.json", paths.size()));
    return paths;
}

}  // namespace

void TensorFiles::add(const StoredTensors& found, std::size_t header) {
    header_bytes.push_back(header);
    const int file = static_cast<int>(files.size()) - 1;
    for (const auto& [name, tensor] : found) {
        if (!tensors.emplace(name, tensor).second)
            fail(files.back()->path(),
                 fmt::format("tensor {} is also in {}", printable(name),
                             files[static_cast<std::size_t>(file_of.at(name))]->path()));
        file_of.emplace(name, file);
    }
}

void TensorFiles::rename(const std::function<std::string(std::string_view)>& new_name) {
    StoredTensors renamed;
    std::map<std::string, int, std::less<>> renamed_file_of;
    for (const auto& [name, tensor] : tensors) {
        const std::string to = new_name(name);
        const int file = file_of.at(name);
        if (!renamed.emplace(to, tensor).second)
            fail(files[static_cast<std::size_t>(file)]->path(),
                 fmt::format("tensor {} is there twice, once as {}", printable(to), printable(name)));
        renamed_file_of.emplace(to, file);
    }
    tensors = std::move(renamed);
    file_of = std::move(renamed_file_of);
}

TensorFiles open_gguf(const std::string& path) {
    TensorFiles model;
    auto mapped = std::make_unique<MappedFile>(path);
    auto named = std::make_unique<GgufFile>(mapped->bytes(), path);
    const auto count = named->find<std::uint64_t>("split.count").value_or(1);
    if (count <= 1) {
        model.files.push_back(std::move(mapped));
        model.add(named->tensors(), named->header_bytes());
        model.gguf = std::move(named);
        return model;
    }
    if (count > kMaxSplit) fail(path, fmt::format("it would be one of {} files", count));
    const std::vector<std::string> paths = split_paths(path, count);
    check_all_exist(path, paths);
    std::optional<std::uint64_t> total;
    for (std::uint64_t i = 0; i < count; ++i) {
        model.files.push_back(std::make_unique<MappedFile>(paths[i]));
        auto part = std::make_unique<GgufFile>(model.files.back()->bytes(), paths[i]);
        check_part(*part, i, count);
        model.add(part->tensors(), part->header_bytes());
        if (i > 0) continue;
        total = part->find<std::uint64_t>("split.tensors.count");
        model.gguf = std::move(part);
    }
    if (total && *total != model.tensors.size())
        fail(path, fmt::format("the {} files hold {} tensors where the first says {}", count,
                               model.tensors.size(), *total));
    return model;
}

TensorFiles open_safetensors(const std::string& folder) {
    TensorFiles model;
    model.folder = folder;
    for (const std::string& path : safetensors_paths(folder)) {
        model.files.push_back(std::make_unique<MappedFile>(path));
        const SafetensorsFile file(model.files.back()->bytes(), path);
        model.add(file.tensors(), file.header_bytes());
    }
    return model;
}

}  // namespace voltpile::llm
