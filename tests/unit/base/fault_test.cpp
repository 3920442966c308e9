// VOLTPILE_FAULT: what it accepts, when a fault strikes, and that a misspelled one is an error.
#include "base/fault.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/link_fault.h"

namespace voltpile {
namespace {

class Faults : public testing::Test {
  protected:
    ~Faults() override {
        ::unsetenv("VOLTPILE_FAULT");
        load_faults(0);
    }
    void load(const std::string& text, int rank = 0) {
        ::setenv("VOLTPILE_FAULT", text.c_str(), 1);
        load_faults(rank);
    }
    std::string refusal(const std::string& text) {
        try {
            load(text);
        } catch (const JobError& error) {
            return error.what();
        }
        return "";
    }
};

TEST_F(Faults, StrikeNowhereByDefault) {
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(strike(FaultPlace::Write));
    load("");
    EXPECT_FALSE(strike(FaultPlace::Write));
}

TEST_F(Faults, StrikeAtTheirNumberAndPlace) {
    load("eio:write=3");
    EXPECT_FALSE(strike(FaultPlace::Write));
    EXPECT_FALSE(strike(FaultPlace::Range));
    EXPECT_FALSE(strike(FaultPlace::Write));
    EXPECT_EQ(strike(FaultPlace::Write), FaultEffect::IoError);
    EXPECT_FALSE(strike(FaultPlace::Write));
}

TEST_F(Faults, FullDisksAndLostGpusStaySo) {
    load("enospc:write=2; lost:gpu=1");
    EXPECT_FALSE(strike(FaultPlace::Write));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(strike(FaultPlace::Write), FaultEffect::NoSpace);
        EXPECT_EQ(strike(FaultPlace::Gpu), FaultEffect::LostGpu);
    }
}

TEST_F(Faults, StrikeOnlyTheirRank) {
    load("short : rank=1 , write=1", 0);
    EXPECT_FALSE(strike(FaultPlace::Write));
    load("short : rank=1 , write=1", 1);
    EXPECT_EQ(strike(FaultPlace::Write), FaultEffect::ShortWrite);
}

TEST_F(Faults, KillAndStop) {
    for (const auto& [text, expected] :
         {std::pair{"kill:range=2", SIGKILL}, std::pair{"stop:range=2", SIGSTOP}}) {
        const pid_t child = ::fork();
        if (child == 0) {
            load(text);
            strike(FaultPlace::Range);
            strike(FaultPlace::Range);
            ::_exit(7);
        }
        int status = 0;
        ::waitpid(child, &status, WUNTRACED);
        EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : WSTOPSIG(status), expected) << text;
        if (WIFSTOPPED(status)) {
            ::kill(child, SIGCONT);
            ::waitpid(child, &status, 0);
            EXPECT_EQ(WEXITSTATUS(status), 7);
        }
    }
}

TEST_F(Faults, LinksLoseNoMessagesByDefault) {
    EXPECT_FALSE(message_lost());
    load("drop:rank=1,message=1", 0);
    EXPECT_FALSE(message_lost());
}

TEST_F(Faults, CutLinksLoseAllLaterMessages) {
    load("drop:message=3");
    EXPECT_FALSE(strike(FaultPlace::Write));  // counts no message
    EXPECT_FALSE(message_lost());
    EXPECT_FALSE(message_lost());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(message_lost());
}

TEST_F(Faults, LossyLinksDelayEveryTenthMessage) {
    load("lossy:ms=30,message=2");
    for (int message = 1; message <= 22; ++message) {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_FALSE(message_lost());
        // The others may be late, too, because the machine is busy.
        const auto least = std::chrono::milliseconds(message % 10 == 2 ? 30 : 0);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, least) << message;
    }
}

TEST_F(Faults, RefuseMisspelledFaults) {
    for (const auto& [text, says] :
         {std::pair{"kil:write=1", "unknown action 'kil'"}, std::pair{"kill", "ACTION:PLACE=N"},
          std::pair{"kill:rank=1", "needs the number"}, std::pair{"kill:wirte=1", "unknown word 'wirte'"},
          std::pair{"kill:write=0", "counted from 1"}, std::pair{"kill:write=two", "whole number, not 'two'"},
          std::pair{"kill:write=1,range=1", "two places"}, std::pair{"enospc:range=1", "writes only"},
          std::pair{"lost:write=1", "gpu calls only"}, std::pair{"delay:write=1", "ms=N"},
          std::pair{"drop:write=1", "messages only"}, std::pair{"lossy:message=1", "ms=N"},
          std::pair{"corrupt:message=1", "writes only"}, std::pair{"eio:write=1;", "ACTION:PLACE=N"}}) {
        const std::string message = refusal(text);
        EXPECT_NE(message.find(says), std::string::npos) << text << ": " << message;
        EXPECT_NE(message.find("VOLTPILE_FAULT"), std::string::npos) << message;
    }
}

}  // namespace
}  // namespace voltpile
