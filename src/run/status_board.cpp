#include "run/status_board.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <utility>

#include "base/error.h"
#include "base/host_name.h"
#include "http/metric_writer.h"
#include "run/live_server.h"
#include "run/node_metrics.h"

namespace voltpile {
namespace {

constexpr std::chrono::seconds kShowPeriod{1};

// Where other hosts can ask each node, if the nodes listen on all interfaces.
std::map<std::string, std::string> addresses_of_nodes(const TelemetryRequest& request,
                                                      const Topology& topology) {
    std::map<std::string, std::string> addresses;
    const std::string& host = request.host;
    if (request.port == 0 || (host != "0.0.0.0" && host != "::")) return addresses;
    for (const auto& each : topology.hosts)
        addresses[each.name] = fmt::format("{}:{}", each.name, request.port);
    return addresses;
}

}  // namespace

StatusBoard::StatusBoard(int rank, const PreparedJob& job, const Life& life, NodeMonitor* monitor)
    : life_(life) {
    if (monitor) watch_ = monitor->watch();
    const TelemetryRequest request = telemetry_request(job.spec);
    if (watch_) addresses_ = addresses_of_nodes(request, job.plan.topology);
    listen(request);
    if (rank == 0 || watch_) thread_ = std::jthread([this](const std::stop_token& stop) { show(stop); });
}

StatusBoard::StatusBoard(const TelemetryRequest& request, std::filesystem::path address_file,
                         NodeMonitor* monitor)
    : address_file_(std::move(address_file)) {
    if (monitor) watch_ = monitor->watch();
    listen(request);
    if (watch_ && !address_file_.empty())
        thread_ = std::jthread([this](const std::stop_token& stop) { show(stop); });
}

StatusBoard::~StatusBoard() {
    server_.reset();  // its handlers use the rest
    thread_ = {};
    if (watch_ && !life_ && !address_file_.empty()) remove_server_node(address_file_, host_name());
}

void StatusBoard::set(LiveJob job) {
    job.addresses = addresses_;
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
}

LiveNode StatusBoard::node() const {
    return {host_name(), watch_->latest()};
}

std::string StatusBoard::metrics() const {
    const LiveNode now = node();
    const std::lock_guard lock(mutex_);
    return node_metrics(now, job_);
}

void StatusBoard::listen(const TelemetryRequest& request) {
    if (!watch_ || request.port == 0) return;
    http::Router router;
    router.add("GET", "/metrics", [this](const http::Request&, http::Reply reply) {
        http::Response response;
        response.content_type = http::kMetricsType;
        response.body = metrics();
        reply.send(std::move(response));
    });
    http::ServerSettings settings;
    settings.host = request.host;
    settings.port = request.port;
    settings.connections = 64;
    try {
        server_ = std::make_unique<http::Server>(std::move(settings), std::move(router));
    } catch (const Error& error) {
        spdlog::warn("telemetry.port: {}; the job runs without metrics of {}", error.what(), host_name());
    }
}

void StatusBoard::write_node() const {
    if (life_)
        write_live_node(*life_, node());
    else
        write_server_node(address_file_, node());
}

// A folder that cannot be written to, or that another run has taken over, shows nothing; the job finds out by
// itself.
void StatusBoard::show(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!never.wait_for(lock, stop, kShowPeriod, [&] { return stop.stop_requested(); })) {
        try {
            if (watch_) write_node();
            LiveJob job;
            {
                const std::lock_guard own(mutex_);
                job = job_;
            }
            if (!job.line.empty()) write_live_job(*life_, job);
        } catch (const FileError&) {
            continue;
        }
    }
}

}  // namespace voltpile
