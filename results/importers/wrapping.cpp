// results/importers/wrapping.cpp — Removes one wrapping after the other until none is left. A bracket or
// number that could be the program's own text is removed only where the whole file has that prefix.
#include "results/importers/wrapping.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace deadrank::results::importers {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool word(char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' || c == '.';
}
std::size_t digits(std::string_view text, std::size_t from = 0) {
    std::size_t end = from;
    while (end < text.size() && digit(text[end])) ++end;
    return end - from;
}
std::int32_t number(std::string_view text) {
    return static_cast<std::int32_t>(std::strtol(std::string(text.substr(0, 9)).c_str(), nullptr, 10));
}

}  // namespace

LinePrefixes prefixes_of(std::string_view head) {
    struct Count {
        int lines = 0, brackets = 0, rising = 0, colons = 0, named = 0;
        std::int32_t last = -1;
        std::map<std::string, int, std::less<>> names;
    } count;
    for (std::size_t at = 0; at < head.size();) {
        // A bar of progress, written many times, is one line.
        const std::size_t end = std::min(head.find('\n', at), head.size());
        std::string_view line = head.substr(at, end - at);
        at = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        ++count.lines;
        if (const std::size_t many = digits(line, 1);
            line[0] == '[' && many > 0 && many < 7 && line.substr(1 + many).starts_with("] ")) {
            ++count.brackets;
            const std::int32_t now = number(line.substr(1));
            count.rising += now > count.last;
            count.last = now;
        }
        while (line.starts_with(' ')) line.remove_prefix(1);
        if (const std::size_t many = digits(line); many > 0 && many < 6 &&
                                                   line.substr(many).starts_with(":") &&
                                                   (line.size() == many + 1 || line[many + 1] == ' '))
            ++count.colons;
        std::size_t name = 0;
        while (name < line.size() && name < 64 && word(line[name])) ++name;
        if (name > 1 && line.substr(name).starts_with(": ") &&
            line.substr(0, name).find_first_of("0123456789") != line.npos)
            ++count.named, ++count.names[std::string(line.substr(0, name))];
    }
    LinePrefixes prefixes;
    const auto most = [&](int some) { return some >= 2 && some * 2 >= count.lines; };
    if (most(count.brackets))
        (count.rising >= count.brackets ? prefixes.numbered : prefixes.ranked_brackets) = true;
    prefixes.ranked_colons = most(count.colons);
    // A host's name precedes many lines; any other word is just the first of its line.
    prefixes.hosts = !prefixes.ranked_colons && most(count.named) &&
                     static_cast<int>(count.names.size()) * 2 <= count.named;
    return prefixes;
}

namespace {

class Peeling {
public:
    Peeling(std::string_view text, const LinePrefixes& prefixes, int year)
        : prefixes_(prefixes), year_(year) {
        line_.text = text;
    }

    Unwrapped done() {
        for (int layers = 0; layers < 8 && layer(); ++layers) {
        }
        split_progress_bar();
        repeated();
        if (line_.source.empty() && line_.rank != no_rank) line_.source = "r" + std::to_string(line_.rank);
        return std::move(line_);
    }

private:
    bool layer() {
        return quote() || counted() || stamp() || ray() || logger() || ranked() || tagged() || labelled() ||
               container();
    }
    std::string_view& text() { return line_.text; }
    void drop(std::size_t count) { text().remove_prefix(std::min(count, text().size())); }
    void drop_space() {
        if (text().starts_with(' ')) drop(1);
    }
    void source(std::string_view name) {
        if (!line_.source.empty()) line_.source += '/';
        line_.source += name;
    }

    bool quote() {
        if (!text().starts_with("> ") && text() != ">") return false;
        drop(2);
        return true;
    }
    // "[1860] text", and a notebook service's "704.7s<tab>1463<tab>text"
    bool counted() {
        if (prefixes_.numbered && text().starts_with('[') && !counted_) {
            const std::size_t many = digits(text(), 1);
            if (many > 0 && text().substr(1 + many).starts_with(']')) {
                drop(many + 2), drop_space();
                return counted_ = true;
            }
        }
        const std::size_t whole = digits(text());
        if (whole == 0 || !text().substr(whole).starts_with('.')) return false;
        std::size_t end = whole + 1 + digits(text(), whole + 1);
        if (!text().substr(end).starts_with("s\t")) return false;
        end += 2;
        end += digits(text(), end);
        if (!text().substr(end).starts_with('\t')) return false;
        drop(end + 1);
        return true;
    }

