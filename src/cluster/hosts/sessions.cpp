#include "cluster/hosts/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cluster/hosts/access.h"
#include "cluster/hosts/agent_lines.h"

namespace voltpile {
namespace {

using namespace std::chrono_literals;

constexpr int cannot_start = 127, kSshFailed = 255;

}  // namespace

HostSessions::HostSessions(std::string program, std::string arguments, ProgressListener progress)
    : program_(std::move(program)), arguments_(std::move(arguments)), progress_(std::move(progress)) {}

void HostSessions::add(HostVisit visit, const std::string& user, std::vector<std::string> through) {
    Session& session = sessions_.emplace_back();
    session.visit = std::move(visit);
    session.user = user;
    session.through = std::move(through);
}

void HostSessions::start(Clock::duration limit) {
    const std::vector<std::string> script{"/bin/sh", "-c", remote_script(program_, arguments_)};
    for (Session& session : sessions_) {
        if (session.alive()) continue;
        std::vector<std::string> command = session.visit.here ? std::vector<std::string>() : session.through;
        if (session.visit.here || !command.empty())
            command.insert(command.end(), script.begin(), script.end());
        else
            command = ssh_command(session.user, session.visit.name, remote_command(program_, arguments_));
        session.visit.access = Access::Unreachable;
        session.visit.access_error.clear();
        session.visit.shell = {};
        session.answer.reset();
        session.news.clear();
        session.process = std::make_unique<LineProcess>(command);
    }
    collect("asking the hosts", limit);
    for (Session& session : sessions_)
        if (session.alive()) session.visit.access = Access::Answered;
}

void HostSessions::ask(const std::string& what, Clock::duration limit,
                       const std::function<std::string(std::size_t)>& question) {
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
        Session& session = sessions_[i];
        session.answer.reset();
        if (!session.alive()) continue;
        const std::string line = question(i);
        session.asked = Clock::now();
        session.process->send(line);
    }
    collect(what, limit);
}

void HostSessions::collect(const std::string& what, Clock::duration limit) {
    const auto until = Clock::now() + limit;
    while (true) {
        std::vector<LineProcess*> waiting;
        for (Session& session : sessions_)
            if (session.alive() && !session.answer) waiting.push_back(session.process.get());
        progress_(fmt::format("{}: {} of {}", what, sessions_.size() - waiting.size(), sessions_.size()));
        if (waiting.empty()) return;
        if (Clock::now() >= until) break;
        LineProcess::pump(waiting, 200ms);
        for (Session& session : sessions_)
            if (session.alive() && !session.answer) take_in(session);
    }
    for (Session& session : sessions_)
        if (session.alive() && !session.answer) give_up(session, "no answer in time");
}

void HostSessions::tell(const std::string& line) {
    for (Session& session : sessions_)
        if (session.alive()) session.process->send(line);
}

void HostSessions::listen(std::span<LineProcess* const> others, std::chrono::milliseconds at_most) {
    std::vector<LineProcess*> all(others.begin(), others.end());
    for (Session& session : sessions_)
        if (session.alive()) all.push_back(session.process.get());
    LineProcess::pump(all, at_most);
    for (Session& session : sessions_)
        if (session.alive()) take_in(session);
}

void HostSessions::take_in(Session& session) {
    HostVisit& visit = session.visit;
    while (!session.process->lines.empty()) {
        const std::string line = std::move(session.process->lines.front());
        session.process->lines.pop_front();
        session.heard = Clock::now();
        if (line.starts_with(news_prefix)) {
            session.news.push_back(line.substr(news_prefix.size()));
            continue;
        }
        if (!line.starts_with(answer_prefix)) {
            read_shell_line(line, visit.shell, visit.access);
            continue;
        }
        session.answered = session.heard;
        std::string answer = line.substr(answer_prefix.size());
        if (nlohmann::json::parse(answer, nullptr, false).is_object()) session.answer = std::move(answer);
    }
    if (!session.process->running()) note_end(session);
}

void HostSessions::note_end(Session& session) {
    HostVisit& visit = session.visit;
    const int exit_code = session.process->exit_code();
    const std::string& errors = session.process->errors;
    visit.access_error = essence(errors);
    if (exit_code == cannot_start && visit.access_error.starts_with("cannot start ssh"))
        throw MachineError(visit.access_error + " (install openssh-client)");
    if (visit.access != Access::ProgramMissing && visit.access != Access::ProgramNotExecutable)
        visit.access = access_failure(visit.shell, exit_code, errors);
    if (visit.access_error.empty())
        visit.access_error =
            visit.shell.reached && session.through.empty() && !visit.here && exit_code == kSshFailed
                ? "the ssh connection broke"
                : fmt::format("exited with code {}", exit_code);
    session.process.reset();
}

void HostSessions::give_up(Session& session, const std::string& why) {
    session.visit.access = session.visit.shell.reached ? Access::NoAnswer : Access::Unreachable;
    session.visit.access_error = why;
    session.process.reset();
}

void HostSessions::end() {
    std::vector<LineProcess*> leaving;
    for (Session& session : sessions_) {
        if (!session.alive()) continue;
        session.process->close_input();
        leaving.push_back(session.process.get());
    }
    for (const auto until = Clock::now() + 2s; !leaving.empty() && Clock::now() < until;) {
        LineProcess::pump(leaving, 100ms);
        std::erase_if(leaving, [](const LineProcess* process) { return !process->running(); });
    }
}

}  // namespace voltpile
