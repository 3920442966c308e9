#include "nbody/start_table.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/message_bytes.h"
#include "base/shipped_files.h"
#include "job/fingerprint.h"
#include "nbody/table_columns.h"
#include "results/number_datasets.h"

namespace voltpile::nbody {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

// "1 value", "2 values"
std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    text = text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
    return text;
}

std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    for (;;) {
        const std::size_t comma = line.find(',');
        cells.push_back(trimmed(line.substr(0, comma)));
        if (comma == std::string_view::npos) return cells;
        line.remove_prefix(comma + 1);
    }
}

double number_in(std::string_view cell, const std::string& place, std::size_t column) {
    double value = 0;
    const std::string_view digits = cell.starts_with('+') ? cell.substr(1) : cell;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw JobError(
            fmt::format("{}: column {}: \"{}\" is not a number", place, column + 1, cell.substr(0, 40)));
    return value;
}

std::string contents_of(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) throw JobError(path + ": a folder, not a table");
    if (std::filesystem::file_size(path, error) > kMostBytes && !error)
        throw JobError(fmt::format("{}: more than {} bytes: split the table", path, kMostBytes));
    std::ifstream file(path, std::ios::binary);
    if (!file) throw JobError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    std::string contents((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (file.bad()) throw JobError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (contents.starts_with("\xef\xbb\xbf")) contents.erase(0, 3);  // a byte-order mark
    return contents;
}

StartTable read_csv(const JobSpec& job, const std::string& path) {
    const std::string contents = contents_of(path);
    TableColumns columns(job);
    StartTable table;
    std::string_view rest = contents;
    for (int number = 1; !rest.empty(); ++number) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
        const std::string place = fmt::format("{}:{}", path, number);
        const std::vector<std::string_view> cells = cells_of(line);
        if (columns.numbers().empty()) {
            for (const std::string_view cell : cells) columns.add(std::string(cell), place);
            continue;
        }
        if (cells.size() != columns.numbers().size())
            throw JobError(fmt::format("{}: {}, but the table has {}", place, counted(cells.size(), "value"),
                                       counted(columns.numbers().size(), "column")));
        for (std::size_t i = 0; i < cells.size(); ++i) {
            table.values.push_back(number_in(cells[i], place, i));
            columns.check(i, table.values.back(), [&] { return place; });
        }
    }
    table.numbers = columns.numbers();
    return table;
}

StartTable read_hdf5(const JobSpec& job, const std::string& path) {
    const std::vector<NumberDataset> datasets = read_number_datasets(path, kMostBytes);
    TableColumns columns(job);
    std::vector<std::size_t> widths;
    for (const NumberDataset& dataset : datasets) {
        const std::string place = fmt::format("{}: {}", path, dataset.name);
        if (dataset.dimensions.empty())
            throw JobError(place + " is a single number: expected one for each row");
        if (dataset.dimensions.front() != datasets.front().dimensions.front())
            throw JobError(fmt::format("{} has {} rows, but {} has {}", place, dataset.dimensions.front(),
                                       datasets.front().name, datasets.front().dimensions.front()));
        const std::vector<std::uint64_t> shape(dataset.dimensions.begin() + 1, dataset.dimensions.end());
        const std::size_t before = columns.numbers().size();
        if (shape.empty())
            columns.add(dataset.name, place);
        else if (!columns.add_all(dataset.name, shape, place))
            throw JobError(
                place +
                ": expected \"position\" or \"velocity\" of shape [rows, bodies, 3], \"mass\" of shape "
                "[rows, bodies], or one value a row under a name such as \"position[0].x\" or \"G\"");
        widths.push_back(columns.numbers().size() - before);
    }
    StartTable table;
    table.numbers = columns.numbers();
    const std::size_t rows = datasets.empty() ? 0 : datasets.front().dimensions.front();
    table.values.reserve(rows * table.numbers.size());
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t d = 0; d < datasets.size(); ++d) {
            for (std::size_t i = 0; i < widths[d]; ++i) {
                table.values.push_back(datasets[d].values[row * widths[d] + i]);
                const std::size_t column = table.values.size() - 1 - row * table.numbers.size();
                columns.check(column, table.values.back(),
                              [&] { return fmt::format("{}: {}, row {}", path, datasets[d].name, row); });
            }
        }
    }
    return table;
}

}  // namespace

StartTable read_start_table(const JobSpec& job) {
    const std::string path = find_shipped(job.text("table.file"), "");
    const auto extension = std::filesystem::path(path).extension();
    const StartTable table =
        extension == ".h5" || extension == ".hdf5" ? read_hdf5(job, path) : read_csv(job, path);
    if (table.numbers.empty()) throw JobError(path + ": the table has no columns");
    if (table.rows() == 0) throw JobError(path + ": the table has no rows");
    return table;
}

std::string to_bytes(const StartTable& table) {
    MessageWriter message;
    message.list(table.numbers);
    message.list(table.values);
    return message.take();
}

StartTable start_table_from_bytes(const std::string& bytes) {
    MessageReader message(bytes, "a table of starts");
    StartTable table;
    table.numbers = message.list<int>();
    table.values = message.list<double>();
    message.end();
    return table;
}

std::string fingerprint_of(const StartTable& table) {
    return hash_128(to_bytes(table));
}

}  // namespace voltpile::nbody
