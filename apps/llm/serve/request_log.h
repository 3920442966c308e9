// One line for each request that asks for text, and for each that is refused: for people or for programs.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace voltpile::llm {

enum class LogFormat { None, Text, Json };
inline constexpr std::array<std::string_view, 3> kLogFormatNames{"none", "text", "json"};

// Returns the format of this name, which must be one of these.
LogFormat log_format_named(std::string_view name);

// What is worth knowing of a request that has ended.
struct RequestRecord {
    std::string id;    // X-Request-Id; empty if the request was not read so far
    std::string peer;  // the client's address
    std::string key;   // the name or the number of its API key; empty: none
    std::string path;
    int status = 0;  // of the response; client_left if nobody took it
    int answers = 0;
    std::int64_t tokens_in = 0;
    std::int64_t cached_tokens = 0;  // of these, found in the KV cache
    std::int64_t tokens_out = 0;     // of all answers together
    double queue_s = 0;              // of the first answer: from arrival to admission,
    double first_token_s = 0;        // and to its first token; 0: none came
    double seconds = 0;              // from arrival to the end
    std::string finish;              // why the answers ended: "stop", "length"; empty if they did not
    std::string error;               // what the client was told
    std::string prompt;              // the body, only if prompts are logged
};

// The status of requests whose client left before the response was complete, as nginx logs it.
inline constexpr int client_left = 499;

// Returns the line, without its end. time: Unix time, s. Control characters are escaped, so that a record is
// one line whatever clients send.
std::string log_line(LogFormat format, const RequestRecord& record, double time);

class RequestLog {
  public:
    // prompts: records may have prompts. to: must outlive the log.
    RequestLog(LogFormat format, bool prompts, std::FILE* to);
    ~RequestLog();  // writes what is left

    bool wanted() const { return format_ != LogFormat::None; }
    bool prompts() const { return prompts_ && wanted(); }

    // Writes a line on a thread of its own. Never waits: if nobody reads, lines beyond a limit are lost, and
    // a line says how many. Thread-safe.
    void write(const RequestRecord& record);

  private:
    void run(const std::stop_token& stop);

    LogFormat format_;
    bool prompts_;
    std::FILE* to_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<std::string> lines_;  // not yet written
    std::int64_t lost_ = 0;
    std::jthread thread_;
};

}  // namespace voltpile::llm