    bool take_stamp(std::size_t from, std::string_view after) {
        const auto stamp = read_stamp(text().substr(from), year_);
        if (!stamp || !text().substr(from + stamp->size).starts_with(after)) return false;
        if (line_.at == no_time || stamp->dated) line_.at = stamp->at, line_.dated = stamp->dated;
        drop(from + stamp->size + after.size());
        return true;
    }
    bool stamp() {
        if (stamped_ >= 2 || text().size() < 12) return false;
        // "[2026-01-31 10:00:00,123] [INFO] …"; the kernel's own brackets stay, since they identify the
        // kernel.
        if (text()[0] == '[' && (digit(text()[1]) || text()[1] == '\'')) {
            if (take_stamp(1, "]")) return ++stamped_, drop_space(), true;
            return false;
        }
        const bool named = !digit(text()[0]);
        if (!take_stamp(0, "")) return false;
        ++stamped_;
        // Docker's and Kubernetes' "stdout F", a colon, a bar, a dash.
        if (text().starts_with(" stdout F ") || text().starts_with(" stderr F ")) return drop(10), true;
        if (text().starts_with("[")) return true;  // horovodrun: "… 2020[0]<stderr>:"
        if (text().starts_with(": ") || text().starts_with(" - "))
            return drop(text()[0] == ':' ? 2 : 3), true;
        if (text().starts_with(" | ")) return drop(3), true;
        drop_space();
        if (named) journal();
        return true;
    }
    // "node7 kernel: text", "node7 python[123]: text" after syslog's stamp
    void journal() {
        std::size_t host = 0;
        while (host < text().size() && word(text()[host])) ++host;
        if (host == 0 || !text().substr(host).starts_with(' ')) return;
        std::size_t end = host + 1;
        while (end < text().size() && (word(text()[end]) || text()[end] == '/' || text()[end] == '@')) ++end;
        const std::string_view program = text().substr(host + 1, end - host - 1);
        if (program.empty()) return;
        if (text().substr(end).starts_with('[')) {
            const std::size_t many = digits(text(), end + 1);
            if (many == 0) return;
            line_.pid = number(text().substr(end + 1));
            end += many + 2;
        }
        if (!text().substr(end).starts_with(": ")) return;
        line_.host = text().substr(0, host);
        if (program == "kernel") {
            source("kernel");
        } else {
            source(line_.host + "/" + std::string(program) + std::to_string(line_.pid));
        }
        drop(end + 2);
    }

    // "(Worker pid=7, ip=10.0.0.2) text", "(raylet, ip=…) text"
    bool ray() {
        if (!text().starts_with('(')) return false;
        const std::size_t close = text().substr(0, 200).find(") ");
        const bool bare = close == text().npos && text().ends_with(')');
        if (close == text().npos && !bare) return false;
        const std::string_view inside = text().substr(1, (bare ? text().size() - 1 : close) - 1);
        const std::size_t pid = inside.find("pid=");
        const bool raylet = inside.starts_with("raylet") || inside.starts_with("autoscaler") ||
                            inside.starts_with("gcs_server");
        if (pid == inside.npos && !raylet) return false;
        if (pid != inside.npos) line_.pid = number(inside.substr(pid + 4));
        if (const std::size_t ip = inside.find("ip="); ip != inside.npos) {
            const std::string_view rest = inside.substr(ip + 3);
            line_.host = rest.substr(0, rest.find(','));
        }
        line_.raylet = raylet;
        if (const std::size_t rank = inside.find("rank=");
            rank != inside.npos && digit(inside.substr(rank + 5)[0]))
            line_.rank = number(inside.substr(rank + 5));
        source(inside);
        drop(bare ? text().size() : close + 2);
        return true;
    }

    void name_rank(Rank rank) {
        line_.mislabelled = line_.task && line_.rank != rank;
        line_.rank = rank;
        line_.task = false;
    }
    void name_task(Rank task) {
        if (line_.rank != no_rank && !line_.task) return;
        line_.rank = task;
        line_.task = true;
    }

