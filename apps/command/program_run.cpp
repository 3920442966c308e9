#include "command/program_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/seconds_since.h"
#include "command/checkpoint.h"
#include "job/key_place.h"
#include "job/named_texts.h"

namespace voltpile::command {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// The interval between looks at the job's state while a program runs.
constexpr milliseconds kLook{100};
// The interval between looks at what it prints about its progress.
constexpr double kReadProgress_s = 1;
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

// Returns the last line with a letter or digit, at most 300 bytes of it; empty if there is none. Programs
// such as torchrun end their reports with a ruler.
std::string last_words(std::string_view text) {
    constexpr std::size_t most = 300;
    const auto says_something = [](unsigned char c) { return std::isalnum(c) != 0 || c >= 0x80; };
    const auto last = std::find_if(text.rbegin(), text.rend(), says_something);
    if (last == text.rend()) return "";
    const auto at = static_cast<std::size_t>(text.rend() - last) - 1;
    const std::size_t line_break = text.find_last_of("\r\n", at);
    const std::size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    std::string_view line = text.substr(begin, text.find_first_of("\r\n", at) - begin);
    line.remove_prefix(line.find_first_not_of(" \t"));
    line = line.substr(0, line.find_last_not_of(" \t") + 1);
    return std::string(line.substr(0, most));
}

}  // namespace

ProgramRunner::ProgramRunner(const JobSpec& job, const Outputs& outputs,
                             const std::vector<StagedFile>& staged, const fs::path& result,
                             const GpuDuty* duty)
    : job_(job), outputs_(outputs), staged_(staged), result_(result), duty_(duty), progress_(job) {}

fs::path ProgramRunner::log_of(const std::string& name) const {
    return fs::path(fs::absolute(result_).lexically_normal().string() + ".log/runs") / (name + ".out");
}

ProgramRunner::Logs ProgramRunner::logs_of(const std::string& name) const {
    Logs logs;
    logs.out = log_of(name);
    logs.err = fs::path(logs.out).replace_extension(".err");
    make_folder(logs.out.parent_path());
    logs.out_begin = size_of_file(logs.out);
    logs.err_begin = size_of_file(logs.err);
    return logs;
}

double ProgramRunner::printed_bytes(const Logs& logs) {
    return static_cast<double>(size_of_file(logs.out)) - static_cast<double>(logs.out_begin) +
           static_cast<double>(size_of_file(logs.err)) - static_cast<double>(logs.err_begin);
}

std::string ProgramRunner::prepare_folder(const TemplateValues& values) const {
    const std::string& text = job_.text("command.folder");
    const fs::path folder = fs::absolute(text.empty() ? "." : filled(text, values)).lexically_normal();
    if (!text.empty()) make_folder(folder);
    write_staged_files(staged_, folder);
    if (const std::string& name = job_.text("output.json_file"); !name.empty()) {
        TemplateValues with_folder = values;
        with_folder["folder"] = folder.string();
        std::error_code error;  // one of an earlier run must not count for this one
        fs::remove(folder / filled(name, with_folder), error);
    }
    return folder.string();
}

ProgramRequest ProgramRunner::request_of(const RunOrder& order, const TemplateValues& values,
                                         const Logs& logs) const {
    ProgramRequest request;
    for (const std::string& word : job_.texts("command.argv")) request.argv.push_back(filled(word, values));
    add_resume(request.argv, order, values);
    request.environment["OMP_NUM_THREADS"] = filled("{core_count}", values);
    if (order.resources.sets_gpus) request.environment["CUDA_VISIBLE_DEVICES"] = filled("{gpus}", values);
    for (const auto& [name, text] : named_texts(job_, "environment.NAME"))
        request.environment[name] = filled(text, values);
    request.folder = std::get<std::string>(values.at("folder"));
    request.pus = order.resources.pus;
    request.out = logs.out;
    request.err = logs.err;
    request.grace = milliseconds(std::llround(1e3 * job_.real("command.stop_s")));
    return request;
}

void ProgramRunner::add_resume(std::vector<std::string>& argv, const RunOrder& order,
                               TemplateValues values) const {
    const std::string& pattern = job_.text("command.checkpoint");
    if (pattern.empty()) return;
    const auto checkpoint = newest_checkpoint(checkpoint_pattern(pattern, values), order.begin_s);
    if (!checkpoint) return;
    values["checkpoint"] = checkpoint->path.string();
    for (const std::string& word : job_.texts("command.resume_argv")) argv.push_back(filled(word, values));
    // `voltpile launch` takes a line that it has not seen for progress.
    fmt::print("{}: resumes from {} of {:%F %T} UTC\n", order.name, checkpoint->path.string(),
               fmt::gmtime(static_cast<std::time_t>(checkpoint->changed_s)));
    std::fflush(stdout);
}

// Waits until this rank's GPU may begin. Returns false if the job stops meanwhile.
bool ProgramRunner::await_ramp(WorkScheduler& work) const {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < duty_->begins_after()) {
        if (work.stopping()) return false;
        std::this_thread::sleep_for(std::min(kLook, duty_->begins_after()));
    }
    return true;
}

