// top: a page about a running job, again every second.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unix_time.h"
#include "cli/command.h"
#include "cluster/slurm/queue.h"
#include "cluster/top_page.h"
#include "run/fetch_nodes.h"
#include "run/live_server.h"

namespace voltpile::cli {
namespace {

constexpr std::chrono::milliseconds kRefresh{1000};
// A run that resumes another or that writes to a slow file system shows itself within this time.
constexpr int kPatience = 5;  // refreshes

struct Size {
    int columns = 100, lines = 0;  // 0: unknown
};

Size terminal_size() {
    winsize window{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return {window.ws_col, window.ws_row};
    const char* columns = std::getenv("COLUMNS");
    const int wide = columns ? std::atoi(columns) : 0;
    return wide > 0 ? Size{wide, 0} : Size{};
}

// Reads single keys, and restores the terminal at the end. Ctrl-C is a key, too.
class RawTerminal {
  public:
    RawTerminal() {
        if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
        changed_ = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
        fmt::print("\033[?1049h\033[?25l");  // another screen, no cursor
    }
    ~RawTerminal() {
        fmt::print("\033[?25h\033[?1049l");
        std::fflush(stdout);
        if (changed_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    }
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

    // Waits for a key, at most so long. Returns true if it is q or Ctrl-C, or if there are no more.
    bool ends_within(std::chrono::milliseconds time) {
        const auto until = std::chrono::steady_clock::now() + time;
        for (;;) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
            pollfd input{STDIN_FILENO, POLLIN, 0};
            if (left.count() <= 0 || poll(&input, 1, static_cast<int>(left.count())) <= 0) return false;
            constexpr char ctrl_c = 3;
            char key = 0;
            if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q' || key == ctrl_c) return true;
        }
    }

  private:
    termios before_{};
    bool changed_ = false;
};

void draw(const std::vector<std::string>& page, const Size& size) {
    std::string text = "\033[H";
    const std::size_t room = size.lines > 1 ? static_cast<std::size_t>(size.lines) - 1 : page.size();
    for (std::size_t i = 0; i < std::min(room, page.size()); ++i) text += page[i] + "\033[K\n";
    text += "\033[J";
    if (page.size() > room) text += fmt::format("{} more lines", page.size() - room);
    fmt::print("{}", text);
    std::fflush(stdout);
}

bool is_shown(const LiveStatus& status) {
    return !status.jobs.empty() || !status.nodes.empty();
}

// The result or the address file in ./results whose run has written last.
std::filesystem::path newest_run() {
    std::filesystem::path newest;
    double newest_s = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator it("results", error), end; !error && it != end;
         it.increment(error)) {
        const std::filesystem::path& path = it->path();
        LiveStatus status;
        std::filesystem::path subject = path;
        if (path.extension() == ".parts")
            status = read_live_status(subject.replace_extension());
        else if (path.extension() == ".address")
            status = read_live_server(path);
        for (const LiveJob& job : status.jobs)
            if (job.time_s > newest_s) newest = subject, newest_s = job.time_s;
    }
    if (newest.empty()) throw JobError("no run writes to results: name its result or its address file");
    return newest;
}

std::filesystem::path result_of(const std::string& subject) {
    if (subject.empty()) return newest_run();
    if (!is_job_id(subject)) return subject;
    for (const QueuedJob& job : read_job(subject))
        if (job.running() && !job.result.empty()) return job.result;
    throw JobError(fmt::format("job {} does not run, or it is not a job of voltpile", subject));
}

// Where the page comes from.
struct Source {
    std::string name;
    std::string absence;  // what it means if there is nothing to show
    std::function<LiveStatus()> read;
};

Source source_of(const std::string& subject, const std::vector<std::string>& nodes) {
    if (!nodes.empty())
        return {fmt::format("{}", fmt::join(nodes, ", ")),
                "no node answers; does the job set telemetry.port?",
                [nodes] { return fetch_live_status(nodes, unix_time()); }};
    const std::filesystem::path result = result_of(subject);
    return {result.string(), "no run writes this result now, and no server has this address file",
            [result] { return live_status_of(result, unix_time()); }};
}

ExitCode top_once(const Source& source) {
    const LiveStatus status = source.read();
    if (!is_shown(status)) throw JobError(fmt::format("{}: {}", source.name, source.absence));
    for (const std::string& line : top_page(status, unix_time(), terminal_size().columns))
        fmt::print("{}\n", line);
    return ExitCode::Done;
}

ExitCode top_again_and_again(const Source& source) {
    if (!is_shown(source.read())) return top_once(source);  // says so
    {
        RawTerminal terminal;
        for (int without = 0; without < kPatience;) {
            const LiveStatus status = source.read();
            without = is_shown(status) ? 0 : without + 1;
            const Size size = terminal_size();
            if (without == 0) draw(top_page(status, unix_time(), size.columns), size);
            if (terminal.ends_within(kRefresh)) return ExitCode::Done;
        }
    }
    fmt::print("{}: the run has ended\n", source.name);
    return ExitCode::Done;
}

}  // namespace

void add_top(CLI::App& cli, Action& action) {
    CLI::App* top = cli.add_subcommand("top", "watch a running job: its nodes, GPUs, ranks and progress");
    auto subject = std::make_shared<std::string>();
    auto nodes = std::make_shared<std::vector<std::string>>();
    auto once = std::make_shared<bool>(false);
    CLI::Option* const result = top->add_option(
        "FILE|JOBID", *subject,
        "the result that the job writes, the address file of a server, or a job in Slurm's queue [the run in "
        "./results that has written last]");
    result->check(some_name());
    top->add_option("--nodes", *nodes,
                    "ask these nodes on their telemetry.port instead; also nodes that do not share the "
                    "result's folder")
        ->type_name("HOST:PORT,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(some_name())
        ->excludes(result);
    top->add_flag("--once", *once, "print one page and end");
    top->footer("The page is drawn every second; q or Ctrl-C ends it.");
    top->callback([subject, nodes, once, &action] {
        action = on_first_rank([subject, nodes, once](const Invocation&) {
            const Source source = source_of(*subject, *nodes);
            return *once || isatty(STDOUT_FILENO) == 0 ? top_once(source) : top_again_and_again(source);
        });
    });
}

}  // namespace voltpile::cli
