// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/export_notes.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("notes that say the same of several tensors become one", "[format][export]") {
  ExportNotes notes;
  CHECK(notes.lines().empty());
  notes.about("a", "is F16");
  notes.add("no tokenizer");
  notes.about("b", "is left out");
  notes.about("c", "is F16");
  notes.about("d", "is F16");
  CHECK(notes.lines() == std::vector<std::string>{"a and 2 more: is F16", "no tokenizer", "b: is left out"});
}
