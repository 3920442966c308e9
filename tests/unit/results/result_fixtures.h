// Shared by the tests of results: layouts, and values that any mix-up would change.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "results/parts/consolidate.h"
#include "results/parts/part_folder.h"
#include "results/parts/part_scan.h"
#include "results/result_state.h"
#include "unit/base/temporary_folder.h"

namespace voltpile::test {

// A folder in memory, for tests of many thousand steps, in which a disk's fsync would only take time.
inline std::filesystem::path memory_path() {
    return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

inline SweepAxis axis(const std::string& name, double from, double to, std::int64_t count,
                      bool endpoint = false) {
    SweepAxis a;
    a.name = name;
    a.parameter = "system.position[0]." + name;
    a.key = "system.position";
    a.element = 1;
    a.unit = "m";
    a.from = from;
    a.to = to;
    a.count = count;
    a.endpoint = endpoint;
    return a;
}

inline FieldSpec field(const std::string& name, FieldType type, std::vector<FieldDimension> dimensions = {}) {
    FieldSpec f;
    f.name = name;
    f.type = type;
    f.unit = "1";
    f.long_name = "the " + name + " of the pair";
    f.dimensions = std::move(dimensions);
    return f;
}

inline ResultLayout layout_of(std::vector<SweepAxis> axes, std::vector<FieldSpec> fields) {
    ResultLayout layout;
    layout.app = "threebody";
    layout.job_path = "jobs/threebody/tiny.toml";
    layout.job_text =
        "app = \"threebody\"  # gr\xc3\xb6\xc3\x9f"
        "er\n";  // UTF-8, as in job files
    layout.job_overrides = {"sweep.x.count=5", "integrate.steps=10"};
    layout.fingerprint = "0123456789abcdef0123456789abcdef";
    layout.axes = std::move(axes);
    layout.fields = std::move(fields);
    return layout;
}

inline std::vector<SweepAxis> some_axes(std::vector<std::int64_t> counts) {
    const char* names[] = {"x", "y", "z"};
    std::vector<SweepAxis> axes;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        axes.push_back(axis(names[i], -20, 20 + static_cast<double>(i), counts[i], i == 1));
    }
    return axes;
}

// Fields of all four types, without and with dimensions of their own.
inline std::vector<FieldSpec> all_kinds_of_fields() {
    const FieldDimension body{"body", {"1", "2", "3"}};
    const FieldDimension component{"component", {"x", "y"}};
    return {field("steps", FieldType::Int32), field("energy", FieldType::Float64, {body}),
            field("ticket", FieldType::Int64, {component}),
            field("state", FieldType::Float32, {body, component})};
}

// splitmix64: bytes that differ between any two points and fields. As floating-point numbers they include
// NaNs with payloads, infinities and denormals, so that "bit for bit" has its full meaning.
inline std::uint64_t mixed(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

inline FieldBuffer bytes_of(const ResultLayout& layout, std::size_t index, WorkRange range) {
    const std::size_t values = layout.fields[index].values_per_point();
    const std::size_t size = size_of(layout.fields[index].type);
    FieldBuffer bytes;
    for (std::int64_t p = range.begin; p < range.end; ++p) {
        for (std::size_t v = 0; v < values; ++v) {
            const std::uint64_t bits = mixed(mixed(static_cast<std::uint64_t>(p)) + 131 * v + index);
            const auto* from = reinterpret_cast<const std::byte*>(&bits);
            bytes.insert(bytes.end(), from, from + size);
        }
    }
    return bytes;
}

inline std::vector<FieldBuffer> data_of(const ResultLayout& layout, WorkRange range) {
    std::vector<FieldBuffer> data;
    for (std::size_t i = 0; i < layout.fields.size(); ++i) data.push_back(bytes_of(layout, i, range));
    return data;
}

template <class T>
FieldBuffer buffer(const std::vector<T>& values) {
    FieldBuffer bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

inline Provenance some_provenance() {
    return {"voltpile",
            "0.1.0",
            "1a2b3c4d5e6f",
            "2024-05-06 07:08:09 +0200",
            "2 hosts (a, b): 8x Tesla V100-SXM2-16GB",
            "somebody",
            "voltpile run jobs/threebody/tiny.toml",
            2,
            "slurm 123",
            1};
}

// Returns the life of a part folder, which it creates if necessary, for tests of other things.
inline Life life_in(const std::filesystem::path& parts) {
    for (const auto& entry : std::filesystem::directory_iterator(parts))
        if (LifeName::parse(entry.path().filename())) return {parts, parts, entry.path().filename()};
    const Life life{parts, parts, LifeName{{}, 1, random_nonce()}.text()};
    std::filesystem::create_directory(life.folder());
    return life;
}

inline void commit_part(const std::filesystem::path& parts, const ResultLayout& layout, WorkRange range,
                        const std::vector<FieldBuffer>& data) {
    voltpile::commit_part(life_in(parts), layout, range, data);
}

inline PartScan scan_parts(const std::filesystem::path& parts, const ResultLayout& layout) {
    return voltpile::scan_parts(life_in(parts), layout, layout.whole());
}

inline void consolidate(const std::filesystem::path& result, const ResultLayout& layout,
                        const std::vector<PartInfo>& parts, const Provenance& provenance) {
    Life life = life_in(parts_path(result));
    life.result = result;
    voltpile::consolidate(life, layout, parts, provenance);
}

// Commits the ranges between these bounds.
inline void commit_all(const std::filesystem::path& parts, const ResultLayout& layout,
                       const std::vector<std::int64_t>& bounds) {
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        const WorkRange range{bounds[i], bounds[i + 1]};
        commit_part(parts, layout, range, data_of(layout, range));
    }
}

// Writes a finished result from parts with these bounds.
inline void make_result(const std::filesystem::path& result, const ResultLayout& layout,
                        const std::vector<std::int64_t>& bounds) {
    PartFolder folder(result, layout, PartFolder::IfOther::Refuse);
    commit_all(folder.path(), layout, bounds);
    consolidate(folder.life(), layout, scan_parts(folder.path(), layout).parts, some_provenance());
    folder.remove();
}

inline std::string file_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text_file(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

// Returns the names in a folder, without those of lives, which are never the same.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (!LifeName::parse(entry.path().filename())) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

inline std::size_t lives_in(const std::filesystem::path& folder) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        count += LifeName::parse(entry.path().filename()).has_value();
    return count;
}

// Runs the body in a process of its own. Returns its exit code, 128 + signal, or 99 after an exception.
inline int run_in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        int code = 99;
        try {
            code = body();
        } catch (const std::exception& error) {
            std::fprintf(stderr, "in the child: %s\n", error.what());
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Returns the message and the exit code of the Error that the body throws.
inline std::pair<std::string, ExitCode> error_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& error) {
        return {error.what(), error.exit_code()};
    }
    return {"", ExitCode::Done};
}

}  // namespace voltpile::test
