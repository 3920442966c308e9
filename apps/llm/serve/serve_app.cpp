#include "llm/serve/serve_app.h"

#include <fmt/format.h>

#include <utility>

#include "base/format.h"
#include "job/key_place.h"
#include "llm/replica/same_model.h"
#include "llm/session/job_model.h"
#include "results/parts/durable_file.h"
#include "run/agreement.h"
#include "run/server_status.h"

namespace voltpile {
namespace {

llm::ServeOptions options_of(const JobSpec& job) {
    llm::ServeOptions options;
    for (const llm::ServeField& field : llm::kServeFields) {
        const std::string key = fmt::format("serve.{}", field.name);
        if (const auto* text = std::get_if<std::string llm::ServeOptions::*>(&field.member))
            options.** text = job.text(key);
        else if (const auto* number = std::get_if<int llm::ServeOptions::*>(&field.member))
            options.** number = static_cast<int>(job.integer(key));
        else if (const auto* on = std::get_if<bool llm::ServeOptions::*>(&field.member))
            options.** on = job.boolean(key);
        else
            options.*std::get<std::vector<std::string> llm::ServeOptions::*>(field.member) = job.texts(key);
    }
    if (options.address_file.empty()) options.address_file = usual_address_file(job.name()).string();
    return options;
}

}  // namespace

void ServeApp::prepare(const Communicator* world) {
    llm::ServeRequest request;
    request.model = llm::model_of_job(job_, world);
    request.draft = llm::draft_of_job(job_, world);
    request.options = options_of(job_);
    request.replica = llm::replica_request_of(job_);
    request.time_limit_s = job_.real("run.time_limit_s");
    request.watchdog = watchdog_deadlines(job_);
    request.place = [this](std::string_view field) {
        const std::string key = fmt::format("serve.{}", field);
        return fmt::format("{}: {}", place_of_key(job_, key), key);
    };
    server_ = std::make_unique<llm::ModelServer>(std::move(request), world);
    if (world) llm::check_same_model(*world, server_->model().source());
}

Workload ServeApp::workload() const {
    Workload work;
    work.unit = "tokens";
    work.flop_per_unit = llm::products_per_token(server_->model().source());
    work.fp64 = false;
    return work;
}

Plan ServeApp::plan(const PlanOptions& options, const Topology& topology) {
    planned_ = llm::plan_job_replica(job_, server_->model().source(), server_->replica(), options, topology,
                                     workload());
    const auto replicas = std::ssize(planned_->plan.teams.teams);
    const std::int64_t sequences = planned_->request.sequences;
    const std::int64_t tokens = std::int64_t{planned_->pages} * llm::kv_page_tokens;
    planned_->plan.notes.push_back(fmt::format(
        "answers at most {} requests at once, of at most {} tokens each and {} together; {} more may wait",
        count_text(replicas * sequences), count_text(planned_->request.context),
        count_text(replicas * tokens), count_text(server_->options().queue)));
    return planned_->plan;
}

double ServeApp::stop_seconds() const {
    return server_->options().grace + llm::kServeEndSeconds;
}

std::filesystem::path ServeApp::address_file() const {
    return server_->options().address_file;
}

ServedWork ServeApp::serve(const MpiSession& mpi, StopSignals& signals, NodeWatch* watch) {
    decide_on_root(mpi.world(), [&] {
        create_folders(address_file().parent_path());
        return std::string();
    });
    return server_->run(mpi, signals, std::move(planned_.value()), watch);
}

std::unique_ptr<Service> make_serve(const JobSpec& job) {
    return std::make_unique<ServeApp>(job);
}

}  // namespace voltpile
