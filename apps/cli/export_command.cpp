#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>

#include "base/format.h"
#include "base/standard_streams.h"
#include "cli/command.h"
#include "results/csv_lines.h"
#include "results/json_lines.h"
#include "results/netcdf_file.h"
#include "results/output_file.h"
#include "results/parts/durable_file.h"

namespace voltpile::cli {
namespace {

enum class Format { None, Csv, Jsonl, Netcdf };

struct ExportArguments {
    std::string file;
    bool csv = false, jsonl = false, netcdf = false;
    std::filesystem::path output;
    std::string rows;
    bool overwrite = false;
};

Format chosen_format(const ExportArguments& args) {
    if (args.csv) return Format::Csv;
    if (args.jsonl) return Format::Jsonl;
    if (args.netcdf) return Format::Netcdf;
    const std::string ending = args.output.extension();
    if (ending == ".csv") return Format::Csv;
    if (ending == ".jsonl") return Format::Jsonl;
    if (ending == ".nc") return Format::Netcdf;
    throw JobError(
        "export: which format? --csv, --jsonl, --netcdf, or an --output that ends in .csv, .jsonl or .nc");
}

std::int64_t row_number(std::string_view text, const std::string& rows) {
    std::int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < 0)
        throw JobError(fmt::format("--rows {}: must be A:B, A: or :B, with whole numbers from 0", rows));
    return value;
}

// Parses "100:200", "100:" or ":200", half-open; "" is all points.
WorkRange rows_of(const std::string& rows, std::int64_t points) {
    if (rows.empty()) return {0, points};
    const std::size_t colon = rows.find(':');
    if (colon == std::string::npos) row_number("", rows);
    const std::string_view text(rows);
    const std::string_view from = text.substr(0, colon), to = text.substr(colon + 1);
    const WorkRange range{from.empty() ? 0 : row_number(from, rows),
                          to.empty() ? points : row_number(to, rows)};
    if (range.empty() || range.end > points)
        throw JobError(
            fmt::format("--rows {}: the result has rows 0 to {}, so A must be below B, and B at most {}",
                        rows, points - 1, points));
    return range;
}

void check_place(const ExportArguments& args) {
    check_output_place(args.output, "--output", {args.file});
    std::error_code error;
    if (!args.overwrite && std::filesystem::exists(args.output, error))
        throw JobError(
            fmt::format("--output: {} exists; choose another name, or --overwrite", args.output.string()));
}

using Writer = std::function<void(std::ostream&)>;

void write_lines(const std::filesystem::path& output, const Writer& write) {
    if (output.empty()) {
        write(std::cout);
        return;  // main() checks whether stdout has taken it
    }
    const std::filesystem::path temporary = temporary_name(output);
    try {
        errno = 0;
        std::ofstream file(temporary, std::ios::binary);
        write(file);
        file.close();
        if (!file) throw FileError("write", output.string(), errno);
        publish_file(temporary, output);
    } catch (...) {
        discard_file(temporary);
        throw;
    }
}

ExitCode export_result(const ExportArguments& args) {
    const Format format = chosen_format(args);
    if (format == Format::Netcdf && args.output.empty())
        throw JobError("export: --netcdf needs --output FILE");
    if (!args.output.empty()) check_place(args);
    const ResultReader result(args.file);
    const WorkRange rows = rows_of(args.rows, result.layout().point_count());
    const RangeSet computed = result.completed().within(rows);
    if (format == Format::Netcdf) {
        write_netcdf(args.output, result, {rows, args.rows.empty()});
    } else {
        write_lines(args.output, [&](std::ostream& to) {
            if (format == Format::Csv) to << csv_header(result.layout());
            for (const WorkRange& range : computed.ranges()) {
                if (format == Format::Csv)
                    write_csv_lines(to, result, range);
                else
                    write_json_lines(to, result, range);
            }
        });
    }
    const std::int64_t missing = rows.size() - computed.size();
    if (missing > 0)
        print_error(fmt::format("{}: {} of {} rows are not computed yet: they are {}", args.file,
                                count_text(missing), count_text(rows.size()),
                                format == Format::Netcdf ? "missing values" : "left out"));
    if (!args.output.empty()) fmt::print("{}\n", args.output.string());
    return ExitCode::Done;
}

}  // namespace

void add_export(CLI::App& cli, Action& action) {
    CLI::App* command = cli.add_subcommand("export", "write a result as CSV, lines of JSON or netCDF");
    auto args = std::make_shared<ExportArguments>();
    command->add_option("FILE", args->file, "result file (.h5), finished or not")
        ->required()
        ->check(some_result());
    CLI::Option* csv = command->add_flag("--csv", args->csv, "one line per point: the axes, then the fields");
    CLI::Option* jsonl =
        command->add_flag("--jsonl", args->jsonl, "one JSON object per point, as run --jsonl writes it");
    CLI::Option* netcdf =
        command->add_flag("--netcdf", args->netcdf, "a netCDF-4 file, for xarray, ncdump or CDO");
    csv->excludes(jsonl)->excludes(netcdf);
    jsonl->excludes(netcdf);
    command
        ->add_option("--output", args->output,
                     "write this file; its ending (.csv, .jsonl, .nc) chooses the format [stdout]")
        ->type_name("FILE")
        ->check(some_name());
    command
        ->add_option("--rows", args->rows,
                     "only these points, counted from 0 along the flattened sweep; B is not included [all]")
        ->type_name("A:B")
        ->check(some_name());
    command->add_flag("--overwrite", args->overwrite, "replace FILE of --output if it exists");
    command->footer(
        "CSV and JSON leave out points that are not computed yet; netCDF has missing values for them. With "
        "--rows\n"
        "a netCDF file has the dimension `point` instead of the axes.\n"
        "examples: voltpile export results/seed_map.h5 --csv --rows 0:1000 | head\n"
        "          voltpile export answers.h5 --output answers.jsonl\n"
        "          voltpile export results/seed_map.h5 --output map.nc");
    command->callback([args, &action] {
        action = on_first_rank([args](const Invocation&) { return export_result(*args); });
    });
}

}  // namespace voltpile::cli
