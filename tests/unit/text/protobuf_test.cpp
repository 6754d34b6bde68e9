// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/protobuf.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle::detail;

namespace {

std::vector<ProtobufField> fields_of(std::string_view message) {
  std::vector<ProtobufField> fields;
  CHECK(ProtobufFields(message).all_of([&](const ProtobufField& field) {
    fields.push_back(field);
    return true;
  }));
  return fields;
}

bool is_sound(std::string_view message) {
  return ProtobufFields(message).all_of([](const ProtobufField&) { return true; });
}

}  // namespace

TEST_CASE("numbers, texts and fixed words are fields", "[text][protobuf]") {
  // 1: 300; 2: "ab"; 3: 32 bits; 16: 64 bits.
  const std::string message = std::string("\x08\xAC\x02") +
                              "\x12\x02"
                              "ab" +
                              std::string("\x1D\x01\0\0\x80", 5) + std::string("\x81\x01\x02\0\0\0\0\0\0\0", 10);
  const auto fields = fields_of(message);
  REQUIRE(fields.size() == 4);
  CHECK((fields[0].number == 1 && fields[0].value == 300 && !fields[0].has_bytes));
  CHECK((fields[1].number == 2 && fields[1].bytes == "ab" && fields[1].has_bytes));
  CHECK((fields[2].number == 3 && fields[2].value == 0x80000001u));
  CHECK((fields[3].number == 16 && fields[3].value == 2));
  CHECK(fields_of("").empty());
}

TEST_CASE("a message that ends inside a field, or has an unknown wire type, is broken", "[text][protobuf]") {
  for (const std::string& broken :
       {std::string("\x08"), std::string("\x08\xAC"),
        std::string("\x12\x03"
                    "ab"),
        std::string("\x1D\x01"), std::string("\x81\x01\x02"), std::string("\x0B"),
        std::string("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), std::string(11, '\xFF')}) {
    CHECK_FALSE(is_sound(broken));
  }
}
