#include "command/placeholders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

#include "command/visible_gpus.h"

namespace voltpile::command {
namespace {

std::string absolute_text(const std::filesystem::path& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

template <class Act>
void each_axis_value(const JobSpec& job, std::int64_t point, const Act& act) {
    for (const SweepAxis& axis : job.axes()) {
        act(axis.name, axis.value(point % axis.count));
        point /= axis.count;
    }
}

}  // namespace

std::vector<std::string> common_names() {
    return {"point", "job_folder", "result", "folder", "gpus", "gpu_count", "cores", "core_count", "nic"};
}

TemplateValues sample_values(const JobSpec& job) {
    TemplateValues values;
    for (const std::string& name : common_names()) values[name] = std::string("sample");
    for (const char* const name : {"point", "gpu_count", "core_count"}) values[name] = std::int64_t{1};
    each_axis_value(job, 0, [&](const std::string& name, double value) { values[name] = value; });
    return values;
}

std::string axes_text(const JobSpec& job, std::int64_t point) {
    std::vector<std::string> texts;
    each_axis_value(job, point, [&](const std::string& name, double value) {
        texts.push_back(fmt::format("{} = {}", name, value));
    });
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string job_folder(const JobSpec& job) {
    const std::string folder = std::filesystem::path(absolute_text(job.path())).parent_path().string();
    return folder.empty() ? "/" : folder;
}

TemplateValues values_of(const JobSpec& job, const RankContext& rank, std::int64_t point) {
    TemplateValues values;
    values["point"] = point;
    values["job_folder"] = job_folder(job);
    values["result"] = absolute_text(rank.result());
    const std::vector<int> pus = rank.pus();
    values["cores"] = fmt::format("{}", fmt::join(pus, ","));
    values["core_count"] = static_cast<std::int64_t>(pus.size());
    const std::vector<std::string> gpus = visible_gpus({rank.mine()});
    values["gpus"] = fmt::format("{}", fmt::join(gpus, ","));
    values["gpu_count"] = static_cast<std::int64_t>(gpus.size());
    const auto& nics = rank.plan().host_of(rank.mine()).nics;
    values["nic"] =
        rank.mine().nic < 0 ? std::string() : nics[static_cast<std::size_t>(rank.mine().nic)].name;
    each_axis_value(job, point, [&](const std::string& name, double value) { values[name] = value; });
    return values;
}

}  // namespace voltpile::command