    // vLLM puts its logger's prefix before each line of a traceback: "ERROR 08-20 10:00:05 [core.py:700]
    // text"
    bool logger() {
        for (const std::string_view level : {"ERROR ", "CRITICAL ", "WARNING ", "INFO "}) {
            if (!text().starts_with(level)) continue;
            std::size_t at = level.size();
            const auto number_and = [&](char after) {
                const std::size_t many = digits(text(), at);
                at += many + 1;
                return many == 2 && at <= text().size() && text()[at - 1] == after;
            };
            if (!number_and('-') || !number_and(' ') || !number_and(':') || !number_and(':')) return false;
            const std::size_t open = text().find('[', at), close = text().find("] ", at);
            const bool bare = close == text().npos && text().ends_with(']');
            if (open == text().npos || open > at + 8 || (close == text().npos && !bare)) return false;
            drop(bare ? text().size() : close + 2);
            return true;
        }
        return false;
    }

    // "[rank3]:", "[default3]:", "[RANK 3]", "[Rank 3] "; a line of c10d keeps its own bracket after it.
    bool ranked() {
        const auto named = [&](std::string_view before, std::string_view after) -> Rank {
            if (!text().starts_with(before)) return no_rank;
            const std::size_t many = digits(text(), before.size());
            if (many == 0 || many > 7 || !text().substr(before.size() + many).starts_with(after))
                return no_rank;
            const Rank rank = number(text().substr(before.size()));
            drop(before.size() + many + after.size());
            return rank;
        };
        for (const std::string_view before : {"[rank", "[Rank ", "[RANK ", "[rank: ", "[rank "}) {
            for (const std::string_view after : {"]:", "]"}) {
                const Rank rank = named(before, after);
                if (rank == no_rank) continue;
                name_rank(rank);
                drop_space();
                return true;
            }
        }
        const Rank local = named("[default", "]:");
        if (local == no_rank) return false;
        line_.local = local;
        source("default" + std::to_string(local));
        return true;
    }

    // mpirun --tag-output "[1,3]<stderr>:", horovodrun "[3]<stdout>:"
    bool tagged() {
        if (!text().starts_with('[')) return false;
        std::size_t end = 1 + digits(text(), 1);
        if (end == 1) return false;
        std::size_t from = 1;
        if (text().substr(end).starts_with(',')) {
            from = end + 1;
            end = from + digits(text(), from);
        }
        for (const std::string_view after : {"]<stderr>:", "]<stdout>:", "]<stdout>: ", "]<stderr>: "}) {
            if (end == from || !text().substr(end).starts_with(after)) continue;
            name_task(number(text().substr(from)));
            drop(end + after.size());
            return true;
        }
        if (!prefixes_.ranked_brackets || labelled_ || !text().substr(end).starts_with("] ")) return false;
        name_task(number(text().substr(from)));
        drop(end + 2);
        return labelled_ = true;
    }

    // srun --label "3: text", pdsh "node7: text", "node7:3: text"
    bool labelled() {
        if (labelled_) return false;
        if (prefixes_.ranked_colons) {
            std::size_t from = 0;
            while (from < text().size() && text()[from] == ' ') ++from;
            const std::size_t many = digits(text(), from);
            if (many == 0 || many > 6 || !text().substr(from + many).starts_with(':')) return false;
            name_task(number(text().substr(from)));
            drop(from + many + 1), drop_space();
            return labelled_ = true;
        }
        if (!prefixes_.hosts) return false;
        std::size_t name = 0;
        while (name < text().size() && word(text()[name])) ++name;
        if (name < 2 || !text().substr(name).starts_with(':')) return false;
        line_.host = text().substr(0, name);
        const std::size_t many = digits(text(), name + 1);
        if (many > 0 && text().substr(name + 1 + many).starts_with(": ")) {
            name_task(number(text().substr(name + 1)));
            name += many + 1;
        } else if (!text().substr(name).starts_with(": ")) {
            return line_.host.clear(), false;
        }
        source(line_.host);
        drop(name + 2);
        return labelled_ = true;
    }

