// runners/learn/dialogue.cpp — The end of input is somebody who leaves: what was learnt so far is kept.
#include "runners/learn/dialogue.h"

#include <cstdio>
#include <fmt/format.h>
#include <optional>

namespace deadrank::runners::learn {

namespace {

using results::reports::Ink;

constexpr int tries_most = 3;

void say(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
}

std::optional<std::string> ask(Talk& talk, std::string_view prompt) {
    say(talk.style.paint(Ink::cyan, fmt::format("  {} > ", prompt)));
    std::string line;
    if (!std::getline(talk.in, line)) {
        say("\n");
        return std::nullopt;
    }
    if (talk.echo) say(line + "\n");
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    return line;
}

// The reader's way through one question.
class Asking {
public:
    Asking(const Lesson& lesson, Talk& talk, Done& done) : lesson_(lesson), talk_(talk), done_(done) {}

    // Unsolved after three tries, or when the answer was asked for.
    Way run(const Challenge& challenge, bool& solved) {
        say(challenge_text(challenge, talk_.style));
        for (int tries = 0; tries < tries_most;) {
            const auto line = ask(talk_, "answer, h for a hint, s to be shown, q to leave");
            if (!line || *line == "q") return Way::quit;
            if (*line == "s") break;
            if (*line == "h") {
                hint();
            } else if (!line->empty()) {
                ++tries;
                ++done_.tries;
                if (challenge.accepts(*line)) {
                    say("  " + talk_.style.paint(Ink::green, "✔ Yes.") + "\n");
                    solved = true;
                    return Way::on;
                }
                say("  " + talk_.style.paint(Ink::red, tries < tries_most ? "✘ No. Look again." : "✘ No.") +
                    "\n");
            }
        }
        say(paragraph("It is " + challenge.solution(), talk_.style));
        return Way::on;
    }

private:
    void hint() {
        if (hints_ < lesson_.hints.size()) {
            say(paragraph("Hint: " + lesson_.hints[hints_++], talk_.style));
            ++done_.hints;
        } else {
            say(paragraph("There are no more hints; s shows the answer.", talk_.style));
        }
    }

    const Lesson& lesson_;
    Talk& talk_;
    Done& done_;
    std::size_t hints_ = 0;
};

}  // namespace

Way teach(const Lesson& lesson, Talk& talk, Done& done) {
    say(opening_text(lesson, talk.style));
    Asking asking(lesson, talk, done);
    bool all = true;
    for (const Challenge& challenge : lesson.challenges) {
        bool solved = false;
        if (asking.run(challenge, solved) == Way::quit) return Way::quit;
        all &= solved;
    }
    done.solved = all;
    say(answer_text(lesson, talk.style));
    return Way::on;
}

Way examine(const Lesson& lesson, Talk& talk, std::size_t& right, std::size_t& asked) {
    say(opening_text(lesson, talk.style));
    for (const Challenge& challenge : lesson.challenges) {
        say(challenge_text(challenge, talk.style));
        const auto line = ask(talk, "answer, q to leave");
        if (!line || *line == "q") return Way::quit;
        ++asked;
        const bool good = challenge.accepts(*line);
        right += good ? 1 : 0;
        say("  " +
            (good ? talk.style.paint(Ink::green, "✔ Yes.")
                  : talk.style.paint(Ink::red, "✘ No: it is " + challenge.solution())) +
            "\n");
    }
    say("\n");
    return Way::on;
}

}  // namespace deadrank::runners::learn
