#include "cluster/slurm/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
#include "base/shell_quote.h"

namespace voltpile {
namespace {

constexpr std::string_view body_mark = "# ---- body ----\n";
constexpr std::string_view comment_mark = "voltpile";

std::string_view body() {
    const std::string_view script = run_sbatch_text();
    const std::size_t at = script.find(body_mark);
    if (at == std::string_view::npos)
        throw std::logic_error("slurm/run.sbatch has no line: # ---- body ----");
    return script.substr(at + body_mark.size());
}

// Returns the body's first line, a directive for shellcheck.
std::string_view shellcheck_line() {
    return body().substr(0, body().find('\n'));
}

bool is_plain(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) ||
               std::string_view("_-+=./,:@%[]^").find(static_cast<char>(c)) != std::string::npos;
    });
}

// Escapes % in the pattern of a log's name. A backslash turns all patterns off and disappears.
std::string literal_in_pattern(const std::string& text) {
    std::string out;
    for (char c : text) {
        if (c == '\\')
            throw JobError(fmt::format("{}: Slurm cannot write a log there: its name has a backslash", text));
        if (c == '%') out += '%';
        out += c;
    }
    return out;
}

// Rejects newlines, which could end a line of the script, and other control characters.
void check_one_line(const std::string& text) {
    if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
        throw JobError(fmt::format("control characters cannot be passed to Slurm: {}", shell_quote(text)));
}

class Script {
  public:
    void option(std::string_view name, const std::string& value) {
        if (value.empty()) return;
        check_one_line(value);
        text_ += fmt::format("#SBATCH --{}={}\n", name, sbatch_word(value));
    }
    void flag(std::string_view name) { text_ += fmt::format("#SBATCH --{}\n", name); }
    void options_as_given(const std::vector<std::string>& words) {
        if (words.empty()) return;
        text_ += "#SBATCH";
        for (const std::string& word : words) {
            check_one_line(word);
            text_ += " " + sbatch_word(word);
        }
        text_ += "\n";
    }
    void setting(std::string_view name, const std::string& value) {
        if (value.empty()) return;
        check_one_line(value);
        text_ += fmt::format("export {}={}\n", name, shell_quote(value));
    }
    void line(std::string_view line) { text_ += fmt::format("{}\n", line); }
    std::string text() const { return text_; }

  private:
    std::string text_;
};

std::string run_arguments(const SubmitRequest& request, const SubmitPaths& paths) {
    std::vector<std::string> words{request.run.job_path};
    if (!paths.service) words.insert(words.end(), {"--output", paths.result.string()});
    for (const std::string& change : request.run.overrides) {
        words.emplace_back("--set");
        words.push_back(change);
    }
    std::string line;
    for (const std::string& word : words) {
        check_one_line(word);
        line += " " + shell_quote(word);
    }
    return line;
}

}  // namespace

std::string sbatch_word(const std::string& text) {
    if (is_plain(text)) return text;
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::string SubmitPaths::log_pattern(bool array) const {
    std::filesystem::path stem = result;
    stem.replace_extension();
    return literal_in_pattern(stem.string()) + (array ? "-%A_%a.log" : "-%j.log");
}

std::string SubmitPaths::log_of(const std::string& job_id, bool array) const {
    std::filesystem::path stem = result;
    stem.replace_extension();
    return fmt::format("{}-{}.log", stem.string(), array ? job_id + "_*" : job_id);
}

std::string job_comment(const std::filesystem::path& result) {
    return fmt::format("{} {}", comment_mark, result.string());
}

std::string result_of_comment(std::string_view comment) {
    if (!comment.starts_with(comment_mark) || comment.size() < comment_mark.size() + 2 ||
        comment[comment_mark.size()] != ' ')
        return "";
    return std::string(comment.substr(comment_mark.size() + 1));
}

std::string batch_script(const SubmitPlan& plan, const SubmitRequest& request, const SubmitPaths& paths) {
    const Layout& layout = plan.layout;
    Script script;
    script.line("#!/bin/bash");
    script.option("job-name", plan.job_name);
    script.option("partition", plan.partition);
    script.option("nodes", std::to_string(layout.nodes.size()));
    script.option("ntasks-per-node", std::to_string(layout.share.ranks));
    script.option("cpus-per-task", std::to_string(layout.cpus_per_task));
    // GPUs per node, not per task: every rank sees all of them and can reach the others directly.
    if (layout.share.gpus > 0) script.option("gpus-per-node", std::to_string(layout.share.gpus));
    script.option("mem", fmt::format("{}M", plan.memory_mb));
    script.option("time", slurm_time_text(plan.time.limit_s));
    script.option("signal", fmt::format("B:USR1@{:.0f}", plan.time.signal_lead_s));
    script.flag("requeue");
    script.option("open-mode", "append");
    if (plan.array > 0) script.option("array", fmt::format("0-{}", plan.array - 1));
    script.option("account", request.account);
    script.option("qos", request.qos);
    script.option("dependency", request.dependency);
    script.option("chdir", paths.folder.string());
    script.option("output", paths.log_pattern(plan.array > 0));
    script.option("comment", job_comment(paths.result));
    script.options_as_given(request.sbatch_options);
    script.line("");
    script.line(shellcheck_line());  // must precede the first command
    script.setting("VOLTPILE", paths.program.string());
    script.setting("VOLTPILE_ENV", request.environment.string());
    script.setting("VOLTPILE_LAUNCHER", request.launcher);
    if (paths.service) script.setting("VOLTPILE_ADDRESS", paths.result.string());
    script.line(fmt::format("set --{} \"$@\"", run_arguments(request, paths)));
    script.line("");
    return script.text() + std::string(body().substr(shellcheck_line().size() + 1));
}

}  // namespace voltpile
