// runners/learn/dialogue.cpp — A lesson in a terminal, and the learner's progress.
#include "runners/learn/dialogue.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "results/record/text_file.h"
#include "results/reports/output.h"
#include "scenarios/model/document.h"

namespace deadrank::runners::learn {

// ── End of input means that the reader leaves: progress so far is kept.

namespace {

using results::reports::Ink;

constexpr int tries_most = 3;

void say(const std::string& text) {
    results::reports::write_visible(stdout, text);
    results::reports::flush_out();
}

std::optional<std::string> prompt_for_line(Console& talk, std::string_view prompt) {
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
    Asking(const Lesson& lesson, Console& talk, Done& done) : lesson_(lesson), console_(talk), done_(done) {}

    // Unsolved after three tries, or when the reader asked for the answer.
    Way run(const Challenge& challenge, bool& solved) {
        say(challenge_text(challenge, console_.style));
        for (int tries = 0; tries < tries_most;) {
            const auto line = prompt_for_line(console_, "answer, h for a hint, s to be shown, q to leave");
            if (!line || *line == "q") return Way::quit;
            if (*line == "s") break;
            if (*line == "h") {
                hint();
            } else if (!line->empty()) {
                const Reply reply = challenge.read(*line);
                if (reply.sense == Reply::unclear) {
                    say(paragraph(reply.help, console_.style));
                    continue;
                }
                ++tries;
                ++done_.tries;
                if (reply.sense == Reply::right) {
                    say("  " + console_.style.paint(Ink::green, "✔ Yes.") + "\n");
                    solved = true;
                    return Way::on;
                }
                say("  " +
                    console_.style.paint(Ink::red, tries < tries_most ? "✘ No. Look again." : "✘ No.") +
                    "\n");
            }
        }
        say(paragraph("It is " + challenge.solution(), console_.style));
        return Way::on;
    }

private:
    void hint() {
        if (hints_ < lesson_.hints.size()) {
            say(paragraph("Hint: " + lesson_.hints[hints_++], console_.style));
            ++done_.hints;
        } else {
            say(paragraph("There are no more hints; s shows the answer.", console_.style));
        }
    }

    const Lesson& lesson_;
    Console& console_;
    Done& done_;
    std::size_t hints_ = 0;
};

}  // namespace

Way teach(const Lesson& lesson, Console& talk, Done& done) {
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

Way examine(const Lesson& lesson, Console& talk, std::size_t& right, std::size_t& asked) {
    say(opening_text(lesson, talk.style));
    for (const Challenge& challenge : lesson.challenges) {
        say(challenge_text(challenge, talk.style));
        Reply reply;
        while (reply.sense == Reply::unclear) {
            const auto line = prompt_for_line(talk, "answer, q to leave");
            if (!line || *line == "q") return Way::quit;
            reply = challenge.read(*line);
            if (!reply.help.empty()) say(paragraph(reply.help, talk.style));
        }
        ++asked;
        const bool good = reply.sense == Reply::right;
        right += good ? 1 : 0;
        say("  " +
            (good ? talk.style.paint(Ink::green, "✔ Yes.")
                  : talk.style.paint(Ink::red, "✘ No: it is " + challenge.solution())) +
            "\n");
    }
    say("\n");
    return Way::on;
}

// ── Written after each lesson to another file that is then renamed, so that Ctrl-C loses nothing.

using nlohmann::ordered_json;
using scenarios::Result;

namespace {

constexpr int format = 1;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

std::filesystem::path Progress::usual_file() {
    if (const std::string stated = variable("DEADRANK_STATE"); !stated.empty())
        return std::filesystem::path(stated) / "learn.json";
    if (const std::string state = variable("XDG_STATE_HOME"); !state.empty())
        return std::filesystem::path(state) / "deadrank/learn.json";
    const std::string home = variable("HOME");
    return home.empty() ? std::filesystem::path()
                        : std::filesystem::path(home) / ".local/state/deadrank/learn.json";
}

Result<Progress> Progress::read(std::filesystem::path file) {
    Progress progress;
    progress.file_ = std::move(file);
    std::error_code ignored;
    if (progress.file_.empty() || !std::filesystem::exists(progress.file_, ignored)) return progress;
    const auto text = scenarios::read_text(progress.file_);
    if (!text) return tl::unexpected(text.error());
    try {
        const auto json = ordered_json::parse(*text);
        if (json.at("format").get<int>() != format) throw std::runtime_error("another format");
        for (const auto& [scenario, done] : json.at("lessons").items()) {
            progress.lessons_[scenario] = {done.at("solved").get<bool>(), done.at("tries").get<int>(),
                                           done.at("hints").get<int>()};
        }
    } catch (const std::exception& trouble) {
        if (scenarios::is_host_failure(trouble)) throw;
        return scenarios::refuse(
            scenarios::ErrorCode::bad_input,
            fmt::format("is no progress of lessons that this version reads ({})", trouble.what()),
            "move it away, or start over with deadrank learn --forget", {progress.file_.string()});
    }
    return progress;
}

const Done* Progress::find(const std::string& scenario) const {
    const auto found = lessons_.find(scenario);
    return found == lessons_.end() ? nullptr : &found->second;
}

Result<void> Progress::note(const std::string& scenario, const Done& done) {
    Done& kept = lessons_[scenario];
    const bool better = done.solved && (!kept.solved || done.hints < kept.hints);
    if (better || !kept.solved) kept = done;
    return write();
}

Result<void> Progress::forget() {
    lessons_.clear();
    return write();
}

Result<void> Progress::write() const {
    if (file_.empty()) return {};
    ordered_json lessons = ordered_json::object();
    for (const auto& [scenario, done] : lessons_)
        lessons[scenario] = {{"solved", done.solved}, {"tries", done.tries}, {"hints", done.hints}};
    const ordered_json json = {{"format", format}, {"lessons", lessons}};
    return results::write_text(json.dump(1) + "\n", file_);
}

}  // namespace deadrank::runners::learn
