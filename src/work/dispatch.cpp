#include "work/dispatch.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace voltpile {
namespace {

// All ranks run the same binary on the same kind of machine, so plain bytes will do.
template <class T>
void append(std::string& bytes, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(const std::string& bytes, std::size_t& at) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (at + sizeof(T) > bytes.size())
        throw CommError("a scheduler message is too short: do all ranks run the same program?");
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return value;
}

void append_text(std::string& bytes, const std::string& text) {
    append(bytes, text.size());
    bytes += text;
}

std::string take_text(const std::string& bytes, std::size_t& at) {
    const auto size = take<std::size_t>(bytes, at);
    if (size > bytes.size() - at) throw CommError("a scheduler message is too short");
    at += size;
    return bytes.substr(at - size, size);
}

}  // namespace

std::string RankReport::to_bytes() const {
    std::string bytes;
    append(bytes, wanted);
    append(bytes, stop_requested);
    append(bytes, finished);
    append(bytes, progress);
    append(bytes, committed.size());
    for (const WorkRange& range : committed) append(bytes, range);
    append(bytes, gauges.size());
    for (const Gauge& gauge : gauges) {
        append_text(bytes, gauge.name);
        append_text(bytes, gauge.unit);
        append(bytes, gauge.kind);
        append(bytes, gauge.value);
    }
    return bytes;
}

RankReport RankReport::from_bytes(const std::string& bytes) {
    RankReport report;
    std::size_t at = 0;
    report.wanted = take<int>(bytes, at);
    report.stop_requested = take<bool>(bytes, at);
    report.finished = take<bool>(bytes, at);
    report.progress = take<RankProgress>(bytes, at);
    const auto count = take<std::size_t>(bytes, at);
    for (std::size_t i = 0; i < count; ++i) report.committed.push_back(take<WorkRange>(bytes, at));
    const auto gauges = take<std::size_t>(bytes, at);
    for (std::size_t i = 0; i < gauges; ++i) {
        Gauge gauge;
        gauge.name = take_text(bytes, at);
        gauge.unit = take_text(bytes, at);
        gauge.kind = take<Gauge::Kind>(bytes, at);
        gauge.value = take<double>(bytes, at);
        report.gauges.push_back(std::move(gauge));
    }
    return report;
}

std::string RankGrant::to_bytes() const {
    std::string bytes;
    append(bytes, kind);
    append(bytes, range);
    return bytes;
}

RankGrant RankGrant::from_bytes(const std::string& bytes) {
    std::size_t at = 0;
    RankGrant grant;
    grant.kind = take<Kind>(bytes, at);
    grant.range = take<WorkRange>(bytes, at);
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
      first_grant_s_(points_per_s.size(), -1),
      finished_(points_per_s.size()) {}

void DispatchServer::receive(int rank, const RankReport& report, double now_s) {
    const auto index = static_cast<std::size_t>(rank);
    progress_[index] = report.progress;
    gauges_[index] = report.gauges;
    for (const WorkRange& range : report.committed) completed_.insert(range);
    if (!report.committed.empty() && first_grant_s_[index] >= 0)
        policy_.set_speed(rank,
                          static_cast<double>(report.progress.points) / (now_s - first_grant_s_[index]));
    if (report.finished) finished_[index] = true;
    if (report.stop_requested) stop();
    if (stopping_) return;  // it has been told, or is about to be
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
