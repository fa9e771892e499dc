// runners/web/http_answers.h — Requests and answers of this folder's servers: targets, JSON, errors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/reports/json_files.h"
#include "runners/serve/http.h"

namespace deadrank::runners::web {

using results::reports::Json;

// "/ACCESS/api/jobs/3?at=17" → access, {"api", "jobs", "3"}, {at → 17}
struct Target {
    std::string access;
    std::vector<std::string> parts;
    std::map<std::string, std::string> query;

    std::string value(const std::string& name) const;  // of the query; empty if it is not there
};
Target target_of(std::string_view text);

// With the headers that every answer has: nothing else is loaded, nothing is stored, no other page may read
// it.
serve::HttpResponse answer_of(int status, std::string body, std::string_view type);
serve::HttpResponse json_answer(const Json& json, int status = 200);
serve::HttpResponse error_answer(const scenarios::Error& error, int status = 400);
serve::HttpResponse error_answer(int status, std::string what, std::string remedy = {});

inline constexpr std::string_view json_type = "application/json; charset=utf-8";

// Body of a POST. Errors: bad_input.
scenarios::Result<Json> body_of(const serve::HttpRequest& request);
std::string text_in(const Json& json, const char* name);  // empty if it is no text
std::uint64_t number_in(const Json& json, const char* name, std::uint64_t otherwise);

// Whether two texts are the same, in a time that does not tell how much of them is.
bool same_secret(std::string_view given, std::string_view secret);

}  // namespace deadrank::runners::web
