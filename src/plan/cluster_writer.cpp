#include "plan/cluster_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/toml_file.h"

namespace voltpile {
namespace {

// Writes the keys of one table.
class TableText {
  public:
    explicit TableText(std::string& text, const char* head) : text_(text) {
        text_ += fmt::format("\n{}\n", head);
    }
    void word(const char* key, const std::string& value) {
        text_ += fmt::format("{} = {}\n", key, toml_text(value));
    }
    void number(const char* key, double value) { text_ += fmt::format("{} = {}\n", key, value); }
    void known(const char* key, double value) {
        if (value > 0) number(key, value);
    }
    void raw(const char* key, const std::string& value) { text_ += fmt::format("{} = {}\n", key, value); }
    void link(const char* key, const PcieLink& link) {
        if (gb_per_s(link) > 0) word(key, fmt::format("{}.0 x{}", link.generation, link.lanes));
    }

  private:
    std::string& text_;
};

double gigabytes(std::int64_t bytes) {
    return static_cast<double>(bytes) / 1e9;
}

// Devices that stand in one table of a description.
template <class Device, class Same>
std::size_t run_length(const std::vector<Device>& all, std::size_t first, const Same& same) {
    std::size_t count = 1;
    while (first + count < all.size() && same(all[first], all[first + count])) ++count;
    return count;
}

void write_place(TableText& table, const Host& host, const std::vector<PciePlace>& places) {
    if (places.front().node >= 0) {
        std::vector<std::string> names;
        for (const PciePlace& place : places)
            names.push_back(toml_text(host.pcie[static_cast<std::size_t>(place.node)].name));
        const bool one = std::ranges::count(names, names.front()) == std::ssize(names);
        table.raw("under", one ? names.front() : fmt::format("[{}]", fmt::join(names, ", ")));
    }
    const PciePlace& place = places.front();
    // A description states links as they are when busy: the slower one of device and slot is not known here.
    const PcieLink link{std::max(place.link.generation, place.slot.generation), place.link.lanes};
    table.link("pcie", link);
    if (place.slot.lanes > place.link.lanes) table.link("slot", place.slot);
}

void write_pcie(std::string& text, const Host& host) {
    for (const PcieNode& node : host.pcie) {
        TableText table(text, node.is_root() ? "[[host.root]]" : "[[host.switch]]");
        table.word("name", node.name);
        if (node.is_root()) {
            table.number("socket", std::max(host.socket(node.numa_node), 0));
            if (std::ssize(host.socket_of_numa_node) > host.socket_of_numa_node.back() + 1)
                table.number("numa_node", std::max(node.numa_node, 0));
        } else {
            table.word("under", host.pcie[static_cast<std::size_t>(node.parent)].name);
            table.link("pcie", node.uplink);
        }
    }
}

// NVSwitches that connect nothing, such as those of a virtual machine with one GPU, are left out.
bool uses_nvswitch(const Host& host) {
    const auto linked = [](const std::vector<int>& row) {
        return std::ranges::any_of(row, [](int links) { return links > 0; });
    };
    return host.nvswitch && std::ranges::any_of(host.nvlinks, linked);
}

void write_gpus(std::string& text, const Host& host) {
    const auto same = [](const Gpu& a, const Gpu& b) {
        return a.name == b.name && a.memory_bytes == b.memory_bytes &&
               a.place.link.lanes == b.place.link.lanes && a.place.slot == b.place.slot &&
               (a.place.node < 0) == (b.place.node < 0);
    };
    for (std::size_t first = 0, count = 0; first < host.gpus.size(); first += count) {
        count = run_length(host.gpus, first, same);
        const Gpu& gpu = host.gpus[first];
        TableText table(text, "[[host.gpu]]");
        table.number("count", static_cast<double>(count));
        table.word("name", gpu.name);
        table.number("compute_capability", gpu.compute_capability);
        table.number("multiprocessors", gpu.multiprocessors);
        table.number("clock_ghz", gpu.clock_ghz);
        table.number("memory_gb", gigabytes(gpu.memory_bytes));
        table.known("memory_gb_per_s", gpu.memory_gb_per_s);
        table.known("watts", gpu.watts);
        std::vector<PciePlace> places;
        for (std::size_t g = first; g < first + count; ++g) places.push_back(host.gpus[g].place);
        write_place(table, host, places);
        if (uses_nvswitch(host) && count > 1) {
            table.number("nvlink_island", static_cast<double>(count));
            table.number("nvlinks", host.nvlinks[first][first + 1]);
        }
    }
}

void write_nics(std::string& text, const Host& host) {
    for (const Nic& nic : host.nics) {
        TableText table(text, "[[host.nic]]");
        table.word("name", nic.name);
        table.raw("rdma", nic.rdma ? "true" : "false");
        table.number("gbit_per_s", nic.gbit_per_s > 0 ? nic.gbit_per_s : 1);
        write_place(table, host, {nic.place});
    }
}

void write_nvlinks(std::string& text, const Host& host) {
    if (host.nvswitch) return;
    for (std::size_t a = 0; a < host.nvlinks.size(); ++a)
        for (std::size_t b = a + 1; b < host.nvlinks.size(); ++b) {
            if (host.nvlinks[a][b] == 0) continue;
            TableText table(text, "[[host.nvlink]]");
            table.raw("between", fmt::format("[{}, {}]", a, b));
            table.number("links", host.nvlinks[a][b]);
        }
}

}  // namespace

std::string cluster_text(const Host& original) {
    Host host = original;
    if (host.socket_of_numa_node.empty()) {
        int most = 0;
        for (const Core& core : host.cores) most = std::max(most, core.numa_node);
        for (int node = 0; node <= most; ++node) host.socket_of_numa_node.push_back(node);
    }
    const int sockets = host.socket_of_numa_node.back() + 1;
    const auto nodes = static_cast<int>(host.socket_of_numa_node.size());
    std::string text = "# Written by voltpile topo --save. docs/machines.md describes the format.\n";
    TableText table(text, "[[host]]");
    table.word("name", host.name);
    table.number("count", 1);
    table.word("cpu", host.cpu_name);
    table.number("cpu_ghz", host.cpu_ghz);
    table.number("simd_bits", host.simd_bits);
    table.number("sockets", sockets);
    table.number("cores_per_socket", std::max(static_cast<int>(host.cores.size()) / sockets, 1));
    if (nodes > sockets) table.number("numa_per_socket", nodes / sockets);
    table.number("memory_gb", gigabytes(host.memory_bytes));
    table.known("memory_gb_per_s", host.memory_gb_per_s);
    table.known("watts", host.watts);
    if (uses_nvswitch(host)) table.raw("nvswitch", "true");
    write_pcie(text, host);
    write_gpus(text, host);
    write_nics(text, host);
    write_nvlinks(text, host);
    return text;
}

}  // namespace voltpile
