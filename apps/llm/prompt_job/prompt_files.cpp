#include "llm/prompt_job/prompt_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/format.h"
#include "base/shipped_files.h"
#include "job/fingerprint.h"
#include "llm/engine/request_fields.h"
#include "llm/prompt_job/form_keys.h"
#include "llm/prompt_job/prompt_line.h"
#include "llm/replica/pass_message.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_named = 20;

std::string contents_of(const std::string& path, const PromptLimits& limits) {
    std::error_code error;
    const fs::file_type type = fs::status(path, error).type();
    if (type == fs::file_type::directory) throw JobError(path + ": a folder, not a file with prompts");
    const bool is_device = type == fs::file_type::character || type == fs::file_type::block;
    if (is_device)
        throw JobError(path + ": a device; prompts.files takes regular files and pipes, such as /dev/stdin");
    std::ifstream file(path, std::ios::binary);
    if (!file) throw JobError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    const bool is_regular = type == fs::file_type::regular;
    const std::uint64_t most = is_regular ? limits.file_bytes : limits.pipe_bytes;
    std::string contents;
    std::vector<char> chunk(std::size_t{1} << 20);
    while (file.read(chunk.data(), std::ssize(chunk)), file.gcount() > 0) {
        contents.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
        if (contents.size() > most)
            throw JobError(
                fmt::format("{}: more than {} bytes, the most that a job reads from a {}; split it", path,
                            count_text(static_cast<std::int64_t>(most)), is_regular ? "file" : "pipe"));
    }
    if (file.bad()) throw JobError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return contents;
}

bool is_jsonl(const std::string& path, const std::string& format) {
    if (format != "auto") return format == "jsonl";
    const fs::path ending = fs::path(path).extension();
    return ending == ".jsonl" || ending == ".ndjson";
}

struct PromptFormat {
    bool jsonl = false;
    std::size_t line_bytes = 0;
    RequestSettings settings;
};

Prompt parse_line(const std::string& line, const PromptFormat& format, const RequestSettings& settings) {
    if (line.size() <= format.line_bytes)
        return (format.jsonl ? parse_json_line : parse_text_line)(line, settings);
    Prompt prompt;
    prompt.settings = settings;
    prompt.error = fmt::format("the line has {} bytes; at most {} are allowed", count_text(std::ssize(line)),
                               count_text(static_cast<std::int64_t>(format.line_bytes)));
    return prompt;
}

void add_lines(const std::string& path, std::string_view contents, const PromptFormat& format,
               std::vector<Prompt>& prompts) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (contents.starts_with(byte_order_mark)) contents.remove_prefix(byte_order_mark.size());
    for (std::int64_t number = 1; !contents.empty(); ++number) {
        const auto end = std::min(contents.find('\n'), contents.size());
        std::string line(contents.substr(0, end));
        contents.remove_prefix(std::min(end + 1, contents.size()));
        if (line.ends_with('\r')) line.pop_back();
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        RequestSettings own = format.settings;
        own.sampling.seed += prompts.size();
        prompts.push_back(parse_line(line, format, own));
        prompts.back().place = fmt::format("{}:{}", path, number);
    }
}

void read_key(const JobSpec& job, const std::string& key, float& to) {
    to = static_cast<float>(job.real(key));
}
void read_key(const JobSpec& job, const std::string& key, int& to) {
    to = static_cast<int>(job.integer(key));
}
void read_key(const JobSpec& job, const std::string& key, std::uint64_t& to) {
    to = static_cast<std::uint64_t>(job.integer(key));
}
void read_key(const JobSpec& job, const std::string& key, bool& to) {
    to = job.boolean(key);
}
void read_key(const JobSpec& job, const std::string& key, std::string& to) {
    to = job.text(key);
}
void read_key(const JobSpec& job, const std::string& key, std::vector<std::string>& to) {
    to = job.texts(key);
}
// No key is a map.
void read_key(const JobSpec&, const std::string&, std::map<std::int32_t, float>&) {}

