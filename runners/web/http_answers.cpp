// runners/web/http_answers.cpp — Requests and answers of this folder's servers: targets, JSON, errors.
#include "runners/web/http_answers.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runners/web/workbench_page.h"
#include "runners/web/scenario_view.h"

namespace deadrank::runners::web {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using serve::HttpRequest;
using serve::HttpResponse;

HttpResponse answer_of(int status, std::string body, std::string_view type) {
    HttpResponse response{.status = status, .body = std::move(body), .type = std::string(type)};
    response.headers = {{"Cache-Control", "no-store"},
                        {"Content-Security-Policy", std::string(content_policy)},
                        {"Cross-Origin-Resource-Policy", "same-origin"},
                        {"Referrer-Policy", "no-referrer"},
                        {"X-Content-Type-Options", "nosniff"}};
    return response;
}

HttpResponse json_answer(const Json& json, int status) {
    return answer_of(status, results::reports::dumped(json) + "\n", json_type);
}

HttpResponse error_answer(const scenarios::Error& error, int status) {
    Json problem = problem_view(error);
    return json_answer({{"error", std::move(problem)}}, status);
}

HttpResponse error_answer(int status, std::string what, std::string remedy) {
    return error_answer({ErrorCode::usage, std::move(what), std::move(remedy)}, status);
}

namespace {

std::string percent_decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned value = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
            plain += static_cast<char>(value);
            i += 2;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.push_back(percent_decoded(text.substr(at, end - at)));
        at = end + 1;
    }
    return parts;
}

std::string_view cut_at(std::string_view& text, char separator) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    return part;
}

}  // namespace

Target target_of(std::string_view text) {
    Target target;
    std::string_view query = text;
    std::string_view path = cut_at(query, '?');
    if (path.starts_with('/')) path.remove_prefix(1);
    target.parts = split(path, '/');
    target.access = target.parts.front();
    target.parts.erase(target.parts.begin());
    while (!query.empty()) {
        std::string_view value = cut_at(query, '&');
        const std::string name = percent_decoded(cut_at(value, '='));
        target.query[name] = percent_decoded(value);
    }
    return target;
}

Result<Json> body_of(const HttpRequest& request) {
    Json json = Json::parse(request.body, nullptr, false);
    if (json.is_object()) return json;
    return refuse(ErrorCode::bad_input, "the body is not a JSON object", "send {\"name\": value, …}");
}

std::string text_in(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_in(const Json& json, const char* name, std::uint64_t otherwise) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : otherwise;
}

std::string Target::value(const std::string& name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::string() : found->second;
}

bool same_secret(std::string_view given, std::string_view secret) {
    unsigned difference = given.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < secret.size(); ++i) {
        const char one = i < given.size() ? given[i] : '\0';
        difference |= static_cast<unsigned>(static_cast<unsigned char>(one ^ secret[i]));
    }
    return difference == 0;
}

}  // namespace deadrank::runners::web
