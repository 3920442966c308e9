#include "results/telemetry_log.h"

#include <unistd.h>

#include <vector>

#include "base/build_info.h"
#include "results/hdf5/attribute.h"
#include "results/hdf5/content_checksum.h"
#include "results/hdf5/group_io.h"
#include "results/hdf5/handle.h"
#include "results/hdf5/telemetry_file.h"
#include "results/parts/durable_file.h"
#include "results/parts/part_listing.h"

namespace voltpile {
namespace {

void write_log(const std::string& path, const std::vector<NodeTelemetry>& nodes, std::int64_t tokens,
               std::int64_t prompt_tokens) {
    const Hdf5Guard guard;
    Hdf5File file = create_hdf5(path);
    write_telemetry(file.get(), nodes);
    write_integer(file.get(), "generatedTokens", tokens);
    write_integer(file.get(), "promptTokens", prompt_tokens);
    write_content_checksum(file.get());
    file.close(path);
}

}  // namespace

bool is_telemetry_log(const std::filesystem::path& file) {
    return file.string().ends_with(kTelemetryLogEnding);
}

std::filesystem::path telemetry_samples(const std::filesystem::path& file) {
    return follow_links(file).string() + ".samples";
}

TelemetryLog::TelemetryLog(const std::filesystem::path& file) {
    const std::filesystem::path samples = telemetry_samples(file);
    create_folders(samples);
    life_ = std::make_unique<ClaimedLife>(follow_links(file), samples, Shard{}, 0, [](const Life&) {});
}

TelemetryLog::~TelemetryLog() = default;

const Life& TelemetryLog::life() const {
    return life_->life();
}

bool TelemetryLog::finish(std::int64_t tokens, std::int64_t prompt_tokens) {
    const Life life = this->life();
    const std::vector<NodeTelemetry> nodes = read_telemetry(life.parts);
    if (!nodes.empty()) {
        const std::filesystem::path temporary = temporary_in(life, life.result.filename());
        try {
            write_log(temporary.string(), nodes, tokens, prompt_tokens);
        } catch (...) {
            discard_file(temporary);
            check_not_taken_over(life);
            throw;
        }
        publish_in(life, temporary, life.result);
    }
    remove_samples();
    return !nodes.empty();
}

void TelemetryLog::remove_samples() {
    const std::filesystem::path samples = life().parts;
    for (const std::filesystem::path& entry : list_folder(samples))
        if (is_telemetry(entry)) withdraw_in(life(), entry);
    life_.reset();
    ::rmdir(samples.c_str());  // another run may have begun in it
}

}  // namespace voltpile
