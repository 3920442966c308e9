#include "job/job_help.h"

#include <fmt/format.h>

#include "job/key_table.h"
#include "job/key_words.h"

namespace voltpile {
namespace {

constexpr std::size_t kHelpColumns = 100;

constexpr const char* introduction = R"(# Job files

A job file describes a computation. `voltpile run JOB.toml` runs it, `voltpile plan JOB.toml` estimates time and memory, and
`voltpile help job APP` prints the keys below in the terminal. Job files are written in [TOML](https://toml.io):
`key = value` under a `[table]`; `#` starts a comment.

This page is generated from the table of keys that also validates job files.

## Structure of a job file

`app = "..."` at the top names the app that runs the job. The tables that follow set the keys of that app. Each `[[sweep]]`
adds an axis: the app computes every point of the grid that the axes span. A job without `[[sweep]]` has a single point.

```toml
[[sweep]]
parameter = "position[0].x"    # x of the first position, in full "system.position[0].x"
name = "x"
from = -20.0
to = 20.0
count = 1000                   # points; here at -20, -19.96, ..., 19.96
endpoint = false               # true: the last point is at 20
```

- There may be any number of axes; the first varies fastest. The value at point i is `from + (to - from) * i / n`, with
  n = `count`, or `count - 1` with `endpoint = true`. It replaces the value of the swept key.
- A parameter is one number: `"G"`, `"mass[1]"`, `"position[0].x"` (the same as `"position[0][0]"`), `"integrate.dt"`. Indices
  start at 0. The table may be omitted if only one table has the key.
- Integers are accepted for real numbers, but not the reverse. `inf` is accepted only if the range below includes it, `nan`
  never.

`[frames]` makes a movie of a sweep: see [movies](movies.md). `[refine]` leaves points out where a picture is smooth: see
[refined grids](refine.md).

## Changing keys on the command line

`--set key=value` overrides the file. It may be repeated; the last one wins.

```sh
voltpile run job.toml --set integrate.steps=5000                  # a key
voltpile run job.toml --set integrate.method=rk4                  # strings need no quotes
voltpile run job.toml --set 'system.mass=[1, 2, 3]'               # a list
voltpile run job.toml --set 'system.position[0].x=3'              # one number of a list
voltpile run job.toml --set sweep.x.count=100                     # a key of the axis named x
```

## Mistakes

The whole job file is validated before anything is computed. All problems are reported at once, each with its file and line
(and column, for syntax errors) or with its `--set`. The exit code is 2:

```
jobs/x.toml:9: unknown key integrate.stpes; did you mean integrate.steps?
jobs/x.toml:14: system.mass[1] = 0.0: must be greater than 0
--set integrate.method=eulr: integrate.method = "eulr": must be one of euler, leapfrog, yoshida4, srkn6, rk4, rkn8, gbs10; did you mean "euler"?
```

## Which changes make a different job

An unfinished job resumes only if it is the same job: the same app, the same axes and the same values of all keys that affect
the result, given or default. Comments, the order of keys, the spelling of numbers and the tables `[run]`, `[power]` and `[check]` do not matter.
)";

std::string code(const std::string& text) {
    return text.empty() ? "" : "`" + text + "`";
}

// Escapes bars, which would end a cell of a Markdown table.
std::string cell(const std::string& text) {
    std::string result;
    for (const char c : text) {
        if (c == '|') result += '\\';
        result += c;
    }
    return result;
}

std::string row(const KeySpec& spec) {
    const auto key = spec.path.substr(spec.path.rfind('.') + 1);  // npos + 1 is 0
    auto range = short_range(spec);
    if (spec.type == ValueType::Text && !range.empty()) range = "one of " + range;
    const auto default_value = has_any_name(spec)   ? "any names"
                               : spec.default_value ? code(to_toml(*spec.default_value, spec.shape))
                                                    : "required";
    auto text = fmt::format("| `{}` | {} | {} | {} | {} | {}", key, describe_type(spec), spec.unit,
                            default_value, range, cell(spec.help));
    if (spec.sweepable) text += " Can be swept.";
    return text + " |\n";
}

std::string tables(const std::vector<KeySpec>& rows, const std::string& heading_level) {
    std::string text;
    std::string table = "none yet";
    for (const auto& spec : rows) {
        if (table_of(spec.path) != table) {
            table = table_of(spec.path);
            const auto name = table.empty()          ? "At the top"
                              : is_table_list(table) ? "`[[" + table + "]]`"
                                                     : "`[" + table + "]`";
            text += fmt::format(
                "\n{} {}\n\n| key | type | unit | default | range | |\n|---|---|---|---|---|---|\n",
                heading_level, name);
        }
        text += row(spec);
    }
    return text;
}

}  // namespace

std::string wrap(std::string_view text, std::size_t columns, std::size_t indentation) {
    std::string result;
    std::size_t column = 0;
    while (!text.empty()) {
        const auto end = text.find(' ');
        const auto word = text.substr(0, end);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (word.empty()) continue;
        if (column > 0 && column + 1 + word.size() <= columns) {
            result += ' ';
            ++column;
        } else {
            if (column > 0) result += '\n';
            result.append(indentation, ' ');
            column = indentation;
        }
        result += word;
        column += word.size();
    }
    return result;
}

std::string job_help(const AppSchema& app) {
    std::string text =
        fmt::format("Job files of the app {}\n{}\n", app.name, wrap(app.summary, kHelpColumns, 0));
    const KeyTable keys(app);
    std::string table = "none yet";
    for (const auto& spec : keys.rows()) {
        if (table_of(spec.path) != table) {
            table = table_of(spec.path);
            text += "\n" + describe_table(table) + "\n";
        }
        const auto key = spec.path.substr(table.empty() ? 0 : table.size() + 1);
        text += fmt::format("  {}\n{}\n{}\n", key, wrap(describe_key(spec), kHelpColumns, 6),
                            wrap(spec.help, kHelpColumns, 6));
    }
    text +=
        fmt::format("\nAny key can be changed on the command line: --set run.device=cpu{}.\n\nExample\n\n",
                    app.sweeps ? ", --set sweep.x.count=100" : "");
    return text + app.example;
}

std::string job_file_markdown(std::span<const AppSchema> apps) {
    std::string text = introduction;
    text += "\n## Keys of every app\n" + tables(common_keys(), "###");
    for (const auto& app : apps)
        text += fmt::format("\n## App `{}`\n\n{}\n{}\n### Example\n\n```toml\n{}```\n", app.name, app.summary,
                            tables(app.keys, "###"), app.example);
    return text;
}

}  // namespace voltpile