void ProgramRunner::show_progress(const Logs& logs, WorkScheduler& work) {
    if (progress_.empty()) return;
    progress_.read(recent_text(logs.err, logs.err_begin));
    progress_.read(recent_text(logs.out, logs.out_begin));
    work.set_gauges(progress_.gauges());
}

void ProgramRunner::warn_of_unmatched() {
    if (std::exchange(warned_, true)) return;
    for (const std::string& name : progress_.unmatched())
        spdlog::warn("{}: progress.{}: the pattern matches no number in what the program printed",
                     place_of_key(job_, "progress." + name), name);
}

Extracted ProgramRunner::outputs_of(const TemplateValues& values, const Logs& logs) const {
    RunTexts texts{text_from(logs.out, logs.out_begin), text_from(logs.err, logs.err_begin), std::nullopt};
    if (const std::string& name = job_.text("output.json_file"); !name.empty())
        texts.json_file =
            text_of_file(fs::path(std::get<std::string>(values.at("folder"))) / filled(name, values));
    return outputs_.extract(texts);
}

std::optional<RunRecord> ProgramRunner::run(const RunOrder& order, WorkScheduler& work,
                                            const std::function<bool()>& must_end) {
    const bool rests = duty_ && !(order.resources.sets_gpus && order.resources.gpus.empty());
    if (rests && !std::exchange(ramped_, true) && !await_ramp(work)) return std::nullopt;
    TemplateValues values = order.values;
    values["folder"] = prepare_folder(values);
    const Logs logs = logs_of(order.name);
    RunRecord record;
    const double limit_s = job_.real("command.time_limit_s");
    const double most_bytes = job_.real("output.most_log_bytes");
    const auto begin = std::chrono::steady_clock::now();
    bool ending = false, stopped = false;
    double busy_s = 0, shown_s = 0;
    Program program(request_of(order, values, logs));
    while (!program.ended_within(kLook)) {
        const double now_s = seconds_since(begin);
        work.add_busy(now_s - std::exchange(busy_s, now_s));
        if (now_s - shown_s >= kReadProgress_s) {
            shown_s = now_s;
            show_progress(logs, work);
        }
        if (rests) program.set_rest(duty_->rest());
        if (ending) continue;
        stopped = work.stopping();
        if (!stopped && must_end()) record.outcome = Outcome::Ended;
        if (!stopped && now_s > limit_s) record.outcome = Outcome::TimeLimit;
        if (!stopped && printed_bytes(logs) > most_bytes) record.outcome = Outcome::Flooded;
        ending = stopped || record.outcome != Outcome::Done;
        if (ending) program.terminate();
    }
    record.seconds = seconds_since(begin);
    work.add_busy(record.seconds - busy_s);
    if (stopped) return std::nullopt;
    work.add_units(1);
    show_progress(logs, work);
    record.exit_code = program.exit_code();
    judge(record, order, values, logs);
    if (record.problem.empty() && order.shows_progress) warn_of_unmatched();
    if (record.problem.empty() && order.needs_outputs) drop_log(order.name);
    return record;
}

void ProgramRunner::drop_log(const std::string& name) const {
    if (job_.text("output.logs") != "failed") return;
    fs::path log = log_of(name);
    std::error_code error;
    fs::remove(log, error);
    fs::remove(log.replace_extension(".err"), error);
}

void ProgramRunner::judge(RunRecord& record, const RunOrder& order, const TemplateValues& values,
                          const Logs& logs) const {
    Extracted extracted = outputs_of(values, logs);
    record.values = std::move(extracted.values);
    const std::string& name = job_.texts("command.argv").front();
    if (record.outcome == Outcome::TimeLimit) {
        record.problem = fmt::format("{} was ended after command.time_limit_s = {} s", name,
                                     job_.real("command.time_limit_s"));
    } else if (record.outcome == Outcome::Flooded) {
        record.problem = fmt::format("{} was ended because it printed more than output.most_log_bytes = {:g}",
                                     name, job_.real("output.most_log_bytes"));
    } else if (record.outcome == Outcome::Ended) {
        record.problem = fmt::format("{} was ended because another instance failed", name);
    } else if (record.exit_code > 128 && record.exit_code <= 128 + 64) {
        record.outcome = Outcome::Signal;
        record.problem = fmt::format("{} was ended by signal {} ({})", name, record.exit_code - 128,
                                     strsignal(record.exit_code - 128));
    } else if (record.exit_code != 0) {
        record.outcome = Outcome::ExitCode;
        record.problem = fmt::format("{} ended with exit code {}", name, record.exit_code);
        if (const std::string words = last_words(text_from(logs.err, logs.err_begin)); !words.empty())
            record.problem += ": " + words;
    } else {
        record.missing = valid_text(fmt::format("{}", fmt::join(extracted.problems, "; ")));
        if (order.needs_outputs && !record.missing.empty()) {
            record.outcome = Outcome::NoOutput;
            record.problem = record.missing;
        }
    }
    record.problem = valid_text(record.problem);
}

}  // namespace voltpile::command
