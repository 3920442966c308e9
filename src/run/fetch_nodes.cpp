#include "run/fetch_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <utility>

#include "base/error.h"
#include "http/client.h"
#include "run/live_server.h"
#include "run/read_node_metrics.h"

namespace voltpile {
namespace {

constexpr std::chrono::milliseconds kPatienceWithNode{2000};

struct Answer {
    bool answers = false;
    NodeMetrics metrics;
};

Answer fetch_node(const http::Url& url, const std::string& address) {
    try {
        http::ClientSettings settings;
        settings.server = url;
        settings.silence_time = kPatienceWithNode;
        http::ClientRequest request;
        request.path = "/metrics";
        const http::Fetched got = http::fetch(settings, request);
        if (got.status != 200) throw CommError(fmt::format("the answer has status {}", got.status));
        return {true, read_node_metrics(got.body)};
    } catch (const Error& error) {
        Answer none;
        none.metrics.node.host = fmt::format("{}: {}", address, error.what());
        return none;
    }
}

std::vector<Answer> fetch_all(const std::vector<std::string>& addresses, double now_s) {
    std::vector<std::future<Answer>> asked;
    for (const std::string& address : addresses)
        asked.push_back(
            std::async(std::launch::async, fetch_node, http::Url::parse("http://" + address), address));
    std::vector<Answer> answers;
    for (std::future<Answer>& each : asked) {
        answers.push_back(each.get());
        NodeMetrics& metrics = answers.back().metrics;
        metrics.node.sample.time_s = metrics.job.time_s = now_s;
    }
    return answers;
}

}  // namespace

LiveStatus fetch_live_status(const std::vector<std::string>& addresses, double now_s) {
    for (const std::string& address : addresses)
        if (address.find(':') == address.npos)
            throw JobError(fmt::format("--nodes: {} has no port: name it as in node1:9400", address));
    LiveStatus status;
    bool some = false;
    for (auto& [answers, metrics] : fetch_all(addresses, now_s)) {
        some = some || answers;
        status.nodes.push_back(std::move(metrics.node));
        if (!metrics.job.ranks.empty()) status.jobs.push_back(std::move(metrics.job));
    }
    return some ? status : LiveStatus();
}

LiveStatus live_status_of(const std::filesystem::path& result, double now_s) {
    LiveStatus status = read_live_status(result);
    std::set<std::string> absent;
    for (const LiveJob& job : status.jobs)
        for (const auto& [host, address] : job.addresses)
            if (std::ranges::find(status.nodes, host, &LiveNode::host) == status.nodes.end())
                absent.insert(address);
    for (Answer& answer : fetch_all({absent.begin(), absent.end()}, now_s))
        status.nodes.push_back(std::move(answer.metrics.node));
    std::ranges::sort(status.nodes, {}, &LiveNode::host);
    return status.jobs.empty() && status.nodes.empty() ? read_live_server(result) : status;
}

}  // namespace voltpile
