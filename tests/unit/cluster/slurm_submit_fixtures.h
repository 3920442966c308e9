// Fictional clusters, a job and its plan, for tests of submission.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cluster/slurm/submit_plan.h"
#include "unit/job/bowl_schema.h"

namespace voltpile::testing {

inline SlurmNode make_node(const std::string& name, int cores, int gpus = 0,
                           const std::string& type = "v100") {
    SlurmNode node;
    node.name = name;
    node.state = "IDLE";
    node.sockets = 2;
    node.cores = cores;
    node.memory_mb = 100'000;
    if (gpus > 0) node.gpus = {{type, gpus, {}}};
    node.partitions = {"main"};
    return node;
}

inline SlurmMachine make_machine(std::vector<SlurmNode> nodes) {
    SlurmMachine machine;
    machine.nodes = std::move(nodes);
    SlurmPartition main;
    main.name = "main";
    main.is_default = true;
    main.state = "UP";
    main.max_time_s = HUGE_VAL;
    main.max_nodes = std::numeric_limits<std::int64_t>::max();
    main.max_cpus_per_node = std::numeric_limits<std::int64_t>::max();
    machine.partitions = {main};
    machine.max_array_size = 1001;
    return machine;
}

// Three T181-G20 nodes: two sockets with 20 cores of two threads each, four V100.
inline SlurmMachine t181_cluster() {
    std::vector<SlurmNode> nodes;
    for (const char* name : {"t181-1", "t181-2", "t181-3"}) {
        nodes.push_back(make_node(name, 40, 4));
        nodes.back().cpus_per_core = 2;
    }
    return make_machine(nodes);
}

inline JobSpec job_with(const std::string& run_keys, int points = 1000) {
    return parse_bowl(bowl_job + axis("bowl.depth", "1", "2", std::to_string(points)) + "[run]\n" + run_keys);
}

// Plans the published map's workload, scaled by a factor, with the job's keys.
inline Planner planner_for(const JobSpec& job, double size = 1) {
    Workload work;
    work.unit = "pair-steps";
    work.units_per_point = 50'000 * size;
    work.flop_per_unit = 139;
    work.points = 1'000'000;
    work.bytes_per_point = 4;
    PlanOptions options;
    const std::string device = job.text("run.device");
    options.device = device == "cpu"   ? DeviceChoice::Cpu
                     : device == "gpu" ? DeviceChoice::Gpu
                                       : DeviceChoice::Auto;
    options.threads = static_cast<int>(job.integer("run.threads"));
    options.range_seconds = job.real("run.range_seconds");
    return [work, options](const Topology& topology) { return make_plan(work, options, topology); };
}

inline SubmitPlan plan_for(const SubmitRequest& request, const SlurmMachine& machine,
                           const std::string& run_keys = "", double size = 1) {
    const JobSpec job = job_with(run_keys);
    return plan_submission(request, job, {job.point_count()}, machine, {}, planner_for(job, size));
}

}  // namespace voltpile::testing
