#include "comm/collective/cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace voltpile {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kernels_version = 4;  // raise it when a change of the kernels changes their times

json to_json(const CollectiveCacheKey& key) {
    return {{"gpu", key.gpu},     {"driver", key.driver}, {"nccl", key.nccl},
            {"ranks", key.ranks}, {"links", key.links},   {"kernels", kernels_version}};
}

}  // namespace

fs::path cache_file(const fs::path& folder, const CollectiveCacheKey& key) {
    std::string name = fmt::format("collectives-{}-x{}-{}", key.gpu, key.ranks, key.links);
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
    return folder / (name + ".json");
}

std::string to_json(const CollectiveCacheKey& key, const CollectiveTable& table) {
    json document{{"key", to_json(key)}};
    for (int i = 0; i < collective_count; ++i) {
        json& ways = document[std::string(name_of(static_cast<Collective>(i)))];
        for (const CollectiveWay& way : table.ways[static_cast<std::size_t>(i)]) ways.push_back(to_text(way));
    }
    return document.dump(1);
}

std::optional<CollectiveTable> table_from_json(const std::string& text, const CollectiveCacheKey& key) {
    try {
        const json document = json::parse(text);
        if (document.at("key") != to_json(key)) return std::nullopt;
        CollectiveTable table;
        for (int i = 0; i < collective_count; ++i) {
            const auto collective = static_cast<Collective>(i);
            const json& ways = document.at(std::string(name_of(collective)));
            if (ways.size() != CollectiveTable::classes) return std::nullopt;
            const auto possible =
                possible_ways(collective, key.ranks, !key.nccl.empty(), key.links != "none");
            for (std::size_t c = 0; c < ways.size(); ++c) {
                const auto way = way_from_text(ways[c].get<std::string>());
                if (!way || std::find(possible.begin(), possible.end(), *way) == possible.end())
                    return std::nullopt;
                table.ways[static_cast<std::size_t>(i)][c] = *way;
            }
        }
        return table;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

std::optional<CollectiveTable> load_table(const fs::path& file, const CollectiveCacheKey& key) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return in ? table_from_json(text.str(), key) : std::nullopt;
}

bool save_table(const fs::path& file, const CollectiveCacheKey& key, const CollectiveTable& table) {
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    const fs::path temporary = fmt::format("{}.{}.tmp", file.string(), getpid());
    bool written = false;
    {
        std::ofstream out(temporary);
        out << to_json(key, table) << '\n';
        out.close();
        written = !out.fail();
    }
    if (written) fs::rename(temporary, file, error);
    if (!written || error) {
        std::error_code ignored;
        fs::remove(temporary, ignored);
        return false;
    }
    return true;
}

}  // namespace voltpile
