#include "job/job_help.h"

#include <fmt/format.h>

#include "job/key_table.h"
#include "job/text_wrap.h"

namespace voltpile {
namespace {

constexpr std::size_t columns = 100;

// "a real number; > 0; unit s; default 2.0; can be swept"
std::string properties(const KeySpec& spec) {
    auto text = describe_type(spec);
    const auto range = short_range(spec);
    if (!range.empty()) text += spec.type == ValueType::Text ? "; one of " + range : "; " + range;
    if (!spec.unit.empty()) text += "; unit " + spec.unit;
    text += spec.default_value ? "; default " + to_toml(*spec.default_value, spec.shape) : "; required";
    if (spec.sweepable) text += "; can be swept";
    return text;
}

std::string heading(const std::string& table) {
    if (table.empty()) return "At the top";
    return table == "sweep" ? "[[sweep]], once for each axis; the first varies fastest" : "[" + table + "]";
}

}  // namespace

std::string job_help(const AppSchema& app) {
    std::string text = fmt::format("Job files of the app {}\n{}\n", app.name, wrap(app.summary, columns, 0));
    const KeyTable keys(app);
    std::string table = "none yet";
    for (const auto& spec : keys.rows()) {
        if (table_of(spec.path) != table) {
            table = table_of(spec.path);
            text += "\n" + heading(table) + "\n";
        }
        const auto key = spec.path.substr(table.empty() ? 0 : table.size() + 1);
        text += fmt::format("  {}\n{}\n{}\n", key, wrap(properties(spec), columns, 6),
                            wrap(spec.help, columns, 6));
    }
    text +=
        fmt::format("\nAny key can be changed on the command line: --set run.device=cpu{}.\n\nExample\n\n",
                    app.sweeps ? ", --set sweep.x.count=100" : "");
    return text + app.example;
}

}  // namespace voltpile
