#include "command/point_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/seconds_since.h"
#include "command/visible_gpus.h"
#include "job/named_texts.h"

namespace voltpile::command {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// The interval between looks at the job's state while a program runs.
constexpr milliseconds kLook{100};
// Of longer texts only the end is searched.
constexpr std::uintmax_t kMostText = 256 << 20;

std::uintmax_t size_of_file(const fs::path& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
}

std::string text_from(const fs::path& path, std::uintmax_t begin) {
    std::ifstream file(path, std::ios::binary);
    const std::uintmax_t size = size_of_file(path);
    if (size > begin + kMostText) begin = size - kMostText;
    file.seekg(static_cast<std::streamoff>(begin));
    std::string text(static_cast<std::size_t>(size > begin ? size - begin : 0), '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

std::optional<std::string> text_of_file(const fs::path& path) {
    if (!fs::is_regular_file(path)) return std::nullopt;
    return text_from(path, 0);
}

void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw FileError("create", folder.string(), error.value());
}

std::string filled(const std::string& text, const TemplateValues& values) {
    return TextTemplate(text).fill(values);
}

// The last line of a text that says something; empty: none.
std::string last_words(std::string text) {
    constexpr std::size_t most = 300;
    const std::size_t end = text.find_last_not_of(" \n\r\t");
    if (end == std::string::npos) return "";
    text.resize(end + 1);
    const std::size_t begin = text.rfind('\n');
    if (begin != std::string::npos) text = text.substr(begin + 1);
    return text.substr(0, most);
}

}  // namespace

PointRunner::PointRunner(const JobSpec& job, const Outputs& outputs, const RankContext& rank)
    : job_(job), outputs_(outputs), rank_(rank) {
    const std::string& choice = job.text("command.on_failure");
    stop_on_failure_ = choice == "stop" || (choice == "auto" && job.axes().empty());
}

PointRunner::Logs PointRunner::logs_of(std::int64_t point) const {
    const fs::path folder = fs::absolute(rank_.result()).lexically_normal().string() + ".log/runs";
    make_folder(folder);
    Logs logs;
    logs.out = folder / fmt::format("point-{}.out", point);
    logs.err = folder / fmt::format("point-{}.err", point);
    logs.out_begin = size_of_file(logs.out);
    logs.err_begin = size_of_file(logs.err);
    return logs;
}

ProgramRequest PointRunner::request_of(const TemplateValues& values, const Logs& logs) const {
    ProgramRequest request;
    for (const std::string& word : job_.texts("command.argv")) request.argv.push_back(filled(word, values));
    request.environment["OMP_NUM_THREADS"] = filled("{core_count}", values);
    const bool hidden_gpus = rank_.mine().device < 0 && !rank_.plan().host_of(rank_.mine()).gpus.empty();
    if (rank_.mine().device >= 0 || hidden_gpus)
        request.environment["CUDA_VISIBLE_DEVICES"] = filled("{gpus}", values);
    for (const auto& [name, text] : named_texts(job_, "environment.NAME"))
        request.environment[name] = filled(text, values);
    request.folder = std::get<std::string>(values.at("folder"));
    request.pus = rank_.pus();
    request.out = logs.out;
    request.err = logs.err;
    request.grace = milliseconds(std::llround(1e3 * job_.real("command.stop_s")));
    return request;
}

Extracted PointRunner::outputs_of(const TemplateValues& values, const Logs& logs) const {
    RunTexts texts{text_from(logs.out, logs.out_begin), text_from(logs.err, logs.err_begin), std::nullopt};
    if (const std::string& name = job_.text("output.json_file"); !name.empty())
        texts.json_file =
            text_of_file(fs::path(std::get<std::string>(values.at("folder"))) / filled(name, values));
    return outputs_.extract(texts);
}

std::optional<RunRecord> PointRunner::run(std::int64_t point, WorkScheduler& work) {
    TemplateValues values = values_of(job_, rank_, point);
    const std::string& folder = job_.text("command.folder");
    values["folder"] =
        fs::absolute(folder.empty() ? "." : filled(folder, values)).lexically_normal().string();
    if (!folder.empty()) make_folder(std::get<std::string>(values["folder"]));
    if (const std::string& name = job_.text("output.json_file"); !name.empty()) {
        std::error_code error;  // one of an earlier run must not count for this one
        fs::remove(fs::path(std::get<std::string>(values["folder"])) / filled(name, values), error);
    }
    const Logs logs = logs_of(point);

    RunRecord record;
    const double limit_s = job_.real("command.time_limit_s");
    const auto begin = std::chrono::steady_clock::now();
    bool too_long = false, stopped = false;
    double busy_s = 0;
    Program program(request_of(values, logs));
    while (!program.ended_within(kLook)) {
        const double now_s = seconds_since(begin);
        work.add_busy(now_s - std::exchange(busy_s, now_s));
        if (!too_long && !stopped) {
            stopped = work.stopping();
            too_long = !stopped && now_s > limit_s;
            if (stopped || too_long) program.terminate();
        }
    }
    record.seconds = seconds_since(begin);
    work.add_busy(record.seconds - busy_s);
    if (stopped) return std::nullopt;
    work.add_units(1);

    record.exit_code = program.exit_code();
    Extracted extracted = outputs_of(values, logs);
    record.values = std::move(extracted.values);
    const std::string& name = job_.texts("command.argv").front();
    if (too_long) {
        record.outcome = Outcome::TimeLimit;
        record.problem = fmt::format("{} was ended after command.time_limit_s = {} s", name, limit_s);
    } else if (record.exit_code > 128 && record.exit_code <= 128 + 64) {
        record.outcome = Outcome::Signal;
        record.problem = fmt::format("{} was ended by signal {} ({})", name, record.exit_code - 128,
                                     strsignal(record.exit_code - 128));
    } else if (record.exit_code != 0) {
        record.outcome = Outcome::ExitCode;
        record.problem = fmt::format("{} ended with exit code {}", name, record.exit_code);
        if (const std::string words = last_words(text_from(logs.err, logs.err_begin)); !words.empty())
            record.problem += ": " + words;
    } else if (!extracted.problems.empty()) {
        record.outcome = Outcome::NoOutput;
        record.problem = fmt::format("{}", fmt::join(extracted.problems, "; "));
    }
    record.problem = valid_text(record.problem);
    if (!record.problem.empty()) fail(point, record.problem, logs);
    if (record.problem.empty() && job_.text("output.logs") == "failed") {
        std::error_code error;
        fs::remove(logs.out, error);
        fs::remove(logs.err, error);
    }
    return record;
}

void PointRunner::fail(std::int64_t point, const std::string& problem, const Logs& logs) {
    const std::string axes = axes_text(job_, point);
    const std::string text = fmt::format("point {}{}: {}; see {} and .err", point,
                                         axes.empty() ? "" : " (" + axes + ")", problem, logs.out.string());
    if (stop_on_failure_) throw FileError(text);
    if (warned_) return;
    warned_ = true;
    spdlog::warn("{}. The field `outcome` has all runs that fail; further ones are not printed", text);
}

}  // namespace voltpile::command
