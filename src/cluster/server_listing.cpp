#include "cluster/server_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cluster/status.h"

namespace voltpile {

namespace fs = std::filesystem;

std::optional<FoundServer> server_of_file(const fs::path& path) {
    if (path.extension() != ".json") return std::nullopt;
    const fs::path address_file = fs::path(path).replace_extension();
    if (path != server_status_path(address_file)) return std::nullopt;
    auto status = read_server_status(path);
    if (!status) return std::nullopt;
    return FoundServer{address_file, std::move(*status)};
}

std::string server_table(const std::vector<FoundServer>& servers) {
    if (servers.empty()) return "";
    std::size_t width = std::string_view("server").size();
    for (const FoundServer& each : servers) width = std::max(width, each.status.address.size());
    std::size_t load_width = std::string_view("load").size();
    for (const FoundServer& each : servers)
        load_width = std::max(load_width, server_load_text(each.status).size());
    std::string text = fmt::format("{:<{}}  {:<{}}  address file\n", "server", width, "load", load_width);
    for (const FoundServer& each : servers)
        text += fmt::format("{:<{}}  {:<{}}  {}\n", each.status.address, width, server_load_text(each.status),
                            load_width, each.address_file.string());
    return text;
}

}  // namespace voltpile
