// runners/serve/server_player.cpp — placeholder until the server path is written.
#include "runners/serve/server_player.h"

namespace deadrank::runners::serve {
ServerPlayer::ServerPlayer(std::string program, std::string version) : program_(std::move(program)), version_(std::move(version)) {}
ServerPlayer::~ServerPlayer() = default;
scenarios::Result<std::unique_ptr<ServerPlayer>> ServerPlayer::start(const std::string&, const std::filesystem::path&) {
    return scenarios::refuse(scenarios::ErrorCode::unsupported, "no server path yet");
}
std::string ServerPlayer::name() const { return "prometheus " + version_; }
scenarios::Result<results::alerts::Played> ServerPlayer::play(const results::exporters::World&, const results::exporters::Incident&,
    const std::vector<results::alerts::RuleFile>&, const std::vector<results::alerts::Rule>&, const results::alerts::StaticAnalysis&) {
    return scenarios::refuse(scenarios::ErrorCode::unsupported, "no server path yet");
}
}  // namespace deadrank::runners::serve
