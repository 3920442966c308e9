#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

#include "comm/mpi/transport.h"
#include "device/device.h"
#include "job/power_keys.h"
#include "machine/gpu_snapshot.h"
#include "plan/fit.h"
#include "plan/power_plan.h"
#include "results/admission.h"
#include "run/agreement.h"
#include "run/discover_topology.h"
#include "run/pci_places.h"
#include "run/refined_loop.h"
#include "run/runner.h"

namespace voltpile {
namespace {

std::vector<AppSchema> schemas_of(std::span<const AppEntry> apps) {
    std::vector<AppSchema> schemas;
    for (const AppEntry& entry : apps) schemas.push_back(entry.schema);
    return schemas;
}

const AppEntry& entry_of(const JobSpec& job, std::span<const AppEntry> apps) {
    for (const AppEntry& entry : apps)
        if (entry.schema.name == job.app()) return entry;
    throw JobError("no app " + job.app());  // validation has refused unknown apps by now
}

OpenedJob make_job(JobSpec spec, std::span<const AppEntry> apps) {
    const AppEntry& entry = entry_of(spec, apps);
    OpenedJob job{std::move(spec), nullptr, nullptr};
    if (entry.make_service)
        job.service = entry.make_service(job.spec);
    else
        job.app = entry.make(job.spec);
    if (job.app) check_refinement(job.spec, job.app->fields());
    return job;
}

// Throws JobError for an option that the app cannot follow: about the result of a job that has none, or about
// a part of one that cannot be divided.
void refuse_options(const OpenedJob& job, const RunOptions& options) {
    if (job.app) {
        if (!options.shard.is_whole()) job.app->refuse_shards();
        if (!options.shard.is_whole() && job.spec.refinement())
            throw JobError(
                fmt::format("{}: --shard cannot divide a job with [refine]: its levels build on each other",
                            job.spec.path()));
        return;
    }
    const std::pair<bool, const char*> given[] = {{!options.output.empty(), "--output"},
                                                  {options.fresh, "--fresh"},
                                                  {!options.shard.is_whole(), "--shard"},
                                                  {!options.jsonl.empty(), "--jsonl"},
                                                  {options.take_over, "--take-over"}};
    for (const auto& [is_given, name] : given)
        if (is_given)
            throw JobError(
                fmt::format("{}: {} is for jobs with a result; the app {} has none: it serves until "
                            "it is stopped",
                            job.spec.path(), name, job.spec.app()));
}

PlanOptions plan_options(const JobSpec& job) {
    PlanOptions options;
    const std::string& device = job.text("run.device");
    options.device = device == "cpu"   ? DeviceChoice::Cpu
                     : device == "gpu" ? DeviceChoice::Gpu
                                       : DeviceChoice::Auto;
    options.threads = static_cast<int>(job.integer("run.threads"));
    options.range_seconds = job.real("run.range_seconds");
    options.ranks_per_node = static_cast<int>(job.integer("cluster.ranks_per_node"));
    return options;
}

Plan make_plan_of(PlannedApp& app, const JobSpec& spec, const Topology& topology) {
    const Workload work = app.workload();
    if (work.bytes_per_point > 0 &&
        work.points > std::numeric_limits<std::int64_t>::max() / work.bytes_per_point)
        throw JobError(fmt::format("{}: {} points of {} bytes each are more than any file can hold",
                                   spec.path(), work.points, work.bytes_per_point));
    Plan plan = app.plan(plan_options(spec), topology);
    check_memory(plan, spec.axes());
    for (std::string& warning : app.warnings()) plan.warnings.push_back(std::move(warning));
    add_power(plan, power_request(spec));
    if (spec.refinement()) plan.notes.push_back(refined_bounds_text(spec, plan));
    return plan;
}

// Returns the RDMA port next to the GPU that this process will drive, judged before MPI starts: the plan
// gives the GPUs of a host to its ranks in their order. Empty: UCX chooses.
std::string rdma_port_of_this_rank() {
    if (active_rdma_ports().size() < 2) return "";  // spares starting CUDA
    for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"}) {
        const char* value = std::getenv(name);
        if (!value) continue;
        const int local_rank = std::atoi(value), gpus = device_count();
        const int device = gpus == 1 ? 0 : local_rank;  // the batch system may show each rank one GPU
        if (local_rank < 0 || device >= gpus) return "";
        return nearest_rdma_port(plain_bus_id(device_info(device).pci_bus_id), local_rank);
    }
    return "";
}

void apply_transport(const TransportRequest& request) {
    Settings settings = transport_settings(request, network_interfaces(), active_rdma_ports());
    if (request.transport != Transport::Tcp && request.device.empty()) {
        const std::string port = rdma_port_of_this_rank();
        if (!port.empty()) settings.emplace("UCX_NET_DEVICES", port);
    }
    apply(settings);
}

JobSpec load(const RunOptions& options, std::span<const AppSchema> schemas) {
    return options.job_text ? parse_job(*options.job_text, options.job_path, options.overrides, schemas)
                            : load_job(options.job_path, options.overrides, schemas);
}

TransportRequest transport_asked_for(std::span<const AppEntry> apps, const RunOptions& options) {
    if (!options.job_text && is_piped_job(options.job_path)) return {};  // the first rank has read it
    try {
        const JobSpec job = load(options, schemas_of(apps));
        const std::string& transport = job.text("cluster.transport");
        return {transport == "tcp"   ? Transport::Tcp
                : transport == "ucx" ? Transport::Ucx
                                     : Transport::Auto,
                job.text("cluster.network")};
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

PlannedApp& OpenedJob::planned() const {
    return app ? static_cast<PlannedApp&>(*app) : *service;
}

bool is_piped_job(const std::string& path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
           !std::filesystem::is_directory(status);
}

std::filesystem::path result_path(const RunOptions& options, const JobSpec& spec) {
    if (!options.output.empty()) return options.output;
    return std::filesystem::path("results") / (spec.name() + ".h5");
}

void choose_transport(std::span<const AppEntry> apps, const RunOptions& options) {
    apply_transport(transport_asked_for(apps, options));
}

void choose_usual_transport() {
    apply_transport({});
}

OpenedJob open_job(const Communicator& world, std::span<const AppEntry> apps, const RunOptions& options) {
    // Rank 0 reads the file. The others get its text, so they need not see the file.
    const std::vector<AppSchema> schemas = schemas_of(apps);
    const std::string text = decide_on_root(world, [&] {
        // Each rank chooses its transport by the job file before MPI starts.
        if (options.job_text && world.size() > 1)
            throw JobError(options.job_path +
                           ": several ranks cannot read a piped job file: save it as a file");
        return load(options, schemas).text();
    });
    JobSpec spec = agreed([&] { return parse_job(text, options.job_path, options.overrides, schemas); });
    OpenedJob job = agreed([&] {
        OpenedJob made = make_job(std::move(spec), apps);
        refuse_options(made, options);
        return made;
    });
    job.planned().prepare(&world);
    return job;
}

std::string check_place_and_room(const Communicator& world, const OpenedJob& job, const RunOptions& options) {
    if (job.service) return "";
    return decide_on_root(world, [&] {
        const ResultLayout layout = job.app->layout(job.spec);
        ResultSituation found = look_at_result(result_path(options, job.spec), {});
        if (decide(found, layout, {}).verdict == Admission::Verdict::Complete) return std::string();
        found.file = {};
        found.owner.reset();
        decide(found, layout, {}).throw_if_refused();
        return room_text(found, layout, {});
    });
}

PreparedJob plan_job(const Communicator& world, OpenedJob job) {
    const Topology topology = discover_topology(world);
    Plan plan = agreed([&] { return make_plan_of(job.planned(), job.spec, topology); });
    return {std::move(job), std::move(plan)};
}

DescribedJob::DescribedJob(std::span<const AppEntry> apps, const RunOptions& options)
    : opened_(make_job(load_job(options.job_path, options.overrides, schemas_of(apps)), apps)) {
    refuse_options(opened_, options);
    opened_.planned().prepare(nullptr);
}

Plan DescribedJob::plan(const Topology& topology) const {
    return make_plan_of(opened_.planned(), opened_.spec, topology);
}

}  // namespace voltpile
