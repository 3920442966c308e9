#include "command/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "command/checkpoint.h"
#include "command/instances.h"
#include "command/outputs.h"
#include "command/placeholders.h"
#include "command/progress_patterns.h"
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
        {.path = "command.instances",
         .type = ValueType::Text,
         .default_value = Texts{"auto"},
         .choices = {"auto", "allocation", "node", "rank"},
         .identity_default = false,
         .help =
             "How often the program runs in a job without a sweep. allocation: once, on the first rank, with "
             "all cores and GPUs of its node. node: once on each node, at the same time. rank: once on each "
             "rank, at the same time. If one instance fails, the others are ended. auto: allocation; in a "
             "sweep the program runs once for each point."},
        {.path = "command.folder",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help =
             "The working folder, a template; it is made if it does not exist. Empty: the folder in which "
             "voltpile was started."},
        {.path = "command.stage",
         .type = ValueType::Text,
         .shape = {any_length},
         .default_value = Texts{},
         .identity_default = false,
         .help = "Files that rank 0 reads and that are written to each working folder before the program "
                 "begins, also on nodes that do not see them: patterns of the shell, templates with "
                 "{job_folder}. At most 1 GiB together."},
        {.path = "command.checkpoint",
         .type = ValueType::Text,
         .default_value = Texts{""},
         .identity = false,
         .help = "A pattern of the shell for the checkpoints of the program, a template; relative to the "
                 "working folder. If one exists that is not older than the job, the program starts with "
                 "command.resume_argv. In a sweep {point} or every axis must be in it or in command.folder."},
        {.path = "command.resume_argv",
         .type = ValueType::Text,
         .shape = {any_length},
         .default_value = Texts{},
         .identity = false,
         .help =
             "Arguments that are added if there is a checkpoint, templates; {checkpoint} is the path of the "
             "newest."},
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
        {.path = "progress.NAME",
         .type = ValueType::Text,
         .default_value = Texts{},
         .identity = false,
         .help =
             "A Perl-compatible regular expression for a number that the progress line shows as NAME: the "
             "first group of its last match in what the program prints. A second group is the total: "
             "'step (\\d+)/(\\d+)'."},
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
        {.path = "output.most_log_bytes",
         .unit = "byte",
         .default_value = Reals{1e10},
         .range = {.min = 1, .max = kForever},
         .identity = false,
         .help = "The most that one run may print, stdout and stderr together. A run that prints more is "
                 "ended and "
                 "counts as failed, so that it does not fill the disk."},
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
    for (const char* const list : {"command.resume_argv", "command.stage"}) {
        const Texts& texts = job.texts(list);
        for (std::size_t i = 0; i < texts.size(); ++i)
            all.push_back({fmt::format("{}[{}]", list, i), texts[i]});
    }
    for (const char* const key : {"command.folder", "command.checkpoint", "output.json_file"})
        all.push_back({key, job.text(key)});
    return all;
}

bool is_instance_name(const std::string& name) {
    const std::vector<std::string> names = instance_names();
    return std::ranges::find(names, name) != names.end();
}

void check_instances(const JobSpec& job, const ReportProblem& report) {
    if (!job.axes().empty() && job.text("command.instances") != "auto")
        report(
            "command.instances",
            fmt::format("command.instances = \"{}\": in a sweep the program runs once for each point: leave "
                        "this key or [[sweep]] out",
                        job.text("command.instances")));
    if (has_instances(spread_of(job)))
        for (const char* const table : {"regex", "json"})
            for (const auto& [name, text] : named_texts(job, fmt::format("output.{}.NAME", table)))
                if (name == "host" || name == "instance")
                    report(fmt::format("output.{}.{}", table, name),
                           fmt::format("output.{}.{}: the result has \"{}\" already: choose another name",
                                       table, name, name));
    if (job.text("command.checkpoint").empty() != job.texts("command.resume_argv").empty())
        report(job.text("command.checkpoint").empty() ? "command.resume_argv" : "command.checkpoint",
               "command.checkpoint and command.resume_argv belong together: set both or none");
}

void check_template(const JobSpec& job, const PlacedText& placed, std::set<std::string>& used,
                    const ReportProblem& report) {
    const auto complain = [&](const std::string& what) {
        report(placed.key, fmt::format("{} = \"{}\": {}", placed.key, placed.text, what));
    };
    try {
        const TextTemplate text(placed.text);
        TemplateValues values = sample_values(job);
        if (placed.key.starts_with("command.resume_argv")) values["checkpoint"] = std::string("sample");
        if (placed.key.starts_with("command.stage")) values = {{"job_folder", std::string("sample")}};
        std::vector<std::string> known;
        for (const auto& [name, value] : values) known.push_back(name);
        bool sound = true;
        for (const std::string& name : text.names()) {
            used.insert(name);
            if (placed.key == "command.folder" && name == "folder") {
                sound = false;
                complain("{folder} is this folder itself");
            } else if (!values.contains(name) && is_instance_name(name)) {
                sound = false;
                complain(fmt::format("{{{}}} is for jobs without a sweep", name));
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
    check_instances(job, report);
    check_checkpoints(job, report);
    check_progress_patterns(job, report);
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
