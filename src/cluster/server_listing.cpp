#include "cluster/server_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "cluster/status.h"

namespace voltpile {

namespace fs = std::filesystem;

std::vector<FoundServer> find_servers(const fs::path& folder) {
    std::vector<FoundServer> found;
    std::error_code error;
    constexpr auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(folder, options, error), end; !error && it != end;
         it.increment(error)) {
        const fs::path path = it->path();
        std::error_code gone;
        const fs::file_status status = it->symlink_status(gone);
        if (fs::is_directory(status) && path.filename().string().starts_with("."))
            it.disable_recursion_pending();
        if (!fs::is_regular_file(status) || path.extension() != ".json") continue;
        const fs::path address_file = fs::path(path).replace_extension();
        if (path != server_status_path(address_file)) continue;
        if (auto server = read_server_status(path)) found.push_back({address_file, std::move(*server)});
    }
    std::ranges::sort(found, {}, &FoundServer::address_file);
    return found;
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
