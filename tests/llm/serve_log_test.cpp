// The lines that serve logs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "llm/serve/request_log.h"

namespace voltpile::llm {
namespace {

using nlohmann::json;

constexpr double noon = 1764072000.125;  // 2025-11-25 12:00:00.125 UTC

RequestRecord answered() {
    RequestRecord record;
    record.id = "r-1";
    record.peer = "127.0.0.1";
    record.key = "lab";
    record.path = "/v1/completions";
    record.status = 200;
    record.answers = 1;
    record.tokens_in = 12;
    record.cached_tokens = 8;
    record.tokens_out = 34;
    record.queue_s = 0.5;
    record.first_token_s = 0.75;
    record.seconds = 2;
    record.finish = "length";
    return record;
}

TEST(RequestLog, JsonHasEveryField) {
    const json line = json::parse(log_line(LogFormat::Json, answered(), noon));
    EXPECT_EQ(line, json::parse(R"({"time":"2025-11-25T12:00:00.125Z","id":"r-1","peer":"127.0.0.1",
        "key":"lab","path":"/v1/completions","status":200,"answers":1,"tokens_in":12,"cached_tokens":8,
        "tokens_out":34,"queue_seconds":0.5,"first_token_seconds":0.75,"seconds":2.0,"finish":"length"})"));
}

TEST(RequestLog, RefusedRequestsHaveNoCounts) {
    RequestRecord record;
    record.status = 404;
    record.error = "there is no /x";
    const json line = json::parse(log_line(LogFormat::Json, record, noon));
    EXPECT_EQ(line,
              json::parse(R"({"time":"2025-11-25T12:00:00.125Z","status":404,"error":"there is no /x"})"));
    EXPECT_EQ(log_line(LogFormat::Text, record, noon),
              "2025-11-25T12:00:00.125Z - - - - 404, error \"there is no /x\"");
}

TEST(RequestLog, TextIsForPeople) {
    EXPECT_EQ(log_line(LogFormat::Text, answered(), noon),
              "2025-11-25T12:00:00.125Z r-1 127.0.0.1 lab /v1/completions 200 in 12 (8 cached), out 34, "
              "queue 0.500 s, first token 0.750 s, took 2.000 s, length");
}

TEST(RequestLog, StaysOneLineOfUtf8WhateverClientsSend) {
    RequestRecord record = answered();
    record.path = "/a\nb\x1b[31m";
    record.error = "bad \xff\n\"byte\"";
    record.prompt = "{\"prompt\": \"\xE5\xAD\x97\r\n\"}";
    for (const LogFormat format : {LogFormat::Json, LogFormat::Text}) {
        const std::string line = log_line(format, record, noon);
        for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
        EXPECT_NE(line.find("\xE5\xAD\x97"), std::string::npos);
    }
    EXPECT_EQ(json::parse(log_line(LogFormat::Json, record, noon))["error"], "bad ?\n\"byte\"");
}

TEST(RequestLog, WritesEveryLineBeforeItEnds) {
    std::FILE* const file = std::tmpfile();
    {
        RequestLog log(LogFormat::Json, false, file);
        EXPECT_TRUE(log.wanted());
        EXPECT_FALSE(log.prompts());
        for (int i = 0; i < 500; ++i) log.write(answered());
    }
    std::rewind(file);
    int lines = 0;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) lines += c == '\n' ? 1 : 0;
    EXPECT_EQ(lines, 500);
    std::fclose(file);
    RequestLog none(LogFormat::None, true, stdout);
    EXPECT_FALSE(none.wanted() || none.prompts());
}

}  // namespace
}  // namespace voltpile::llm
