#include "llm/job/prompt_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/format.h"
#include "job/fingerprint.h"
#include "llm/job/prompt_line.h"

namespace voltpile::llm {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t most_named = 20;

std::string contents_of(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) throw JobError(path + ": a folder, not a file with prompts");
    std::ifstream file(path, std::ios::binary);
    if (!file) throw JobError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    std::string contents{std::istreambuf_iterator<char>(file), {}};
    if (file.bad()) throw JobError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return contents;
}

bool is_jsonl(const std::string& path, const std::string& format) {
    if (format != "auto") return format == "jsonl";
    const fs::path ending = fs::path(path).extension();
    return ending == ".jsonl" || ending == ".ndjson";
}

void add_lines(const std::string& path, std::string_view contents, bool jsonl, const PromptSettings& settings,
               std::vector<Prompt>& prompts) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (contents.starts_with(byte_order_mark)) contents.remove_prefix(byte_order_mark.size());
    for (int number = 1; !contents.empty(); ++number) {
        const auto end = std::min(contents.find('\n'), contents.size());
        std::string line(contents.substr(0, end));
        contents.remove_prefix(std::min(end + 1, contents.size()));
        if (line.ends_with('\r')) line.pop_back();
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        PromptSettings own = settings;
        own.sampling.seed += prompts.size();
        prompts.push_back((jsonl ? parse_json_line : parse_text_line)(line, own));
        prompts.back().place = fmt::format("{}:{}", path, number);
    }
}

// One list a prompt: small, and rows that are all alike.
json packed(const Prompt& prompt) {
    const SamplingSettings& s = prompt.settings.sampling;
    json messages = json::array();
    for (const ChatMessage& each : prompt.messages)
        messages.push_back(
            {static_cast<int>(each.role), json::binary({each.content.begin(), each.content.end()})});
    const auto bytes = [](const std::string& text) { return json::binary({text.begin(), text.end()}); };
    json stop = json::array();
    for (const std::string& each : prompt.settings.stop) stop.push_back(bytes(each));
    return {bytes(prompt.place),
            bytes(prompt.id),
            bytes(prompt.text),
            messages,
            prompt.settings.max_tokens,
            stop,
            {s.temperature, s.top_k, s.top_p, s.min_p, s.repetition_penalty, s.presence_penalty,
             s.frequency_penalty, s.seed},
            bytes(prompt.error)};
}

std::string text_in(const json& value) {
    const auto& bytes = value.get_binary();
    return {bytes.begin(), bytes.end()};
}

Prompt unpacked(const json& value) {
    Prompt prompt;
    prompt.place = text_in(value[0]);
    prompt.id = text_in(value[1]);
    prompt.text = text_in(value[2]);
    for (const json& each : value[3])
        prompt.messages.push_back({static_cast<ChatRole>(each[0].get<int>()), text_in(each[1])});
    prompt.settings.max_tokens = value[4];
    for (const json& each : value[5]) prompt.settings.stop.push_back(text_in(each));
    SamplingSettings& s = prompt.settings.sampling;
    const json& numbers = value[6];
    s.temperature = numbers[0];
    s.top_k = numbers[1];
    s.top_p = numbers[2];
    s.min_p = numbers[3];
    s.repetition_penalty = numbers[4];
    s.presence_penalty = numbers[5];
    s.frequency_penalty = numbers[6];
    s.seed = numbers[7];
    prompt.error = text_in(value[7]);
    return prompt;
}

}  // namespace

PromptSettings settings_of(const JobSpec& job) {
    const auto real = [&](const char* key) { return static_cast<float>(job.real(key)); };
    PromptSettings settings;
    SamplingSettings& sampling = settings.sampling;
    sampling.temperature = real("sampling.temperature");
    sampling.top_k = static_cast<int>(job.integer("sampling.top_k"));
    sampling.top_p = real("sampling.top_p");
    sampling.min_p = real("sampling.min_p");
    sampling.repetition_penalty = real("sampling.repetition_penalty");
    sampling.presence_penalty = real("sampling.presence_penalty");
    sampling.frequency_penalty = real("sampling.frequency_penalty");
    sampling.seed = static_cast<std::uint64_t>(job.integer("sampling.seed"));
    settings.max_tokens = static_cast<int>(job.integer("generate.max_tokens"));
    settings.stop = job.texts("generate.stop");
    return settings;
}

JobPrompts read_prompts(const JobSpec& job) {
    const PromptSettings settings = settings_of(job);
    JobPrompts all;
    for (const std::string& path : job.texts("prompts.files")) {
        const std::string contents = contents_of(path);
        const bool jsonl = is_jsonl(path, job.text("prompts.format"));
        add_lines(path, contents, jsonl, settings, all.prompts);
        all.inputs.push_back({path, hash_128((jsonl ? "jsonl\n" : "text\n") + contents)});
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

std::string JobPrompts::to_bytes() const {
    json all{{"mean", mean_prompt_tokens}, {"inputs", json::array()}, {"prompts", json::array()}};
    for (const JobInput& input : inputs)
        all["inputs"].push_back({json::binary({input.name.begin(), input.name.end()}), input.fingerprint});
    for (const Prompt& prompt : prompts) all["prompts"].push_back(packed(prompt));
    std::string bytes;
    json::to_cbor(all, nlohmann::detail::output_adapter<char>(bytes));
    return bytes;
}

JobPrompts JobPrompts::from_bytes(const std::string& bytes) {
    const json all = json::from_cbor(bytes);
    JobPrompts prompts;
    prompts.mean_prompt_tokens = all["mean"];
    for (const json& input : all["inputs"]) prompts.inputs.push_back({text_in(input[0]), input[1]});
    for (const json& prompt : all["prompts"]) prompts.prompts.push_back(unpacked(prompt));
    return prompts;
}

}  // namespace voltpile::llm
