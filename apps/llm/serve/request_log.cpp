#include "llm/serve/request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/unix_time.h"
#include "llm/serve/event_text.h"
#include "llm/tokenizer/utf8.h"

namespace voltpile::llm {
namespace {

constexpr std::size_t most_waiting_lines = 10'000;

// "2026-11-22T17:04:05.123Z"
std::string time_text(double time) {
    const auto milliseconds = static_cast<std::int64_t>(std::floor(time * 1e3));
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                       fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)), milliseconds % 1000);
}

// Of JSON, which must be UTF-8 whatever the client sent.
std::string json_of_text(const std::string& text) {
    if (!find_invalid_utf8(text)) return json_text(text);
    std::string plain;
    for (const char c : text) plain += static_cast<unsigned char>(c) < 0x80 ? c : '?';
    return json_text(plain);
}

std::string json_line(const RequestRecord& record, double time) {
    std::string line = fmt::format("{{\"time\":\"{}\"", time_text(time));
    const auto text = [&](const char* name, const std::string& value) {
        if (!value.empty()) fmt::format_to(std::back_inserter(line), ",\"{}\":{}", name, json_of_text(value));
    };
    text("id", record.id);
    text("peer", record.peer);
    text("key", record.key);
    text("path", record.path);
    fmt::format_to(std::back_inserter(line), ",\"status\":{}", record.status);
    if (record.answers > 0) {
        fmt::format_to(std::back_inserter(line),
                       ",\"answers\":{},\"tokens_in\":{},\"cached_tokens\":{},\"tokens_out\":{},"
                       "\"queue_seconds\":{:.6f}",
                       record.answers, record.tokens_in, record.cached_tokens, record.tokens_out,
                       record.queue_s);
        if (record.first_token_s > 0)
            fmt::format_to(std::back_inserter(line), ",\"first_token_seconds\":{:.6f}", record.first_token_s);
        fmt::format_to(std::back_inserter(line), ",\"seconds\":{:.6f}", record.seconds);
    }
    text("finish", record.finish);
    text("error", record.error);
    text("prompt", record.prompt);
    return line + "}";
}

std::string text_line(const RequestRecord& record, double time) {
    const auto known = [](const std::string& value) {
        const bool plain = std::ranges::all_of(value, [](char c) { return c > ' ' && c < 0x7f; });
        return value.empty() ? "-" : plain ? value : json_of_text(value);
    };
    std::string line = fmt::format("{} {} {} {} {} {}", time_text(time), known(record.id), known(record.peer),
                                   known(record.key), known(record.path), record.status);
    if (record.answers > 0)
        fmt::format_to(std::back_inserter(line),
                       " in {} ({} cached), out {}, queue {:.3f} s, first token {:.3f} s, took {:.3f} s",
                       record.tokens_in, record.cached_tokens, record.tokens_out, record.queue_s,
                       record.first_token_s, record.seconds);
    if (!record.finish.empty()) line += ", " + record.finish;
    const auto quoted = [&](const char* name, const std::string& value) {
        if (!value.empty()) fmt::format_to(std::back_inserter(line), ", {} {}", name, json_of_text(value));
    };
    quoted("error", record.error);
    quoted("prompt", record.prompt);
    return line;
}

}  // namespace

LogFormat log_format_named(std::string_view name) {
    return static_cast<LogFormat>(std::ranges::find(kLogFormatNames, name) - kLogFormatNames.begin());
}

std::string log_line(LogFormat format, const RequestRecord& record, double time) {
    return format == LogFormat::Json ? json_line(record, time) : text_line(record, time);
}

RequestLog::RequestLog(LogFormat format, bool prompts, std::FILE* to)
    : format_(format), prompts_(prompts), to_(to) {
    if (wanted()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

RequestLog::~RequestLog() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
}

void RequestLog::write(const RequestRecord& record) {
    if (!wanted()) return;
    const std::string line = log_line(format_, record, unix_time()) + "\n";
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= most_waiting_lines)
        ++lost_;
    else
        lines_.push_back(line);
    changed_.notify_one();
}

void RequestLog::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !lines_.empty(); }) || !lines_.empty()) {
        std::vector<std::string> lines = std::exchange(lines_, {});
        if (const std::int64_t lost = std::exchange(lost_, 0); lost > 0) {
            RequestRecord gap;
            gap.error = fmt::format("{} lines were lost because nobody read them", lost);
            lines.push_back(log_line(format_, gap, unix_time()) + "\n");
        }
        lock.unlock();
        for (const std::string& line : lines) std::fwrite(line.data(), 1, line.size(), to_);
        std::fflush(to_);
        lock.lock();
    }
}

}  // namespace voltpile::llm
