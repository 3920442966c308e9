#include "work/dispatch.h"

#include <algorithm>

#include "base/message_bytes.h"

namespace voltpile {
namespace {

constexpr const char* message_name = "a scheduler message";

}  // namespace

std::string RankReport::to_bytes() const {
    MessageWriter to;
    to.value(wanted);
    to.value(stop_requested);
    to.value(finished);
    to.value(progress);
    to.list(committed);
    to.value(gauges.size());
    for (const Gauge& gauge : gauges) {
        to.text(gauge.name);
        to.text(gauge.unit);
        to.value(gauge.kind);
        to.value(gauge.value);
    }
    to.value(memory);
    return to.take();
}

RankReport RankReport::from_bytes(const std::string& bytes) {
    MessageReader from(bytes, message_name);
    RankReport report;
    report.wanted = from.value<int>();
    report.stop_requested = from.value<bool>();
    report.finished = from.value<bool>();
    report.progress = from.value<RankProgress>();
    report.committed = from.list<WorkRange>();
    const std::size_t gauges = from.count(sizeof(double));
    for (std::size_t i = 0; i < gauges; ++i) {
        Gauge& gauge = report.gauges.emplace_back();
        gauge.name = from.text();
        gauge.unit = from.text();
        gauge.kind = from.value<Gauge::Kind>();
        gauge.value = from.value<double>();
    }
    report.memory = from.value<RankMemory>();
    return report;
}

std::string RankGrant::to_bytes() const {
    MessageWriter to;
    to.value(kind);
    to.value(range);
    return to.take();
}

RankGrant RankGrant::from_bytes(const std::string& bytes) {
    MessageReader from(bytes, message_name);
    RankGrant grant;
    grant.kind = from.value<Kind>();
    grant.range = from.value<WorkRange>();
    return grant;
}

std::optional<RankReport> DispatchClient::report(double now_s, bool stop_requested, bool finished) {
    if (finish_told_) return std::nullopt;
    RankReport report;
    if (!work_.closed()) report.wanted = std::max(0, depth_ - work_.queued() - outstanding_);
    report.committed = work_.take_committed();
    report.stop_requested = stop_requested && !stop_told_;
    report.finished = finished;
    const bool news = report.wanted > 0 || report.stop_requested || finished || !report.committed.empty();
    if (!news && now_s - last_report_s_ < quiet_s) return std::nullopt;
    report.progress = work_.progress();
    report.gauges = work_.gauges();
    report.memory = memory_;
    outstanding_ += report.wanted;
    last_report_s_ = now_s;
    stop_told_ = stop_told_ || report.stop_requested;
    finish_told_ = finished;
    return report;
}

void DispatchClient::receive(const RankGrant& grant) {
    switch (grant.kind) {
        case RankGrant::Kind::Range:
            --outstanding_;
            work_.offer(grant.range);
            break;
        case RankGrant::Kind::Close:
            work_.close();
            break;
        case RankGrant::Kind::Stop:
            work_.stop();
            break;
    }
}

DispatchServer::DispatchServer(WorkRange whole, const RangeSet& completed, std::vector<double> points_per_s,
                               RangeLimits limits)
    : whole_(whole),
      completed_(completed),
      policy_(completed.complement(whole), points_per_s, limits),
      progress_(points_per_s.size()),
      gauges_(points_per_s.size()),
      memory_(points_per_s.size()),
      first_grant_s_(points_per_s.size(), -1),
      finished_(points_per_s.size()) {}

void DispatchServer::receive(int rank, const RankReport& report, double now_s) {
    const auto index = static_cast<std::size_t>(rank);
    progress_[index] = report.progress;
    gauges_[index] = report.gauges;
    memory_[index] = report.memory;
    for (const WorkRange& range : report.committed) completed_.insert(range);
    if (!report.committed.empty() && first_grant_s_[index] >= 0)
        policy_.set_speed(rank,
                          static_cast<double>(report.progress.points) / (now_s - first_grant_s_[index]));
    if (report.finished) finished_[index] = true;
    if (report.stop_requested) stop();
    if (stopping_) return;  // its message is sent or queued
    for (int i = 0; i < report.wanted; ++i) {
        auto range = policy_.next(rank);
        if (!range) {
            replies_.push_back({rank, {RankGrant::Kind::Close, {}}});
            break;
        }
        if (first_grant_s_[index] < 0) first_grant_s_[index] = now_s;
        replies_.push_back({rank, {RankGrant::Kind::Range, *range}});
    }
}

void DispatchServer::stop() {
    if (stopping_) return;
    stopping_ = true;
    for (std::size_t rank = 0; rank < finished_.size(); ++rank)
        if (!finished_[rank]) replies_.push_back({static_cast<int>(rank), {RankGrant::Kind::Stop, {}}});
}

std::vector<std::pair<int, RankGrant>> DispatchServer::take_replies() {
    return std::exchange(replies_, {});
}

bool DispatchServer::all_finished() const {
    return std::all_of(finished_.begin(), finished_.end(), [](bool finished) { return finished; });
}

}  // namespace voltpile
