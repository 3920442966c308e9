#include "command/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "command/outputs.h"
#include "command/placeholders.h"
#include "command/text_template.h"
#include "job/job_spec.h"
#include "job/named_texts.h"
#include "job/nearest.h"

namespace voltpile {
namespace command {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

constexpr const char* example = R"(app = "command"

[command]
argv = ["python3", "{job_folder}/oscillator.py", "--damping", "{damping}", "--drive", "{drive:.3f}"]
time_limit_s = 60                        # for one run

[[sweep]]
parameter = "damping"                    # the name in braces
from = 0.1
to = 1.0
count = 10
endpoint = true

[[sweep]]
parameter = "drive"
from = 0.0
to = 2.0
count = 5

[environment]
OMP_NUM_THREADS = "{core_count}"

[output.regex]                           # in what the program prints; the first group
amplitude = 'amplitude: (\S+) m'

[output.json]                            # in JSON that it prints at the end
energy = "/final/energy"

[output.unit]
amplitude = "m"
energy = "J"
)";

KeySpec words_key(std::string path, const char* otherwise, Texts choices, std::string help) {
    return {.path = std::move(path),
            .type = ValueType::Text,
            .default_value = Texts{otherwise},
            .choices = std::move(choices),
            .identity = false,
            .help = std::move(help)};
}

KeySpec seconds_key(std::string path, double otherwise, ValueRange range, std::string help) {
    return {.path = std::move(path),
            .unit = "s",
            .default_value = Reals{otherwise},
            .range = range,
            .identity = false,
            .help = std::move(help)};
}

KeySpec names_key(std::string path, Texts choices, std::string help) {
    return {.path = std::move(path),
            .type = ValueType::Text,
            .default_value = Texts{},
            .choices = std::move(choices),
            .help = std::move(help)};
}

std::vector<KeySpec> command_keys() {
    return {
        {.path = "command.argv",
         .type = ValueType::Text,
         .shape = {any_length},
         .sweepable = true,
         .help = "The program and its arguments, each a template: {x} is the value of the axis x; "
                 "docs/any_program.md lists the other names. There is no shell: write [\"sh\", \"-c\", "
                 "\"...\"] for one. PATH is searched."},
        {.path = "command.folder",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help =
             "The working folder, a template; it is made if it does not exist. Empty: the folder in which "
             "voltpile was started."},
        seconds_key("command.time_limit_s", kForever, {.min = 0, .max = kForever, .min_open = true},
                    "The longest time of one run. A run that takes longer is ended and counts as failed."),
        seconds_key(
            "command.stop_s", 10, {.min = 0, .max = 3600},
            "How long a program gets after SIGTERM before all of its processes are killed: when the job "
            "stops, and at the time limit."),
        seconds_key("command.expected_s", 10, {.min = 0, .max = 1e9, .min_open = true},
                    "How long one run takes, for estimates before the job has run."),
        words_key(
            "command.on_failure", "auto", {"auto", "record", "stop"},
            "What follows when a run ends with another exit code than 0, reaches the time limit, or lacks "
            "an output. record: its point says so, and the job goes on. stop: the job fails; nothing of "
            "the run is recorded, so that it is repeated when the job resumes. auto: record in a sweep, "
            "stop otherwise."),
        names_key(
            "environment.NAME", {},
            "Environment variables of the program, each a template. They replace those that voltpile sets "
            "and those of its own environment."),
        {.path = "output.json_file",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .help = "The file with the JSON for output.json, a template; relative to the working folder. It is "
                 "removed before each run. Empty: stdout, as a whole or its last line."},
        words_key(
            "output.logs", "all", {"all", "failed"},
            "Which runs keep what they have printed, below <result>.log/runs: all, or those that failed."),
        names_key(
            "output.regex.NAME", {},
            "A Perl-compatible regular expression for the field NAME: the first group of its last match in "
            "stdout, else in stderr. ^ and $ match at lines."),
        names_key("output.json.NAME", {},
                  "A JSON pointer for the field NAME, such as \"/final/energy\" or \"/layers/0/name\"."),
        names_key("output.type.NAME", {"real", "integer", "text"},
                  "The type of the field NAME; real if it is not set."),
        names_key("output.unit.NAME", {},
                  "The unit of the field NAME in UDUNITS' spelling; 1 if it is not set."),
    };
}

// A template with the key that holds it.
struct PlacedText {
    std::string key, text;
};

std::vector<PlacedText> all_templates(const JobSpec& job) {
    std::vector<PlacedText> all;
    const Texts& argv = job.texts("command.argv");
    for (std::size_t i = 0; i < argv.size(); ++i)
        all.push_back({fmt::format("command.argv[{}]", i), argv[i]});
    for (const auto& [name, text] : named_texts(job, "environment.NAME"))
        all.push_back({"environment." + name, text});
    for (const char* const key : {"command.folder", "output.json_file"}) all.push_back({key, job.text(key)});
    return all;
}

void check_template(const JobSpec& job, const PlacedText& placed, std::set<std::string>& used,
                    const ReportProblem& report) {
    const auto complain = [&](const std::string& what) {
        report(placed.key, fmt::format("{} = \"{}\": {}", placed.key, placed.text, what));
    };
    try {
        const TextTemplate text(placed.text);
        const TemplateValues values = sample_values(job);
        std::vector<std::string> known;
        for (const auto& [name, value] : values) known.push_back(name);
        bool sound = true;
        for (const std::string& name : text.names()) {
            used.insert(name);
            if (placed.key == "command.folder" && name == "folder") {
                sound = false;
                complain("{folder} is this folder itself");
            } else if (!values.contains(name)) {
                sound = false;
                complain(
                    fmt::format("{{{}}} is neither an axis of the sweep nor a name that every job has{}; "
                                "write {{{{ and }}}} for braces",
                                name, did_you_mean(nearest_word(name, known))));
            }
        }
        if (sound) static_cast<void>(text.fill(values));
    } catch (const JobError& error) {
        complain(error.what());
    }
}

void check_command(const JobSpec& job, const ReportProblem& report) {
    const Texts& argv = job.texts("command.argv");
    if (argv.empty() || argv.front().empty()) report("command.argv", "command.argv names no program");
    std::set<std::string> used;
    for (const PlacedText& placed : all_templates(job)) check_template(job, placed, used, report);
    const std::vector<std::string> taken = common_names();
    for (std::size_t i = 0; i < job.axes().size(); ++i) {
        const std::string& name = job.axes()[i].name;
        const std::string key = fmt::format("sweep[{}].parameter", i);
        if (std::ranges::find(taken, name) != taken.end())
            report(key,
                   fmt::format("an axis cannot be named \"{0}\": every job has a {{{0}}} of its own", name));
        else if (!used.contains(name))
            report(key,
                   fmt::format("no template uses {{{}}}, so every run of this axis would be the same", name));
    }
    check_outputs(job, report);
}

}  // namespace
}  // namespace command

AppSchema command_schema() {
    return {.name = "command",
            .summary =
                "Runs any program, once for each point of a sweep, and keeps what it reports: values by "
                "regular expression or from JSON, its exit code, its time and its output.",
            .keys = command::command_keys(),
            .example = command::example,
            .check = command::check_command};
}

}  // namespace voltpile