    // kubectl logs --prefix "[pod/trainer-0/pytorch] text", compose "trainer-0  | text", "task [stderr] text"
    bool container() {
        if (text().starts_with("[pod/")) {
            const std::size_t close = text().find("] ");
            if (close == text().npos) return false;
            const std::string_view name = text().substr(5, close - 5);
            line_.host = name.substr(0, name.find('/'));
            source(name);
            drop(close + 2);
            return true;
        }
        std::size_t name = 0;
        while (name < text().size() && name < 80 && word(text()[name])) ++name;
        if (name < 2 || name + 3 >= text().size() || text()[name] != ' ') return false;
        std::size_t bar = name;
        while (bar < text().size() && text()[bar] == ' ') ++bar;
        const bool compose = text().substr(bar).starts_with("| ") &&
                             text().substr(0, name).find_first_of("0123456789") != text().npos;
        const bool stream =
            text().substr(name).starts_with(" [stderr] ") || text().substr(name).starts_with(" [stdout] ");
        if (!compose && !stream) return false;
        if (compose) line_.host = text().substr(0, name);
        source(text().substr(0, name));
        drop(stream ? name + 10 : bar + 2);
        return true;
    }

    // "[rank6]:[E …": c10d's line behind whatever another process had printed without a line feed.
    static std::size_t c10d_within(std::string_view all) {
        for (std::size_t at = all.find("[rank"); at != all.npos; at = all.find("[rank", at + 1)) {
            const std::size_t many = digits(all, at + 5);
            if (many > 0 && all.substr(at + 5 + many).starts_with("]:[")) return at;
        }
        return all.npos;
    }

    // A progress bar does not end with a line feed: what is printed next follows it on the same line.
    void split_progress_bar() {
        const std::string_view all = text();
        if (const std::size_t at = c10d_within(all); at != all.npos && at > 0) {
            drop(at);
            ranked();
            return;
        }
        constexpr std::string_view anchors[] = {"Traceback (most recent call last)",
                                                "WARNING:torch.",
                                                "ERROR:torch.",
                                                "[E ProcessGroup",
                                                "[W ProcessGroup",
                                                "[F ProcessGroup",
                                                "slurmstepd: error:",
                                                "srun: error:",
                                                "RuntimeError: ",
                                                "terminate called",
                                                "HW Exception by GPU",
                                                "Memory access fault by GPU"};
        const bool bar =
            all.find("%|") != all.npos || all.find("it/s") != all.npos || all.find("s/it") != all.npos;
        if (bar) {
            std::size_t best = all.find("[rank");
            for (const std::string_view anchor : anchors) best = std::min(best, all.find(anchor));
            if (best != all.npos && best > 0) {
                drop(best);
                ranked();
            }
            return;
        }
        // A few stray characters before a stamp in brackets.
        const std::size_t stamp = all.substr(0, 24).find("[20");
        if (stamp == all.npos || stamp == 0 || line_.at != no_time) return;
        const auto read = read_stamp(all.substr(stamp + 1), year_);
        if (!read || !all.substr(stamp + 1 + read->size).starts_with(']')) return;
        line_.at = read->at, line_.dated = read->dated;
        drop(stamp + read->size + 2), drop_space();
    }
    // Ray says how many other workers printed the same.
    void repeated() {
        if (!text().ends_with("across cluster]")) return;
        const std::size_t from = text().rfind(" [repeated ");
        if (from != text().npos) text() = text().substr(0, from);
    }

    const LinePrefixes& prefixes_;
    int year_;
    Unwrapped line_;
    int stamped_ = 0;
    bool counted_ = false, labelled_ = false;
};

// Colours and cursor moves (ESC [ … letter), character sets (ESC ( letter), and backspaces.
void clean(std::string& line) {
    if (line.find_first_of("\x1b\b") == line.npos) return;
    std::string kept;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\x1b' && i + 2 < line.size() && (line[i + 1] == '(' || line[i + 1] == ')')) {
            i += 2;  // a character set
        } else if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
            for (i += 2; i < line.size() && (line[i] < '@' || line[i] > '~'); ++i) {
            }
        } else if (line[i] != '\b' && line[i] != '\x1b') {
            kept += line[i];
        }
    }
    line = std::move(kept);
}

}  // namespace

Unwrapped unwrap(std::string& line, const LinePrefixes& prefixes, int year) {
    clean(line);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
    return Peeling(line, prefixes, year).done();
}

}  // namespace deadrank::results::importers
