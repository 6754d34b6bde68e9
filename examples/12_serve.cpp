// SPDX-License-Identifier: Apache-2.0
// A server of OpenAI's routes inside a program: curl http://127.0.0.1:5543/v1/models
//   usage: 12_serve MODEL [PORT]
#include <cstdlib>
#include <iostream>
#include <tulle/serve/server.hpp>

int main(int count, char** arguments) try {
  if (count < 2) return std::cerr << "usage: 12_serve MODEL [PORT]\n", 2;
  tulle::serve::ServerOptions options;
  options.models = {{"my-model", arguments[1]}};
  if (count > 2) options.port = std::atoi(arguments[2]);
  tulle::serve::Server server(std::move(options));
  std::cout << "http://127.0.0.1:" << server.bind() << "/docs\n" << std::flush;
  server.listen();
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
