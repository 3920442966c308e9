#include "cluster/hosts/link_probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/host_name.h"
#include "cluster/hosts/agent_lines.h"
#include "comm/mpi/measure_links.h"
#include "comm/mpi/transport.h"

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void say(const json& step) {
    fmt::print("{}{}\n", answer_prefix, step.dump());
    std::fflush(stdout);
}

double number_in(const fs::path& path) {
    std::ifstream file(path);
    double value = 0;
    return file >> value ? value : 0;
}

// Returns the bytes that each network interface and RDMA device has sent since the host booted.
std::map<std::string, double> bytes_sent() {
    std::map<std::string, double> sent;
    std::error_code error;
    for (fs::directory_iterator it("/sys/class/net", error), end; !error && it != end; it.increment(error))
        if (it->path().filename() != "lo")
            sent[it->path().filename()] = number_in(it->path() / "statistics/tx_bytes");
    for (fs::directory_iterator it("/sys/class/infiniband", error), end; !error && it != end;
         it.increment(error))
        for (fs::directory_iterator port(it->path() / "ports", error), last; !error && port != last;
             port.increment(error))
            sent[it->path().filename()] +=
                4 * number_in(port->path() / "counters/port_xmit_data");  // counted in 4-byte words
    return sent;
}

// Returns the device that has sent the most bytes since `before`; empty if none has sent much.
std::string busiest(const std::map<std::string, double>& before) {
    std::string device;
    double most = 64e3;  // idle hosts send less
    for (const auto& [name, bytes] : bytes_sent()) {
        const auto earlier = before.find(name);
        const double grown = bytes - (earlier == before.end() ? 0 : earlier->second);
        if (grown > most) {
            most = grown;
            device = name;
        }
    }
    return device;
}

unsigned life_limit(int ranks, double seconds_per_pair) {
    const double pairs = ranks * (ranks - 1.0) / 2;
    return static_cast<unsigned>(60 + 10 * pairs * seconds_per_pair);
}

}  // namespace

void run_link_probe(const MpiSession& mpi, double seconds_per_pair) {
    const Communicator& world = mpi.world();
    alarm(life_limit(world.size(), seconds_per_pair));
    const auto before = bytes_sent();
    probe_links(mpi, {seconds_per_pair},
                {[](double hop) {
                     say({{"ring_us", hop}});
                 },
                 [](int a, int b) {
                     say({{"begin", {a, b}}});
                 },
                 [](int, int, double latency) {
                     say({{"latency_us", latency}});
                 },
                 [](int, int, double forth, double back) {
                     say({{"bytes_per_s", {forth, back}}});
                 }});
    const json mine = {
        {"hostname", host_name()}, {"transport", transport_text()}, {"device", busiest(before)}};
    json ends = json::array();
    for (const std::string& bytes : world.all_gather(mine.dump())) ends.push_back(json::parse(bytes));
    if (world.rank() == 0) say({{"ends", ends}});
}

}  // namespace voltpile
