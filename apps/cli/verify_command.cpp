#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/format.h"
#include "cli/command.h"
#include "results/telemetry_log.h"
#include "results/verify.h"
#include "results/verify_telemetry.h"

namespace voltpile::cli {
namespace {

struct VerifyOptions {
    std::string file;
    bool parts = false, json = false;
};

std::string verification_text(const std::string& file, const Verification& found) {
    std::string text =
        fmt::format("{}: {} of {} intact", file, count_text(found.intact.size()), points_text(found.points));
    if (found.computed) text += fmt::format("; {} of them computed", count_text(*found.computed));
    if (!found.has_checksums) text += "; no checksums, so the values were only read";
    if (!found.finished && found.ok()) text += "; the job is unfinished, and the same command resumes it";
    return text + "\n";
}

nlohmann::json damage_json(const std::vector<Damage>& all) {
    nlohmann::json damage = nlohmann::json::array();
    for (const Damage& each : all) {
        nlohmann::json& entry = damage.emplace_back();
        entry = {{"where", each.where}, {"problem", each.problem}};
        if (!each.points.empty()) {
            entry["begin"] = each.points.begin;
            entry["end"] = each.points.end;
        }
    }
    return damage;
}

nlohmann::json verification_json(const std::string& file, const Verification& found) {
    nlohmann::json intact = nlohmann::json::array();
    for (const WorkRange& range : found.intact.ranges())
        intact.push_back(nlohmann::json::array({range.begin, range.end}));
    return {{"file", file},           {"finished", found.finished}, {"checksums", found.has_checksums},
            {"points", found.points}, {"intact", intact},           {"damage", damage_json(found.damage)}};
}

void print_json(const nlohmann::json& object) {
    fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

[[noreturn]] void throw_damage(const std::string& file, const std::vector<Damage>& damage) {
    std::vector<std::string> problems;
    for (const Damage& each : damage) problems.push_back(naming_result(file, each.problem));
    throw Error(ExitCode::Failed, fmt::format("{}", fmt::join(problems, "\n")));
}

ExitCode verify_server(const std::string& file, bool as_json) {
    const TelemetryVerification found = verify_telemetry(file);
    if (as_json) {
        print_json({{"file", file}, {"samples", found.samples}, {"damage", damage_json(found.damage)}});
        return found.ok() ? ExitCode::Done : ExitCode::Failed;
    }
    if (!found.ok()) throw_damage(file, found.damage);
    fmt::print("{}: {} samples of telemetry intact\n", file, count_text(found.samples));
    return ExitCode::Done;
}

ExitCode verify(const VerifyOptions& options) {
    const std::string& file = options.file;
    if (!options.parts && is_telemetry_log(file)) return verify_server(file, options.json);
    const Verification found = options.parts ? verify_parts_of(file) : verify_result(file);
    if (options.json) {
        print_json(verification_json(file, found));
        return found.ok() ? ExitCode::Done : ExitCode::Failed;
    }
    if (found.points > 0) fmt::print("{}", verification_text(file, found));
    if (!found.ok()) throw_damage(file, found.damage);
    return ExitCode::Done;
}

}  // namespace

void add_verify(CLI::App& cli, Action& action) {
    CLI::App* command =
        cli.add_subcommand("verify", "read every byte of a result and compare it with its checksums");
    auto options = std::make_shared<VerifyOptions>();
    command
        ->add_option("FILE", options->file, "result file (.h5), finished or not, or a server's .telemetry.h5")
        ->required()
        ->check(some_result());
    command->add_flag("--parts", options->parts, "verify the part folder, even beside a finished result");
    command->add_flag("--json", options->json, "print what was found as JSON");
    command->footer(
        "Changes nothing, and may be used while a run is writing. Exit code 0: all computed values are "
        "intact;\n"
        "4: some are damaged, and stderr has a line for each dataset and its points, or for each part;\n"
        "2: there is no such result. `voltpile repair` repairs what can be repaired.\n"
        "example: voltpile verify results/seed_map.h5");
    command->callback([options, &action] {
        action = on_first_rank([options](const Invocation&) { return verify(*options); });
    });
}

}  // namespace voltpile::cli