constexpr std::size_t least_prompt_bytes = 5 * sizeof(std::size_t);  // of its texts and tokens alone

void write(MessageWriter& to, const Prompt& prompt) {
    for (const std::string* text : {&prompt.place, &prompt.id, &prompt.text, &prompt.error}) to.text(*text);
    to.list(prompt.tokens);
    write(to, static_cast<const RequestSettings&>(prompt.settings));
}

Prompt read_prompt(MessageReader& from) {
    Prompt prompt;
    for (std::string* text : {&prompt.place, &prompt.id, &prompt.text, &prompt.error}) *text = from.text();
    prompt.tokens = from.list<std::int32_t>();
    prompt.settings = read_request_settings(from);
    return prompt;
}

}  // namespace

RequestSettings settings_of(const JobSpec& job) {
    RequestSettings settings;
    for (const RequestField& field : kRequestFields) {
        if (field.key.empty()) continue;
        const std::string key(field.key);
        std::visit([&](auto member) { read_key(job, key, value_of(settings, member)); }, field.member);
    }
    settings.grammar = form_of_job(job);
    return settings;
}

JobPrompts read_prompts(const JobSpec& job, const PromptLimits& limits) {
    PromptFormat format{.line_bytes = limits.line_bytes, .settings = settings_of(job)};
    JobPrompts all;
    for (const std::string& path : job.texts("prompts.files")) {
        const std::string contents = contents_of(find_shipped(path, ""), limits);
        format.jsonl = is_jsonl(path, job.text("prompts.format"));
        add_lines(path, contents, format, all.prompts);
        all.inputs.push_back({path, hash_128((format.jsonl ? "jsonl\n" : "text\n") + contents)});
    }
    if (all.prompts.empty()) throw JobError(job.path() + ": prompts.files holds no prompt");
    return all;
}

void refuse_unusable(const std::vector<Prompt>& prompts) {
    std::string text;
    std::size_t count = 0;
    for (const Prompt& prompt : prompts) {
        if (prompt.error.empty() || ++count > most_named) continue;
        text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", prompt.place, prompt.error);
    }
    if (count == 0) return;
    if (count > most_named)
        text += fmt::format("\nand {} more", count_text(static_cast<std::int64_t>(count - most_named)));
    throw JobError(text + "\nprompts.on_error = \"skip\" would compute the other prompts");
}

std::int64_t unusable_count(const std::vector<Prompt>& prompts) {
    return std::ranges::count_if(prompts, [](const Prompt& prompt) { return !prompt.error.empty(); });
}

std::string skipped_text(const std::vector<Prompt>& prompts) {
    const std::int64_t count = unusable_count(prompts);
    if (count == 0) return "";
    const Prompt& first =
        *std::ranges::find_if(prompts, [](const Prompt& prompt) { return !prompt.error.empty(); });
    return fmt::format("skips {} of {} prompts (prompts.on_error = \"skip\"); the first is {}: {}",
                       count_text(count), count_text(std::ssize(prompts)), first.place, first.error);
}

std::string JobPrompts::to_bytes() const {
    MessageWriter to;
    to.value(mean_prompt_tokens);
    to.value(inputs.size());
    for (const JobInput& input : inputs) {
        to.text(input.name);
        to.text(input.fingerprint);
    }
    to.value(prompts.size());
    for (const Prompt& prompt : prompts) write(to, prompt);
    return to.take();
}

JobPrompts JobPrompts::from_bytes(const std::string& bytes) {
    MessageReader from(bytes, "the list of prompts");
    JobPrompts all;
    all.mean_prompt_tokens = from.value<double>();
    all.inputs.resize(from.count(2 * sizeof(std::size_t)));
    for (JobInput& input : all.inputs) {
        input.name = from.text();
        input.fingerprint = from.text();
    }
    all.prompts.resize(from.count(least_prompt_bytes));
    for (Prompt& prompt : all.prompts) prompt = read_prompt(from);
    from.end();
    return all;
}

}  // namespace voltpile::llm
