// runners/web/workbench_page.h — The files of the workbench and of class mode, embedded when the program is built.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runners/web/http_answers.h"

namespace deadrank::runners::web {

// By file name in runners/web/html; empty if there is none.
std::string_view asset(std::string_view name);

// A page and the two files that it loads from the same address, app.js and app.css. Nothing else is loaded.
enum class Page { workbench, learner, teacher };

// The answer if the request is for one of these three files. An address without its last slash is redirected,
// since names beside the page would otherwise be looked for elsewhere.
std::optional<serve::HttpResponse> page_file(Page page, const serve::HttpRequest& request,
                                             const Target& target);

// What a browser may load for these pages: their own script and style, and answers of their own address.
inline constexpr std::string_view content_policy =
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace deadrank::runners::web
