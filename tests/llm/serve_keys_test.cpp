#include "llm/serve/serve_keys.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "job/job_spec.h"
#include "llm/serve/serve_fields.h"

namespace voltpile::llm {
namespace {

JobSpec serve_job(const std::string& more, const std::vector<std::string>& overrides = {}) {
    const std::vector<AppSchema> apps{serve_schema()};
    return parse_job("app = \"serve\"\n[model]\nsynthetic = \"tiny\"\n" + more, "job.toml", overrides, apps);
}

std::string problem_of(const std::string& more) {
    try {
        serve_job(more);
        return "";
    } catch (const JobError& error) {
        return error.what();
    }
}

TEST(ServeKeys, HaveTheDefaultsOfTheOptions) {
    const JobSpec job = serve_job("");
    const ServeOptions defaults;
    EXPECT_EQ(job.text("serve.host"), "127.0.0.1");
    EXPECT_EQ(job.integer("serve.port"), 8000);
    for (const ServeField& field : kServeFields) {
        const std::string key = "serve." + std::string(field.name);
        if (const auto* number = std::get_if<int ServeOptions::*>(&field.member))
            EXPECT_EQ(job.integer(key), defaults.**number) << key;
        else if (const auto* text = std::get_if<std::string ServeOptions::*>(&field.member))
            EXPECT_EQ(job.text(key), defaults.**text) << key;
        else if (const auto* on = std::get_if<bool ServeOptions::*>(&field.member))
            EXPECT_EQ(job.boolean(key), defaults.**on) << key;
        else
            EXPECT_TRUE(job.texts(key).empty()) << key;
    }
}

TEST(ServeKeys, AreCheckedWithTheirLine) {
    EXPECT_EQ(problem_of("[serve]\nprot = 1\n"),
              "job.toml:5: unknown key serve.prot; did you mean serve.port?");
    EXPECT_EQ(problem_of("[serve]\nport = 65536\n"),
              "job.toml:5: serve.port = 65536: must be at least 0 and at most 65535");
    EXPECT_EQ(problem_of("[serve]\ntls_cert = \"a\"\n"), "job.toml:5: serve.tls_cert needs serve.tls_key");
    EXPECT_EQ(problem_of("[serve]\nhost = \"\"\n"),
              "job.toml:5: serve.host is empty: name an address, or leave it out");
    EXPECT_EQ(problem_of("[prompts]\nfiles = [\"a\"]\n"), "job.toml:4: unknown table [prompts]");
    EXPECT_EQ(problem_of("[run]\nrange_points = 3\n"),
              "job.toml:5: run.range_points: a server computes no ranges");
    EXPECT_EQ(
        problem_of("[engine]\ncontext = 512\ncache_tokens = 100\n"),
        "job.toml:6: engine.cache_tokens = 100 is too small for one sequence of 512 tokens (engine.context)");
}

TEST(ServeKeys, DoNotIdentifyTheJob) {
    EXPECT_EQ(serve_job("").fingerprint(),
              serve_job("[serve]\nport = 1\nname = \"a\"\n[engine]\nsequences = 3\n").fingerprint());
}

}  // namespace
}  // namespace voltpile::llm
