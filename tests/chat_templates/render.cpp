// SPDX-License-Identifier: Apache-2.0
// Renders chat templates for tools/checks/chat_templates.py.
// Reads {"now": [year, month, day, hour, minute, second, weekday from Sunday, day of the year from 0],
//        "templates": {name: source}, "cases": [{"template": name, "context": {...}}]}
// and writes a list with {"text": ...} or {"error": ...} for each case.
#include <ctime>
#include <exception>
#include <iostream>
#include <string>
#include <tulle/core/json.hpp>
#include <tulle/text/chat_template.hpp>

using Json = nlohmann::ordered_json;

namespace {

std::tm time_of(const Json& fields) {
  std::tm time{};
  time.tm_year = fields.at(0).get<int>() - 1900, time.tm_mon = fields.at(1).get<int>() - 1;
  time.tm_mday = fields.at(2), time.tm_hour = fields.at(3), time.tm_min = fields.at(4), time.tm_sec = fields.at(5);
  time.tm_wday = fields.at(6), time.tm_yday = fields.at(7);
  return time;
}

}  // namespace

int main() {
  const Json input = Json::parse(std::cin);
  Json results = Json::array();
  for (const Json& each : input.at("cases")) {
    const std::string source = input.at("templates").at(each.at("template").get<std::string>());
    const Json& context = each.at("context");
    try {
      const tulle::ChatTemplate chat(source, [&] { return time_of(input.at("now")); });
      results.push_back({{"text", chat.render(context.at("messages"), context)}});
    } catch (const std::exception& error) {
      results.push_back({{"error", error.what()}});
    }
  }
  std::cout << results.dump() << '\n';
}
