// SPDX-License-Identifier: Apache-2.0
/// \file A main for a fuzz target without libFuzzer: runs every file given, then seeded mutations of it.
/// usage: NAME [--mutations N] FILE...
/// For libFuzzer, compile the target with -DTULLE_LIBFUZZER -fsanitize=fuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#ifndef TULLE_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

void run(const Bytes& input) {
  const Bytes exact(input.begin(), input.end());  // its own allocation, so that a sanitizer sees a read past the end
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

/// Some bytes changed; now and then cut short, or with a stretch of itself repeated.
Bytes mutate(const Bytes& original, std::mt19937& random) {
  Bytes input = original;
  for (std::size_t change = 0; change <= random() % 8; ++change) {
    constexpr std::uint8_t telling[] = {0, 1, 0x7F, 0x80, 0xFF};
    const std::size_t window = random() % 2 == 0 ? input.size() : std::min<std::size_t>(input.size(), 512);
    input[random() % window] = random() % 2 == 0 ? telling[random() % 5] : static_cast<std::uint8_t>(random());
  }
  if (random() % 4 == 0) input.resize(1 + random() % input.size());
  if (random() % 8 == 0) {
    const std::size_t begin = random() % input.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 64, input.size() - begin);
    const Bytes stretch(input.begin() + static_cast<std::ptrdiff_t>(begin),
                        input.begin() + static_cast<std::ptrdiff_t>(begin + length));
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(random() % input.size()), stretch.begin(), stretch.end());
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t mutations = 1000;
  int first = 1;
  if (argc > 2 && std::strcmp(argv[1], "--mutations") == 0) {
    mutations = std::strtoull(argv[2], nullptr, 10);
    first = 3;
  }
  run({});
  for (int i = first; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const Bytes original((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (original.empty()) {
      std::fprintf(stderr, "%s is empty or cannot be read\n", argv[i]);
      return 1;
    }
    run(original);
    std::mt19937 random(static_cast<std::uint32_t>(original.size()));
    for (std::size_t n = 0; n < mutations; ++n) run(mutate(original, random));
    std::printf("%s: %zu mutations\n", argv[i], mutations);
  }
  return 0;
}

#endif
