// tests/sim/sanitizers.h — Which sanitizer this build has, for the few tests that one of them cannot judge.
#pragma once

#ifndef __has_feature
#define __has_feature(feature) 0  // g++ has macros of its own instead
#endif

namespace deadrank::sim::rig {

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false;
#endif

}  // namespace deadrank::sim::rig
