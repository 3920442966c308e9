// Whether ssh gets there, and whether the same program answers.
#include <fmt/format.h>

#include "base/shell_quote.h"
#include "cluster/hosts/access.h"
#include "cluster/hosts/finding_list.h"

namespace voltpile {
namespace {

void judge_failure(const HostVisit& visit, const HostSurvey& survey, FindingList& list) {
    const std::string copy = fmt::format("ssh %h mkdir -p {0} && scp {1} %h:{1}",
                                         shell_quote(survey.program.substr(0, survey.program.rfind('/'))),
                                         shell_quote(survey.program));
    const auto problem = [&](const std::string& what, const std::string& fix) {
        list.must_fix(visit.name, what, fix);
    };
    switch (visit.access) {
        case Access::Answered:
            return;
        case Access::NameUnknown:
            return problem("this host does not know the name",
                           "correct the name in the host file, or add it here to /etc/hosts: ADDRESS %H");
        case Access::Unreachable:
            return problem("cannot be reached: is it on, is its cable in, is its address right?",
                           "ping -c 3 %h");
        case Access::Refused:
            return problem("ssh connections are refused: no ssh server runs there",
                           "on %H: sudo apt install openssh-server && sudo systemctl enable --now ssh");
        case Access::KeyNotAccepted:
            return problem("ssh needs a password there: your key is not accepted",
                           "ssh-copy-id %h   (before that, if you have no key: ssh-keygen -t ed25519)");
        case Access::HostKeyUnknown:
            return problem("ssh has never been there and does not know the host key",
                           "ssh-keyscan %h >> ~/.ssh/known_hosts");
        case Access::HostKeyChanged:
            return problem(
                "the ssh host key has changed: the host was installed anew, or another machine has the "
                "address",
                "if you know why: ssh-keygen -R %h && ssh-keyscan %h >> ~/.ssh/known_hosts");
        case Access::SshFailed:
            return problem("ssh fails: " + visit.access_error, "try it by hand: ssh -v %h true");
        case Access::NoAnswer:
            return problem(
                "ssh gets there, but then nothing more comes (" + visit.access_error + ")",
                "is it overloaded, does a disk of it hang, does its login script wait? try: ssh %h uptime");
        case Access::ProgramMissing:
            return problem("there is no " + survey.program, copy + "   (or keep it in a shared folder)");
        case Access::ProgramNotExecutable:
            return problem(survey.program + " is there but may not be executed",
                           "ssh %h chmod a+rx " + shell_quote(survey.program));
        case Access::ProgramFails:
            return problem(
                fmt::format("{} does not work there: {}", survey.program, visit.access_error),
                "install the same packages there as here (make deps in Voltpile's source), and the same "
                "build: " +
                    copy);
    }
}

void judge_build(const HostVisit& visit, const HostVisit& reference, const HostSurvey& survey,
                 FindingList& list) {
    const HostReport& mine = *visit.report;
    const HostReport& its = *reference.report;
    if (mine.checksum == its.checksum && mine.version == its.version && mine.git_revision == its.git_revision)
        return;
    const bool same_source = mine.version == its.version && mine.git_revision == its.git_revision;
    list.must_fix(
        visit.name,
        same_source
            ? fmt::format("another build of voltpile {} (git {}) than on {}: checksum {}, not {}",
                          mine.version, mine.git_revision, reference.name, mine.checksum, its.checksum)
            : fmt::format("voltpile {} (git {}), but {} has {} (git {})", mine.version, mine.git_revision,
                          reference.name, its.version, its.git_revision),
        fmt::format("scp {0} %h:{0}", shell_quote(survey.program)));
}

}  // namespace

void judge_access(const HostSurvey& survey, FindingList& list) {
    const HostVisit* reference = reference_host(survey);
    for (const HostVisit& visit : survey.visits) {
        judge_failure(visit, survey, list);
        if (visit.report && reference) judge_build(visit, *reference, survey, list);
        if (!visit.shell.chatter.empty())
            list.remark(
                visit.name,
                fmt::format("the login script prints text also when nobody is there to read it (\"{}\")",
                            visit.shell.chatter.front()),
                "in ~/.bashrc there, print only where [ -t 1 ]");
    }
}

}  // namespace voltpile
