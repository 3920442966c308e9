#include "command/instance_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/message_bytes.h"
#include "comm/mpi/message_tags.h"
#include "command/checkpoint.h"
#include "command/instances.h"
#include "command/meeting_place.h"
#include "command/placeholders.h"
#include "command/resources.h"
#include "work/range_set.h"

namespace voltpile::command {

// What rank 0 tells the others.
struct InstanceRun::Order {
    bool go = false;  // false: nothing is to be run
    double begin_s = 0;
    MeetingPlace meeting;

    std::string to_bytes() const {
        MessageWriter to;
        to.value(go);
        to.value(begin_s);
        to.text(meeting.address);
        to.value(meeting.port);
        return to.take();
    }
    static Order from_bytes(const std::string& bytes) {
        MessageReader from(bytes, "the order of an instance");
        Order order;
        order.go = from.value<bool>();
        order.begin_s = from.value<double>();
        order.meeting.address = from.text();
        order.meeting.port = from.value<std::int64_t>();
        return order;
    }
};

InstanceRun::InstanceRun(const JobSpec& job, const RankContext& rank, const Communicator& ranks,
                         ProgramRunner& runner)
    : job_(job),
      rank_(rank),
      ranks_(ranks),
      runner_(runner),
      per_instance_(has_instances(spread_of(job))),
      runs_(instance_ranks(spread_of(job), rank.plan())),
      records_(runs_.size()),
      known_(runs_.size()) {}

RunOrder InstanceRun::order_of(const Order& order) const {
    const Plan& plan = rank_.plan();
    const int rank = rank_.world_rank();
    RunOrder run;
    run.name = name_of(rank);
    run.resources = spread_of(job_) == Spread::Rank
                        ? resources_of_rank(plan, rank)
                        : resources_of_node(plan, rank, job_.integer("run.threads") > 0);
    run.values = values_of(job_, run.resources, rank_.result(), 0);
    add_instance_values(run.values, job_, plan, rank, order.meeting);
    run.begin_s = order.begin_s;
    run.needs_outputs = !per_instance_;
    run.shows_progress = rank == 0;
    return run;
}

InstanceRun::Order InstanceRun::start(bool go) {
    Order order{go, 0, {}};
    if (go) {
        order.begin_s = begin_of_job(rank_.result());
        order.meeting.address = rank_.plan().topology.hosts.size() == 1
                                    ? "127.0.0.1"
                                    : network_of_this_host(job_.text("cluster.network")).address;
        order.meeting.port = free_port();
    }
    for (std::size_t i = 1; i < runs_.size(); ++i) ranks_.send(runs_[i], kInstanceOrderTag, order.to_bytes());
    return order;
}

void InstanceRun::lead(WorkScheduler& work, ResultWriter& results) {
    RangeSet wanted;
    while (const auto range = work.next()) wanted.insert(*range);
    const WorkRange all_of_them{0, std::ssize(runs_)};
    const bool go = !work.stopping() && wanted.contains(all_of_them);
    // Their records are committed together, so there is never a part of them, unless the job stops already.
    if (!go && !wanted.empty() && !work.stopping())
        throw std::logic_error("the instances of a job are not divided");
    const Order order = start(go);
    if (!go) return;
    auto own = runner_.run(order_of(order), work, [this] {
        receive();
        return failed_.has_value();
    });
    if (own) own->host = rank_.plan().host_of(rank_.mine()).name;
    note(0, std::move(own));
    while (!all_known()) {
        receive();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const bool stopped = std::ranges::any_of(records_, [](const auto& record) { return !record; });
    if (!stopped && !failed_) require_outputs();
    end_others();
    if (stopped) return;
    drop_log(*records_.front(), keep_logs_);
    if (failed_) {
        const std::string text = failure_text(*failed_);
        if (job_.text("command.on_failure") != "record") fail_job(job_, *records_[*failed_], text);
        spdlog::warn("{}", text);
    }
    // All at once, so that a result never has records of two attempts.
    std::vector<RunRecord> all;
    for (auto& record : records_) all.push_back(std::move(*record));
    results.submit({0, std::ssize(all)}, to_buffers(all, per_instance_));
}

void InstanceRun::follow(WorkScheduler& work) {
    if (std::ranges::find(runs_, rank_.world_rank()) == runs_.end()) return;
    const Order order = Order::from_bytes(ranks_.wait_for(kInstanceOrderTag).bytes);
    if (!order.go) return;
    std::optional<Message> end;
    auto record = runner_.run(order_of(order), work, [&] {
        end = ranks_.poll(kInstanceEndTag);
        return end.has_value();
    });
    if (record) record->host = rank_.plan().host_of(rank_.mine()).name;
    ranks_.send(0, kInstanceRecordTag, record ? to_bytes(*record) : std::string());
    if (!end) end = ranks_.wait_for(kInstanceEndTag);
    if (record) drop_log(*record, !end->bytes.empty());
}

// Only rank 0 knows whether an instance that ended well was one of a job that lacks outputs.
void InstanceRun::drop_log(const RunRecord& record, bool keep) {
    if (per_instance_ && !keep && record.problem.empty()) runner_.drop_log(name_of(rank_.world_rank()));
}

std::string InstanceRun::name_of(int rank) const {
    // A single instance has the logs of point 0, as it always had.
    if (!per_instance_) return "point-0";
    return fmt::format("instance-{}", std::ranges::find(runs_, rank) - runs_.begin());
}

void InstanceRun::receive() {
    while (const auto message = ranks_.poll(kInstanceRecordTag)) {
        const auto instance = std::ranges::find(runs_, message->from) - runs_.begin();
        std::optional<RunRecord> record;
        if (!message->bytes.empty()) record = run_record_from(message->bytes);
        note(static_cast<std::size_t>(instance), std::move(record));
    }
}

void InstanceRun::note(std::size_t instance, std::optional<RunRecord> record) {
    known_[instance] = true;
    records_[instance] = std::move(record);
    if (failed_ || !records_[instance] || records_[instance]->problem.empty()) return;
    failed_ = instance;
    end_others();
}

// Each of the others waits for this message once.
void InstanceRun::end_others() {
    if (std::exchange(told_end_, true)) return;
    for (std::size_t i = 1; i < runs_.size(); ++i)
        ranks_.send(runs_[i], kInstanceEndTag, keep_logs_ ? "keep" : "");
}

// One of the instances must have printed all outputs.
void InstanceRun::require_outputs() {
    if (std::ranges::any_of(records_, [](const auto& record) { return record->missing.empty(); })) return;
    RunRecord& first = *records_.front();
    first.outcome = Outcome::NoOutput;
    first.problem = first.missing;
    failed_ = 0;
    keep_logs_ = true;
}

bool InstanceRun::all_known() const {
    return std::ranges::all_of(known_, [](bool known) { return known; });
}

std::string InstanceRun::failure_text(std::size_t instance) const {
    const RunRecord& record = *records_[instance];
    if (!per_instance_)
        return fmt::format("point 0: {}; see {} and .err", record.problem,
                           runner_.log_of(name_of(0)).string());
    const char* const others = runs_.size() == 1 ? ""
                               : record.outcome == Outcome::NoOutput
                                   ? ", and no other has printed all outputs"
                                   : ", and the others were ended";
    return fmt::format("instance {} on {} (rank {}): {}{}; see {} and .err there", instance, record.host,
                       runs_[instance], record.problem, others,
                       runner_.log_of(name_of(runs_[instance])).string());
}

}  // namespace voltpile::command
